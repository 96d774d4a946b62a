// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// opener opens databases of an engine as sa.
func opener(t *testing.T, e *engine.Engine) func(database string) *mssql.DB {
	return func(database string) *mssql.DB {
		target := e.Target(credentials.RoleSA)
		target.Database = database
		db, err := e.Connector(t).Open(t.Context(), target)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return db
	}
}

// A job that replication itself made has the agent between two steps of T-SQL. What is read and changed is the agent's
// step, and the others stay.
func TestJobThatReplicationMade(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	open := opener(t, e)
	execute := func(database string, statements ...tsql.Statement) {
		t.Helper()
		for _, s := range statements {
			g.Expect(open(database).Exec(t.Context(), s)).To(Succeed(), s.Redacted())
		}
	}
	execute("master", tsql.AddDistributor("solo-0", "Str0ng-and-long.secret"),
		tsql.AddDistributionDatabase("distribution", 72, 48),
		tsql.AddDistributionPublisher(tsql.DistributionPublisher{Publisher: "solo-0", Database: "distribution",
			Login: "sa", Password: "x", WorkingDirectory: t.TempDir()}),
		tsql.Statement{Text: "CREATE DATABASE Content"}, tsql.PublishDatabase("Content", true))
	execute("Content", tsql.Statement{Text: "EXEC sys.sp_addlogreader_agent"})
	agents, err := mssql.ReadAgents(t.Context(), open("distribution"), tsql.LogReaderAgents("Content"),
		tsql.AgentLogReader)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(agents).To(HaveLen(1))

	made, err := mssql.ReadJob(t.Context(), open("master"), agents[0].Job)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.Command).To(ContainSubstring("-PublisherDB [Content]"))
	var p replication.Plan
	job := tsql.Job{Name: agents[0].Job, Subsystem: tsql.SubsystemLogReader,
		Command: tsql.NewCommand().With("Publisher", "solo-0").With("PublisherDB", "Content").WithNumber("LoginTimeOut", 7)}
	p.Job("solo", job, true, made)
	for _, step := range p.Steps {
		s := step.(replication.Execute)
		g.Expect(s.Settled(open(s.Database).Exec(t.Context(), s.Statement))).To(Succeed())
	}
	changed, err := mssql.ReadJob(t.Context(), open("master"), agents[0].Job)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changed.Command).To(Equal(job.Command.Text()))
	var steps []string
	g.Expect(open("msdb").Query(t.Context(), tsql.Statement{Text: "SELECT s.subsystem FROM dbo.sysjobsteps AS s " +
		"JOIN dbo.sysjobs AS j ON j.job_id = s.job_id WHERE j.name = N'" + job.Name + "' AND s.command NOT LIKE N'%" +
		"-LoginTimeOut%' ORDER BY s.step_id"}, func(r mssql.Row) error {
		var subsystem string
		err := r.Scan(&subsystem)
		steps = append(steps, subsystem)
		return err
	})).To(Succeed())
	g.Expect(steps).To(Equal([]string{"TSQL", "TSQL"}))
}

// The newest row of an agent's history may be statistics in XML. What is told is what the agent said before; status and
// time are the newest row's.
func TestStatisticsInAHistory(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	open := opener(t, e)
	for _, s := range []tsql.Statement{
		tsql.AddDistributor("solo-0", "Str0ng-and-long.secret"), tsql.AddDistributionDatabase("distribution", 72, 48),
	} {
		g.Expect(open("master").Exec(t.Context(), s)).To(Succeed())
	}
	history := func(minutes int, status mssql.RunStatus, comments string) {
		g.Expect(open("distribution").Exec(t.Context(), tsql.Statement{Text: fmt.Sprintf(`INSERT dbo.MSlogreader_history
			(agent_id, runstatus, start_time, time, duration, comments, delivery_time, delivered_transactions,
			delivered_commands, average_commands, delivery_rate, delivery_latency, error_id, updateable_row)
			SELECT 7, %d, GETDATE(), DATEADD(minute, -%d, GETDATE()), 0, N'%s', 0, 0, 0, 0, 0, 0, 0, 1`,
			status, minutes, comments)})).To(Succeed())
	}
	read := func() (status mssql.RunStatus, message string, seconds int) {
		var at time.Time
		g.Expect(open("distribution").Query(t.Context(), tsql.AgentHistory(tsql.AgentLogReader, 7),
			func(r mssql.Row) error { return r.Scan(&status, &message, &at, &seconds) })).To(Succeed())
		return status, message, seconds
	}
	history(9, mssql.RunInProgress, `<stats state="1" work="9" idle="295"></stats>`)
	status, message, _ := read()
	g.Expect(status).To(Equal(mssql.RunInProgress))
	g.Expect(message).To(BeEmpty())
	history(5, mssql.RunIdle, "No replicated transactions are available.")
	history(1, mssql.RunInProgress, `<stats state="1" work="9" idle="295"></stats>`)
	status, message, seconds := read()
	g.Expect(status).To(Equal(mssql.RunInProgress))
	g.Expect(message).To(Equal("No replicated transactions are available."))
	g.Expect(seconds).To(BeNumerically("<", 120))
}

// SQL Server Agent that does not come up with its engine is known to be down, and what it ran when both were killed is
// not taken for running. The engine refuses to start a job then with the number of one that runs already.
func TestAgentThatIsDown(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	open := func() *mssql.DB {
		db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
		g.Expect(err).NotTo(HaveOccurred())
		return db
	}
	for _, s := range []tsql.Statement{
		{Text: "EXEC msdb.dbo.sp_add_job @job_name = N'long'"},
		{Text: "EXEC msdb.dbo.sp_add_jobstep @job_name = N'long', @step_name = N'wait', @command = " +
			"N'WAITFOR DELAY ''01:00:00'''"},
		tsql.AddJobServer("long"), tsql.StartJob("long"),
	} {
		g.Expect(open().Exec(t.Context(), s)).To(Succeed())
	}
	state := func() (bool, bool) {
		server, _, err := mssql.ReadReplicationServer(t.Context(), open(), "agents", "secret", "")
		g.Expect(err).NotTo(HaveOccurred())
		job, err := mssql.ReadJob(t.Context(), open(), "long")
		g.Expect(err).NotTo(HaveOccurred())
		return server.AgentDown, job.Running
	}
	g.Eventually(func() []bool { down, running := state(); return []bool{down, running} }, "20s").
		Should(Equal([]bool{false, true}))
	e.Configure(t, "[sqlagent]\nenabled = false\n")
	down, running := state()
	g.Expect(down).To(BeTrue())
	g.Expect(running).To(BeFalse())
	g.Expect(mssql.HasNumber(open().Exec(t.Context(), tsql.StartJob("long")), 22022)).To(BeTrue())
}
