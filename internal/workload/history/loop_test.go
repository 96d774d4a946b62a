// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// recorded is what is read again of the file of one run.
func recorded(g Gomega, folder string) history.Run {
	var packed bytes.Buffer
	g.Expect(history.Export(folder, &packed)).To(Succeed())
	runs, err := history.Load(&packed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(runs).To(HaveLen(1))
	return runs[0]
}

// A history tells when its operations were due, also after its user was away, and what was never begun.
func TestSchedulesAreReadAgain(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	r, err := history.Create(folder, history.Header{Run: 7, Client: "tukwila", Boot: "b", Loop: history.Open,
		Every: time.Second})
	g.Expect(err).NotTo(HaveOccurred())
	do := func() history.Operation {
		o, err := r.Invoke(history.Insert, 0, 0)
		g.Expect(err).NotTo(HaveOccurred())
		o.Outcome = history.OK
		g.Expect(r.Complete(o)).To(Succeed())
		return o
	}
	now := history.Now().Monotonic
	r.Schedule(now - int64(10*time.Second))
	said := []history.Operation{do(), do()}
	g.Expect(r.Due()).To(Equal(now - int64(8*time.Second)))
	r.Schedule(now - int64(3*time.Second))
	said = append(said, do(), do())
	r.Asked(now)
	g.Expect(r.End()).To(Succeed())

	run := recorded(g, folder)
	g.Expect(run.Header).To(And(HaveField("Loop", history.Open), HaveField("Every", time.Second)))
	for i, late := range []time.Duration{10 * time.Second, 9 * time.Second, 3 * time.Second, 2 * time.Second} {
		o := run.Operations[i]
		g.Expect(o.Invoked.Monotonic-int64(o.Late)).To(Equal(now-int64(late)), "operation %d", i+1)
		g.Expect(o.Late).To(Equal(said[i].Late))
		w, _ := run.Waited(o)
		g.Expect(w.Took).To(Equal(o.Late + time.Duration(o.Completed.Monotonic-o.Invoked.Monotonic)))
	}
	g.Expect(run.Unsent()).To(Equal([]time.Duration{time.Second, 0}))
}

// A user whose operations wait for answers has no schedule, and histories of earlier releases do not tell.
func TestHistoriesWithoutSchedule(t *testing.T) {
	for name, h := range map[string]history.Header{
		"closed": {Run: 7, Client: "tukwila", Boot: "b", Loop: history.Closed}, "old": {Run: 7, Client: "tukwila", Boot: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			r, err := history.Create(folder, h)
			g.Expect(err).NotTo(HaveOccurred())
			o, err := r.Invoke(history.Insert, 0, 0)
			g.Expect(err).NotTo(HaveOccurred())
			o.Outcome = history.Fail
			g.Expect(r.Complete(o)).To(Succeed())
			r.Asked(history.Now().Monotonic)
			g.Expect(r.End()).To(Succeed())
			run := recorded(g, folder)
			g.Expect(run.Loop).To(Equal(h.Loop))
			g.Expect(run.Operations[0].Late).To(BeZero())
			g.Expect(run.Unsent()).To(BeEmpty())
			_, counts := run.Waited(run.Operations[0])
			g.Expect(counts).To(BeFalse(), "a refusal is an answer to nothing that was asked")
		})
	}
}

// An operation whose end was not recorded is as old as what is known of it.
func TestTheAgeOfWhatNeverEnded(t *testing.T) {
	g := NewWithT(t)
	runs, err := history.Load(strings.NewReader(`{"k":"begin","format":"geosql-history/1","header":{"run":7,"client":"x",` +
		`"boot":"b","loop":"open","every":1000000000},"t":0,"w":0}` + "\n" +
		`{"k":"invoke","n":1,"f":"insert","t":5000000000,"w":5000000000,"d":2000000000}`))
	g.Expect(err).NotTo(HaveOccurred())
	w, counts := runs[0].Waited(runs[0].Operations[0])
	g.Expect(counts).To(BeTrue())
	g.Expect(w).To(Equal(history.Wait{Took: 3 * time.Second, AtLeast: true}))
}
