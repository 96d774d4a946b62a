// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// publishModules publishes a view, two functions and a procedure before the table that they are made of, so that their
// order at the subscriber is not that of the articles. The procedure has another name and schema there.
func (r *replication) publishModules(t *testing.T) {
	t.Helper()
	for _, text := range []string{
		`CREATE SCHEMA report`,
		`CREATE FUNCTION dbo.net(@amount decimal(10,2)) RETURNS decimal(10,2) AS BEGIN RETURN @amount * 0.5 END`,
		`CREATE VIEW report.[net orders] AS SELECT o.id, dbo.net(o.amount) AS net FROM dbo.orders AS o`,
		`CREATE FUNCTION report.above(@least decimal(10,2)) RETURNS TABLE AS RETURN (SELECT v.id FROM report.[net orders] AS v WHERE v.net >= @least)`,
		`-- Raises all amounts.
CREATE OR ALTER PROCEDURE [report].[raise all] @by decimal(10,2) AS UPDATE dbo.orders SET amount = amount + @by`,
	} {
		mustExec(t, r.source, text)
	}
	mustExec(t, r.source, `EXEC sp_droparticle @publication = N'web', @article = N'orders'`)
	for _, text := range []string{
		`EXEC sp_addarticle @publication = N'web', @article = N'above', @source_owner = N'report', @source_object = N'above', @type = N'func schema only', @schema_option = 0x08000001`,
		`EXEC sp_addarticle @publication = N'web', @article = N'net orders', @source_owner = N'report', @source_object = N'net orders', @type = N'view schema only', @description = N'', @creation_script = N'',
			@pre_creation_cmd = N'drop', @schema_option = 0x0000000008000001, @destination_table = N'net orders', @destination_owner = N'report', @status = 16`,
		`EXEC sp_addarticle @publication = N'web', @article = N'raise', @source_owner = N'report', @source_object = N'raise all', @type = N'proc schema only', @destination_table = N'raise everything', @destination_owner = N'dbo'`,
		`EXEC sp_addarticle @publication = N'web', @article = N'net', @source_owner = N'dbo', @source_object = N'net', @type = N'func schema only', @pre_creation_cmd = N'none'`,
		`EXEC sp_addarticle @publication = N'web', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'`,
	} {
		mustExec(t, r.source, text)
	}
}

// Views, procedures and functions are published by their definitions: the snapshot makes them in the order in which
// they need each other, and ALTER follows in the order of commits. By
// docs/relational-databases/replication/publish/publish-data-and-database-objects.md and
// make-schema-changes-on-publication-databases.md.
func TestDefinitionsArePublished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.publishModules(t)
	g.Expect(query(t, r.source,
		`SELECT name, type, status, CAST(schema_option AS bigint) FROM dbo.sysarticles WHERE type <> 1 ORDER BY name`)).
		To(Equal([][]any{
			{
				"above",
				int64(128),
				int64(16),
				int64(0x08000001),
			}, {"net", int64(128), int64(16), int64(1)}, {"net orders", int64(64), int64(16), int64(0x08000001)},
			{"raise", int64(32), int64(16), int64(1)}}))
	g.Expect(query(t, r.source,
		`SELECT s.name, s.dest_object, s.type FROM dbo.sysschemaarticles AS s WHERE s.pre_creation_cmd = 0`)).
		To(Equal([][]any{{"net", "net", int64(128)}}))
	g.Expect(query(t, r.source,
		`SELECT COUNT(*), SUM(CASE WHEN type = 1 THEN 1 ELSE 0 END) FROM dbo.sysextendedarticlesview`)).
		To(Equal([][]any{{int64(6), int64(2)}}))
	g.Expect(query(t, r.source, `SELECT name FROM sys.objects WHERE is_schema_published = 1 ORDER BY name`)).
		To(Equal([][]any{{"above"}, {"net"}, {"net orders"}, {"raise all"}}))
	// What a subscriber has already and is not to be dropped stays.
	r.push(t)
	mustExec(
		t,
		r.target,
		`CREATE FUNCTION dbo.net(@amount decimal(10,2)) RETURNS decimal(10,2) AS BEGIN RETURN @amount * 0.25 END`,
	)
	mustExec(t, r.target, `CREATE SCHEMA report`)
	mustExec(t, r.target, `CREATE PROCEDURE dbo.[raise everything] AS THROW 50000, N'to be replaced', 1`)
	r.snapshot(t)
	r.bothSame(t)
	g.Eventually(func() any {
		return scalar(r.target, `SELECT CAST(net AS varchar(20)) FROM report.[net orders] WHERE id = 1`)
	}).WithTimeout(deliverWithin).Should(Equal("3.13"))
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM report.above(3)`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(1))
	g.Eventually(func() error {
		_, err := r.target.Exec(`BEGIN TRANSACTION; EXEC dbo.[raise everything] 1; ROLLBACK TRANSACTION`)
		return err
	}).WithTimeout(deliverWithin).Should(Succeed())

	// In one transaction: rows that the old view shows, the view, rows that the new one shows.
	mustExec(t, r.source, `BEGIN TRANSACTION;
		INSERT INTO dbo.orders VALUES (10, N'before', 10, NULL, NULL);
		EXEC (N'ALTER VIEW report.[net orders] AS SELECT o.id, dbo.net(o.amount) AS net, o.customer FROM dbo.orders AS o WHERE o.id >= 10');
		INSERT INTO dbo.orders VALUES (11, N'after', 20, NULL, NULL);
		COMMIT TRANSACTION`)
	mustExec(
		t,
		r.source,
		`CREATE OR ALTER PROCEDURE report.[raise all] @by decimal(10,2), @from int AS UPDATE dbo.orders SET amount = amount + @by WHERE id >= @from`,
	)
	mustExec(
		t,
		r.source,
		`ALTER FUNCTION dbo.net(@amount decimal(10,2)) RETURNS decimal(10,2) AS BEGIN RETURN @amount - 1 END`,
	)
	g.Eventually(func() any {
		rows, err := tryQuery(r.target, `SELECT id, CAST(net AS varchar(20)), customer FROM report.[net orders] ORDER BY id`)
		if err != nil {
			return err
		}
		return rows
	}).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(10), "9.00", "before"}, {int64(11), "19.00", "after"}}))
	g.Expect(query(t, r.target,
		`SELECT COUNT(*) FROM sys.parameters WHERE object_id = OBJECT_ID(N'dbo.[raise everything]')`)).
		To(Equal([][]any{{int64(2)}}))
	r.bothSame(t)

	// A statement that fails changes nothing and sends nothing; nor does one with replicate_ddl = 0.
	g.Expect(failure(t, r.source, `ALTER VIEW report.[net orders] AS SELECT nothing FROM dbo.orders`).Number).
		To(Equal(int32(207)))
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; EXEC (N'ALTER PROCEDURE report.[raise all] AS SELECT 1'); ROLLBACK TRANSACTION`,
	)
	mustExec(t, r.source, `EXEC sp_changepublication @publication = N'web', @property = N'replicate_ddl', @value = N'0'`)
	mustExec(t, r.source, `ALTER PROCEDURE report.[raise all] AS SELECT 1`)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (12, N'last', 30, NULL, NULL)`)
	r.bothSame(t)
	g.Expect(query(t, r.target,
		`SELECT COUNT(*) FROM sys.parameters WHERE object_id = OBJECT_ID(N'dbo.[raise everything]')`)).
		To(Equal([][]any{{int64(2)}}))
	r.dropModules(t)
}

// dropModules checks what published definitions refuse and takes them back.
func (r *replication) dropModules(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for _, text := range []string{`DROP VIEW report.[net orders]`, `DROP PROCEDURE report.[raise all]`,
		`DROP FUNCTION dbo.net`} {
		g.Expect(failure(t, r.source, text).Number).To(Equal(int32(3724)), text)
	}
	mustExec(t, r.source, `EXEC sp_article_validation @publication = N'web', @article = N'orders'`)
	for text, number := range map[string]int32{
		`EXEC sp_article_validation @publication = N'web', @article = N'net orders'`:                                            14112,
		`EXEC sp_articlecolumn @publication = N'web', @article = N'net orders', @column = N'net', @operation = N'drop'`:         14112,
		`EXEC sp_changearticle @publication = N'web', @article = N'net', @property = N'ins_cmd', @value = N'SQL'`:               21224,
		`EXEC sp_changearticle @publication = N'web', @article = N'net', @property = N'pre_creation_cmd', @value = N'truncate'`: 21223,
		`EXEC sp_droparticle @publication = N'web', @article = N'net orders'`:                                                   14046,
	} {
		g.Expect(failure(t, r.source, text).Number).To(Equal(number), text)
	}
	g.Expect(query(t, r.source, `EXEC sp_helparticle @publication = N'web', @article = N'raise'`)[0][5]).
		To(BeEquivalentTo(32))
	mustExec(t, r.source, `EXEC sp_publication_validation @publication = N'web'`)
	mustExec(
		t,
		r.source,
		`EXEC sp_dropsubscription @publication = N'web', @subscriber = N'all', @article = N'all'; EXEC sp_droppublication @publication = N'web'`,
	)
	mustExec(
		t,
		r.source,
		`DROP FUNCTION report.above; DROP VIEW report.[net orders]; DROP PROCEDURE report.[raise all]; DROP FUNCTION dbo.net`,
	)
	g.Expect(query(t, r.target, `SELECT COUNT(*) FROM report.[net orders]`)).
		NotTo(BeEmpty(), "the subscriber's objects stay")
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
	g.Expect(query(t, r.source, `SELECT OBJECT_ID(N'dbo.sysextendedarticlesview'), OBJECT_ID(N'dbo.sysarticles')`)).
		To(Equal([][]any{{nil, nil}}))
}

// What cannot be an article of a definition is refused by the documented errors. By
// docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md and
// docs/relational-databases/errors-events.
func TestDefinitionsThatCannotBePublished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(t, r.source, `CREATE VIEW dbo.all_orders AS SELECT id FROM dbo.orders`)
	mustExec(t, r.source, `CREATE PROCEDURE dbo.nothing AS SELECT 1`)
	mustExec(t, r.source, `CREATE TYPE dbo.numbers AS TABLE (n int)`)
	mustExec(t, r.source, `CREATE PROCEDURE dbo.list @n dbo.numbers READONLY AS SELECT 1`)
	mustExec(t, r.source, `CREATE PROCEDURE dbo.variant @v sql_variant AS SELECT 1`)
	for more, number := range map[string]int32{
		`@source_object = N'all_orders'`:                                                          14028,
		`@source_object = N'all_orders', @type = N'proc schema only'`:                             21219,
		`@source_object = N'nothing', @type = N'view schema only'`:                                21221,
		`@source_object = N'orders', @type = N'func schema only'`:                                 21228,
		`@source_object = N'absent', @type = N'view schema only'`:                                 14027,
		`@source_object = N'all_orders', @type = N'view schema only', @schema_option = 0x02`:      21229,
		`@source_object = N'nothing', @type = N'proc schema only', @schema_option = 0x10`:         21222,
		`@source_object = N'nothing', @type = N'proc schema only', @schema_option = 0x00`:         21218,
		`@source_object = N'nothing', @type = N'proc schema only', @pre_creation_cmd = N'delete'`: 21223,
		`@source_object = N'all_orders', @type = N'view schema only', @filter_clause = N'id = 1'`: 21224,
		`@source_object = N'all_orders', @type = N'proc exec'`:                                    21219,
		`@source_object = N'orders', @type = N'serializable proc exec'`:                           21219,
		`@source_object = N'list', @type = N'proc exec'`:                                          25023,
		`@source_object = N'variant', @type = N'serializable proc exec'`:                          21023,
		`@source_object = N'nothing', @type = N'proc exec', @ins_cmd = N'SQL'`:                    21224,
		`@source_object = N'all_orders', @type = N'indexed view logbased'`:                        21023,
		`@source_object = N'all_orders', @type = N'something else'`:                               14023,
	} {
		g.Expect(failure(t, r.source,
			`EXEC sp_addarticle @publication = N'web', @article = N'a', @source_owner = N'dbo', `+more).Number).
			To(Equal(number), more)
	}
	g.Expect(query(t, r.source,
		`SELECT COUNT(*) FROM sys.objects WHERE is_schema_published = 1 OR is_published = 1 AND type = 'P'`)).
		To(Equal([][]any{{int64(0)}}))
}
