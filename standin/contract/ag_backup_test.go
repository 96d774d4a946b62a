// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// severe are the numbers of the errors, messages left out.
func severe(err error) (all []int32) {
	var e mssql.Error
	if errors.As(err, &e) {
		for _, one := range e.All {
			if one.Class > 10 {
				all = append(all, one.Number)
			}
		}
	}
	return all
}

// TestBackupsAtASecondary: of a secondary database full backups are taken that are copy-only, and regular backups of
// the log, no others: not full and differential ones, nor copies of its log (3059). By
// docs/database-engine/availability-groups/windows/active-secondaries-backup-on-secondary-replicas-always-on-availability-groups.md.
func TestBackupsAtASecondary(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	secondary := c.admins[1]
	for text, number := range map[string]int32{
		`BACKUP DATABASE [app] TO DISK = N'second.bak'`:                   3059,
		`BACKUP DATABASE [app] TO DISK = N'second.bak' WITH DIFFERENTIAL`: 3059,
		`BACKUP LOG [app] TO DISK = N'second.trn' WITH COPY_ONLY`:         3059,
		`BACKUP LOG [app] TO DISK = N'second.trn' WITH NORECOVERY`:        3059,
	} {
		_, err := secondary.ExecContext(t.Context(), text)
		g.Expect(severe(err)).To(Equal([]int32{number, 3013}), text)
	}
	mustExec(t, secondary, `BACKUP DATABASE [app] TO DISK = N'second.bak' WITH COPY_ONLY`)
	mustExec(t, secondary, `BACKUP LOG [app] TO DISK = N'second.trn'`)
	g.Expect(query(t, secondary, `SELECT type, is_copy_only FROM msdb.dbo.backupset WHERE database_name = N'app'`)).
		To(Equal([][]any{{"D", true}, {"L", false}}))
	for _, text := range []string{`BACKUP DATABASE [app] TO DISK = N'first.bak'`,
		`BACKUP DATABASE [app] TO DISK = N'first.bak' WITH DIFFERENTIAL`,
		`BACKUP LOG [app] TO DISK = N'first.trn' WITH COPY_ONLY`, `BACKUP LOG [app] TO DISK = N'first.trn'`} {
		mustExec(t, c.admins[0], text)
	}
}
