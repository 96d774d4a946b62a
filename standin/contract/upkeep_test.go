// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestStartupProcedures: what sp_procoption marks runs whenever the server has started
// (docs/relational-databases/system-stored-procedures/sp-procoption-transact-sql.md).
func TestStartupProcedures(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	master := connection(t, i.open(t, "master"))
	elsewhere := connection(t, i.newDatabase(t, "elsewhere"))
	mustExec(t, elsewhere, "CREATE TABLE starts (at datetime2 NOT NULL)")
	converse(t, master, []say{
		{"CREATE PROCEDURE dbo.note AS INSERT elsewhere.dbo.starts VALUES (SYSUTCDATETIME())", "ok"},
		{"CREATE PROCEDURE dbo.other @a int = 1 AS RETURN", "ok"},
		{"EXEC sp_procoption N'dbo.none', 'startup', 'on'", "!15165"},
		{"EXEC sp_procoption N'dbo.other', 'startup', 'on'", "!15399"},
		{"EXEC sp_procoption N'dbo.note', 'recompile', 'on'", "!15600"},
		{"EXEC sp_procoption N'dbo.note', 'startup', 'perhaps'", "!15600"},
		{"EXEC sp_procoption @ProcName = N'note', @OptionName = 'startup', @OptionValue = 'true'", "ok"},
		{"SELECT name, OBJECTPROPERTY(object_id, 'ExecIsStartup') FROM sys.procedures WHERE is_auto_executed = 1", "note 1"},
	})
	converse(t, elsewhere, []say{
		{"CREATE PROCEDURE dbo.p AS RETURN", "ok"},
		{"EXEC sp_procoption N'dbo.p', 'startup', 'on'", "!15398"},
	})
	i.stop(t)
	g.Expect(i.launch()).To(Succeed())
	elsewhere = connection(t, i.open(t, "elsewhere"))
	g.Eventually(func() any { return value(t, elsewhere, "SELECT COUNT(*) FROM starts") }, 10*time.Second,
		50*time.Millisecond).
		Should(BeEquivalentTo(1))
	mustExec(t, i.open(t, "master"), "EXEC sp_procoption N'note', 'startup', 'off'")
	i.stop(t)
	g.Expect(i.launch()).To(Succeed())
	log, err := os.ReadFile(filepath.Join(i.root, "log", "errorlog"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(log)).NotTo(ContainSubstring("startup procedure"))
	g.Expect(value(t, i.open(t, "elsewhere"), "SELECT COUNT(*) FROM starts")).To(BeEquivalentTo(1))
}

// TestUpkeep: the error log, statistics, the state of databases and modules
// (docs/relational-databases/system-stored-procedures/sp-cycle-errorlog-transact-sql.md,
// sp-createstats-transact-sql.md, sp-resetstatus-transact-sql.md, sp-refreshsqlmodule-transact-sql.md).
func TestUpkeep(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "kept"))
	before, err := os.ReadFile(filepath.Join(i.root, "log", "errorlog"))
	g.Expect(err).NotTo(HaveOccurred())
	converse(t, db, []say{
		{"EXEC sp_cycle_errorlog", "ok"},
		{"EXEC sp_resetstatus 'kept'", "ok"},
		{"EXEC sp_resetstatus 'nothing'", "!15010"},
		{
			"CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int, b nvarchar(10), c xml, d AS a + 1); CREATE INDEX i ON t (a, " +
				"b); CREATE STATISTICS a_first ON t (a)",
			"ok",
		},
		{"EXEC sp_createstats 'sometimes'", "!15600"},
		{
			"EXEC sp_createstats 'indexonly'; SELECT name FROM sys.stats WHERE object_id = OBJECT_ID('t') AND user_created = " +
				"1 ORDER BY name",
			"a_first; b",
		},
		{
			"ALTER TABLE t ADD e int; EXEC sp_createstats @norecompute = 'norecompute'; SELECT name, no_recompute FROM " +
				"sys.stats WHERE object_id = OBJECT_ID('t') AND user_created = 1 ORDER BY name",
			"a_first false; b false; e true",
		},
		{"EXEC sp_createstats", "ok"},
	})
	mustExec(t, db, "CREATE VIEW dbo.v AS SELECT id FROM dbo.t")
	mustExec(t, db, "CREATE TRIGGER g ON DATABASE FOR CREATE_TABLE AS RETURN")
	mustExec(t, db, "CREATE TRIGGER upkeep_of_server ON ALL SERVER FOR CREATE_LOGIN AS RETURN")
	converse(t, db, []say{
		{"EXEC sys.sp_refreshsqlmodule 'dbo.v'", "ok"},
		{"EXEC sp_refreshview @viewname = 'dbo.v'", "ok"},
		{"EXEC sys.sp_refreshsqlmodule @name = 'g', @namespace = 'DATABASE_DDL_TRIGGER'", "ok"},
		{"EXEC sys.sp_refreshsqlmodule 'upkeep_of_server', 'SERVER_DDL_TRIGGER'", "ok"},
		{"EXEC sys.sp_refreshsqlmodule 'g', 'SERVER_DDL_TRIGGER'", "!15165"},
		{"EXEC sys.sp_refreshsqlmodule 'g', 'TRIGGER'", "!15600"},
	})
	kept, err := os.ReadFile(filepath.Join(i.root, "log", "errorlog.1"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(kept)).To(HavePrefix(string(before)))
	g.Expect(query(t, db,
		"CREATE TABLE #l (at datetime, process nvarchar(50), text nvarchar(4000)); INSERT #l EXEC sp_readerrorlog 0, 1, "+
			"'reinitialized'; SELECT COUNT(*) FROM #l")).
		To(Equal([][]any{{int64(1)}}))
}
