// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestFilesStayBelowTheRoot: /var/opt/mssql in the names of a database's files is the server's own folder, wherever
// that is (docs/linux/sql-server-linux-migrate-restore-database.md restores with such names).
func TestFilesStayBelowTheRoot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.open(t, "master"))
	mustExec(
		t,
		db,
		"CREATE DATABASE placed ON (NAME = a, FILENAME = '/var/opt/mssql/data/placed_a.mdf') LOG ON (NAME = b, FILENAME = "+
			"'/var/opt/mssql/data/placed_b.ldf')",
	)
	g.Expect(filepath.Join(i.root, "data", "placed_a.mdf")).To(BeAnExistingFile())
	mustExec(t, db, "CREATE TABLE placed.dbo.t (a int); INSERT placed.dbo.t VALUES (1)")
	mustExec(t, db, "BACKUP DATABASE placed TO DISK = '/var/opt/mssql/data/placed.bak'")
	mustExec(
		t,
		db,
		"RESTORE DATABASE copy FROM DISK = '/var/opt/mssql/data/placed.bak' WITH MOVE 'a' TO "+
			"'/var/opt/mssql/data/copy.mdf', MOVE 'b' TO '/var/opt/mssql/data/copy.ldf'",
	)
	g.Expect(filepath.Join(i.root, "data", "copy.mdf")).To(BeAnExistingFile())
	g.Expect(query(t, db,
		"SELECT physical_name FROM sys.master_files WHERE database_id = DB_ID('copy') ORDER BY file_id")).
		To(Equal([][]any{{"/var/opt/mssql/data/copy.mdf"}, {"/var/opt/mssql/data/copy.ldf"}}))
	mustExec(
		t,
		db,
		"RESTORE DATABASE copy FROM DISK = '/var/opt/mssql/data/placed.bak' WITH REPLACE, MOVE 'a' TO "+
			"'/var/opt/mssql/data/copy.mdf', MOVE 'b' TO '/var/opt/mssql/data/copy.ldf'",
	)
	i.stop(t)
	g.Expect(i.launch()).To(Succeed())
	again := connection(t, i.open(t, "master"))
	g.Expect(query(t, again, "SELECT a FROM copy.dbo.t UNION ALL SELECT a FROM placed.dbo.t")).To(HaveLen(2))
	mustExec(t, again, "DROP DATABASE copy")
	g.Expect(filepath.Join(i.root, "data", "copy.mdf")).NotTo(BeAnExistingFile())
}
