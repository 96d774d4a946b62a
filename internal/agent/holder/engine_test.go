// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"database/sql"
	"io"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	testengine "geosql.dev/operator/test/support/engine"
)

// hosted starts an instance with a group of itself alone, and the agent's login with the rights that the operator
// grants.
func hosted(t *testing.T) (*testengine.Engine, keeper.Engine) {
	t.Helper()
	g := NewWithT(t)
	e := testengine.Start(t, "web", "tukpub")
	connector := e.Connector(t)
	sa, err := connector.Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	agent := credentials.RoleAgent
	statements := []tsql.Statement{
		tsql.CreateLogin(
			tsql.Login{Name: agent.Login(), SID: credentials.SID("web", agent.Login()), Password: e.Access.Passwords.Of(agent)},
		),
		tsql.CreateDatabase(
			"Content",
		), tsql.SetRecoveryFull("Content"), tsql.BackupDatabaseFull("Content", t.TempDir()+"/first.bak"),
		tsql.CreateGroup(
			tsql.Group{
				Name:        "content",
				ClusterType: tsql.ClusterExternal,
				WriteLease:  3 * time.Second,
				Databases:   []string{"Content"},
				Replicas: []tsql.Replica{{Server: "tukpub-0", EndpointURL: "TCP://tukpub-0:5022",
					Mode: tsql.SynchronousCommit, Readable: true}},
			},
		),
	}
	for _, p := range []tsql.ServerPermission{tsql.ViewServerState, tsql.ViewServerPerformanceState,
		tsql.ViewAnyDefinition, tsql.AlterAnyAvailabilityGroup, tsql.AlterAnyDatabase, tsql.AlterAnyConnection,
		tsql.AlterAnyEndpoint} {
		statements = append(statements, tsql.GrantServerPermission(p, agent.Login()))
	}
	for _, s := range statements {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	return e, holder.NewEngine(e.Connector(t), e.Target(agent), holder.ProcFS{Command: "none"})
}

func observed(t *testing.T, e keeper.Engine) func() ballot.Observation {
	return func() ballot.Observation {
		o, err := e.Observe(t.Context(), "content")
		if err != nil {
			return ballot.Observation{Role: ballot.Role(err.Error())}
		}
		return o
	}
}

// The agent's statements do on an engine what the protocol takes them for, under the agent's own rights.
func TestEngineOverTSQL(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	ctx := t.Context()
	g.Expect(e.Observe(ctx, "another")).To(Equal(ballot.Observation{}))
	look := observed(t, e)
	g.Eventually(look, patience).Should(And(HaveField("Exists", true), HaveField("Role", ballot.RolePrimary)))
	g.Expect(e.Copies(ctx, "content", []string{"Another", "Content"})).
		To(Equal([]keeper.Copy{{Name: "Content", State: "ONLINE", InGroup: true}}))
	g.Expect(look().Skew).To(BeNumerically("~", 0, 200*time.Millisecond))

	g.Expect(e.RenewLease(ctx, "content", 3*time.Second, time.Now().Add(-time.Second))).
		To(MatchError(ContainSubstring("50001")), "a late renewal does nothing")
	for range 5 {
		g.Expect(e.RenewLease(ctx, "content", 3*time.Second, time.Now().Add(time.Second))).To(Succeed())
		g.Consistently(look, time.Second, 200*time.Millisecond).Should(HaveField("Role", ballot.RolePrimary))
	}
	g.Eventually(look, patience).Should(HaveField("Role", ballot.RoleResolving), "without renewals the lease runs out")

	g.Expect(e.Failover(ctx, "content", 3*time.Second, time.Now().Add(-time.Second))).
		To(MatchError(ContainSubstring("50001")), "a late failover does nothing")
	g.Expect(e.Failover(ctx, "content", 3*time.Second, time.Now().Add(2*time.Second))).To(Succeed())
	g.Eventually(look, patience).Should(HaveField("Role", ballot.RolePrimary))
	g.Expect(e.Failover(ctx, "content", 3*time.Second, time.Now().Add(2*time.Second))).
		To(Succeed(), "already primary is done")
	g.Expect(e.Offline(ctx, "content")).To(Succeed())
	g.Eventually(look, patience).Should(HaveField("Role", ballot.RoleResolving))

	process.Freeze()
	bounded, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	g.Expect(e.RenewLease(bounded, "content", 3*time.Second, time.Now().Add(time.Second))).
		To(MatchError(context.DeadlineExceeded))
	g.Expect(time.Since(began)).To(BeNumerically("<", 10*time.Second), "a frozen engine does not hold the agent up")
	process.Thaw()
	g.Eventually(look, patience).
		Should(HaveField("Role", ballot.RoleResolving), "new connections work when the engine does")
}

// What an engine begins late is late by either of its clocks: the time of day may have been set back while a renewal
// was queued in an engine that was frozen.
func TestARenewalIsLateWhateverTheTimeOfDaySays(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	g.Eventually(observed(t, e), patience).Should(HaveField("Role", ballot.RolePrimary))
	db, err := process.Connector(t).Open(t.Context(), process.Target(credentials.RoleAgent))
	g.Expect(err).NotTo(HaveOccurred())
	renew := func(left time.Duration, ticks int64) error {
		return db.Exec(t.Context(), tsql.RenewWriteLease("content", 3*time.Second,
			tsql.Deadline{Time: time.Now().Add(left), Ticks: ticks}))
	}
	for range 2 {
		g.Expect(renew(time.Hour, math.MaxInt64)).To(Succeed())
		g.Expect(renew(time.Hour, 0)).To(Succeed(), "its count is not known")
		g.Expect(renew(time.Hour, 1)).To(MatchError(ContainSubstring("50001")))
		g.Expect(renew(-time.Second, math.MaxInt64)).To(MatchError(ContainSubstring("50001")))
		// The agent itself tells both clocks from the second look on.
		g.Expect(e.RenewLease(t.Context(), "content", 3*time.Second, time.Now().Add(time.Second))).To(Succeed())
		g.Expect(observed(t, e)()).To(HaveField("Role", ballot.RolePrimary))
	}
}

// A statement whose connection breaks may be begun by the engine later: nobody reports as if it were none.
func TestAConnectionThatBreaksLeavesItsStatementOpen(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	g.Eventually(observed(t, e), patience).Should(HaveField("Role", ballot.RolePrimary))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	var breaking atomic.Bool
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			engine, err := net.Dial("tcp", process.Address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, engine)
				_ = client.Close()
			}()
			go func() {
				defer client.Close()
				defer engine.Close()
				buffer := make([]byte, 64<<10)
				for {
					n, err := client.Read(buffer)
					if n > 0 {
						_, _ = engine.Write(buffer[:n])
					}
					if err != nil || breaking.Load() {
						return
					}
				}
			}()
		}
	}()
	connector := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(
			func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { return process.Access, nil },
		),
		Address: func(mssql.Target) string { return listener.Addr().String() }})
	t.Cleanup(func() { _ = connector.Close() })
	through := holder.NewEngine(connector, process.Target(credentials.RoleAgent), holder.ProcFS{Command: "none"})
	g.Eventually(observed(t, through), patience).Should(HaveField("Role", ballot.RolePrimary))
	process.Freeze()
	defer process.Thaw()
	breaking.Store(true)
	g.Expect(through.BecomeSecondary(t.Context(), "content", time.Now().Add(time.Minute))).
		To(MatchError(keeper.ErrUnanswered))
}

// The agent restarts the endpoint under its own rights, and leaves it started.
func TestTheAgentRestartsTheEndpoint(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	g.Expect(e.RestartEndpoint(t.Context(), "content")).To(MatchError(ContainSubstring("there is no endpoint")))
	sa, err := process.Connector(t).Open(t.Context(), process.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range []tsql.Statement{
		tsql.CreateMasterKey("Pa55word-of-the-key"),
		tsql.CreateSelfSignedCertificate(
			"geosql_tukpub_1", "geosql", time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)),
		tsql.CreateMirroringEndpoint(5022, "geosql_tukpub_1", tsql.EndpointRoleAll),
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	g.Expect(e.RestartEndpoint(t.Context(), "content")).To(Succeed())
	m, err := mssql.ReadMirroring(t.Context(), sa)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Endpoint).To(HaveValue(HaveField("State", "STARTED")))
}

// An endpoint that was left stopped by an agent or manager that has ended between STOPPED and STARTED is started by the
// agent that comes next, and one whose caller stops waiting is not left so.
func TestAnEndpointThatWasLeftStoppedIsStarted(t *testing.T) {
	g := NewWithT(t)
	process, _ := hosted(t)
	sa, err := process.Connector(t).Open(t.Context(), process.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range []tsql.Statement{
		tsql.CreateMasterKey("Pa55word-of-the-key"),
		tsql.CreateSelfSignedCertificate(
			"geosql_tukpub_1", "geosql", time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)),
		tsql.CreateMirroringEndpoint(5022, "geosql_tukpub_1", tsql.EndpointRoleAll),
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	state := func() (string, error) {
		m, err := mssql.ReadMirroring(t.Context(), sa)
		if err != nil || m.Endpoint == nil {
			return "", err
		}
		return m.Endpoint.State, nil
	}
	_, err = sa.Handle().ExecContext(t.Context(), "ALTER ENDPOINT [Hadr_endpoint] STATE = STOPPED")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(state()).To(Equal("STOPPED"))
	next := holder.NewEngine(process.Connector(t), process.Target(credentials.RoleAgent), holder.ProcFS{Command: "none"})
	g.Eventually(observed(t, next), patience).Should(HaveField("Exists", true))
	g.Eventually(state, patience).Should(Equal("STARTED"))

	process.Freeze()
	gone, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	g.Expect(next.RestartEndpoint(gone, "content")).NotTo(Succeed())
	process.Thaw()
	g.Eventually(state, patience).Should(Equal("STARTED"))
	g.Eventually(func() error { return next.RestartEndpoint(t.Context(), "content") }, patience).Should(Succeed())
}

// A former primary ends the sessions of applications that came to it in its first seconds as a secondary; others go on.
func TestSessionsOfTheGroupAreEnded(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	g.Eventually(observed(t, e), patience).Should(HaveField("Role", ballot.RolePrimary))
	session := func(program, database string) *sql.Conn {
		c := mssql.NewConnector(mssql.Options{Program: program,
			Access: mssql.AccessFunc(
				func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { return process.Access, nil },
			),
			Address: func(mssql.Target) string { return process.Address }})
		t.Cleanup(func() { _ = c.Close() })
		target := process.Target(credentials.RoleSA)
		target.Database = database
		db, err := c.Open(t.Context(), target)
		g.Expect(err).NotTo(HaveOccurred())
		var conn *sql.Conn
		g.Eventually(func() error { conn, err = db.Handle().Conn(t.Context()); return err }, patience).Should(Succeed())
		return conn
	}
	shop, elsewhere, own := session("a shop", "Content"), session("a shop", "master"),
		session("geosql-workload", "Content")
	g.Expect(e.EndSessions(t.Context(), "another", time.Hour)).To(Succeed())
	g.Expect(shop.PingContext(t.Context())).To(Succeed(), "of another group")
	g.Eventually(observed(t, e), patience).Should(HaveField("Role", ballot.RolePrimary))
	g.Expect(e.EndSessions(t.Context(), "content", time.Hour)).To(Succeed())
	g.Expect(shop.PingContext(t.Context())).To(Succeed(), "the role came back before")
	var number int
	g.Expect(shop.QueryRowContext(t.Context(), "SELECT @@SPID").Scan(&number)).To(Succeed())
	agent, err := process.Connector(t).Open(t.Context(), process.Target(credentials.RoleAgent))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(agent.Exec(t.Context(), tsql.EndSessionSince("content", 3600, number))).To(Succeed())
	g.Expect(shop.PingContext(t.Context())).To(Succeed(), "the role came back after the sessions were read")
	g.Expect(e.BecomeSecondary(t.Context(), "content", time.Now().Add(5*time.Second))).To(Succeed())
	g.Eventually(observed(t, e), patience).Should(HaveField("Role", ballot.RoleSecondary))
	writer := session("a shop", "Content")
	_, err = writer.ExecContext(t.Context(), "CREATE TABLE dbo.Orders (id int)")
	g.Expect(mssql.HasNumber(err, 3906)).To(BeTrue(), "%v", err)
	shop = session("a shop", "Content")
	g.Expect(shop.PingContext(t.Context())).To(Succeed())
	reader := session("a report", "Content")
	_, err = reader.ExecContext(t.Context(), "CREATE TABLE dbo.Orders (id int)")
	g.Expect(mssql.HasNumber(err, 3906)).To(BeTrue(), "%v", err)
	var reads int
	g.Expect(reader.QueryRowContext(t.Context(), "SELECT @@SPID").Scan(&reads)).To(Succeed())
	reading, stop := context.WithCancel(t.Context())
	reported := make(chan error, 1)
	go func() {
		_, err := reader.ExecContext(reading, "WAITFOR DELAY '01:00:00'")
		reported <- err
	}()
	status := func() (status string, err error) {
		err = agent.Handle().QueryRowContext(t.Context(), "SELECT status FROM sys.dm_exec_sessions WHERE session_id = @p1",
			reads).Scan(&status)
		return status, err
	}
	g.Eventually(status, patience).Should(Equal("running"))
	idle := session("a shop", "Content")
	_, err = idle.ExecContext(t.Context(), "CREATE TABLE dbo.Orders (id int)")
	g.Expect(mssql.HasNumber(err, 3906)).To(BeTrue(), "%v", err)
	refused := func(seconds, most int) func() ([]int, error) {
		return func() ([]int, error) {
			return mssql.ReadSessions(t.Context(), agent, tsql.RefusedWriters("content", seconds, most))
		}
	}
	g.Expect(refused(3600, 100)()).To(HaveLen(2))
	g.Expect(refused(3600, 1)()).To(HaveLen(1), "no more at once")
	g.Eventually(refused(1, 100), patience).Should(BeEmpty(), "they have asked for nothing since")
	_, err = writer.ExecContext(t.Context(), "CREATE TABLE dbo.Orders (id int)")
	g.Expect(mssql.HasNumber(err, 3906)).To(BeTrue(), "%v", err)
	g.Expect(e.EndWriters(t.Context(), "another")).To(BeZero())
	g.Expect(e.EndWriters(t.Context(), "content")).To(BeNumerically(">=", 1))
	g.Eventually(func() error {
		_, err := writer.ExecContext(t.Context(), "SELECT 1")
		return err
	}, patience).ShouldNot(Succeed())
	g.Expect(e.EndWriters(t.Context(), "content")).To(BeZero())
	g.Expect(status()).To(Equal("running"), "it handled the refusal, and reads")
	stop()
	g.Expect(<-reported).To(HaveOccurred())
	g.Expect(shop.PingContext(t.Context())).To(Succeed(), "it only reads")
	// The stand-in shows a session in its database from its first request on.
	g.Expect(shop.PingContext(t.Context())).To(Succeed())
	g.Expect(e.EndSessions(t.Context(), "content", time.Hour)).To(Succeed())
	g.Eventually(func() error {
		_, err := shop.ExecContext(t.Context(), "SELECT 1")
		return err
	}, patience).ShouldNot(Succeed())
	for _, conn := range []*sql.Conn{elsewhere, own} {
		g.Expect(conn.PingContext(t.Context())).To(Succeed())
	}
}

// A restarted engine waits for its agent: its last role is not its own to take.
func TestARestartedEngineIsResolving(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	look := observed(t, e)
	g.Eventually(look, patience).Should(HaveField("Role", ballot.RolePrimary))
	process.Kill(t)
	process.Launch(t)
	g.Eventually(look, patience).Should(And(HaveField("Exists", true), HaveField("Role", ballot.RoleResolving)))
	g.Expect(e.Failover(t.Context(), "content", 3*time.Second, time.Now().Add(2*time.Second))).To(Succeed())
	g.Eventually(look, patience).Should(HaveField("Role", ballot.RolePrimary))
	db, err := process.Connector(t).
		Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA, Database: "Content"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error { return db.Ping(t.Context()) }, patience).Should(Succeed())
}

// A copy that is gone is given up already; one that the agent may not touch is not, and the engine's refusal is told.
func TestReseedTellsMissingFromForbidden(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	sa, err := process.Connector(t).Open(t.Context(), process.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = sa.Handle().
		ExecContext(t.Context(), "CREATE DATABASE Plain; REVOKE ALTER ANY DATABASE FROM "+credentials.RoleAgent.Login())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Reseed(t.Context(), "content", []string{"Never"})).To(Succeed())
	g.Expect(e.Reseed(t.Context(), "content", []string{"Plain"})).
		To(MatchError(And(ContainSubstring("take Plain out of its group"), ContainSubstring("does not have permission"))))
	g.Expect(sa.Exec(t.Context(), tsql.GrantServerPermission(tsql.AlterAnyDatabase, credentials.RoleAgent.Login()))).
		To(Succeed())
	g.Expect(e.Reseed(t.Context(), "content", []string{"Plain"})).
		To(MatchError(ContainSubstring("ONLINE outside of the group")), "it may have rows that nobody else has")
	g.Expect(e.Copies(t.Context(), "content", []string{"Plain"})).To(HaveLen(1))
}

// Another group's copy of a database of the name stays what it is, whatever is asked of this one's agent.
func TestReseedLeavesAnotherGroupsCopyAlone(t *testing.T) {
	g := NewWithT(t)
	process, e := hosted(t)
	sa, err := process.Connector(t).Open(t.Context(), process.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range []tsql.Statement{
		tsql.CreateDatabase("Shop"), tsql.SetRecoveryFull("Shop"),
		tsql.BackupDatabaseFull("Shop", t.TempDir()+"/first.bak"),
		tsql.CreateGroup(tsql.Group{Name: "blog", ClusterType: tsql.ClusterNone, Databases: []string{"Shop"},
			Replicas: []tsql.Replica{{Server: "tukpub-0", EndpointURL: "TCP://tukpub-0:5022",
				Mode: tsql.SynchronousCommit}}}),
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	theirs := keeper.Copy{Name: "Shop", State: "ONLINE", Other: "a database of availability group blog"}
	g.Expect(e.Copies(t.Context(), "content", []string{"Shop", "Content"})).
		To(Equal([]keeper.Copy{theirs, {Name: "Content", State: "ONLINE", InGroup: true}}))
	g.Expect(e.Reseed(t.Context(), "content", []string{"Shop"})).
		To(MatchError(ContainSubstring("a database of availability group blog")))
	g.Expect(e.Copies(t.Context(), "content", []string{"Shop"})).To(ConsistOf(theirs))
	g.Expect(e.Copies(t.Context(), "blog", []string{"Shop"})).To(ConsistOf(HaveField("InGroup", true)))
}
