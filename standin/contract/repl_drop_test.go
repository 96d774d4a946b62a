// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// publishedByItself is a publication whose agents run as the jobs that the procedures make, with a push subscriber that
// has everything.
func publishedByItself(t *testing.T) *replication {
	t.Helper()
	r := newReplication(t)
	r.distribute(t)
	mustExec(
		t,
		r.source,
		`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`,
		saPassword,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication @publication = N'web', @status = N'active', @independent_agent = N'true'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`,
		saPassword,
	)
	for _, table := range []string{"orders", "pictures"} {
		mustExec(t, r.source, `EXEC sp_addarticle @publication = N'web', @article = @p1, @source_object = @p1`, table)
	}
	r.subscriptionDatabase(t)
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0, @subscriber_login = N'sa', @subscriber_password = @p1`,
		saPassword,
	)
	r.snapshot(t)
	r.bothSame(t)
	return r
}

// agentSessions counts the sessions of agents of a kind at a server.
func agentSessions(db *sql.DB, kind string) any {
	return scalar(db, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = @p1`, "Replication "+kind)
}

// A subscription, and the last publication of its database, are dropped while the agents run that the procedures made:
// those end, and say so.
func TestDropWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := publishedByItself(t)
	dist := r.dist.open(t, "distribution")
	g.Expect(agentSessions(dist, "Distribution")).To(BeNumerically(">", 0))

	mustExec(t, r.source, `EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB'`)
	g.Expect(value(t, dist,
		`SELECT COUNT(*) FROM dbo.MSdistribution_history WHERE comments = N'The process was stopped.'`)).
		To(BeEquivalentTo(1))
	g.Expect(agentSessions(dist, "Distribution")).To(BeEquivalentTo(0))

	// Another publication of the database needs the log reader.
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication @publication = N'other', @status = N'active'; EXEC sp_droppublication @publication = N'web'`,
	)
	r.readsLog(t)
	g.Expect(value(t, dist, ended)).To(BeEquivalentTo(0))
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'other'`)
	r.readsNoLog(t)
	g.Expect(value(t, dist, ended)).To(BeEquivalentTo(1))
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
	g.Expect(query(t, r.distDB, `SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'PUB-%'`)).To(BeEmpty())
}

// ended counts runs of log readers that were told to stop.
const ended = `SELECT COUNT(*) FROM dbo.MSlogreader_history WHERE comments = N'The process was stopped.'`

// readsLog waits for the log reader, at the publisher and at the distributor.
func (r *replication) readsLog(t *testing.T) {
	t.Helper()
	for _, at := range []*sql.DB{r.pubDB, r.distDB} {
		NewWithT(
			t,
		).Eventually(func() any { return agentSessions(at, "Log Reader") }).
			WithTimeout(patient).
			Should(BeEquivalentTo(1))
	}
}

// readsNoLog sees that there is no log reader.
func (r *replication) readsNoLog(t *testing.T) {
	t.Helper()
	for _, at := range []*sql.DB{r.pubDB, r.distDB} {
		NewWithT(
			t,
		).Eventually(func() any { return agentSessions(at, "Log Reader") }).
			WithTimeout(5 * time.Second).
			Should(BeEquivalentTo(0))
	}
}

// The log of a database is read for its transactional publications: those of snapshots alone need no log reader.
func TestTheLogReaderGoesWithTheLastTransactionalPublication(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := publishedByItself(t)
	dist := r.dist.open(t, "distribution")
	mustExec(t, r.source, `EXEC sp_addpublication @publication = N'whole', @status = N'active', @repl_freq = N'snapshot'`)
	mustExec(t, r.source, `EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB'`)
	r.readsLog(t)
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'web'`)
	r.readsNoLog(t)
	g.Expect(value(t, dist, ended)).To(BeEquivalentTo(1))
	g.Expect(query(t, dist, `SELECT name FROM dbo.MSlogreader_agents`)).To(BeEmpty())
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'whole'`)
}

// A log reader begins when it is added, whatever is published then, and goes when the database is published no more.
// By docs/relational-databases/system-stored-procedures/sp-replicationdboption-transact-sql.md, @ignore_distributor.
func TestTheLogReaderGoesWithPublishing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	dist := r.dist.open(t, "distribution")
	for range 5 {
		began := time.Now()
		mustExec(
			t,
			r.source,
			`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`,
			saPassword,
		)
		r.readsLog(t)
		g.Expect(time.Since(began)).To(BeNumerically("<", time.Minute), "its first attempt")
		mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
		r.readsNoLog(t)
		g.Expect(query(t, r.distDB, `SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'PUB-%'`)).To(BeEmpty())
		mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'`)
	}
	g.Expect(query(t, dist, `SELECT DISTINCT runstatus FROM dbo.MSlogreader_history WHERE runstatus IN (5, 6)`)).
		To(BeEmpty())
}
