// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"
)

// columnsOf are the columns of a table of a database.
func columnsOf(db *sql.DB, table string) func() any {
	return func() any {
		return scalar(
			db,
			`SELECT STRING_AGG(c.name + N' ' + TYPE_NAME(c.user_type_id) + CASE c.is_nullable WHEN 1 THEN N' null' ELSE N'' END, N', ') WITHIN GROUP (ORDER BY c.column_id)
			FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(@p1)`,
			table,
		)
	}
}

// Changes of a published table's schema arrive in order with the data, whatever the log reader has still to read.
func TestSchemaChangesAreReplicated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)

	// The log reader gets all of it only when the table has become another one.
	release := r.blockDistribution(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (10, N'old', 1, NULL, NULL)`)
	mustExec(t, r.source, `UPDATE dbo.orders SET customer = N'older' WHERE id = 10`)
	mustExec(
		t,
		r.source,
		`ALTER TABLE dbo.orders ADD note nvarchar(20) NULL CONSTRAINT DF_note DEFAULT N'noted' WITH VALUES, weight int NOT NULL CONSTRAINT DF_weight DEFAULT 7`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer, note) VALUES (11, N'new', N'x')`)
	mustExec(t, r.source, `UPDATE dbo.orders SET weight = 8 WHERE id = 1`)
	mustExec(t, r.source, `ALTER TABLE dbo.orders DROP COLUMN placed`)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (12, N'newer')`)
	mustExec(t, r.source, `ALTER TABLE orders ALTER COLUMN customer nvarchar(80) NOT NULL`)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (13, REPLICATE(N'w', 80))`)
	mustExec(t, r.source, `DELETE FROM dbo.orders WHERE id = 2`)
	mustExec(t, r.source, `ALTER TABLE dbo.pictures ADD caption nvarchar(30) NULL`)
	mustExec(t, r.source, `INSERT INTO dbo.pictures VALUES ('c', 3, NULL, N'third')`)
	// Before and after the change in one transaction.
	mustExec(t, r.source, `BEGIN TRANSACTION; INSERT INTO dbo.orders (id, customer) VALUES (14, N'before');
		EXEC (N'ALTER TABLE dbo.orders ADD extra int NOT NULL CONSTRAINT DF_extra DEFAULT 5'); EXEC (N'UPDATE dbo.orders SET extra = id WHERE id > 10; DELETE FROM dbo.orders WHERE id = 12');
		EXEC (N'ALTER TABLE dbo.orders ADD CONSTRAINT CK_extra CHECK (extra > 0); INSERT INTO dbo.orders (id, customer, extra) VALUES (15, N''after'', 9)'); COMMIT TRANSACTION`)
	release()
	g.Eventually(columnsOf(r.target, "dbo.orders")).
		WithTimeout(deliverWithin).
		Should(Equal(columnsOf(r.source, "dbo.orders")()))
	r.bothSame(t)
	g.Expect(failure(t, r.target, `INSERT INTO dbo.orders (id, customer, extra) VALUES (99, N'x', 0)`).Number).
		To(Equal(int32(547)), "the constraint came, too")
	g.Eventually(func() any { return scalar(r.source, `SELECT COUNT(*) FROM dbo.MSreplarticleversions`) }, patient).
		Should(Not(BeNil()))

	// What is rolled back has not happened.
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; INSERT INTO dbo.orders (id, customer) VALUES (20, N'stays'); SAVE TRANSACTION s; EXEC (N'ALTER TABLE dbo.orders ADD never int NULL'); ROLLBACK TRANSACTION s; COMMIT TRANSACTION`,
	)
	mustExec(t, r.source, `BEGIN TRANSACTION; EXEC (N'ALTER TABLE dbo.orders ADD never int NULL'); ROLLBACK TRANSACTION`)
	mustExec(t, r.source, `BEGIN TRY BEGIN TRANSACTION; INSERT INTO dbo.orders (id, customer) VALUES (21, N'stays, too');
		EXEC (N'ALTER TABLE dbo.orders ADD never int IDENTITY NOT NULL'); END TRY BEGIN CATCH COMMIT TRANSACTION; END CATCH`)
	r.bothSame(t)
	g.Expect(scalar(r.source, `SELECT COUNT(*) FROM dbo.orders WHERE id IN (20, 21)`)).To(BeEquivalentTo(2))

	// What stays refused.
	for _, c := range []struct {
		number int32
		text   string
	}{
		{4929, `ALTER TABLE dbo.pictures DROP CONSTRAINT PK_pictures`}, {5074, `ALTER TABLE dbo.pictures DROP COLUMN code`},
		{4711, `TRUNCATE TABLE dbo.orders`}, {3724, `DROP TABLE dbo.orders`},
		{21810, `ALTER TABLE dbo.pictures ADD n int IDENTITY(1,1)`}, {21380, `ALTER TABLE dbo.orders ADD v rowversion`},
		{21541, `ALTER TABLE dbo.orders DISABLE TRIGGER ALL`}, {21867, `ALTER TABLE dbo.orders SWITCH TO dbo.elsewhere`},
		{4924, `ALTER TABLE dbo.orders DROP COLUMN nothing`},
		{21246, `EXEC sp_repladdcolumn @source_object = N'dbo.keyless', @column = N'x', @typetext = N'int NULL'`},
		{21255, `EXEC sp_repladdcolumn @source_object = N'dbo.orders', @column = N'note', @typetext = N'int NULL'`},
		{21264, `EXEC sp_repldropcolumn @source_object = N'dbo.orders', @column = N'id'`},
	} {
		g.Expect(failure(t, r.source, c.text).Number).To(Equal(c.number), c.text)
	}

	// The procedures from before there was ALTER TABLE for it.
	mustExec(t, r.source, `EXEC sp_repladdcolumn N'dbo.orders', N'added', N'int NULL', N'web'`)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer, added) VALUES (30, N'added', 1)`)
	r.bothSame(t)
	mustExec(t, r.source, `EXEC sp_repldropcolumn N'dbo.orders', N'added'`)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (31, N'dropped')`)
	r.bothSame(t)

	// Without replication of schema changes a new column is the publisher's own, and published ones stay.
	mustExec(t, r.source, `EXEC sp_changepublication @publication = N'web', @property = N'replicate_ddl', @value = N'0'`)
	mustExec(t, r.source, `ALTER TABLE dbo.orders ADD own int NULL`)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer, own) VALUES (40, N'own', 1)`)
	for _, text := range []string{`ALTER TABLE dbo.orders DROP COLUMN amount`,
		`ALTER TABLE dbo.orders ALTER COLUMN amount decimal(12,2) NULL`} {
		g.Expect(failure(t, r.source, text).Number).To(Equal(int32(4928)), text)
	}
	r.same(t, "dbo.orders", "id, customer, amount, guid, note, weight, extra", "id")
	mustExec(t, r.source, `ALTER TABLE dbo.orders DROP COLUMN own`)

	// A new snapshot has the table as it is.
	mustExec(t, r.source, `EXEC sp_changepublication @publication = N'web', @property = N'replicate_ddl', @value = N'1'`)
	mustExec(t, r.source, `EXEC sp_reinitsubscription @publication = N'web', @subscriber = N'SUB'`)
	r.snapshot(t)
	mustExec(
		t,
		r.source,
		`ALTER TABLE dbo.orders ADD last int NULL; INSERT INTO dbo.orders (id, customer) VALUES (50, N'last')`,
	)
	r.bothSame(t)
}

// An article with some of the columns gets what is changed of those, and a filter keeps the columns that it names.
func TestSchemaChangesOfFilteredArticle(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.parts (id int NOT NULL PRIMARY KEY, site nvarchar(10) NOT NULL, note nvarchar(20) NULL, secret nvarchar(20) NULL)`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.parts VALUES (1, N'dublin', N'a', N'x'), (2, N'quincy', N'b', N'y')`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'parts', @source_owner = N'dbo', @source_object = N'parts', @destination_table = N'pieces', @vertical_partition = N'true'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_articlecolumn @publication = N'web', @article = N'parts', @column = N'secret', @operation = N'drop'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_articlefilter @publication = N'web', @article = N'parts', @filter_name = N'f', @filter_clause = N'site = N''dublin'''`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_articleview @publication = N'web', @article = N'parts', @view_name = N'v_parts', @filter_clause = N'site = N''dublin'''`,
	)
	r.pull(t)
	r.snapshot(t)
	have := func() any {
		rows, err := tryQuery(r.target, `SELECT * FROM dbo.pieces ORDER BY id`)
		if err != nil {
			return err
		}
		return rows
	}
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(1), "a"}}))
	g.Expect(failure(t, r.source, `ALTER TABLE dbo.parts DROP COLUMN site`).Number).To(Equal(int32(14090)))
	g.Expect(failure(t, r.source, `ALTER TABLE dbo.parts DROP COLUMN note, secret`).Number).To(Equal(int32(21546)))
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.several (a int NULL, b int NULL, c int NULL, d int NULL, CONSTRAINT CK_several CHECK (a > 0)); ALTER TABLE dbo.several DROP COLUMN b, c, CONSTRAINT CK_several, COLUMN d`,
	)
	g.Expect(columnsOf(r.source, "dbo.several")()).To(Equal("a int null"))
	mustExec(t, r.source, `ALTER TABLE dbo.parts ALTER COLUMN secret nvarchar(40) NULL`)
	mustExec(t, r.source, `ALTER TABLE dbo.parts DROP COLUMN secret`)
	mustExec(t, r.source, `ALTER TABLE dbo.parts ADD price int NULL`)
	mustExec(t, r.source, `INSERT INTO dbo.parts VALUES (3, N'dublin', N'c', 30), (4, N'quincy', N'd', 40)`)
	mustExec(t, r.source, `ALTER TABLE dbo.parts DROP COLUMN note; UPDATE dbo.parts SET price = 10 WHERE id = 1`)
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(1), int64(10)}, {int64(3), int64(30)}}))
	g.Expect(query(t, r.source, `SELECT * FROM dbo.v_parts ORDER BY id`)).
		To(Equal([][]any{{int64(1), int64(10)}, {int64(3), int64(30)}}))
}
