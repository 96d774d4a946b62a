// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// wire carries connections to a server and counts them, and the bytes that it is sent.
type wire struct {
	address     string
	connections atomic.Int64
	bytes       atomic.Int64
}

// newWire is a wire to host:port.
func newWire(t *testing.T, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{address: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			w.connections.Add(1)
			go w.carry(client, server)
		}
	}()
	return w
}

// Write counts.
func (w *wire) Write(p []byte) (int, error) {
	w.bytes.Add(int64(len(p)))
	return len(p), nil
}

// carry ends with either side.
func (w *wire) carry(client net.Conn, server string) {
	defer client.Close()
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(client, to) // an end that is closed ends the other one
		_ = client.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(to, w), client)
}

// What a push sends to a subscriber that is far away: text of varchar columns with a byte for each character, over a
// connection for each stream that is made once.
func TestWhatAPushSends(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	w := newWire(t, r.sub.address)
	mustExec(t, r.distDB, `EXEC sp_dropserver N'SUB'`)
	mustExec(
		t,
		r.distDB,
		`EXEC sp_addlinkedserver @server = N'SUB', @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = @p1`,
		strings.Replace(w.address, ":", ",", 1),
	)
	r.distribute(t)
	mustExec(t, r.source, `ALTER TABLE dbo.pictures ADD note varchar(max) NULL`)
	r.publish(t)
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)
	r.stopDistribution(t)

	const streams, transactions, length = 4, 40, 10_000
	insert := func(code string) {
		for n := range transactions {
			mustExec(
				t,
				r.source,
				`INSERT INTO dbo.pictures VALUES (@p1, @p2, NULL, REPLICATE(CAST('x' AS varchar(max)), @p3))`,
				code,
				n,
				length,
			)
		}
		g.Eventually(r.undelivered).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	}
	insert("one")
	made, sent := w.connections.Load(), w.bytes.Load()
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
		distributionCommand(0, "-SubscriptionStreams 4"),
	)
	mustExec(t, r.distDB, `EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`)
	r.bothSame(t)
	g.Expect(w.connections.Load()-made).To(BeEquivalentTo(1+streams), "the agent's own, and one for each stream")
	g.Expect(float64(w.bytes.Load()-sent)/(transactions*length)).To(BeNumerically("<", 1.2), "bytes for each of the text")

	for _, code := range []string{"two", "three"} {
		insert(code)
		r.bothSame(t)
	}
	g.Expect(w.connections.Load()-made).To(BeEquivalentTo(1+streams), "they are used again")

	// A stream whose connection has ended is made anew, and nothing is left out.
	mustExec(
		t,
		r.subDB,
		`DECLARE @kill nvarchar(max) = N''; SELECT @kill += N'KILL ' + CAST(session_id AS nvarchar(11)) + N'; ' FROM sys.dm_exec_sessions WHERE program_name LIKE N'Replication Distribution%'; EXEC (@kill)`,
	)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM msdb.dbo.sysjobhistory WHERE step_id = 1 AND run_status = 2`)
	}).WithTimeout(deliverWithin).WithPolling(200*time.Millisecond).Should(BeNumerically(">", 0),
		"the agent failed and is tried again")
	insert("four")
	r.bothSame(t)
}
