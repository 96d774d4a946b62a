// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"geosql.dev/operator/internal/workload/history"
)

// world is a database that behaves, with the histories of its clients: every operation takes effect at one moment
// between its invocation and its completion, or, where its outcome is not known, perhaps never.
type world struct {
	evidence history.Evidence
	// acked, failed and absent are the inserts of each kind; absent ones had an unknown outcome and are not there.
	acked, failed []history.RowID
}

// behave lets some clients do some things, one moment after another; the server changes with the term.
func behave(t *rapid.T) world {
	var w world
	clients := rapid.IntRange(1, 4).Draw(t, "clients")
	w.evidence.Runs = make([]history.Run, clients)
	for i := range w.evidence.Runs {
		w.evidence.Runs[i] = run(int64(i+1), "client", history.Operation{})
		w.evidence.Runs[i].Operations = nil
	}
	free := make([]int64, clients)
	registers := map[int64]int64{}
	var there []history.RowID
	now, term, value := int64(0), int64(1), int64(0)
	for range rapid.IntRange(1, 60).Draw(t, "operations") {
		c := rapid.IntRange(0, clients-1).Draw(t, "client")
		now += rapid.Int64Range(1, 20).Draw(t, "pause")
		if rapid.IntRange(0, 9).Draw(t, "promotion") == 0 {
			term++
		}
		// The effect is now; the operation reaches back as far as its client was free, and on to a time of its own.
		from := max(free[c]+1, now-rapid.Int64Range(0, 30).Draw(t, "before"))
		if from > now {
			continue
		}
		to := now + rapid.Int64Range(0, 30).Draw(t, "after")
		free[c] = to
		run := &w.evidence.Runs[c]
		o := insert(
			int64(len(run.Operations)+1),
			from,
			to,
			rapid.SampledFrom([]history.Outcome{history.OK, history.OK, history.OK, history.Fail, history.Unknown}).
				Draw(t, "outcome"),
			server(term),
			term,
		)
		happens := o.Outcome == history.OK || o.Outcome == history.Unknown && rapid.Bool().Draw(t, "happens")
		id := history.RowID{Run: run.Header.Run, Number: o.Number}
		o.Function = rapid.SampledFrom([]history.Function{history.Insert, history.Write, history.Read}).Draw(t, "function")
		switch o.Function {
		case history.Insert:
			if happens {
				there = append(there, id)
			}
			switch o.Outcome {
			case history.OK:
				w.acked = append(w.acked, id)
			case history.Fail:
				w.failed = append(w.failed, id)
			}
		case history.Write:
			value++
			o.Key, o.Value = rapid.Int64Range(1, 2).Draw(t, "key"), value
			if happens {
				registers[o.Key] = value
			}
		case history.Read:
			o.Key = rapid.Int64Range(1, 2).Draw(t, "key")
			o.Value = registers[o.Key]
		}
		run.Operations = append(run.Operations, o)
	}
	w.evidence.Replicas = []history.Replica{{Server: "a-0", Rows: there}, {Server: "b-0", Rows: slices.Clone(there)}}
	return w
}

func server(term int64) string { return string(rune('a'+term%2)) + "-0" }

// A database that behaves is never found wanting.
func TestWhatBehavesIsNotBlamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := behave(t)
		if v := history.Check(w.evidence); v.Result == history.Failed {
			t.Fatalf("%v", v.Reasons)
		} else if len(w.acked) > 0 && v.Result != history.Passed {
			t.Fatalf("%s: %v", v.Result, v.Reasons)
		}
	})
}

// One thing that must not be is always found, and counted as what it is.
func TestWhatMisbehavesIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := behave(t)
		replica := &w.evidence.Replicas[rapid.IntRange(0, 1).Draw(t, "replica")]
		var count func(history.Counts) int
		switch kind := rapid.SampledFrom([]string{"lost", "duplicated", "phantom", "failed"}).Draw(t, "kind"); {
		case kind == "lost" && len(w.acked) > 0:
			id := rapid.SampledFrom(w.acked).Draw(t, "row")
			for i := range w.evidence.Replicas {
				r := &w.evidence.Replicas[i]
				if r == replica || rapid.Bool().Draw(t, "everywhere") {
					r.Rows = slices.DeleteFunc(r.Rows, func(other history.RowID) bool { return other == id })
				}
			}
			count = func(c history.Counts) int { return c.Lost }
		case kind == "duplicated" && len(replica.Rows) > 0:
			replica.Rows = append(replica.Rows, rapid.SampledFrom(replica.Rows).Draw(t, "row"))
			count = func(c history.Counts) int { return c.Duplicated }
		case kind == "failed" && len(w.failed) > 0:
			replica.Rows = append(replica.Rows, rapid.SampledFrom(w.failed).Draw(t, "row"))
			count = func(c history.Counts) int { return c.FailedPresent }
		default:
			replica.Rows = append(replica.Rows, history.RowID{Run: 99, Number: 1})
			count = func(c history.Counts) int { return c.Phantom }
		}
		v := history.Check(w.evidence)
		if v.Result != history.Failed || count(v.Counts) != 1 {
			t.Fatalf("%s: %v, %+v", v.Result, v.Reasons, v.Counts)
		}
	})
}

// A deposed server that goes on acknowledging is found, whatever else happened.
func TestADeposedServerThatGoesOnIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := behave(t)
		newest := int64(0)
		for _, r := range w.evidence.Runs {
			for _, o := range r.Operations {
				if o.Outcome == history.OK {
					newest = max(newest, o.Completed.Monotonic/int64(time.Millisecond))
				}
			}
		}
		if len(history.Check(w.evidence).Terms) < 2 {
			t.Skip("nobody was deposed")
		}
		oldest := history.Check(w.evidence).Terms[0]
		newServer := history.Check(w.evidence).Terms[1].Server
		if oldest.Server == newServer {
			t.Skip("the next one was the same")
		}
		late := run(50, "late", insert(1, newest+1, newest+2, history.OK, oldest.Server, oldest.Term))
		w.evidence.Runs = append(w.evidence.Runs, late)
		for i := range w.evidence.Replicas {
			w.evidence.Replicas[i].Rows = append(w.evidence.Replicas[i].Rows, history.RowID{Run: 50, Number: 1})
		}
		if v := history.Check(w.evidence); v.Result != history.Failed || len(v.Overlaps) == 0 {
			t.Fatalf("%s: %v", v.Result, v.Reasons)
		}
	})
}
