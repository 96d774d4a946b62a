// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// What an agent changes at the subscriber: rows that take each other's keys arrive, and triggers, constraints and
// identities that are NOT FOR REPLICATION let them be, while they hold for everybody else.
func TestHowChangesAreApplied(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.places (area char(2) NOT NULL, place int NOT NULL, name nvarchar(20) NOT NULL, rank int NOT NULL, CONSTRAINT PK_places PRIMARY KEY (area, place))`,
	)
	mustExec(t, r.source, `CREATE UNIQUE INDEX UX_places ON dbo.places (name)`)
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.numbered (id int IDENTITY(1,1) NOT FOR REPLICATION NOT NULL PRIMARY KEY, rank int NOT NULL, name varchar(20) NOT NULL)`,
	)
	mustExec(t, r.source, `CREATE UNIQUE INDEX UX_numbered ON dbo.numbered (rank)`)
	mustExec(
		t,
		r.source,
		`INSERT INTO dbo.places VALUES ('aa', 1, N'one', 1), ('aa', 2, N'two', 2), ('aa', 3, N'three', 3); INSERT INTO dbo.numbered (rank, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'places', @source_owner = N'dbo', @source_object = N'places'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'numbered', @source_owner = N'dbo', @source_object = N'numbered', @schema_option = 0x00000000000000D7,
		@ins_cmd = N'SQL', @upd_cmd = N'SQL', @del_cmd = N'SQL'`,
	)
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)
	same := func() {
		t.Helper()
		r.same(t, "dbo.places", "*", "area, place")
		r.same(t, "dbo.numbered", "*", "id")
		r.bothSame(t)
	}
	same()

	mustExec(t, r.source, `UPDATE dbo.places SET place = place + 1`)
	mustExec(
		t,
		r.source,
		`UPDATE dbo.places SET name = CASE name WHEN N'one' THEN N'TWO' WHEN N'two' THEN N'One' ELSE name END, rank = rank + 1`,
	)
	mustExec(t, r.source, `UPDATE dbo.numbered SET rank = rank + 1`)
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; UPDATE dbo.numbered SET rank = 40 WHERE id = 1; UPDATE dbo.numbered SET rank = 2 WHERE id = 3; INSERT INTO dbo.numbered (rank, name) VALUES (4, 'd');
		DELETE FROM dbo.numbered WHERE id = 2; INSERT INTO dbo.numbered (rank, name) VALUES (3, 'e'); COMMIT TRANSACTION`,
	)
	same()

	mustExec(
		t,
		r.target,
		`CREATE TABLE dbo.fired (n int IDENTITY PRIMARY KEY, by_whom varchar(20) NOT NULL); CREATE TABLE dbo.codes (code varchar(20) NOT NULL PRIMARY KEY)`,
	)
	mustExec(
		t,
		r.target,
		`CREATE TRIGGER dbo.spared ON dbo.orders AFTER INSERT, UPDATE NOT FOR REPLICATION AS INSERT INTO dbo.fired (by_whom) VALUES ('spared')`,
	)
	mustExec(
		t,
		r.target,
		`CREATE TRIGGER dbo.instead ON dbo.pictures INSTEAD OF INSERT NOT FOR REPLICATION AS INSERT INTO dbo.fired (by_whom) VALUES ('instead')`,
	)
	mustExec(
		t,
		r.target,
		`CREATE TRIGGER dbo.always ON dbo.orders AFTER INSERT AS INSERT INTO dbo.fired (by_whom) VALUES ('always')`,
	)
	mustExec(t, r.target, `ALTER TABLE dbo.orders ADD CONSTRAINT small CHECK NOT FOR REPLICATION (id < 1000)`)
	mustExec(
		t,
		r.target,
		`ALTER TABLE dbo.pictures WITH NOCHECK ADD CONSTRAINT coded FOREIGN KEY (code) REFERENCES dbo.codes (code) NOT FOR REPLICATION`,
	)
	g.Expect(query(t, r.target, `SELECT name, is_not_for_replication FROM sys.triggers ORDER BY name`)).
		To(Equal([][]any{{"always", false}, {"instead", true}, {"spared", true}}))
	mustExec(
		t,
		r.source,
		`INSERT INTO dbo.orders VALUES (5000, N'large', 1, NULL, NULL); UPDATE dbo.orders SET amount = 2 WHERE id = 5000; INSERT INTO dbo.pictures VALUES ('nowhere', 1, 0x01)`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.numbered (rank, name) VALUES (50, 'f')`)
	same()
	g.Expect(query(t, r.target, `SELECT by_whom FROM dbo.fired ORDER BY n`)).To(Equal([][]any{{"always"}}))
	g.Expect(failure(t, r.target, `INSERT INTO dbo.orders VALUES (6000, N'local', 1, NULL, NULL)`).Number).
		To(BeEquivalentTo(547))
	g.Expect(failure(t, r.target, `INSERT INTO dbo.numbered (id, rank, name) VALUES (60, 60, 'x')`).Number).
		To(BeEquivalentTo(544))
	mustExec(
		t,
		r.target,
		`INSERT INTO dbo.orders VALUES (700, N'local', 1, NULL, NULL); INSERT INTO dbo.pictures VALUES ('kept', 1, NULL)`,
	)
	g.Expect(query(t, r.target, `SELECT by_whom FROM dbo.fired ORDER BY n`)).
		To(ConsistOf([]any{"always"}, []any{"always"}, []any{"spared"}, []any{"instead"}))
	g.Expect(value(t, r.target, `SELECT COUNT(*) FROM dbo.pictures WHERE code = 'kept'`)).To(BeEquivalentTo(0))
}
