// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// Procedures of one's own follow a change of the schema: a registered procedure scripts them each time, a registered
// file runs once. By
// docs/relational-databases/replication/transactional/transactional-articles-regenerate-to-reflect-schema-changes.md.
func TestCustomScriptsOfSchemaChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	mustExec(t, r.source, `CREATE PROCEDURE dbo.script_delete @artid int AS
SELECT N'CREATE OR ALTER PROCEDURE dbo.sp_MSdel_dboorders @pkc1 int AS' UNION ALL SELECT N'UPDATE dbo.orders SET customer = CONCAT(N''deleted by '', ' + CAST(@artid AS nvarchar(10)) + N') WHERE id = @pkc1'`)
	mustExec(
		t,
		r.source,
		`EXEC sp_register_custom_scripting @type = 'delete', @value = N'script_delete', @publication = N'web', @article = N'orders'`,
	)
	file := filepath.Join(t.TempDir(), "once.sql")
	g.Expect(os.WriteFile(file, []byte("CREATE TABLE dbo.once (id int NOT NULL)\nGO\nINSERT INTO dbo.once VALUES (1)\n"),
		0o600)).
		To(Succeed())
	mustExec(
		t,
		r.source,
		`EXEC sp_register_custom_scripting @type = 'custom_script', @value = @p1, @publication = N'web', @article = N'orders'`,
		file,
	)

	g.Expect(query(t, r.source,
		`SELECT OBJECT_NAME(del_scripting_proc), ins_scripting_proc, upd_scripting_proc, custom_script FROM dbo.sysarticles WHERE name = N'orders'`)).
		To(Equal([][]any{{"script_delete", nil, nil, file}}))
	mustExec(t, r.source, `ALTER TABLE dbo.orders ADD note nvarchar(20) NULL`)
	mustExec(t, r.source, `ALTER TABLE dbo.orders ADD remark nvarchar(20) NULL`)
	mustExec(t, r.source, `UPDATE dbo.orders SET note = N'noted', remark = N'remarked'`)
	r.bothSame(t)
	g.Expect(query(t, r.target, `SELECT id FROM dbo.once`)).To(Equal([][]any{{int64(1)}}))
	mustExec(t, r.source, `DELETE FROM dbo.orders WHERE id = 2`)
	g.Eventually(func() any { return scalar(r.target, `SELECT customer FROM dbo.orders WHERE id = 2`) }).
		WithTimeout(deliverWithin).
		Should(Equal("deleted by 1"))

	mustExec(
		t,
		r.source,
		`EXEC sp_unregister_custom_scripting @type = 'delete', @publication = N'web', @article = N'orders'`,
	)
	mustExec(t, r.source, `ALTER TABLE dbo.orders DROP COLUMN remark`)
	mustExec(t, r.source, `DELETE FROM dbo.orders WHERE id = 1`)
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id = 1`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(0))
	g.Expect(failure(t, r.source, `EXEC sp_register_custom_scripting @type = 'truncate', @value = N'x'`).Number).
		To(BeEquivalentTo(15600))
	g.Expect(failure(t, r.source,
		`EXEC sp_register_custom_scripting @type = 'insert', @value = N'missing', @publication = N'web'`).Number).
		To(BeEquivalentTo(14027))
	g.Expect(failure(t, r.source,
		`EXEC sp_register_custom_scripting @type = 'insert', @value = N'x', @publication = N'nothing'`).Number).
		To(BeEquivalentTo(20026))
}

// What an owner of a database registers, and its triggers, run with the rights of whoever changes a published table,
// not with the server's, whatever procedure the change comes from; and a registered file waits for a change that its
// subscribers get.
func TestCustomScriptsHaveTheRightsOfTheirCaller(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	mustExec(t, r.pubDB, `CREATE LOGIN owner1 WITH PASSWORD = N'Own3r-of-it'`)
	mustExec(
		t,
		r.source,
		`CREATE USER owner1 FOR LOGIN owner1; ALTER ROLE db_owner ADD MEMBER owner1; CREATE TABLE dbo.ran (login sysname, administrator int)`,
	)
	mustExec(t, r.source, `CREATE PROCEDURE dbo.script_delete @artid int AS
INSERT INTO dbo.ran VALUES (SUSER_SNAME(), IS_SRVROLEMEMBER(N'sysadmin'))
SELECT N'CREATE OR ALTER PROCEDURE dbo.sp_MSdel_dboorders @pkc1 int AS' UNION ALL SELECT NULL UNION ALL SELECT N'DELETE FROM dbo.orders WHERE id = @pkc1'`)
	const alter = `EXECUTE AS LOGIN = N'owner1'; EXEC sp_register_custom_scripting @type = 'delete', @value = N'script_delete', @publication = N'web', @article = N'orders'; ALTER TABLE dbo.orders ADD note nvarchar(20) NULL; REVERT`
	mustExec(t, r.source, alter)
	mustExec(
		t,
		r.source,
		`CREATE TRIGGER watched ON DATABASE FOR ALTER_TABLE AS INSERT INTO dbo.ran VALUES (SUSER_SNAME(), IS_SRVROLEMEMBER(N'sysadmin'))`,
	)
	mustExec(
		t,
		r.source,
		`EXECUTE AS LOGIN = N'owner1'; EXEC sp_repladdcolumn @source_object = N'orders', @column = N'more', @typetext = N'int NULL'; REVERT`,
	)
	g.Expect(query(t, r.source, `SELECT login, administrator, COUNT(*) FROM dbo.ran GROUP BY login, administrator`)).
		To(Equal([][]any{{"owner1", int64(0), int64(3)}}))
	mustExec(t, r.source, `DROP TRIGGER watched ON DATABASE`)
	mustExec(t, r.source, `DELETE FROM dbo.orders WHERE id = 2`)
	r.bothSame(t)

	file := filepath.Join(t.TempDir(), "once.sql")
	g.Expect(os.WriteFile(file, []byte("CREATE TABLE dbo.once (id int NOT NULL)"), 0o600)).To(Succeed())
	mustExec(
		t,
		r.source,
		`EXEC sp_register_custom_scripting @type = 'custom_script', @value = @p1, @publication = N'web', @article = N'orders'`,
		file,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_changepublication @publication = N'web', @property = N'replicate_ddl', @value = N'0'; ALTER TABLE dbo.orders ADD here_only int NULL`,
	)
	g.Expect(value(t, r.source, `SELECT custom_script FROM dbo.sysarticles WHERE name = N'orders'`)).To(Equal(file))
	mustExec(
		t,
		r.source,
		`EXEC sp_changepublication @publication = N'web', @property = N'replicate_ddl', @value = N'1'; ALTER TABLE dbo.orders ADD remark nvarchar(20) NULL`,
	)
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.once`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(0))
}
