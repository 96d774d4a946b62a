// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestUnnamedConstraintsAfterColumns: docs/t-sql/statements/alter-table-transact-sql.md, whose ADD takes columns and
// table constraints, with a name or without, in one list.
func TestUnnamedConstraintsAfterColumns(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE p (k int PRIMARY KEY); CREATE TABLE t (n int NOT NULL)", "ok"},
		{"ALTER TABLE t ADD x int, PRIMARY KEY (n)", "ok"},
		{
			"ALTER TABLE t WITH CHECK ADD y int NULL, CHECK (y > 0), UNIQUE NONCLUSTERED (x, y), FOREIGN KEY (y) REFERENCES " +
				"p (k), DEFAULT 7 FOR y, z int",
			"ok",
		},
		{
			"SELECT type, COUNT(*) FROM sys.objects WHERE parent_object_id = OBJECT_ID('t') GROUP BY type ORDER BY type",
			"C  1; D  1; F  1; PK 1; UQ 1",
		},
		{"INSERT t (n, x) VALUES (1, 1)", "!547"},
		{"INSERT t (n, x, y) VALUES (1, 1, 0)", "!547"},
		{"INSERT t (n, x, y) VALUES (1, 1, NULL), (1, 2, NULL)", "!2627/14/1/1"},
		{
			"ALTER TABLE t ADD w int CHECK NOT FOR REPLICATION (w > 1), CHECK NOT FOR REPLICATION ((w) < 9), CONSTRAINT " +
				"named CHECK NOT FOR REPLICATION (w > 2 AND (w < 8)), CHECK (w <> 5)",
			"ok",
		},
		{"ALTER TABLE t WITH NOCHECK ADD CONSTRAINT first CHECK NOT FOR REPLICATION (w > 3)", "ok"},
		{
			"SELECT definition, is_not_for_replication FROM sys.check_constraints WHERE definition LIKE '%w%' ORDER " +
				"BY definition",
			"([w]<(9)) true; ([w]<>(5)) false; ([w]>(1)) true; ([w]>(2) AND [w]<(8)) true; ([w]>(3)) true",
		},
		{"INSERT t (n, x, w) VALUES (5, 5, 9)", "!547"},
		{"CREATE PROCEDURE q @a int, @b int = 4 AS SELECT @a, @b", "ok"},
		{"ALTER TABLE t ADD v int EXEC q 1, DEFAULT", "1 4"},
	})
}

// TestDuplicateKeyIsNamed: the message of 2627 and 1505 has the key's values (docs/relational-databases/errors-events),
// also of one row among several. Looking for that row leaves none in the table, also where it does not collide once
// more.
func TestDuplicateKeyIsNamed(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	caught := func(statement string) string {
		return "BEGIN TRY " + statement +
			" END TRY BEGIN CATCH SELECT ERROR_NUMBER(), SUBSTRING(ERROR_MESSAGE(), CHARINDEX('The duplicate key value is', " +
			"ERROR_MESSAGE()), 100) END CATCH"
	}
	converse(t, db, []say{
		{
			"CREATE TABLE k (id int IDENTITY PRIMARY KEY, a int NOT NULL, b nvarchar(10) NULL, CONSTRAINT u UNIQUE (a, b)); " +
				"INSERT k (a, b) VALUES (1, N'x')",
			"ok",
		},
		{caught("INSERT k (a, b) VALUES (2, N'y'), (1, N'x'), (3, N'z')"), "2627 The duplicate key value is (1, x)."},
		{
			caught("WITH c AS (SELECT 9 AS a UNION ALL SELECT 9) INSERT k (a) SELECT a FROM c"),
			"2627 The duplicate key value is (9, <NULL>).",
		},
		{
			caught("DECLARE @n int = 5; INSERT k (a, b) OUTPUT inserted.id SELECT @n, N'q' UNION ALL SELECT @n, N'Q'"),
			"2627 The duplicate key value is (5, Q).",
		},
		{caught("INSERT k (a, b) EXEC ('SELECT 1, N''x''')"), "2627 The duplicate key value is (1, x)."},
		{"INSERT k (a, b) VALUES (1, N'y'); SELECT COUNT(*) FROM k", "2"},
		{"DBCC CHECKIDENT ('k', RESEED, 0)", "ok"},
		{
			"BEGIN TRANSACTION; BEGIN TRY INSERT k (a, b) VALUES (8, N'v'), (9, N'w') END TRY BEGIN CATCH SELECT " +
				"ERROR_NUMBER() END CATCH",
			"2627",
		},
		{"COMMIT; SELECT COUNT(*), MIN(id) FROM k", "2 1"},
		{
			"CREATE TABLE #c (n int PRIMARY KEY); DECLARE @i int = 0, @left int = 0; WHILE @i < 60 BEGIN DELETE #c; BEGIN " +
				"TRY INSERT #c SELECT ABS(CHECKSUM(NEWID()) % 2) FROM (VALUES (1), (2)) v (a) END TRY BEGIN CATCH SET @left += " +
				"(SELECT COUNT(*) FROM #c) END CATCH; SET @i += 1 END; SELECT @left",
			"0",
		},
		{"CREATE TABLE h (n int NULL, m int NULL); INSERT h VALUES (1, 1), (2, 2), (2, 2)", "ok"},
		{caught("CREATE UNIQUE INDEX ix ON h (n DESC, m)"), "1505 The duplicate key value is (2, 2)."},
		{caught("ALTER TABLE h ADD CONSTRAINT un UNIQUE (m)"), "1505 The duplicate key value is (2)."},
	})
}

// TestAttachedFiles: docs/t-sql/statements/create-database-transact-sql.md: NAME is required, except with FOR ATTACH,
// which needs a file.
func TestAttachedFiles(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE DATABASE attached ON (FILENAME = '/tmp/no such file.mdf') FOR ATTACH", "!5120/16"},
		{"CREATE DATABASE attached ON (NAME = a, FILENAME = '/tmp/no such file.mdf') FOR ATTACH_REBUILD_LOG", "!5120/16"},
		{"CREATE DATABASE attached FOR ATTACH", "!156/15"},
		{"CREATE DATABASE attached ON (FILENAME = '/tmp/attached.mdf')", "!1036/15"},
		{"CREATE DATABASE attached ON (NAME = a)", "!1036/15"},
		{"SELECT DB_ID('attached')", "NULL"},
	})
}

// TestAttachThatEndsEarly: an attention while FOR ATTACH waits for master leaves the files that it was to attach.
func TestAttachThatEndsEarly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	admin, db := i.open(t, ""), i.newDatabase(t, "source")
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1)")
	db.Close()
	var specs []string
	opened := "" // what a data file has beside it while it is open
	for _, row := range query(t, admin,
		"SELECT physical_name FROM sys.master_files WHERE database_id = DB_ID('source') ORDER BY file_id") {
		specs = append(specs, row[0].(string))
	}
	mustExec(t, admin, "ALTER DATABASE source SET OFFLINE WITH ROLLBACK IMMEDIATE")
	for n, path := range specs {
		from := strings.Replace(path, "/var/opt/mssql", i.root, 1)
		g.Expect(exec.Command("cp", "-r", from, from+".copy").Run()).To(Succeed())
		if specs[n] = path + ".copy"; n == 0 {
			opened = from + ".copy-wal"
		}
	}
	attach := fmt.Sprintf(
		"CREATE DATABASE attached ON (FILENAME = '%s') LOG ON (FILENAME = '%s') FOR ATTACH",
		specs[0],
		specs[1],
	)
	first := connection(t, admin)
	mustExec(t, first, "BEGIN TRANSACTION; CREATE TABLE held (a int)")
	ctx, attention := context.WithCancel(context.Background())
	defer attention()
	ended := make(chan error, 1)
	go func() {
		_, err := admin.ExecContext(ctx, attach)
		ended <- err
	}()
	g.Eventually(opened, patient, "10ms").Should(BeAnExistingFile())
	attention()
	g.Eventually(ended, patient).Should(Receive(HaveOccurred()))
	mustExec(t, first, "ROLLBACK")
	g.Eventually(func() error {
		_, err := tryQuery(admin, attach)
		return err
	}, patient, "50ms").Should(Succeed())
	g.Expect(value(t, admin, "SELECT a FROM attached.dbo.t")).To(BeEquivalentTo(1))
	mustExec(t, admin, "DROP DATABASE attached")
	for n, path := range specs {
		from := strings.Replace(strings.TrimSuffix(path, ".copy"), "/var/opt/mssql", i.root, 1)
		g.Expect(exec.Command("cp", "-r", from, from+".again").Run()).To(Succeed())
		specs[n] = strings.TrimSuffix(path, ".copy") + ".again"
	}
	mustExec(
		t,
		admin,
		fmt.Sprintf(
			"CREATE DATABASE attached ON (FILENAME = '%s') LOG ON (FILENAME = '%s') FOR ATTACH WITH RESTRICTED_USER",
			specs[0],
			specs[1],
		),
	)
	g.Expect(value(t, admin, "SELECT user_access_desc FROM sys.databases WHERE name = 'attached'")).
		To(Equal("RESTRICTED_USER"))
}
