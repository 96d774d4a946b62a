// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// TestRecoveryPaths: docs/relational-databases/backup-restore/recovery-paths-sql-server.md. A restore that is recovered
// at an earlier point begins a path, and backups of the two paths do not go together (4330); log of the same path has
// to go on where the database is (4305, 4326).
func TestRecoveryPaths(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	restore := func(set int, what, option string) string {
		return fmt.Sprintf("RESTORE %s works FROM DISK = 'works.bak' WITH FILE = %d, %s", what, set, option)
	}
	rows := "SELECT a FROM works.dbo.t ORDER BY a"
	converse(t, db, []say{
		{"BACKUP DATABASE works TO DISK = 'works.bak'", "ok"},
		{"INSERT works.dbo.t VALUES (2); BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		{"INSERT works.dbo.t VALUES (3); BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		// The second path.
		{restore(1, "DATABASE", "REPLACE, NORECOVERY"), "ok"},
		{restore(2, "LOG", "RECOVERY"), "ok"},
		{"INSERT works.dbo.t VALUES (30); BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		{"INSERT works.dbo.t VALUES (40); BACKUP DATABASE works TO DISK = 'works.bak' WITH DIFFERENTIAL", "ok"},
		{"BACKUP LOG works TO DISK = 'works.bak'", "ok"},
		// Backups of the second on the first.
		{restore(1, "DATABASE", "REPLACE, NORECOVERY"), "ok"},
		{restore(2, "LOG", "NORECOVERY"), "ok"},
		{restore(3, "LOG", "NORECOVERY"), "ok"},
		{restore(4, "LOG", "NORECOVERY"), "!4330/16/1"},
		{restore(6, "LOG", "NORECOVERY"), "!4330/16/1"},
		{restore(5, "DATABASE", "NORECOVERY"), "!4330/16/1"},
		{restore(2, "LOG", "NORECOVERY"), "!4326/16/1"},
		{"RESTORE DATABASE works WITH RECOVERY", "ok"},
		{rows, "1; 2; 3"},
		// Those of the first on the second.
		{restore(1, "DATABASE", "REPLACE, NORECOVERY"), "ok"},
		{restore(4, "LOG", "NORECOVERY"), "!4305/16/1"},
		{restore(2, "LOG", "NORECOVERY"), "ok"},
		{restore(4, "LOG", "NORECOVERY"), "ok"},
		{restore(3, "LOG", "NORECOVERY"), "!4330/16/1"},
		{restore(6, "LOG", "RECOVERY"), "ok"},
		{rows, "1; 2; 30; 40"},
		// The differential backup leads to the second as well.
		{restore(1, "DATABASE", "REPLACE, NORECOVERY"), "ok"},
		{restore(6, "LOG", "NORECOVERY"), "!4305/16/1"},
		{restore(5, "DATABASE", "NORECOVERY"), "ok"},
		{restore(2, "LOG", "NORECOVERY"), "!4326/16/1"},
		{restore(3, "LOG", "NORECOVERY"), "!4330/16/1"},
		{restore(6, "LOG", "NORECOVERY"), "ok"},
	})
	headers := query(t, db, "RESTORE HEADERONLY FROM DISK = 'works.bak'")
	lsn := func(set, column int) string { return fmt.Sprint(headers[set-1][column]) }
	const first, last = 13, 14
	early := failure(t, db, restore(4, "LOG", "NORECOVERY")).Message
	g.Expect(early).To(ContainSubstring("terminates at LSN " + lsn(4, last) + ", which is too early"))
	g.Expect(early).To(ContainSubstring("includes LSN " + lsn(6, last) + " "))
	mustExec(t, db, restore(1, "DATABASE", "REPLACE, NORECOVERY"))
	recent := failure(t, db, restore(4, "LOG", "NORECOVERY")).Message
	g.Expect(recent).To(ContainSubstring("begins at LSN " + lsn(4, first) + ", which is too recent"))
	g.Expect(recent).To(ContainSubstring("includes LSN " + lsn(1, last) + " "))
}
