// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// What a header means for chains.
func TestHeaders(t *testing.T) {
	g := NewWithT(t)
	for kind, means := range map[int]backup.Kind{0: "", 1: backup.Full, 2: backup.Log, 4: "", 5: backup.Differential,
		6: "", 7: "", 8: ""} {
		g.Expect(headerOf(mssql.BackupHeader{Type: kind}).Kind).To(Equal(means))
	}
	offset := -7 * time.Hour
	h := headerOf(mssql.BackupHeader{Type: 2, Position: 3, Major: 16, Minor: 0, Build: 4000, Until: noon, Damaged: true,
		ClockOffset: &offset, Encryptor: "AA", BulkLogged: true, Stored: 12, Bytes: 50})
	g.Expect(h.Until).To(Equal(noon))
	g.Expect(*h.ClockOffset).To(Equal(-420))
	g.Expect(h).To(And(HaveField("Build", "16.0.4000"), HaveField("Faulty", true), HaveField("BulkLogged", true),
		HaveField("Bytes", int64(12)), HaveField("Position", 3)))
	filesOf(&h, []mssql.BackupFileEntry{
		{DatabaseFile: mssql.DatabaseFile{Name: "data", Bytes: 5}, Encryptor: "0BAD"},
		{DatabaseFile: mssql.DatabaseFile{Name: "log", Log: true}, Encryptor: "0BAD"}})
	g.Expect(h.Thumbprints).To(Equal([]string{"AA", "0BAD"}))
	g.Expect(h.DatabaseFiles).To(Equal([]backup.DatabaseFile{{Name: "data", Bytes: 5}, {Name: "log", Log: true}}))
	g.Expect(headerOf(mssql.BackupHeader{Type: 1, Until: noon}).Until.IsZero()).To(BeTrue(), "a full one has an end alone")
}
