// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// A gate is a trigger that stops whoever changes a table, within the transaction that does: rows are written, and
// nothing is committed. It has two application locks: one that the test holds while the gate is closed, and one that
// whoever stands there holds. The trigger fires for requests that find the gate open, too.
type gate struct {
	db   *sql.DB
	conn *sql.Conn
}

func newGate(t *testing.T, db *sql.DB, table, event string) *gate {
	t.Helper()
	mustExec(t, db, fmt.Sprintf("CREATE TRIGGER dbo.gate ON dbo.%s AFTER %s AS ", table, event)+throughGate)
	return &gate{db: db}
}

// throughGate is the text of what stops at a gate.
const throughGate = `EXEC sp_getapplock @Resource = N'arrived', @LockMode = N'Shared', @LockOwner = N'Session';
	EXEC sp_getapplock @Resource = N'gate', @LockMode = N'Shared', @LockOwner = N'Session';
	EXEC sp_releaseapplock @Resource = N'gate', @LockOwner = N'Session'; EXEC sp_releaseapplock @Resource = N'arrived', @LockOwner = N'Session'; `

// stop closes the gate and waits until somebody stands there.
func (a *gate) stop(t *testing.T) {
	t.Helper()
	a.close(t)
	a.await(t)
}

func (a *gate) close(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() (err error) {
		if a.conn, err = a.db.Conn(context.Background()); err != nil {
			return err
		}
		_, err = a.conn.ExecContext(
			context.Background(),
			`EXEC sp_getapplock @Resource = N'gate', @LockMode = N'Exclusive', @LockOwner = N'Session'`,
		)
		return err
	}).WithTimeout(deliverWithin).Should(Succeed())
}

func (a *gate) await(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() any {
		return scalar(
			a.db,
			`SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = N'APPLICATION' AND resource_description LIKE N'%/arrived'`,
		)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1), "nobody has come to the gate")
}

// open lets them go on. The server may be gone.
func (a *gate) open() {
	_, _ = a.conn.ExecContext(context.Background(), `EXEC sp_releaseapplock @Resource = N'gate', @LockOwner = N'Session'`)
	_ = a.conn.Close()
}

// moment is a place between two commits, and who is killed there.
type moment struct {
	name string
	kill func(t *testing.T)
}

// moments are those at which what is delivered and how far it is delivered could come apart: at the subscriber between
// the rows and the position, at the distributor between the commands and their commit, and between that and the log
// reader's mark at the publisher.
func (r *replication) moments(t *testing.T) []moment {
	t.Helper()
	dist := r.dist.open(t, "distribution")
	applying, reading := newGate(t, r.target, "MSreplication_subscriptions", "UPDATE"),
		newGate(t, dist, "MSrepl_commands", "INSERT")
	g := NewWithT(t)
	restart := func(i *instance) { i.kill(); g.Expect(i.launch()).To(Succeed()) }
	at := func(a *gate, kill func()) func(*testing.T) {
		return func(t *testing.T) { a.stop(t); kill(); a.open() }
	}
	// The distributor commits while the publisher does not run, so that the log reader cannot tell it.
	unmarked := func(kill func()) func(*testing.T) {
		return func(t *testing.T) {
			reading.stop(t)
			newest := func() any {
				return scalar(dist, `SELECT CONVERT(varchar(34), MAX(xact_seqno), 1) FROM dbo.MSrepl_transactions`)
			}
			before := newest()
			g.Expect(before).NotTo(BeNil())
			r.pub.freeze(t)
			reading.open()
			g.Eventually(newest).WithTimeout(deliverWithin).ShouldNot(Or(Equal(before), BeNil()))
			kill()
		}
	}
	return []moment{
		{"the subscriber between rows and position", at(applying, func() { restart(r.sub) })},
		{
			"the distribution agent's sessions at the subscriber between rows and position",
			at(applying, func() { killAgents(r.subDB, "Replication Distribution") }),
		},
		{"the distributor between rows and position", at(applying, func() { restart(r.dist) })},
		{"the distributor between commands and commit", at(reading, func() { restart(r.dist) })},
		{
			"the log reader's sessions at the distributor between commands and commit",
			at(reading, func() { killAgents(r.distDB, "Replication Log Reader") }),
		},
		{"the publisher between commands and commit", at(reading, func() { restart(r.pub) })},
		{"the publisher between the distributor's commit and its mark", unmarked(func() { restart(r.pub) })},
		{"the distributor between its commit and the publisher's mark", unmarked(func() { restart(r.dist); r.pub.thaw() })},
	}
}

// Each server and agent is killed at each moment at which what is delivered and how far it is could come apart.
// GEOSQL_REPLICATION_ROUNDS is how many kills there are.
func TestTransactionsArriveOnceWhoeverIsKilledAtACommit(t *testing.T) {
	t.Parallel()
	l := newLedger(t, "")
	moments := l.moments(t)
	for round := range roundsOr("GEOSQL_REPLICATION_ROUNDS", len(moments)) {
		m := moments[round%len(moments)]
		l.deliver(t, round)
		t.Logf("round %d: kill %s at transaction %d", round, m.name, l.reached)
		m.kill(t)
	}
	l.end(t)
}
