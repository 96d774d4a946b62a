// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// execution is a replication with articles of the execution of procedures. At the subscriber each of them notes that it
// ran.
type execution struct {
	*replication
	// seen is how many commands of the distribution database were looked at.
	seen int
	// runs are the calls that the subscriber is to have made.
	runs int64
}

// publishedProcedures are made and published by their execution; the first with names that need quoting.
var publishedProcedures = map[string]string{
	"give raise (all)?":  `@by decimal(10,2), @from int = 1, @customer nvarchar(50) = N'none' AS UPDATE dbo.orders SET amount = amount + @by, customer = @customer WHERE id >= @from`,
	"twice":              `AS EXEC dbo.[give raise (all)?] 1, @customer = N'inner'; EXEC dbo.[give raise (all)?] 1; UPDATE dbo.pictures SET part = part + 1`,
	"look":               `AS SELECT COUNT(*) FROM dbo.orders`,
	"back":               `AS UPDATE dbo.orders SET amount = 1; ROLLBACK TRANSACTION s; UPDATE dbo.orders SET customer = N'after' WHERE id = 1`,
	"gives up":           `AS BEGIN TRANSACTION; UPDATE dbo.orders SET amount = 2; ROLLBACK TRANSACTION; UPDATE dbo.orders SET customer = N'gave up' WHERE id = 1`,
	"in two":             `AS UPDATE dbo.orders SET amount = amount * 2; BEGIN TRANSACTION; UPDATE dbo.orders SET amount = amount + 1; COMMIT TRANSACTION`,
	"fails in the midst": `AS INSERT INTO dbo.orders VALUES (500, N'first', 1, NULL, NULL); INSERT INTO dbo.orders VALUES (1, N'twice', 1, NULL, NULL); INSERT INTO dbo.orders VALUES (501, N'last', 1, NULL, NULL)`,
	"every kind": `@a bigint, @b bit, @c money, @d float, @e real, @f date, @g time(7), @h datetime, @i datetime2(7), @j datetimeoffset(3), @k smalldatetime, @l char(4), @m varchar(max), @n nvarchar(20), @o varbinary(max), @p uniqueidentifier, @q xml, @r decimal(38,10), @s tinyint OUTPUT
		AS SET @s = @s + 1; INSERT INTO dbo.kinds VALUES (@a, @b, @c, @d, @e, @f, @g, @h, @i, @j, @k, @l, @m, @n, @o, @p, @q, @r, @s)`,
}

const kindsTable = `CREATE TABLE dbo.kinds (a bigint NOT NULL PRIMARY KEY, b bit NULL, c money NULL, d float NULL, e real NULL, f date NULL, g time(7) NULL, h datetime NULL, i datetime2(7) NULL, j datetimeoffset(3) NULL,
	k smalldatetime NULL, l char(4) NULL, m varchar(max) NULL, n nvarchar(20) NULL, o varbinary(max) NULL, p uniqueidentifier NULL, q xml NULL, r decimal(38,10) NULL, s tinyint NULL)`

// publishExecutions publishes the procedures, and one that is for serializable transactions only.
func (r *replication) publishExecutions(t *testing.T) {
	t.Helper()
	mustExec(t, r.source, kindsTable)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'kinds', @source_owner = N'dbo', @source_object = N'kinds'`,
	)
	for name, text := range publishedProcedures {
		mustExec(t, r.source, `CREATE PROCEDURE dbo.[`+name+`] `+text)
		mustExec(
			t,
			r.source,
			`EXEC sp_addarticle @publication = N'web', @article = @p1, @source_owner = N'dbo', @source_object = @p1, @type = N'proc exec'`,
			name,
		)
	}
	mustExec(
		t,
		r.source,
		`CREATE PROCEDURE dbo.[careful] @customer nvarchar(50) AS UPDATE dbo.orders SET customer = @customer`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'careful', @source_owner = N'dbo', @source_object = N'careful', @type = N'serializable proc exec'`,
	)
}

// expect waits until both sides are the same, and compares the commands that came since the last time: calls of
// published procedures as they are, those of rows as their procedure's name or their statement's first word.
func (x *execution) expect(t *testing.T, want ...string) {
	t.Helper()
	x.bothSame(t)
	g := NewWithT(t)
	dist := x.dist.open(t, "distribution")
	g.Eventually(func() string {
		rows, err := tryQuery(dist, `EXEC sp_browsereplcmds`)
		if err != nil {
			return err.Error()
		}
		var have []string
		for _, row := range rows {
			text := strings.TrimPrefix(fmt.Sprint(row[10]), "{CALL ")
			switch {
			case fmt.Sprint(row[4]) != "30":
				continue
			case strings.HasPrefix(text, "[sp_MS"):
				text = strings.Fields(text)[0]
			case !strings.HasPrefix(text, "["):
				text = strings.Fields(text)[0]
			}
			have = append(have, text)
		}
		return fmt.Sprint(strings.Join(have[min(x.seen, len(have)):], "\n"))
	}).WithTimeout(deliverWithin).Should(Equal(strings.Join(want, "\n")))
	x.seen += len(want)
	x.ran(t)
}

// ran waits until the subscriber has run the procedures as often as it should.
func (x *execution) ran(t *testing.T) {
	t.Helper()
	NewWithT(
		t,
	).Eventually(func() any { return scalar(x.target, `SELECT COUNT(*) FROM dbo.runs`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(x.runs))
}

// newExecution publishes the procedures and delivers them to a subscriber that notes what runs there.
func newExecution(t *testing.T, subscribe func(*replication, *testing.T)) *execution {
	t.Helper()
	x := &execution{replication: newReplication(t)}
	x.distribute(t)
	x.publish(t)
	x.publishExecutions(t)
	subscribe(x.replication, t)
	x.snapshot(t)
	x.bothSame(t)
	x.noteRuns(t)
	return x
}

// noteRuns changes the procedures at the subscriber, as the page on publishing their execution has it.
func (x *execution) noteRuns(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() any {
		return scalar(x.target, `SELECT COUNT(*) FROM sys.procedures WHERE name NOT LIKE N'sp[_]MS%'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(len(publishedProcedures) + 1))
	mustExec(t, x.target, `CREATE TABLE dbo.runs (n int IDENTITY PRIMARY KEY, name sysname NOT NULL)`)
	for name, text := range publishedProcedures {
		head, body, _ := strings.Cut(text, "AS ")
		note := `IF @@NESTLEVEL = 1 INSERT INTO dbo.runs VALUES (N'` + name + `'); `
		mustExec(t, x.target, `ALTER PROCEDURE dbo.[`+name+`] `+head+` AS `+note+body)
	}
	mustExec(
		t,
		x.target,
		`ALTER PROCEDURE dbo.[careful] @customer nvarchar(50) AS INSERT INTO dbo.runs VALUES (N'careful'); UPDATE dbo.orders SET customer = @customer`,
	)
}

const everyKind = `DECLARE @s tinyint = 3; EXEC dbo.[every kind] %d, 1, 922337203685477.5807, 1.5e300, -2.5, '2026-11-22', '23:59:59.9999999', '2026-11-22T08:00:00.123', '9999-12-31T23:59:59.9999999', '2026-11-22T08:00:00.123+05:30',
	'2026-11-22T08:01:00', 'ab', 'it''s ?', N'Zoë ☃', 0x00FF10, '6F9619FF-8B86-D011-B42D-00C04FC964FF', N'<a b="c">d</a>', 1234567890123456789012345678.0123456789, @s OUTPUT; IF @s <> 4 THROW 50000, N'no output', 1`

// Calls of published procedures are repeated at the subscriber: once, in the order of commits, in place of the rows
// that they changed there. By
// docs/relational-databases/replication/transactional/publishing-stored-procedure-execution-in-transactional-replication.md.
func TestExecutionOfProceduresIsReplicated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	x := newExecution(t, (*replication).push)
	g.Expect(query(t, x.source, `SELECT DISTINCT type FROM dbo.sysarticles ORDER BY type`)).
		To(Equal([][]any{{int64(1)}, {int64(8)}, {int64(24)}}))
	g.Expect(query(t, x.source, `SELECT COUNT(*) FROM dbo.sysschemaarticles`)).To(Equal([][]any{{int64(0)}}))
	g.Expect(query(t, x.source,
		`SELECT name, is_repl_serializable_only FROM sys.procedures WHERE is_execution_replicated = 1 AND name IN (N'careful', N'look') ORDER BY name`)).
		To(Equal([][]any{{"careful", true}, {"look", false}}))

	// In a transaction a call has its place between the rows.
	mustExec(
		t,
		x.source,
		`BEGIN TRANSACTION; INSERT INTO dbo.orders VALUES (10, N'before', 1, NULL, NULL); EXEC dbo.[give raise (all)?] 1.5, @customer = N'it''s'; INSERT INTO dbo.orders VALUES (11, N'after', 1, NULL, NULL); COMMIT TRANSACTION`,
	)
	x.runs++
	x.expect(t, "[sp_MSins_dboorders]", "[dbo].[give raise (all)?] (N'1.5',DEFAULT,N'it''s')}", "[sp_MSins_dboorders]")
	// Alone, with more than one transaction, with calls in it, and with nothing that it writes.
	mustExec(t, x.source, `EXEC dbo.[in two]; EXEC dbo.twice; EXEC dbo.look`)
	x.runs += 3
	x.expect(t, "[dbo].[in two] ()}", "[dbo].[twice] ()}", "[dbo].[look] ()}")
	mustExec(t, x.source, fmt.Sprintf(everyKind, 1))
	mustExec(
		t,
		x.source,
		`EXEC dbo.[every kind] 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`,
	)
	x.runs += 2
	x.ran(t)
	x.seen += 2
	x.same(t, "dbo.kinds", "*", "a")

	// What is rolled back is not called, and what a procedure does after it rolled back is its rows.
	mustExec(t, x.source, `BEGIN TRANSACTION; EXEC dbo.[in two]; ROLLBACK TRANSACTION`)
	mustExec(
		t,
		x.source,
		`BEGIN TRANSACTION; SAVE TRANSACTION s; EXEC dbo.[in two]; ROLLBACK TRANSACTION s; UPDATE dbo.orders SET amount = 5 WHERE id = 1; COMMIT TRANSACTION`,
	)
	mustExec(t, x.source, `BEGIN TRANSACTION; SAVE TRANSACTION s; EXEC dbo.back; COMMIT TRANSACTION`)
	mustExec(t, x.source, `EXEC dbo.[gives up]`)
	_ = failure(t, x.source, `SET XACT_ABORT ON; BEGIN TRANSACTION; EXEC dbo.[fails in the midst]`)
	x.expect(t, "[sp_MSupd_dboorders]", "[sp_MSupd_dboorders]", "[sp_MSupd_dboorders]")

	// Isolation decides: nothing is called in READ UNCOMMITTED, and some only in serializable transactions.
	mustExec(t, x.source, `SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; EXEC dbo.[give raise (all)?] 1, 11`)
	mustExec(t, x.source, `DELETE dbo.orders WHERE id > 1`)
	mustExec(
		t,
		x.source,
		`EXEC dbo.careful N'a'; BEGIN TRANSACTION; EXEC dbo.careful N'b'; COMMIT TRANSACTION; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; EXEC dbo.careful N'c'`,
	)
	mustExec(
		t,
		x.source,
		`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION; EXEC dbo.careful N'd'; COMMIT TRANSACTION`,
	)
	x.runs++
	x.expect(
		t,
		"[sp_MSupd_dboorders]",
		"[sp_MSdel_dboorders]",
		"[sp_MSdel_dboorders]",
		"[sp_MSdel_dboorders]",
		"[sp_MSupd_dboorders]",
		"[sp_MSupd_dboorders]",
		"[sp_MSupd_dboorders]",
		"[dbo].[careful] (N'd')}",
	)

	// ALTER goes to subscribers, and nobody may take away what makes calls possible.
	mustExec(
		t,
		x.source,
		`ALTER PROCEDURE dbo.careful @customer nvarchar(50), @amount int AS UPDATE dbo.orders SET customer = @customer, amount = @amount`,
	)
	mustExec(
		t,
		x.source,
		`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION; EXEC dbo.careful N'e', 7; COMMIT TRANSACTION`,
	)
	x.expect(t, "[dbo].[careful] (N'e',7)}")
	g.Expect(failure(t, x.source, `DROP PROCEDURE dbo.look`).Number).To(Equal(int32(3724)))
	mustExec(t, x.source, `CREATE TYPE dbo.numbers AS TABLE (n int)`)
	g.Expect(failure(t, x.source, `ALTER PROCEDURE dbo.look @n dbo.numbers READONLY AS SELECT 1`).Number).
		To(Equal(int32(25023)))
}

// A pull subscriber gets each call once whoever is killed after its commit. An error within a procedure is one at the
// subscriber too: -SkipErrors goes on after it, as the publisher did.
func TestExecutionOfProceduresSurvivesKills(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	x := newExecution(t, func(r *replication, t *testing.T) { r.pullWith(t, "-SkipErrors 2627") })
	for _, i := range []*instance{x.pub, x.dist, x.sub} {
		mustExec(
			t,
			x.source,
			`BEGIN TRANSACTION; UPDATE dbo.orders SET amount = 10; EXEC dbo.[give raise (all)?] 1; EXEC dbo.twice; COMMIT TRANSACTION; EXEC dbo.[in two]`,
		)
		x.runs += 3
		i.kill()
		g.Expect(i.launch()).To(Succeed())
		for _, db := range []*sql.DB{x.source, x.target} {
			g.Eventually(func() any { return scalar(db, `SELECT 1`) }).WithTimeout(patient).ShouldNot(BeNil())
		}
		x.bothSame(t)
		x.ran(t)
	}
	g.Expect(failure(t, x.source, `EXEC dbo.[fails in the midst]`).Number).To(Equal(int32(2627)))
	x.runs++
	x.bothSame(t)
	x.ran(t)
	g.Expect(scalar(x.target, `SELECT COUNT(*) FROM dbo.orders WHERE id IN (500, 501)`)).To(BeEquivalentTo(2))
}

// A publication without the procedure has the rows, and so has one with it as long as a subscriber with a table of it
// lacks the procedure.
func TestExecutionOfProceduresIsThePublications(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	x := &execution{replication: newReplication(t)}
	x.distribute(t)
	x.publish(t)
	mustExec(t, x.source, `CREATE PROCEDURE dbo.pay AS UPDATE dbo.orders SET amount = 100`)
	x.push(t)
	x.snapshot(t)
	x.bothSame(t)
	mustExec(
		t,
		x.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'pay', @source_owner = N'dbo', @source_object = N'pay', @type = N'proc exec'`,
	)
	mustExec(t, x.source, `EXEC dbo.pay`)
	x.bothSame(t)
	mustExec(
		t,
		x.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @sync_type = N'automatic', @article = N'pay'`,
	)
	mustExec(t, x.source, `UPDATE dbo.orders SET amount = 1; EXEC dbo.pay`)
	x.bothSame(t)
	g.Expect(scalar(x.target, `SELECT OBJECT_ID(N'dbo.pay')`)).To(BeNil(), "its snapshot is not there yet")
	x.snapshot(t)
	g.Eventually(func() any { return scalar(x.target, `SELECT OBJECT_ID(N'dbo.pay')`) }).
		WithTimeout(deliverWithin).
		ShouldNot(BeNil())
	mustExec(t, x.target, `ALTER PROCEDURE dbo.pay AS UPDATE dbo.orders SET amount = 200`)

	mustExec(t, x.subDB, `CREATE DATABASE othercopy`)
	other := x.sub.open(t, "othercopy")
	mustExec(
		t,
		x.source,
		`EXEC sp_addpublication @publication = N'rows', @status = N'active', @independent_agent = N'true', @repl_freq = N'continuous', @immediate_sync = N'false'`,
	)
	mustExec(
		t,
		x.source,
		`EXEC sp_addarticle @publication = N'rows', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'`,
	)
	job(
		t,
		x.distDB,
		"rows",
		"Snapshot",
		"-Publisher [PUB] -PublisherDB [shop] -Publication [rows] -Distributor [DIST] "+account(
			"Distributor",
		)+account(
			"Publisher",
		),
		false,
	)
	mustExec(
		t,
		x.source,
		`EXEC sp_addpublication_snapshot @publication = N'rows', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @snapshot_job_name = N'rows'`,
		saPassword,
	)
	mustExec(
		t,
		x.source,
		`EXEC sp_addsubscription @publication = N'rows', @subscriber = N'SUB', @destination_db = N'othercopy', @subscription_type = N'push', @sync_type = N'automatic', @article = N'all'`,
	)
	job(
		t,
		x.distDB,
		"other",
		"Distribution",
		strings.NewReplacer("[shopcopy]", "[othercopy]", "[web]", "[rows]").Replace(distributionCommand(0, "")),
		true,
	)
	mustExec(
		t,
		x.source,
		`EXEC sp_addpushsubscription_agent @publication = N'rows', @subscriber = N'SUB', @subscriber_db = N'othercopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'other'`,
		saPassword,
	)
	mustExec(t, x.source, `EXEC sp_startpublication_snapshot @publication = N'rows'`)
	g.Eventually(func() any { return scalar(other, `SELECT COUNT(*) FROM dbo.orders`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(2))
	mustExec(
		t,
		x.source,
		`UPDATE dbo.orders SET amount = 1; EXEC dbo.pay; INSERT INTO dbo.orders VALUES (3, N'last', 3, NULL, NULL)`,
	)
	const sum = `SELECT CAST(SUM(amount) AS int) FROM dbo.orders`
	g.Eventually(func() any { return scalar(other, sum) }).WithTimeout(deliverWithin).Should(BeEquivalentTo(203))
	g.Eventually(func() any { return scalar(x.target, sum) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(403), "the subscriber's own procedure ran")
}
