// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// Of a log backup it is kept whether a restore can stop within it, and to when it restores; of others neither.
func TestTheLogAloneSaysWhereARestoreCanStop(t *testing.T) {
	g := NewWithT(t)
	until := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	taken := mssql.BackupTaken{ID: "a", Database: "Content", Until: until, BulkLogged: true}
	log := setOf(backup.Log, taken)
	g.Expect(log).To(Equal(backup.Set{ID: "a", Kind: backup.Log, Database: "Content", Until: until, BulkLogged: true}))
	g.Expect(setOf(backup.Full, taken)).To(Equal(backup.Set{ID: "a", Kind: backup.Full, Database: "Content"}))
}
