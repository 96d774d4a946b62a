// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"slices"
)

// examples of each kind that a verdict names.
const examples = 5

// Check judges the evidence. It is a pure function of it.
func Check(e Evidence) Verdict {
	v := Verdict{Examples: map[string][]RowID{}}
	runs, axis := onOneAxis(e)
	e.Runs = runs
	lost := v.countRows(e)
	v.Served, v.Loops = e.Served, loopsOf(runs)
	v.Clocks = clockFigures(e, axis)
	v.Terms, v.Overlaps, v.Untold = checkTerms(runs, axis)
	v.Contents = checkContents(e)
	v.Registers = checkRegisters(withFinalReads(runs, e.Replicas))
	v.Order = JudgeOrder(e.Lists())
	v.Faults = measureFaults(e, axis, lost)
	v.Undisturbed = undisturbed(e, axis)
	v.Operations = countOperations(e, axis)
	v.judge(e)
	return v
}

// presence is how often a row is in each replica.
type presence []int

func (p presence) somewhere() bool { return slices.ContainsFunc(p, func(n int) bool { return n > 0 }) }
func (p presence) everywhere() bool {
	return !slices.Contains(p, 0)
}

// lostRow is an acknowledged insert whose row is not everywhere, with the boot of its client's machine.
type lostRow struct {
	Operation
	boot string
}

// countRows compares what was done with what is there and returns the operations whose rows are lost.
func (v *Verdict) countRows(e Evidence) []lostRow {
	there := map[RowID]presence{}
	for i, r := range e.Replicas {
		for _, id := range r.Rows {
			if there[id] == nil {
				there[id] = make(presence, len(e.Replicas))
			}
			there[id][i]++
		}
	}
	var lost []lostRow
	runs := map[int64]Run{}
	for _, run := range e.Runs {
		runs[run.Header.Run] = run
		for _, o := range run.Operations {
			if o.Function != Insert {
				continue
			}
			id := RowID{run.Header.Run, o.Number}
			p := there[id]
			delete(there, id)
			if v.countOperation(id, o, p, len(e.Replicas)) {
				lost = append(lost, lostRow{o, run.Boot})
			}
		}
	}
	strangers := make([]RowID, 0, len(there))
	for id := range there {
		strangers = append(strangers, id)
	}
	slices.SortFunc(
		strangers,
		func(a, b RowID) int { return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Number, b.Number)) },
	)
	for _, id := range strangers {
		v.countStranger(id, there[id], runs)
	}
	return lost
}

// countOperation counts one insert and tells whether its row is lost.
func (v *Verdict) countOperation(id RowID, o Operation, p presence, replicas int) (lost bool) {
	c := &v.Counts
	c.Attempted++
	switch {
	case o.Outcome == OK:
		c.Acknowledged++
		if replicas > 0 && (p == nil || !p.everywhere()) {
			c.Lost++
			lost = true
			v.example("lost", id)
		}
	case o.Outcome == Fail:
		c.Failed++
		if p.somewhere() {
			c.FailedPresent++
			v.example("failedPresent", id)
		}
	default:
		c.Unknown++
		if p.somewhere() {
			c.UnknownPresent++
		} else {
			c.UnknownAbsent++
		}
	}
	v.countCopies(id, p)
	return lost
}

// countCopies counts a row that is there more than once, or not in all replicas.
func (v *Verdict) countCopies(id RowID, p presence) {
	if slices.ContainsFunc(p, func(n int) bool { return n > 1 }) {
		v.Counts.Duplicated++
		v.example("duplicated", id)
	}
	if p.somewhere() && !p.everywhere() {
		v.Counts.Diverging++
		v.example("diverging", id)
	}
}

// countStranger counts a row that no recorded operation has inserted.
func (v *Verdict) countStranger(id RowID, p presence, runs map[int64]Run) {
	before := v.Counts.Diverging
	v.countCopies(id, p)
	v.Counts.DivergingUnrecorded += v.Counts.Diverging - before
	run, known := runs[id.Run]
	last := int64(0)
	if n := len(run.Operations); n > 0 {
		last = run.Operations[n-1].Number
	}
	if known && !run.Ended && id.Number > last {
		v.Counts.Unrecorded++
		v.example("unrecorded", id)
		return
	}
	v.Counts.Phantom++
	v.example("phantom", id)
}

func (v *Verdict) example(kind string, id RowID) {
	if len(v.Examples[kind]) < examples {
		v.Examples[kind] = append(v.Examples[kind], id)
	}
}

// countOperations counts what became of everything that was tried. What was under way while a fault cut its client off
// says nothing of the servers; of clients whose clock was never compared none of it does.
func countOperations(e Evidence, a axis) Operations {
	var c Operations
	for _, run := range e.Runs {
		_, cut := cutOff(run.Client, e.Faults, a)
		unsure, known := a.unsure(run.Boot)
		for _, o := range run.Operations {
			underWay := span{a.of(o.Invoked), max(a.of(o.Completed), a.of(o.Invoked)) + 1}
			if len(cut) > 0 && (!known || underWay.less(-unsure).within(cut) > 0) {
				c.CutOff++
				continue
			}
			c.Attempted++
			switch o.Outcome {
			case Fail:
				c.Failed++
			case Unknown:
				c.Unknown++
			}
		}
	}
	return c
}

// judge sums up.
func (v *Verdict) judge(e Evidence) {
	c := v.Counts
	var wrong, missing []string
	fault := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	lack := func(is bool, format string, args ...any) {
		if is {
			missing = append(missing, fmt.Sprintf(format, args...))
		}
	}
	fault(c.Lost > e.AllowLost, "%d acknowledged rows are lost, %d allowed", c.Lost, e.AllowLost)
	fault(c.FailedPresent > 0, "%d rows are there although their clients were told that they failed", c.FailedPresent)
	fault(c.Duplicated > 0, "%d rows are there more than once", c.Duplicated)
	fault(c.Phantom > 0, "%d rows are there that nobody wrote", c.Phantom)
	fault(c.Diverging > 0, "%d rows are in some replicas and not in others", c.Diverging)
	if text := v.Contents.Wrong(); text != "" {
		fault(true, "%s", text)
	}
	fault(len(v.Overlaps) > 0, "two servers acknowledged in overlapping terms, %d times", len(v.Overlaps))
	fault(v.Registers.Result == Failed, "registers are not linearizable: %s", v.Registers.Reason)
	fault(v.Order.Result == Failed, "transactions on lists: %s", v.Order.Reason)
	for _, text := range v.Untold {
		lack(true, "%s", text)
	}
	lack(v.Registers.Result == Inconclusive, "registers: %s", v.Registers.Reason)
	lack(v.Order.Result == Inconclusive, "transactions on lists: %s", v.Order.Reason)
	lack(len(e.Replicas) == 0, "no replica was read")
	lack(c.Unrecorded > 0, "%d rows come after the end of a history that broke off", c.Unrecorded)
	lack(
		c.Acknowledged < max(e.AcknowledgedAtLeast, 1),
		"%d rows were acknowledged, at least %d are needed",
		c.Acknowledged,
		max(e.AcknowledgedAtLeast, 1),
	)
	for _, f := range v.Faults {
		lack(f.Acknowledged == 0, "nothing was acknowledged while fault %s on %s lasted: no row was at risk",
			f.Name, f.Target)
		lack(f.Moves && !f.Moved(), "fault %s on %s did not move service: no client saw another server in a higher term",
			f.Name, f.Target)
		lack(f.Proof == "" && !f.Moves, "fault %s on %s was not seen to have taken effect", f.Name, f.Target)
		lack(f.CatchUp == nil, "after fault %s on %s the replicas were not seen synchronized", f.Name, f.Target)
		for _, client := range f.Clients {
			result, why := client.Meets(f.RTO)
			fault(result == Failed, "client %s %s at fault %s on %s, %s allowed", client.Client, why, f.Name, f.Target, f.RTO)
			lack(result == Inconclusive, "client %s: %s around fault %s on %s", client.Client, why, f.Name, f.Target)
		}
	}
	v.Reasons = append(wrong, missing...)
	switch {
	case len(wrong) > 0:
		v.Result = Failed
	case len(missing) > 0:
		v.Result = Inconclusive
	default:
		v.Result = Passed
	}
}
