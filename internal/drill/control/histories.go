// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload/history"
)

// rows is a copy of the run whose replicas may be changed; false when there are none.
func rows(r Run) (Run, bool) {
	r.Evidence.Replicas = slices.Clone(r.Evidence.Replicas)
	for i := range r.Evidence.Replicas {
		r.Evidence.Replicas[i].Rows = slices.Clone(r.Evidence.Replicas[i].Rows)
	}
	return r, len(r.Evidence.Replicas) > 0
}

// acknowledged is the place of an acknowledged row in the last replica; all other replicas have it, too.
func acknowledged(r Run) (int, bool) {
	if len(r.Evidence.Replicas) == 0 {
		return 0, false
	}
	told := map[history.RowID]bool{}
	for _, run := range r.Evidence.Runs {
		for _, o := range run.Operations {
			if o.Function == history.Insert && o.Outcome == history.OK {
				told[history.RowID{Run: run.Header.Run, Number: o.Number}] = true
			}
		}
	}
	times := map[history.RowID]int{}
	for _, replica := range r.Evidence.Replicas {
		for _, id := range replica.Rows {
			times[id]++
		}
	}
	last := r.Evidence.Replicas[len(r.Evidence.Replicas)-1].Rows
	i := slices.IndexFunc(last, func(id history.RowID) bool { return told[id] && times[id] == len(r.Evidence.Replicas) })
	return i, i >= 0
}

// partial says that histories are missing, so that nobody can say who wrote what is there.
func (r Run) partial() bool { return len(r.Measured.Missing)+len(r.Measured.Unstopped) > 0 }

const missing = "histories are missing, without which nobody can say who wrote what"

const noRow = "no copy has an acknowledged row"

// deleteRow takes an acknowledged row from one copy.
func deleteRow(r Run) (Run, bool, string) {
	r, _ = rows(r)
	i, ok := acknowledged(r)
	if !ok {
		return r, false, noRow
	}
	last := &r.Evidence.Replicas[len(r.Evidence.Replicas)-1]
	last.Rows = slices.Delete(last.Rows, i, i+1)
	return r.check(), true, ""
}

// duplicateRow puts an acknowledged row into a copy once more.
func duplicateRow(r Run) (Run, bool, string) {
	r, _ = rows(r)
	i, ok := acknowledged(r)
	if !ok {
		return r, false, noRow
	}
	last := &r.Evidence.Replicas[len(r.Evidence.Replicas)-1]
	last.Rows = append(last.Rows, last.Rows[i])
	return r.check(), true, ""
}

// inventRow puts a row of nobody's into every copy.
func inventRow(r Run) (Run, bool, string) {
	r, ok := rows(r)
	switch {
	case !ok:
		return r, false, "no replica was read"
	case r.partial():
		return r, false, missing
	}
	for i := range r.Evidence.Replicas {
		one := &r.Evidence.Replicas[i]
		one.Rows = append(one.Rows, history.RowID{Run: math.MaxInt64, Number: 1}) // clients' runs have 40 bits
	}
	return r.check(), true, ""
}

// operations is a copy of the run whose operations may be changed.
func operations(r Run) Run {
	r.Evidence.Runs = slices.Clone(r.Evidence.Runs)
	for i := range r.Evidence.Runs {
		r.Evidence.Runs[i].Operations = slices.Clone(r.Evidence.Runs[i].Operations)
	}
	return r
}

// register of one machine.
type register struct {
	boot string
	key  int64
}

// staleRead lets a read show a value that was overwritten for certain before it was sent: by operations of the same
// machine, whose clock orders them.
func staleRead(r Run) (Run, bool, string) {
	const nothing = "no register was read after it had been written twice, all by clients of one machine"
	switch {
	case r.Measured.History.Registers.Result == history.Failed:
		return r, false, "no order explains the registers without it"
	case r.partial():
		return r, false, missing
	}
	r = operations(r)
	writes, reads := map[register][]history.Operation{}, map[register][]*history.Operation{}
	for i := range r.Evidence.Runs {
		run := &r.Evidence.Runs[i]
		for j := range run.Operations {
			o := &run.Operations[j]
			at := register{run.Boot, o.Key}
			switch {
			case o.Outcome != history.OK || run.Boot == "":
			case o.Function == history.Write:
				writes[at] = append(writes[at], *o)
			case o.Function == history.Read:
				reads[at] = append(reads[at], o)
			}
		}
	}
	var first *history.Operation
	var stale int64
	for at, list := range reads {
		slices.SortFunc(writes[at], byCompletion)
		for _, o := range list {
			value, ok := overwritten(writes[at], o.Invoked.Monotonic)
			if ok && (first == nil || o.Invoked.Monotonic < first.Invoked.Monotonic) {
				first, stale = o, value
			}
		}
	}
	if first == nil {
		return r, false, nothing
	}
	first.Value = stale
	return r.check(), true, ""
}

func byCompletion(a, b history.Operation) int {
	return cmp.Compare(a.Completed.Monotonic, b.Completed.Monotonic)
}

// overwritten is a value that was written, and written over, before a moment. The writes are in the order of their
// completion.
func overwritten(writes []history.Operation, before int64) (int64, bool) {
	for i, later := range writes {
		if later.Completed.Monotonic >= before {
			return 0, false
		}
		for _, earlier := range writes[:i] {
			if earlier.Completed.Monotonic < later.Invoked.Monotonic {
				return earlier.Value, true
			}
		}
	}
	return 0, false
}

func staleReadFound(_, with judged) string {
	if o, ok := with.objective("consistency"); ok && o.Verdict == v1alpha1.VerdictFailed &&
		with.Measured.History.Registers.Result == history.Failed {
		return fmt.Sprintf("consistency Failed: registers: %s", with.Measured.History.Registers.Reason)
	}
	return ""
}

// shift of a clock that must be noticed.
const shift = time.Minute

// shiftClock lets the newest comparison of a client's clock with the manager's show it a minute late.
func shiftClock(r Run) (Run, bool, string) {
	if len(r.Evidence.Faults) == 0 {
		return r, false, "no fault has a time that it could concern"
	}
	counts := map[string]int{}
	for _, c := range r.Evidence.Clocks {
		counts[c.Boot]++
	}
	r.Evidence.Clocks = slices.Clone(r.Evidence.Clocks)
	for i := len(r.Evidence.Clocks) - 1; i >= 0; i-- {
		c := &r.Evidence.Clocks[i]
		works := slices.ContainsFunc(r.Evidence.Runs, func(run history.Run) bool { return run.Boot == c.Boot })
		if counts[c.Boot] > 1 && works {
			c.Monotonic -= int64(shift)
			return r.check(), true, ""
		}
	}
	return r, false, "no client's clock was compared twice"
}

// shiftFound asks whether some figure says that it may be wrong by more than it was, or cannot be told.
func shiftFound(without, with judged) string {
	before, after := without.Measured.History, with.Measured.History
	if len(after.Untold) > len(before.Untold) {
		return after.Untold[0]
	}
	for i, f := range after.Faults {
		if i >= len(before.Faults) {
			return ""
		}
		was := before.Faults[i]
		if f.RPOUntold && !was.RPOUntold || f.RPOUnsure > was.RPOUnsure {
			return fmt.Sprintf("the rpo of fault %s may be wrong by %s", f.Name, f.RPOUnsure)
		}
		for j, c := range f.Clients {
			if j < len(was.Clients) && c.Unsure > was.Clients[j].Unsure {
				return fmt.Sprintf("the rto of clients %s at fault %s may be wrong by %s", c.Client, f.Name, c.Unsure)
			}
			if j < len(was.Clients) && c.Missing != "" && was.Clients[j].Missing == "" {
				return fmt.Sprintf("clients %s at fault %s: %s", c.Client, f.Name, c.Missing)
			}
		}
		if f.Acknowledged < was.Acknowledged {
			return fmt.Sprintf("%d instead of %d rows were acknowledged for certain at fault %s", f.Acknowledged,
				was.Acknowledged, f.Name)
		}
	}
	return ""
}

// killClient lets the users of one place never be served again after the last fault.
func killClient(r Run) (Run, bool, string) {
	if len(r.Evidence.Faults) == 0 {
		return r, false, "there was no fault after which clients could be served again"
	}
	last := slices.MaxFunc(r.Measured.History.Faults, func(a, b history.FaultFigures) int {
		return cmp.Compare(a.Injected.Wall, b.Injected.Wall)
	})
	i := slices.IndexFunc(last.Clients, func(c history.ClientFigures) bool {
		return c.RTO != nil && !c.AtLeast && !c.Isolated && c.Missing == ""
	})
	if i < 0 {
		return r, false, "no clients were served before and after the last fault"
	}
	r.Evidence = r.Evidence.Silence(last.Clients[i].Client, last.Fault)
	return r.check(), true, ""
}

// deadClientFound asks whether a client was seen to be served no more, and whether a goal would miss it.
func deadClientFound(without, with judged) string {
	for i, f := range with.Measured.History.Faults {
		for j, c := range f.Clients {
			if i >= len(without.Measured.History.Faults) || j >= len(without.Measured.History.Faults[i].Clients) {
				return ""
			}
			was := without.Measured.History.Faults[i].Clients[j]
			if c.AtLeast && !was.AtLeast || c.Missing != "" && was.Missing == "" {
				verdict, why := c.Meets(math.MaxInt64)
				if verdict != history.Passed {
					return fmt.Sprintf("clients %s at fault %s: %s", c.Client, f.Name, why)
				}
			}
		}
	}
	return ""
}
