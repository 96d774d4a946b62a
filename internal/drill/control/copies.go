// SPDX-License-Identifier: Apache-2.0

package control

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// tables is a copy of the run whose last replica's tables may be changed.
func tables(r Run) (Run, *history.Replica) {
	r, ok := rows(r)
	if !ok {
		return r, nil
	}
	last := &r.Evidence.Replicas[len(r.Evidence.Replicas)-1]
	last.Tables = slices.Clone(last.Tables)
	for i := range last.Tables {
		last.Tables[i].Spans = slices.Clone(last.Tables[i].Spans)
	}
	return r, last
}

// tearRow takes from one copy what a row of dbo.Recorded had beside it in its transaction.
func tearRow(r Run) (Run, bool, string) {
	if r.partial() {
		return r, false, missing
	}
	r, last := tables(r)
	if last == nil || last.Table(history.TableRecorded) == nil {
		return r, false, "no copy was read with all of its tables"
	}
	there := map[history.RowID]bool{}
	for _, id := range last.Rows {
		there[id] = true
	}
	for i := range last.Tables {
		t := &last.Tables[i]
		for j := range t.Spans {
			s := &t.Spans[j]
			if t.Each == 0 || s.Times != t.Each || !there[history.RowID{Run: s.Run, Number: s.Last}] {
				continue
			}
			if s.Last--; s.Last < s.First {
				t.Spans = slices.Delete(t.Spans, j, j+1)
			}
			return r.check(), true, ""
		}
	}
	return r, false, "no row had another one in its transaction"
}

// alterTable lets a table of one copy have another hash than that of the others.
func alterTable(r Run) (Run, bool, string) {
	if r.partial() {
		return r, false, missing
	}
	r, last := tables(r)
	if last == nil || len(r.Evidence.Replicas) < 2 {
		return r, false, "one copy alone was read"
	}
	for i := range last.Tables {
		other := r.Evidence.Replicas[0].Table(last.Tables[i].Name)
		if other == nil || other.SHA256 != last.Tables[i].SHA256 || len(other.Odd)+len(last.Tables[i].Odd) > 0 {
			continue
		}
		last.Tables[i].SHA256 = "planted"
		return r.check(), true, ""
	}
	return r, false, "no table was alike in two copies"
}

// contentsFound asks whether the final reads have more to tell, and whether consistency speaks of it.
func contentsFound(count func(history.Contents) int) func(without, with judged) string {
	return func(without, with judged) string {
		was, _ := without.objective("consistency")
		is, ok := with.objective("consistency")
		if !ok || was == is || is.Verdict != v1alpha1.VerdictFailed ||
			count(with.Measured.History.Contents) <= count(without.Measured.History.Contents) {
			return ""
		}
		return shown(is)
	}
}

// undeliver takes an acknowledged row from a subscriber that has a later one of the same user.
func undeliver(r Run) (Run, bool, string) {
	i := slices.IndexFunc(r.Measured.Places, func(p verdict.Place) bool { return p.Delivery != nil })
	if i < 0 || len(r.Evidence.Subscribers) == 0 || len(r.Evidence.Replicas) == 0 {
		return r, false, "no subscriber's rows were compared"
	}
	subscriber := r.Evidence.Subscribers[0]
	there := map[history.RowID]bool{}
	for _, id := range subscriber.Rows {
		there[id] = true
	}
	for _, run := range r.Evidence.Runs {
		var earlier *history.RowID
		for _, o := range run.Operations {
			id := history.RowID{Run: run.Header.Run, Number: o.Number}
			if o.Function != history.Insert || o.Outcome != history.OK || !there[id] {
				continue
			}
			if earlier == nil {
				earlier = &id
				continue
			}
			gone := *earlier
			subscriber.Rows = slices.DeleteFunc(slices.Clone(subscriber.Rows),
				func(id history.RowID) bool { return id == gone })
			d := history.CheckDelivery(r.Evidence.Runs, r.Evidence.Replicas[0], subscriber)
			r.Measured.Places = slices.Clone(r.Measured.Places)
			r.Measured.Places[i].Delivery = &d
			return r, true, ""
		}
	}
	return r, false, "no user has two rows at the subscriber"
}

func undeliveredFound(without, with judged) string {
	lost := func(j judged) (n int) {
		for _, p := range j.Measured.Places {
			if p.Delivery != nil {
				n += p.Delivery.Lost
			}
		}
		return n
	}
	if o, ok := with.objective("delivery"); ok && o.Verdict == v1alpha1.VerdictFailed && lost(with) > lost(without) {
		return shown(o)
	}
	return ""
}

// secondServer lets another server have acknowledged one operation, in the same term.
func secondServer(r Run) (Run, bool, string) {
	r = operations(r)
	for i := range r.Evidence.Runs {
		for j := range r.Evidence.Runs[i].Operations {
			if o := &r.Evidence.Runs[i].Operations[j]; o.Outcome == history.OK && o.Server != "" && o.Term() > 0 {
				if others(r.Evidence.Runs, *o) {
					o.Server = "planted"
					return r.check(), true, ""
				}
			}
		}
	}
	return r, false, "no two acknowledgements say in which term of a group they were given"
}

// others says that a term of an operation has more of them, by the same server.
func others(runs []history.Run, of history.Operation) bool {
	n := 0
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Outcome == history.OK && o.Server == of.Server && o.Term() == of.Term() {
				n++
			}
		}
	}
	return n > 1
}

func secondServerFound(without, with judged) string {
	if o, ok := with.objective("consistency"); ok && o.Verdict == v1alpha1.VerdictFailed &&
		len(with.Measured.History.Overlaps) > len(without.Measured.History.Overlaps) {
		return "consistency Failed: " + with.Measured.History.Overlaps[0].Message
	}
	return ""
}
