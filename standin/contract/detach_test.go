// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestDetachAndAttach: a database goes with sp_detach_db, its files stay, and sp_attach_db and FOR ATTACH take them
// with all that is in them (docs/relational-databases/system-stored-procedures/sp-detach-db-transact-sql.md,
// sp-attach-db-transact-sql.md).
func TestDetachAndAttach(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "moved"))
	mustExec(t, db, "CREATE TABLE t (a int NOT NULL PRIMARY KEY); INSERT t VALUES (1), (2)")
	var files []any
	for _, row := range query(t, db, "SELECT physical_name FROM sys.database_files ORDER BY file_id") {
		files = append(files, row[0])
	}
	g.Expect(files).To(HaveLen(2))
	admin := connection(t, i.open(t, "master"))
	g.Expect(failure(t, admin, "EXEC sp_detach_db 'moved', 'true'").Number).To(BeEquivalentTo(3703), "a session is in it")
	mustExec(t, db, "USE master")
	converse(t, admin, []say{
		{"EXEC sp_detach_db 'nope'", "!15010/16"},
		{"EXEC sp_detach_db 'msdb'", "!7940/16"},
		{"BEGIN TRANSACTION; EXEC sp_detach_db 'moved'", "!15002/16"},
		{"WHILE @@TRANCOUNT > 0 ROLLBACK", "ok"},
		{"ALTER DATABASE moved SET SINGLE_USER", "ok"},
		{"EXEC sp_detach_db @dbname = 'moved', @keepfulltextindexfile = 'true'", "ok"},
		{"SELECT DB_ID('moved')", "NULL"},
	})
	g.Expect(failure(t, admin, "CREATE DATABASE [moved]").Number).To(BeEquivalentTo(5170), "its files are there")
	mustExec(t, admin, "EXEC sp_attach_db @dbname = N'again', @filename1 = @p1, @filename2 = @p2", files...)
	g.Expect(query(t, admin, "SELECT a FROM again.dbo.t ORDER BY a")).To(Equal([][]any{{int64(1)}, {int64(2)}}))
	mustExec(t, admin, "EXEC sp_detach_db 'again'")
	mustExec(t, admin, "EXEC sp_attach_single_file_db @dbname = N'again', @physname = @p1", files[0])
	mustExec(t, admin, "INSERT again.dbo.t VALUES (3)")
	i.stop(t)
	g.Expect(i.launch()).To(Succeed())
	g.Expect(value(t, i.open(t, "again"), "SELECT COUNT(*) FROM t")).To(BeEquivalentTo(3))
}
