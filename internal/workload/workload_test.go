// SPDX-License-Identifier: Apache-2.0

//go:build integration

package workload_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/test/support/engine"
)

// An engine is filled by one part of the workload, watched by another and read by a third.
func TestWorkload(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	folder := t.TempDir()
	for name, data := range map[string][]byte{credentials.KeySA: e.Access.Passwords[credentials.KeySA],
		credentials.KeyCA: e.Access.CA} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), data, 0o600)).To(Succeed())
	}
	o := workload.Options{Server: "tukpub", Address: e.Address, Database: "Content", Credentials: folder}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	master, err := e.Connector(t).Open(ctx, e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(master.Exec(ctx, tsql.CreateDatabase("Content"))).To(Succeed())

	base, err := workload.Prepare(ctx, o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(base).To(BeZero())

	run := workload.Run{Base: base, Rows: 103, Writers: 4}
	begun := make(chan struct{})
	type watched struct {
		workload.Arrived
		err error
	}
	arrived := make(chan watched, 1)
	go func() {
		a, err := workload.Watch(ctx, workload.WatchOptions{Options: o, Run: run, Begun: func() { close(begun) }})
		arrived <- watched{a, err}
	}()
	g.Eventually(begun, time.Minute).Should(BeClosed())
	wrote := workload.WriteOptions{Options: o, Run: run, RowBytes: 1024, Attachments: 5, AttachmentBytes: 70_000}
	written, err := workload.Write(ctx, wrote)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(written.Rows).To(Equal(103))
	g.Expect(written.Attachments).To(Equal(5))
	g.Expect(written.Commit.P50).To(BeNumerically(">", 0))
	var a watched
	g.Eventually(arrived, time.Minute).Should(Receive(&a))
	g.Expect(a.err).NotTo(HaveOccurred())
	g.Expect(a.Rows).To(Equal(103))
	g.Expect(a.Early).To(BeZero())
	g.Expect(a.Arrival.P99).To(And(BeNumerically(">", 0), BeNumerically("<", 20_000)))

	whole, err := workload.Verify(ctx, o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(whole.Article).To(And(HaveField("Rows", 103), HaveField("Bytes", int64(103*1024)), HaveField("Damaged", 0)))
	g.Expect(whole.Attachment).To(And(HaveField("Rows", 5), HaveField("Bytes", int64(5*70_000)), HaveField("Damaged", 0)))

	// A row that is there already counts as acknowledged: its outcome was unknown before.
	again, err := workload.Write(ctx, wrote)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Rows).To(Equal(103))
	same, err := workload.Verify(ctx, o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(Equal(whole))

	base, err = workload.Prepare(ctx, o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(base).To(BeNumerically(">", run.Base))

	// One byte that differs is found without another copy, and by comparison.
	db, err := e.Connector(t).
		Open(ctx, mssql.Target{Namespace: "web", Server: "tukpub", Database: "Content", Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = db.Handle().ExecContext(ctx, "UPDATE dbo.Article SET Body = 'x' + SUBSTRING(Body, 2, 1023) WHERE Id = 7")
	g.Expect(err).NotTo(HaveOccurred())
	damaged, err := workload.Verify(ctx, o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(damaged.Article.Damaged).To(Equal(1))
	g.Expect(damaged.Article.SHA256).NotTo(Equal(whole.Article.SHA256))
	g.Expect(damaged.Attachment).To(Equal(whole.Attachment))
}

// Two Ids have different bodies, one has always the same, of the length that is asked for.
func TestBodies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, size := rapid.Int64().Draw(t, "id"), rapid.IntRange(1, 1024).Draw(t, "size")
		body := workload.Body(id, size)
		if len(body) != size || body != workload.Body(id, size) {
			t.Fatal("a body must follow from its Id")
		}
		if size > 16 && body == workload.Body(id+1, size) {
			t.Fatal("bodies must differ")
		}
	})
}

func TestLatencyOf(t *testing.T) {
	g := NewWithT(t)
	var samples []time.Duration
	for i := 100; i > 0; i-- {
		samples = append(samples, time.Duration(i)*time.Millisecond)
	}
	g.Expect(workload.LatencyOf(samples)).To(Equal(workload.Latency{P50: 50, P90: 90, P99: 99, Max: 100}))
	g.Expect(workload.LatencyOf(nil)).To(Equal(workload.Latency{}))
	g.Expect(workload.LatencyOf([]time.Duration{time.Second})).
		To(Equal(workload.Latency{P50: 1000, P90: 1000, P99: 1000, Max: 1000}))
}

func TestRunsThatHaveNoRoom(t *testing.T) {
	for _, r := range []workload.Run{{Rows: 1}, {Rows: 0, Writers: 1}, {Rows: 1_000_001, Writers: 1},
		{Rows: 1, Writers: 65}} {
		NewWithT(t).Expect(r.Check()).NotTo(Succeed(), "%+v", r)
	}
}
