// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// What procedures of subscribers are given is what the call syntax of the article says. By
// docs/relational-databases/replication/transactional/transactional-articles-specify-how-changes-are-propagated.md,
// "Call syntax for stored procedures".
func TestCallSyntaxOfArticles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.subscriptionDatabase(t)
	mustExec(
		t,
		r.target,
		`CREATE TABLE dbo.calls (seq int IDENTITY(1,1) NOT NULL PRIMARY KEY, called nvarchar(200) NOT NULL)`,
	)
	row := "@c1 int = -1, @c2 int = -1, @c3 nvarchar(20) = N'-'"
	note := func(name, parameters, list string) {
		mustExec(
			t,
			r.target,
			`CREATE PROCEDURE dbo.`+name+` `+parameters+` AS INSERT INTO dbo.calls (called) VALUES (CONCAT_WS(N' ', N'`+name+`', `+list+`))`,
		)
	}
	const shown = "ISNULL(CAST(@c1 AS nvarchar(20)), N'null'), ISNULL(CAST(@c2 AS nvarchar(20)), N'null'), " +
		"ISNULL(@c3, N'null')"
	const shownNew = "ISNULL(CAST(@n1 AS nvarchar(20)), N'null'), ISNULL(CAST(@n2 AS nvarchar(20)), N'null'), " +
		"ISNULL(@n3, N'null')"
	const mask = "CONVERT(nvarchar(20), @bitmap, 1)"
	note("call_upd", row+", @pkc1 int", shown+", @pkc1")
	note("mcall_upd", row+", @pkc1 int, @bitmap binary(1)", shown+", @pkc1, "+mask)
	note("scall_upd", row+", @pkc1 int, @bitmap binary(1)", shown+", @pkc1, "+mask)
	note("xcall_upd", row+", @n1 int, @n2 int, @n3 nvarchar(20)", shown+", "+shownNew)
	note("xcall_del", row, shown)
	note("any_ins", row, shown)
	note("any_del", "@pkc1 int", "@pkc1")
	for name, commands := range map[string]string{
		"t_call":  "@ins_cmd = N'CALL any_ins', @upd_cmd = N'CALL call_upd', @del_cmd = N'CALL any_del'",
		"t_mcall": "@ins_cmd = N'NONE', @upd_cmd = N'MCALL dbo.mcall_upd', @del_cmd = N'NONE'",
		"t_scall": "@ins_cmd = N'NONE', @upd_cmd = N'SCALL [dbo].[scall_upd]', @del_cmd = N'NONE'",
		"t_xcall": "@ins_cmd = N'NONE', @upd_cmd = N'XCALL [xcall_upd]', @del_cmd = N'XCALL xcall_del'",
		"t_none":  "@ins_cmd = N'NONE', @upd_cmd = N'NONE', @del_cmd = N'NONE'",
		"t_sql":   "@ins_cmd = NULL, @upd_cmd = N'SQL', @del_cmd = NULL",
	} {
		mustExec(t, r.source, `CREATE TABLE dbo.`+name+` (id int NOT NULL PRIMARY KEY, a int NULL, b nvarchar(20) NULL)`)
		mustExec(
			t,
			r.source,
			`EXEC sp_addarticle @publication = N'web', @article = N'`+name+`', @source_owner = N'dbo', @source_object = N'`+name+`', @schema_option = 0x01, `+commands,
		)
	}
	g.Expect(query(t, r.source,
		`SELECT ins_cmd, upd_cmd, del_cmd FROM dbo.sysarticles WHERE name IN (N't_sql', N't_xcall') ORDER BY name`)).
		To(Equal([][]any{{"SQL", "SQL", "SQL"}, {"NONE", "XCALL [xcall_upd]", "XCALL xcall_del"}}))
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @sync_type = N'automatic', @article = N'all'`,
	)
	job(t, r.distDB, "distribution", "Distribution", distributionCommand(0, ""), true)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'distribution'`,
		saPassword,
	)
	r.snapshot(t)
	r.bothSame(t)

	for _, table := range []string{"t_call", "t_mcall", "t_scall", "t_xcall", "t_none", "t_sql"} {
		mustExec(t, r.source, `INSERT INTO dbo.`+table+` VALUES (1, 10, NULL)`)
		mustExec(t, r.source, `UPDATE dbo.`+table+` SET a = 11 WHERE id = 1`)
		mustExec(t, r.source, `UPDATE dbo.`+table+` SET b = N'x', a = NULL WHERE id = 1`)
		mustExec(t, r.source, `UPDATE dbo.`+table+` SET id = 2 WHERE id = 1`)
		mustExec(t, r.source, `DELETE FROM dbo.`+table)
	}
	mustExec(t, r.source, `INSERT INTO dbo.t_sql VALUES (5, 50, N'last'); UPDATE dbo.t_sql SET a = 51`)
	r.same(t, "dbo.t_sql", "*", "id")
	g.Expect(value(t, r.target, `SELECT COUNT(*) FROM dbo.t_none`)).To(BeEquivalentTo(0))
	// An update of the key is a deferred one: the row is deleted and inserted.
	var called []string
	for _, row := range query(t, r.target, `SELECT called FROM dbo.calls ORDER BY seq`) {
		called = append(called, row[0].(string))
	}
	g.Expect(called).To(Equal([]string{
		"any_ins 1 10 null", "call_upd 1 11 null 1", "call_upd 1 null x 1", "any_del 1", "any_ins 2 null x", "any_del 2",
		"mcall_upd 1 11 null 1 0x02", "mcall_upd 1 null x 1 0x06",
		"scall_upd -1 11 - 1 0x02", "scall_upd -1 null x 1 0x06",
		"xcall_upd 1 10 null 1 11 null", "xcall_upd 1 11 null 1 null x", "xcall_del 1 null x", "xcall_del 2 null x",
	}))
	commands := fmt.Sprint(query(t, r.dist.open(t, "distribution"), `EXEC sp_browsereplcmds`))
	g.Expect(commands).To(ContainSubstring("{CALL [dbo].[scall_upd] (,11,,1,0x02)}"))
	g.Expect(failure(t, r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'keyless', @source_object = N'orders', @ins_cmd = N'XCALL any_ins'`).Number).
		To(BeEquivalentTo(15600))
}

// The procedures that the snapshot makes (schema_option 0x02) take what their article's call syntax sends, and what
// sp_scriptpublicationcustomprocs and sp_scriptdynamicupdproc script does, too.
func TestProceduresOfCallSyntaxes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	syntaxes := []string{"CALL", "MCALL", "SCALL", "XCALL"}
	for _, word := range syntaxes {
		del := "CALL"
		if word == "XCALL" {
			del = word
		}
		name := "wide_" + word
		mustExec(
			t,
			r.source,
			`CREATE TABLE dbo.`+name+` (k1 int NOT NULL, c2 int NULL, c3 nvarchar(10) NULL, c4 decimal(9,2) NULL, c5 datetime NULL, c6 varbinary(max) NULL, c7 xml NULL, c8 bit NULL, c9 float NULL,
			c10 text NULL, k11 char(3) NOT NULL, c12 int NOT NULL IDENTITY(1,1), CONSTRAINT PK_`+name+` PRIMARY KEY (k11, k1))`,
		)
		mustExec(
			t,
			r.source,
			fmt.Sprintf(
				`EXEC sp_addarticle @publication = N'web', @article = N'%[1]s', @source_owner = N'dbo', @source_object = N'%[1]s', @schema_option = 0x30F7, @upd_cmd = N'%[2]s sp_MSupd_%[1]s', @del_cmd = N'%[3]s sp_MSdel_%[1]s'`,
				name,
				word,
				del,
			),
		)
		mustExec(
			t,
			r.source,
			`INSERT INTO dbo.`+name+` (k1, c2, c3, c4, c5, c6, c7, c8, c9, c10, k11) VALUES (1, 2, N'three', 4.25, '2026-01-05T05:05:05.123', 0x06, N'<seven/>', 1, 9.5, 'ten', 'abc'),
			(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'def'), (3, 3, N'gone', 3, NULL, NULL, NULL, NULL, NULL, NULL, 'ghi')`,
		)
	}
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.plain (id int NOT NULL PRIMARY KEY); EXEC sp_addarticle @publication = N'web', @article = N'plain', @source_object = N'plain', @schema_option = 0x01`,
	)
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)
	columns := "k1, c2, c3, c4, c5, c6, CAST(c7 AS nvarchar(max)) AS c7, c8, c9, CAST(c10 AS varchar(max)) AS " +
		"c10, k11, c12"
	script := ""
	for _, line := range query(t, r.source, `EXEC sp_scriptpublicationcustomprocs @publication = N'web'`) {
		script += line[0].(string) + "\n"
	}
	for _, word := range syntaxes {
		name := "wide_" + word
		r.same(t, "dbo."+name, columns, "k1")
		g.Expect(script).To(ContainSubstring("sp_MSupd_" + name))
		g.Expect(script).NotTo(ContainSubstring("sp_MSins_dboplain"))
		for _, change := range []string{"c9 = 10.5, c2 = NULL WHERE k1 = 1",
			"c3 = N'set', c5 = '2026-02-02', c8 = 0 WHERE k1 = 2", "k11 = 'xyz', c4 = 7 WHERE k1 = 2", "k1 = 20 WHERE k1 = 2",
			"c7 = N'<changed/>', c6 = NULL WHERE k1 = 1", "c10 = 'text' WHERE k1 = 20"} {
			mustExec(t, r.source, "UPDATE dbo."+name+" SET "+change)
		}
		mustExec(t, r.source, "DELETE FROM dbo."+name+" WHERE k1 = 3")
		mustExec(t, r.source, "INSERT INTO dbo."+name+" (k1, k11) VALUES (4, 'jkl')")
		r.same(t, "dbo."+name, columns, "k1")
	}
	// A subscriber's value that no update touched stays.
	mustExec(t, r.target, `UPDATE dbo.wide_SCALL SET c3 = N'own' WHERE k1 = 1`)
	mustExec(t, r.source, `UPDATE dbo.wide_SCALL SET c2 = 77 WHERE k1 = 1`)
	g.Eventually(func() [][]any {
		rows, _ := tryQuery(r.target, `SELECT c2, c3 FROM dbo.wide_SCALL WHERE k1 = 1`)
		return rows
	}).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(77), "own"}}))

	article := value(t, r.source, `SELECT artid FROM dbo.sysarticles WHERE name = N'wide_MCALL'`)
	dynamic := ""
	for _, line := range query(t, r.source, `EXEC sp_scriptdynamicupdproc @artid = @p1`, article) {
		dynamic += line[0].(string) + "\n"
	}
	g.Expect(dynamic).To(ContainSubstring("CREATE PROCEDURE [dbo].[sp_MSupd_wide_MCALL]"))
	mustExec(t, r.target, strings.Replace(dynamic, "CREATE PROCEDURE", "ALTER PROCEDURE", 1))
	mustExec(
		t,
		r.source,
		`UPDATE dbo.wide_MCALL SET c2 = 5, c9 = NULL WHERE k1 = 1; UPDATE dbo.wide_MCALL SET k1 = 21, c3 = N'by stmt' WHERE k1 = 20`,
	)
	r.same(t, "dbo.wide_MCALL", columns, "k1")
	g.Expect(failure(t, r.source, `EXEC sp_scriptdynamicupdproc @artid = 9999`).Number).To(BeEquivalentTo(20027))
}
