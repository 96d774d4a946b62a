// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// What schema_option asks for is at the subscriber: rowversion columns of its own, filtered indexes, extended
// properties; and what snapshots do not bring is refused where a table has it.
func TestSchemaOptionsOfArticles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.versioned (id int NOT NULL PRIMARY KEY, v rowversion NOT NULL, n int NULL, s nvarchar(20) NULL, twice AS n * 2, longer AS UPPER(s) + N'!' PERSISTED)`,
	)
	mustExec(t, r.source, `CREATE UNIQUE INDEX UX_versioned ON dbo.versioned (n) WHERE n > 5`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addextendedproperty @name = N'purpose', @value = N'it''s a test', @level0type = N'SCHEMA', @level0name = N'dbo', @level1type = N'TABLE', @level1name = N'versioned'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addextendedproperty @name = N'unit', @value = N'pieces', @level0type = N'SCHEMA', @level0name = N'dbo', @level1type = N'TABLE', @level1name = N'versioned', @level2type = N'COLUMN', @level2name = N'n'`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.versioned (id, n, s) VALUES (1, 1, N'a'), (2, 1, N'b'), (3, 7, N'c')`)
	mustExec(t, r.source, `CREATE TABLE dbo.triggered (id int NOT NULL PRIMARY KEY)`)
	mustExec(t, r.source, `CREATE TRIGGER dbo.nothing ON dbo.triggered AFTER INSERT AS RETURN`)
	for _, option := range []string{"orders', @schema_option = 0x0000000200000003",
		"pictures', @schema_option = 0x0000000020000003", "triggered', @schema_option = 0x0000000000000103"} {
		g.Expect(failure(t, r.source,
			`EXEC sp_addarticle @publication = N'web', @article = N'x', @source_owner = N'dbo', @source_object = N'`+option).Number).
			To(BeEquivalentTo(21023), option)
	}
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'versioned', @source_owner = N'dbo', @source_object = N'versioned', @schema_option = 0x00000040000020DB`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_articleview @publication = N'web', @article = N'versioned', @view_name = N'v_versioned'`,
	)
	r.push(t)
	r.snapshot(t)
	r.same(t, "dbo.versioned", "id, n, s, twice, longer", "id")
	g.Expect(query(t, r.target, `SELECT name, is_persisted FROM sys.computed_columns ORDER BY name`)).
		To(Equal([][]any{{"longer", true}, {"twice", false}}))
	g.Expect(query(t, r.target,
		`SELECT TYPE_NAME(system_type_id) FROM sys.columns WHERE object_id = OBJECT_ID(N'dbo.versioned') AND is_computed = 0 ORDER BY column_id`)).
		To(Equal([][]any{{"int"}, {"timestamp"}, {"int"}, {"nvarchar"}}))
	const index = `SELECT is_unique, filter_definition FROM sys.indexes WHERE name = N'UX_versioned'`
	g.Expect(query(t, r.target, index)).To(Equal(query(t, r.source, index)))
	g.Expect(query(t, r.target,
		`SELECT name, CAST(value AS nvarchar(20)), minor_id FROM sys.extended_properties WHERE major_id = OBJECT_ID(N'dbo.versioned') ORDER BY minor_id`)).
		To(Equal([][]any{{"purpose", "it's a test", int64(0)}, {"unit", "pieces", int64(3)}}))
	before := value(t, r.target, `SELECT v FROM dbo.versioned WHERE id = 1`)
	mustExec(
		t,
		r.source,
		`UPDATE dbo.versioned SET n = 2 WHERE id = 1; DELETE FROM dbo.versioned WHERE id = 2; INSERT INTO dbo.versioned (id, n, s) VALUES (4, 9, N'd')`,
	)
	r.same(t, "dbo.versioned", "id, n, s, twice, longer", "id")
	g.Expect(value(t, r.target, `SELECT v FROM dbo.versioned WHERE id = 1`)).NotTo(Equal(before))
	g.Expect(query(t, r.source,
		`SELECT v.name FROM dbo.sysarticles AS a JOIN sys.views AS v ON v.object_id = a.sync_objid`)).
		To(Equal([][]any{{"v_versioned"}}))
}
