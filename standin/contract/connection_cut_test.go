// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// session is one connection of a client, and its session's id.
func session(t *testing.T, db *sql.DB) (*sql.Conn, int) {
	t.Helper()
	g := NewWithT(t)
	conn, err := db.Conn(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { conn.Close() })
	var id int
	g.Expect(conn.QueryRowContext(context.Background(), "SELECT @@SPID").Scan(&id)).To(Succeed())
	return conn, id
}

// lives counts the sessions of an id: 1 or 0.
func lives(db *sql.DB, id int) func() any {
	return func() any {
		return scalar(db, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = @p1 AND is_user_process = 1", id)
	}
}

// Sessions end whose client is not there any more, with the locks that they hold: a silent one's when its client has
// not answered for 35 s, and one's whose answer is on its way.
func TestSessionsEndWhoseClientIsBehindACut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLink(t)
	i := prepareInstance(t)
	l.beyond(i)
	g.Expect(i.launch()).To(Succeed())
	db := i.open(t, "")
	_, silent := session(t, db)
	answered, asking := session(t, db)
	near := l.inside(t, i, "")
	g.Expect(lives(near, silent)()).To(BeEquivalentTo(1))

	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// It ends when the test does: nothing comes back.
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		defer cancel()
		_, _ = answered.ExecContext(
			ctx,
			"EXEC sp_getapplock @Resource = N'kept', @LockMode = N'Exclusive', @LockOwner = N'Session'; WAITFOR "+
				"DELAY '00:00:03'",
		)
	}()
	t.Cleanup(func() { <-sent })
	g.Eventually(func() any {
		return scalar(
			near,
			"SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = @p1 AND wait_type = N'WAITFOR'",
			asking,
		)
	}).WithTimeout(patient).WithPolling(50 * time.Millisecond).Should(BeEquivalentTo(1))
	l.Cut(t)
	began := time.Now()
	for what, id := range map[string]int{"a silent one": silent, "one with an answer on its way": asking} {
		g.Eventually(lives(near, id)).WithTimeout(patient).WithPolling(time.Second).Should(BeEquivalentTo(0), what)
		t.Logf("%s: ended %.0f s after the cut", what, time.Since(began).Seconds())
	}
	g.Expect(scalar(near, "SELECT APPLOCK_TEST(N'public', N'kept', N'Exclusive', N'Session')")).
		To(BeEquivalentTo(1), "its lock is free")
}

// A client may take its time between rows: it is there, however long it takes nothing.
func TestASessionOutlivesItsClientsPauses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "pauses")
	mustExec(t, db, "CREATE TABLE dbo.wide (id int NOT NULL PRIMARY KEY, v varbinary(max) NOT NULL)")
	const rows, bytes = 40, 1 << 20
	for id := range rows {
		mustExec(
			t,
			db,
			"INSERT dbo.wide VALUES (@p1, CAST(REPLICATE(CAST('x' AS varchar(max)), @p2) AS varbinary(max)))",
			id,
			bytes,
		)
	}
	conn, id := session(t, db)
	all, err := conn.QueryContext(context.Background(), "SELECT id, v FROM dbo.wide ORDER BY id")
	g.Expect(err).NotTo(HaveOccurred())
	defer all.Close()
	g.Expect(all.Next()).To(BeTrue())
	const pause = 50 * time.Second
	g.Consistently(lives(i.open(t, ""), id)).
		WithTimeout(pause).
		WithPolling(time.Second).
		Should(BeEquivalentTo(1), fmt.Sprintf("while it takes nothing for %v", pause))
	read := 1
	for all.Next() {
		read++
	}
	g.Expect(all.Err()).NotTo(HaveOccurred())
	g.Expect(read).To(Equal(rows))
}
