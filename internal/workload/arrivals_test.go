// SPDX-License-Identifier: Apache-2.0

//go:build integration

package workload_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
)

// Readers see every acknowledged row come, in dbo.Recorded and by its payload, through a freeze of the server that is
// read; and they compare the clocks.
func TestRecordArrivals(t *testing.T) {
	g := NewWithT(t)
	s := openShop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	began := time.Now()
	clients := workload.RecordOptions{
		Options:   s.options,
		Client:    "test",
		Folder:    t.TempDir(),
		Workers:   3,
		Rate:      20,
		Registers: 2,
		Timeout:   time.Second,
		Payload:   workload.Payload{Table: tsql.ArticlePayload, Bytes: 64},
	}
	g.Expect(workload.PrepareRecording(ctx, clients)).To(Succeed())
	readers := map[tsql.PayloadTable]workload.ArrivalOptions{}
	done := make(chan error, 3)
	for _, table := range []tsql.PayloadTable{"", tsql.ArticlePayload} {
		o := workload.ArrivalOptions{
			Options: s.options,
			Writer:  s.options,
			Folder:  t.TempDir(),
			Table:   table,
			Since:   began,
			Late:    time.Second,
		}
		readers[table] = o
		go func() { done <- workload.RecordArrivals(ctx, o) }()
		g.Eventually(func() (time.Time, error) { return history.FirstLook(o.Folder) }, time.Minute, 20*time.Millisecond).
			ShouldNot(BeZero())
	}
	go func() { done <- workload.Record(ctx, clients) }()
	r := &recording{Engine: s.engine, options: clients}
	reach := func(outcome history.Outcome, n int) {
		t.Helper()
		g.Eventually(func() int { return r.count(g, outcome) }, time.Minute, 50*time.Millisecond).
			Should(BeNumerically(">=", n))
	}
	reach(history.OK, 40)
	s.engine.Freeze()
	reach(history.Unknown, 3)
	s.engine.Thaw()
	reach(history.OK, r.count(g, history.OK)+40)
	g.Expect(workload.Stop(ctx, clients.Folder)).To(Succeed())
	for table, o := range readers {
		g.Expect(workload.Stop(ctx, o.Folder)).To(Succeed())
		var packed bytes.Buffer
		g.Expect(history.ExportArrivals(o.Folder, &packed)).To(Succeed())
		a, err := history.LoadArrivals(&packed)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.Ended).To(BeTrue())
		f := history.MeasureArrivals(a, r.runs(g), func(string) bool { return false })
		g.Expect(f.Due).To(BeNumerically(">=", 40), string(table))
		g.Expect(f.Seen).To(Equal(f.Due), string(table))
		g.Expect(*f.Percentile(0.5)).To(BeNumerically(">", 0), string(table))
		g.Expect(*f.Percentile(1)).To(BeNumerically("<", time.Minute), string(table))
		g.Expect(f.Uncertainty).NotTo(BeNil(), string(table))
	}
	for range 3 {
		g.Eventually(done, time.Minute).Should(Receive(BeNil()))
	}
}
