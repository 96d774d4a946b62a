// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
)

// testGate holds commits until they are let through.
type testGate struct {
	mu      sync.Mutex
	through storage.LSN
	refuse  error
	changed chan struct{}
}

func (g *testGate) Admit(bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refuse
}

func (g *testGate) WaitHardened(ctx context.Context, lsn storage.LSN) error {
	for {
		g.mu.Lock()
		ok, refuse, changed := !g.through.Less(lsn), g.refuse, g.changed
		g.mu.Unlock()
		switch {
		case ok:
			return nil
		case refuse != nil:
			return refuse
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *testGate) set(through storage.LSN, refuse error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.through, g.refuse = through, refuse
	close(g.changed)
	g.changed = make(chan struct{})
}

var errRole = errors.New("the role changed")

func TestACommitWaitsForTheGateAndReadersDoNotSeeItBefore(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	gate := &testGate{changed: make(chan struct{})}
	applied, _ := db.Applied()
	gate.set(applied, nil)
	db.SetGate(gate)
	done := make(chan error, 2)
	go func() {
		_, err := write(db, "INSERT INTO t VALUES (1)")
		done <- err
	}()
	g.Eventually(func() storage.LSN { lsn, _ := db.Applied(); return lsn }).ShouldNot(Equal(applied))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := db.Reader(ctx)
	g.Expect(err).To(HaveOccurred(), "a reader was shown a commit that is not hardened everywhere")
	first, _ := db.Applied()
	go func() { // the next writer does not wait for the one before it
		_, err := write(db, "INSERT INTO t VALUES (2)")
		done <- err
	}()
	g.Eventually(func() storage.LSN { lsn, _ := db.Applied(); return lsn }).ShouldNot(Equal(first))
	g.Consistently(done, "30ms").ShouldNot(Receive())
	last, _ := db.Applied()
	gate.set(last, nil)
	g.Eventually(done).Should(Receive(BeNil()))
	g.Eventually(done).Should(Receive(BeNil()))
	g.Expect(dump(db)).To(ContainElements("t|1", "t|2"))
}

func TestAChangeOfRoleBreaksEverythingOff(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (0)")
	gate := &testGate{changed: make(chan struct{})}
	gate.set(storage.MakeLSN(1<<31, 0, 0), nil)
	db.SetGate(gate)
	idle, err := db.Reader(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer idle.Release()
	busy, err := db.Reader(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer busy.Release()
	ended := make(chan error)
	started := make(chan struct{})
	go func() {
		leave, err := busy.Use(context.Background())
		if err != nil {
			ended <- err
			return
		}
		close(started)
		err = sqlitex.ExecuteTransient(
			busy.Conn(),
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n",
			nil,
		)
		leave()
		ended <- err
	}()
	g.Eventually(started).Should(BeClosed())
	tx, err := db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run(tx, "INSERT INTO t VALUES (1)")).To(Succeed())

	gate.set(storage.LSN{}, errRole)
	g.Expect(db.SetMode(t.Context(), storage.Redo, errRole)).To(Succeed())
	g.Eventually(ended).Should(Receive(HaveOccurred()))
	_, err = idle.Use(t.Context())
	g.Expect(err).To(MatchError(errRole))
	g.Expect(run(tx, "INSERT INTO t VALUES (2)")).To(MatchError(errRole))
	_, err = tx.Commit(t.Context())
	g.Expect(err).To(MatchError(errRole))
	_, err = db.Begin(t.Context())
	g.Expect(err).To(MatchError(errRole))
	gate.set(storage.MakeLSN(1<<31, 0, 0), nil)
	g.Expect(dump(db)).To(ContainElement("t|0"))
	g.Expect(dump(db)).NotTo(ContainElement("t|1"))
}

func TestACommitWhoseHardeningFailsHasAnUnknownOutcome(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	gate := &testGate{changed: make(chan struct{})}
	db.SetGate(gate)
	done := make(chan error)
	before := db.Log().End()
	go func() {
		_, err := write(db, "INSERT INTO t VALUES (1)")
		done <- err
	}()
	g.Eventually(db.Log().End).ShouldNot(Equal(before))
	gate.set(storage.LSN{}, errRole)
	var err error
	g.Eventually(done).Should(Receive(&err))
	g.Expect(errors.Is(err, storage.ErrOutcomeUnknown)).To(BeTrue(), "%v", err)
}

// forever counts until it is interrupted.
const forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"

// TestAnEndedStatementLeavesTheConnectionToTheNext ends statements of a transaction and of a reader, one of them within
// another, and goes on.
func TestAnEndedStatementLeavesTheConnectionToTheNext(t *testing.T) {
	g := NewWithT(t)
	db := create(t, storage.Options{})
	mustWrite(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	tx, err := db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	outer, err := tx.Use(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	inner, err := tx.Use(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sqlite.ErrCode(sqlitex.ExecuteTransient(tx.Conn(), forever, nil))).To(Equal(sqlite.ResultInterrupt))
	inner()
	g.Expect(sqlitex.ExecuteTransient(tx.Conn(), "INSERT INTO t VALUES (1)", nil)).To(Succeed())
	late, err := tx.Use(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sqlite.ErrCode(sqlitex.ExecuteTransient(tx.Conn(), "INSERT INTO t VALUES (2)", nil))).
		To(Equal(sqlite.ResultInterrupt), "the context has ended before")
	late()
	outer()
	_, err = tx.Commit(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	for range 2 {
		r, err := db.Reader(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		leave, err := r.Use(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sqlite.ErrCode(sqlitex.ExecuteTransient(r.Conn(), forever, nil))).To(Equal(sqlite.ResultInterrupt))
		leave()
		r.Release()
		cancel()
	}
	g.Expect(dump(db)).To(ContainElement("t|1"))
	g.Expect(dump(db)).NotTo(ContainElement("t|2"))
}
