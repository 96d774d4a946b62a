// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// logReaderCommand is the text of the log reader's step.
func logReaderCommand(more string) string {
	return "-Publisher [PUB] -PublisherDB [shop] -Distributor [DIST] " + account(
		"Distributor",
	) + account(
		"Publisher",
	) + "-PollingInterval 1 -Continuous " + more
}

// logReaderAgain runs the log reader anew with other parameters, after what before does while none runs.
func (r *replication) logReaderAgain(t *testing.T, parameters string, before func()) {
	t.Helper()
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 0; EXEC msdb.dbo.sp_stop_job @job_name = N'logreader'`,
	)
	NewWithT(t).Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	before()
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_jobstep @job_name = N'logreader', @step_id = 1, @command = @p1`,
		logReaderCommand(parameters),
	)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'logreader'`,
	)
}

// lastRun is a column of the last run's lines of an agent's history, oldest first.
func lastRun(db *sql.DB, history, column, where string) func() any {
	return func() any {
		rows, err := tryQuery(db, strings.NewReplacer("$h", "distribution.dbo."+history, "$c", column).Replace(
			`SELECT $c FROM $h WHERE start_time = (SELECT MAX(h.start_time) FROM $h AS h) AND `)+where+` ORDER BY timestamp`)
		if err != nil {
			return err
		}
		var out []any
		for _, row := range rows {
			out = append(out, row[0])
		}
		return out
	}
}

// -ReadBatchThreshold ends a reading of the log with the transaction that brings so many commands.
func TestReadBatchThreshold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	r.logReaderAgain(t, "-ReadBatchThreshold 5 -HistoryVerboseLevel 2", func() {
		for n := range 5 {
			mustExec(
				t,
				r.source,
				`INSERT INTO dbo.orders (id, customer) VALUES (@p1, N'a'), (@p1 + 1, N'b'), (@p1 + 2, N'c')`,
				100+10*n,
			)
		}
	})
	r.same(t, "dbo.orders", "*", "id")
	g.Eventually(lastRun(r.distDB, "MSlogreader_history", "delivered_transactions", "runstatus = 3")).
		WithTimeout(deliverWithin).
		Should(Equal([]any{int64(2), int64(4), int64(5)}))
}

// -MessageInterval is how long an agent that has nothing to do waits before it says so again, unless it had something
// to do.
func TestMessageInterval(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	r.logReaderAgain(t, "-MessageInterval 3600 -HistoryVerboseLevel 1", func() {})
	r.stopDistribution(t)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
		distributionCommand(0, "-MessageInterval 3600"),
	)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
	)
	for _, history := range []string{"MSlogreader_history", "MSdistribution_history"} {
		g.Eventually(lastRun(r.distDB, history, "comments", "runstatus = 4")).
			WithTimeout(deliverWithin).
			Should(HaveLen(1), history)
		said := lastRun(r.distDB, history, "time", "runstatus = 4")
		at := said()
		g.Consistently(said, 4*time.Second).Should(Equal(at), history)
	}
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (90, N'something to do')`)
	for _, history := range []string{"MSlogreader_history", "MSdistribution_history"} {
		g.Eventually(lastRun(r.distDB, history, "comments", "runstatus = 4")).
			WithTimeout(deliverWithin).
			Should(HaveLen(2), history)
	}
}

// A line that says that an agent waits for a server takes the place of the one before, whose figures stay.
func TestAgentsKeepTheirFiguresWhileTheyWait(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	r.stopDistribution(t)
	mustExec(t, r.distDB, `EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
		distributionCommand(0, "-KeepAliveMessageInterval 1 -CommitBatchSize 1 -TransactionsPerHistory 1"))
	mustExec(t, r.target, `CREATE TRIGGER dbo.slow ON dbo.orders AFTER INSERT AS WAITFOR DELAY '00:00:06'`)
	// More than the agent sends at once, and then a row for which the subscriber takes long.
	for n := range 8 {
		mustExec(
			t,
			r.source,
			`INSERT INTO dbo.pictures VALUES (N'large', @p1, CAST(REPLICATE(CAST('x' AS varchar(max)), 30000) AS varbinary(max)))`,
			n,
		)
	}
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (81, N'waits')`)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
	)
	const waiting = "comments LIKE N'%waiting for a response from the server%'"
	g.Eventually(lastRun(r.distDB, "MSdistribution_history", "xact_seqno", waiting+" AND delivered_transactions > 0")).
		WithTimeout(deliverWithin).
		Should(ContainElement(Not(BeNil())))
	r.bothSame(t)
}

// -OledbStreamThreshold says from which size on values go by way of a file, which -UseOledbStreaming asks for: where
// the agent can write none, larger ones end it with 21100 and smaller ones arrive.
func TestAgentStreamsLargeValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	r.stopDistribution(t)
	folder := filepath.Join(t.TempDir(), "temporary")
	r.dist.env = append(r.dist.env, "TMPDIR="+folder)
	r.dist.kill()
	g.Expect(r.dist.launch()).To(Succeed())
	r.distDB = r.dist.open(t, "master")
	start := func(parameters string) {
		t.Helper()
		mustExec(t, r.distDB,
			`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
			distributionCommand(0, parameters))
		mustExec(t, r.distDB, `EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1;
			EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`)
	}
	picture := func(code string) {
		t.Helper()
		mustExec(t, r.source, `INSERT INTO dbo.pictures VALUES (@p1, 1, @p2)`, code, bytes.Repeat([]byte{0, 7}, 1000))
	}
	const failed = `SELECT COUNT(*) FROM distribution.dbo.MSrepl_errors WHERE error_code = N'21100'`

	picture("no file")
	start("-OledbStreamThreshold 400 -UseOledbStreaming")
	g.Eventually(func() any { return scalar(r.distDB, failed) }).WithTimeout(deliverWithin).Should(BeNumerically(">", 0))
	g.Expect(scalar(r.target, `SELECT COUNT(*) FROM dbo.pictures WHERE code = 'no file'`)).To(BeEquivalentTo(0))

	r.stopDistribution(t)
	start("-OledbStreamThreshold 1048576 -UseOledbStreaming")
	r.bothSame(t)

	r.stopDistribution(t)
	g.Expect(os.Mkdir(folder, 0o700)).To(Succeed())
	picture("by file")
	start("-OledbStreamThreshold 400 -UseOledbStreaming")
	r.bothSame(t)
	g.Expect(filepath.Glob(filepath.Join(folder, "*.lob"))).To(BeEmpty())
}
