// SPDX-License-Identifier: Apache-2.0

package listappend_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"geosql.dev/operator/internal/workload/history/listappend"
)

// serial lets clients do random transactions one after the other, each at one moment; some outcomes are unknown, some
// transactions fail and leave nothing.
func serial(t *rapid.T) listappend.History {
	var h listappend.History
	clients := rapid.IntRange(1, 4).Draw(t, "clients")
	for i := range clients {
		h.Sessions = append(h.Sessions, listappend.Session{Run: int64(i + 1), Whole: true})
	}
	state := map[int64]listappend.List{}
	var subscriber map[int64]listappend.List
	for range rapid.IntRange(1, 40).Draw(t, "transactions") {
		s := &h.Sessions[rapid.IntRange(0, clients-1).Draw(t, "client")]
		one := listappend.Transaction{Number: int64(len(s.Transactions) + 1), Outcome: rapid.SampledFrom(
			[]listappend.Outcome{listappend.Committed, listappend.Committed, listappend.Committed, listappend.Aborted,
				listappend.Unknown}).Draw(t, "outcome")}
		happens := one.Outcome == listappend.Committed || one.Outcome == listappend.Unknown && rapid.Bool().Draw(t, "happens")
		working := maps.Clone(state)
		for i := range rapid.IntRange(1, 4).Draw(t, "steps") {
			step := listappend.Step{List: rapid.Int64Range(1, 3).Draw(t, "list")}
			if rapid.Bool().Draw(t, "append") {
				step.Append = listappend.NewElement(s.Run, one.Number, i)
				working[step.List] = append(slices.Clone(working[step.List]), step.Append)
			} else {
				step.Read = working[step.List]
			}
			one.Steps = append(one.Steps, step)
		}
		if happens {
			state = working
		}
		s.Transactions = append(s.Transactions, one)
		if rapid.IntRange(0, 9).Draw(t, "subscriber stops") == 0 || subscriber == nil {
			subscriber = maps.Clone(state)
		}
	}
	h.Replicas = []listappend.Copy{{Server: "a", Lists: state}, {Server: "b", Lists: maps.Clone(state)}}
	h.Subscribers = []listappend.Copy{{Server: "s", Lists: subscriber}}
	return h
}

// Transactions that were done one after the other show no anomaly, whatever they did and however much of it the
// subscriber has.
func TestSerialExecutionsHaveNoAnomaly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if v := listappend.Check(serial(t)); len(v.Counts) > 0 || len(v.Open) > 0 {
			t.Fatalf("%+v %v", v.Anomalies, v.Open)
		}
	})
}

// Each anomaly that is planted into a sound history is found, and what it is planted into is left as it was.
func TestPlantedAnomaliesAreFound(t *testing.T) {
	for _, p := range listappend.Plants() {
		t.Run(p.Name, func(t *testing.T) {
			planted := 0
			rapid.Check(t, func(t *rapid.T) {
				h := serial(t)
				with, ok := p.Into(h)
				if !ok {
					return
				}
				planted++
				if v := listappend.Check(with); !slices.ContainsFunc(p.Kinds, v.Has) {
					t.Fatalf("not found: %+v", v.Anomalies)
				}
				if v := listappend.Check(h); len(v.Counts) > 0 {
					t.Fatalf("the history itself was changed: %+v", v.Anomalies)
				}
			})
			if planted == 0 {
				t.Error("there was never anything to plant it in")
			}
		})
	}
}
