// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// An agent fails from its first attempt that ended so until it goes on, whatever further attempts have written
// meanwhile.
func TestFailingAgents(t *testing.T) {
	e := engine.Start(t, "web", "solo")
	connector := e.Connector(t)
	sa, err := connector.Open(t.Context(), e.Target(credentials.RoleSA))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	exec := func(t *testing.T, text string) {
		t.Helper()
		NewWithT(t).Expect(sa.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed())
	}
	for _, s := range []tsql.Statement{tsql.AddDistributor("solo-0", "Str0ng-and-long.secret"),
		tsql.AddDistributionDatabase("distribution", 72, 48)} {
		NewWithT(t).Expect(sa.Exec(t.Context(), s)).To(Succeed())
	}
	exec(t, "INSERT INTO distribution.dbo.MSreplservers (srvid, srvname) VALUES (0, N'publisher')")
	exec(
		t,
		"INSERT INTO distribution.dbo.MSlogreader_agents (name, publisher_id, publisher_db, publication, local_job, "+
			"profile_id, publisher_security_mode) VALUES (N'agent', 0, N'Content', N'ALL', 0, 1, 0)",
	)

	// Rows are runstatus, how many seconds ago, commands and duration. Never is what is seen of an agent that never went
	// on.
	type row [4]int
	const never = -1
	for name, c := range map[string]struct {
		rows   []row
		status mssql.RunStatus
		since  int
		seen   int
	}{
		"nothing yet":       {nil, 0, 0, never},
		"idle":              {[]row{{1, 90, 0, 0}, {4, 10, 0, 80}}, 0, 0, 10},
		"only ever begun":   {[]row{{1, 90, 0, 0}}, 0, 0, never},
		"never went on":     {[]row{{1, 90, 0, 0}, {5, 89, 0, 1}, {1, 29, 0, 0}}, mssql.RunRetrying, 89, never},
		"begun since":       {[]row{{4, 300, 0, 900}, {1, 20, 0, 0}}, 0, 0, 300},
		"an attempt failed": {[]row{{4, 300, 0, 900}, {6, 20, 0, 920}}, mssql.RunFailed, 20, 300},
		"attempts are tried again": {[]row{{4, 300, 0, 900}, {5, 200, 0, 990}, {1, 140, 0, 0}, {5, 139, 0, 1}, {1, 80, 0, 0},
			{5, 79, 0, 1}}, mssql.RunRetrying, 200, 300},
		"another one has begun": {[]row{{4, 300, 0, 900}, {5, 200, 0, 990}, {1, 140, 0, 0}, {3, 5, 0, 1}},
			mssql.RunRetrying, 200, 300},
		"the newest says which": {[]row{{4, 300, 0, 900}, {5, 200, 0, 990}, {6, 100, 0, 1}}, mssql.RunFailed, 200, 300},
		"stopped": {[]row{{4, 300, 0, 900}, {5, 200, 0, 990}, {1, 140, 0, 0}, {2, 139, 0, 1}},
			mssql.RunRetrying, 200, 300},
		"it delivers again":         {[]row{{5, 200, 0, 990}, {1, 140, 0, 0}, {3, 100, 7, 5}}, 0, 0, 100},
		"it is at work":             {[]row{{5, 200, 0, 990}, {1, 140, 0, 0}, {3, 100, 0, 40}}, 0, 0, 100},
		"at work since then":        {[]row{{5, 200, 0, 990}, {1, 140, 0, 0}, {3, 139, 0, 1}}, 0, 0, never},
		"it delivered and fails":    {[]row{{5, 200, 0, 990}, {3, 100, 7, 5}, {6, 50, 7, 55}}, mssql.RunFailed, 50, 100},
		"other agents do not count": {[]row{{6, 200, 0, 990}, {4, 100, 0, 1}}, 0, 0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			exec(t, "DELETE FROM distribution.dbo.MSlogreader_history")
			for _, r := range c.rows {
				exec(
					t,
					fmt.Sprintf(
						`INSERT INTO distribution.dbo.MSlogreader_history (agent_id, runstatus, start_time, time, duration, comments,
		delivery_time, delivered_transactions,
					delivered_commands, average_commands, delivery_rate, delivery_latency, error_id, updateable_row)
					SELECT id, %[1]d, DATEADD(second, -%[2]d - %[4]d, GETDATE()), DATEADD(second, -%[2]d, GETDATE()), %[4]d,
					N'says %[1]d', 0, %[3]d, %[3]d, 0, 0, 0, 0, 1 FROM distribution.dbo.MSlogreader_agents`,
						r[0],
						r[1],
						r[2],
						r[3],
					),
				)
			}
			exec(
				t,
				`INSERT INTO distribution.dbo.MSlogreader_history (agent_id, runstatus, start_time, time, duration, comments,
		delivery_time, delivered_transactions,
				delivered_commands, average_commands, delivery_rate, delivery_latency, error_id, updateable_row) VALUES (4711, 5,
				GETDATE(), GETDATE(), 0, N'another', 0, 0, 0, 0, 0, 0, 0, 1)`,
			)
			target := e.Target(credentials.RoleSA)
			target.Database = "distribution"
			db, err := connector.Open(t.Context(), target)
			g.Expect(err).NotTo(HaveOccurred())
			agents, err := mssql.ReadAgents(t.Context(), db, tsql.LogReaderAgents("Content"), tsql.AgentLogReader)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(agents).To(HaveLen(1))
			a := agents[0]
			g.Expect(a.Failure).To(Equal(c.status))
			g.Expect(a.FailingFor.Seconds()).To(BeNumerically("~", c.since, 8))
			if c.seen == never {
				g.Expect(a.Unseen).To(Equal(mssql.Never))
			} else {
				g.Expect(a.Unseen.Seconds()).To(BeNumerically("~", c.seen, 8))
			}
			if c.status != 0 {
				g.Expect(a.FailureMessage).To(Equal(fmt.Sprintf("says %d", c.status)))
			}
			if len(c.rows) > 0 {
				g.Expect(a.Age.Seconds()).To(BeNumerically("~", c.rows[len(c.rows)-1][1], 8))
			}
		})
	}
}

func TestFailureOfAnAgent(t *testing.T) {
	written := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	going, between := &mssql.Job{Running: true}, &mssql.Job{Running: true, BetweenRetries: true}
	quiet := &v1alpha1.AgentProfileSpec{HistoryVerboseLevel: ptr.To[int32](0)}
	failed := mssql.Agent{
		Status:         mssql.RunStarted,
		Message:        "Starting agent.",
		Time:           written,
		Failure:        mssql.RunFailed,
		FailureMessage: "20598",
		FailingFor:     90 * time.Second,
		Unseen:         95 * time.Second,
	}
	retrying := failed
	retrying.Failure, retrying.FailingFor, retrying.Unseen = mssql.RunRetrying, 30*time.Second, 40*time.Second
	// The default of -HistoryVerboseLevel, 1, lets an agent write over its last row of the same status.
	writtenOver := retrying
	writtenOver.FailingFor, writtenOver.Unseen = 5*time.Second, 10*time.Minute
	idle := mssql.Agent{Status: mssql.RunIdle, Time: written, Age: 20 * time.Second, Unseen: 20 * time.Second}
	// An attempt says that it begins, and nothing when it dies.
	old := mssql.Agent{Status: mssql.RunStarted, Time: written, Age: 5 * time.Second, Unseen: 10 * time.Minute}
	stopped := mssql.Agent{
		Status:         mssql.RunRetrying,
		Message:        "away",
		Time:           written,
		Failure:        mssql.RunRetrying,
		FailureMessage: "away",
		Unseen:         10 * time.Second,
	}
	never := failed
	never.Unseen = mssql.Never
	neverForLong := never
	neverForLong.FailingFor = 12 * time.Minute
	for name, c := range map[string]struct {
		agent   *mssql.Agent
		job     *mssql.Job
		profile *v1alpha1.AgentProfileSpec
		status  mssql.RunStatus
		passing bool
		lasts   time.Duration
		state   string
	}{
		"no agent":                     {job: between},
		"idle":                         {agent: &idle, job: going, state: "Idle"},
		"failed, an attempt under way": {agent: &failed, job: going, status: mssql.RunFailed, state: "Failed"},
		"tried again, an attempt under way": {agent: &retrying, job: going, status: mssql.RunRetrying, passing: true,
			state: "Retrying"},
		"tried again, its row written over": {agent: &writtenOver, job: going, status: mssql.RunRetrying,
			state: "Retrying"},
		"it never went on": {agent: &never, job: going, status: mssql.RunFailed, state: "Failed"},
		"it never went on, for long": {agent: &neverForLong, job: going, status: mssql.RunFailed, lasts: 12 * time.Minute,
			state: "Failed"},
		"an attempt that nobody was told of": {agent: &idle, job: between, status: mssql.RunRetrying, passing: true,
			state: "Retrying"},
		"nobody is told of attempts for long": {agent: &old, job: between, status: mssql.RunRetrying, state: "Retrying"},
		"nobody was ever told": {agent: &mssql.Agent{Unseen: mssql.Never}, job: between,
			status: mssql.RunRetrying, state: "Unknown"},
		"the job does not run": {agent: &stopped, job: &mssql.Job{}, status: mssql.RunRetrying, passing: true,
			state: "Stopped"},
		"no history, an attempt under way": {agent: &failed, job: going, profile: quiet, state: "Failed"},
		"no history, between two attempts": {agent: &failed, job: between, profile: quiet, status: mssql.RunFailed,
			state: "Failed"},
		"no history, and the job does not run": {agent: &failed, job: &mssql.Job{}, profile: quiet, status: mssql.RunFailed,
			state: "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := replication.FailureOf(c.agent, c.job, c.profile)
			g.Expect(f != nil).To(Equal(c.status != 0))
			if f != nil {
				g.Expect(f.Status).To(Equal(c.status))
				g.Expect(f.Message).NotTo(BeEmpty())
				g.Expect(f.Passing(0)).To(Equal(c.passing))
				g.Expect(f.Passing(time.Hour)).
					To(Equal(c.passing), "rows may be late for an hour: that nothing is delivered is told all the same")
				g.Expect(f.Lasts()).To(Equal(c.lasts > 0))
				if f.Lasts() {
					g.Expect(f.For).To(Equal(c.lasts), "nobody says how long it has been when nobody knows")
				}
				g.Expect(f.Passing(time.Second)).
					To(BeFalse(), "rows may be late for a second, and nobody has seen any arrive for longer")
			}
			if s := replication.AgentStatus(nil, c.agent, c.job); s != nil {
				g.Expect(s.State).To(Equal(c.state))
			}
		})
	}
}
