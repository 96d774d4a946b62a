// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// at is an instant so many milliseconds after the beginning of a test's time.
func at(ms int64) history.Instant {
	return history.Instant{
		Monotonic: ms * int64(time.Millisecond),
		Wall:      1_700_000_000_000_000_000 + ms*int64(time.Millisecond),
	}
}

// insert is an insert of the run, from one millisecond to another.
func insert(number, from, to int64, outcome history.Outcome, server string, term int64) history.Operation {
	o := history.Operation{
		Number:    number,
		Function:  history.Insert,
		Invoked:   at(from),
		Completed: at(to),
		Outcome:   outcome,
	}
	if outcome == history.OK {
		o.Server, o.Configuration = server, term<<32|number
	}
	return o
}

func run(number int64, client string, operations ...history.Operation) history.Run {
	return history.Run{
		Header:     history.Header{Run: number, Client: client, Boot: "boot"},
		Operations: operations,
		Ended:      true,
	}
}

func rows(run int64, numbers ...int64) []history.RowID {
	var ids []history.RowID
	for _, n := range numbers {
		ids = append(ids, history.RowID{Run: run, Number: n})
	}
	return ids
}

func replicas(ids ...history.RowID) []history.Replica {
	return []history.Replica{{Server: "a-0", Rows: ids}, {Server: "b-0", Rows: ids}}
}

func TestCheckOfRows(t *testing.T) {
	operations := []history.Operation{
		insert(1, 0, 10, history.OK, "a-0", 1),
		insert(2, 20, 30, history.Fail, "", 0),
		insert(3, 40, 50, history.Unknown, "", 0),
		insert(4, 60, 70, history.Unknown, "", 0),
		insert(5, 80, 90, history.OK, "a-0", 1),
	}
	counts := history.Counts{Attempted: 5, Acknowledged: 2, Failed: 1, Unknown: 2, UnknownPresent: 1, UnknownAbsent: 1}
	for _, c := range []struct {
		name     string
		replicas []history.Replica
		broken   bool
		want     history.Result
		change   func(*history.Counts)
		reason   string
	}{
		{name: "all acknowledged rows are there", replicas: replicas(rows(7, 1, 3, 5)...), want: history.Passed},
		{name: "an acknowledged row is nowhere", replicas: replicas(rows(7, 1, 3)...), want: history.Failed,
			change: func(c *history.Counts) { c.Lost = 1 }, reason: "1 acknowledged rows are lost, 0 allowed"},
		{name: "an acknowledged row is in one replica only", want: history.Failed,
			replicas: []history.Replica{{Server: "a-0", Rows: rows(7, 1, 3, 5)}, {Server: "b-0", Rows: rows(7, 1, 3)}},
			change:   func(c *history.Counts) { c.Lost, c.Diverging = 1, 1 },
			reason:   "1 rows are in some replicas and not in others"},
		{name: "an unknown row is in one replica only", want: history.Failed,
			replicas: []history.Replica{{Server: "a-0", Rows: rows(7, 1, 3, 5)}, {Server: "b-0", Rows: rows(7, 1, 5)}},
			change:   func(c *history.Counts) { c.Diverging = 1 }, reason: "1 rows are in some replicas and not in others"},
		{name: "a row is there that was refused", replicas: replicas(rows(7, 1, 2, 3, 5)...), want: history.Failed,
			change: func(c *history.Counts) { c.FailedPresent = 1 },
			reason: "1 rows are there although their clients were told that they failed"},
		{name: "a row is there twice", replicas: replicas(rows(7, 1, 3, 5, 5)...), want: history.Failed,
			change: func(c *history.Counts) { c.Duplicated = 1 }, reason: "1 rows are there more than once"},
		{name: "a row is there of a run that nobody knows", replicas: replicas(append(rows(7, 1, 3, 5), rows(8, 1)...)...),
			want:   history.Failed,
			change: func(c *history.Counts) { c.Phantom = 1 }, reason: "1 rows are there that nobody wrote"},
		{name: "a row is there after the end of a run", replicas: replicas(rows(7, 1, 3, 5, 6)...), want: history.Failed,
			change: func(c *history.Counts) { c.Phantom = 1 }, reason: "1 rows are there that nobody wrote"},
		{name: "a row is there after a history broke off", replicas: replicas(rows(7, 1, 3, 5, 6)...), broken: true,
			want:   history.Inconclusive,
			change: func(c *history.Counts) { c.Unrecorded = 1 },
			reason: "1 rows come after the end of a history that broke off"},
		{name: "a row is there that a broken history has not, before its end", replicas: replicas(rows(7, 0, 1, 3, 5)...),
			broken: true, want: history.Failed,
			change: func(c *history.Counts) { c.Phantom = 1 }, reason: "1 rows are there that nobody wrote"},
		{name: "no replica was read", want: history.Inconclusive,
			change: func(c *history.Counts) { c.UnknownPresent, c.UnknownAbsent = 0, 2 }, reason: "no replica was read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			r := run(7, "tukwila", operations...)
			r.Ended = !c.broken
			v := history.Check(history.Evidence{Runs: []history.Run{r}, Replicas: c.replicas})
			want := counts
			if c.change != nil {
				c.change(&want)
			}
			g.Expect(v.Counts).To(Equal(want))
			g.Expect(v.Result).To(Equal(c.want), "%v", v.Reasons)
			if c.reason == "" {
				g.Expect(v.Reasons).To(BeEmpty())
			} else {
				g.Expect(v.Reasons).To(ContainElement(c.reason))
			}
		})
	}
}

// Rows that no history has are counted apart where copies differ: their clients may have written on meanwhile.
func TestRowsThatDivergeUnrecorded(t *testing.T) {
	v := history.Check(history.Evidence{
		Runs: []history.Run{run(1, "x", insert(1, 0, 1, history.OK, "a-0", 1), insert(2, 2, 3, history.OK, "a-0", 1))},
		Replicas: []history.Replica{{Server: "a-0", Rows: rows(1, 1, 2)},
			{Server: "b-0", Rows: append(rows(1, 1), rows(9, 500, 501)...)}}})
	NewWithT(t).Expect(v.Counts).To(And(HaveField("Diverging", 3), HaveField("DivergingUnrecorded", 2),
		HaveField("Phantom", 2), HaveField("Lost", 1)))
}

func TestCheckAllowsWhatWasAllowed(t *testing.T) {
	g := NewWithT(t)
	e := history.Evidence{
		Runs:     []history.Run{run(1, "x", insert(1, 0, 1, history.OK, "a-0", 1), insert(2, 2, 3, history.OK, "a-0", 1))},
		Replicas: replicas(rows(1, 1)...),
	}
	g.Expect(history.Check(e).Result).To(Equal(history.Failed))
	e.AllowLost = 1
	v := history.Check(e)
	g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
	g.Expect(v.Counts.Lost).To(Equal(1), "they are counted all the same")
	e.AcknowledgedAtLeast = 3
	g.Expect(history.Check(e).Result).To(Equal(history.Inconclusive), "too few to say anything")
}

func TestCheckOfTerms(t *testing.T) {
	for _, c := range []struct {
		name     string
		runs     []history.Run
		overlaps int
		terms    int
	}{
		{"one server after another, and back", []history.Run{run(1, "x",
			insert(1, 0, 10, history.OK, "a-0", 1), insert(2, 20, 30, history.OK, "b-0", 2),
			insert(3, 40, 50, history.OK, "a-0", 3))}, 0, 3},
		{"two that could have been in order", []history.Run{
			run(1, "x", insert(1, 0, 100, history.OK, "a-0", 1)), run(2, "y", insert(1, 20, 30, history.OK, "b-0", 2))}, 0, 2},
		{"the older one acknowledges what was sent after the newer one acknowledged", []history.Run{
			run(1, "x", insert(1, 40, 50, history.OK, "a-0", 1)), run(2, "y", insert(1, 20, 30, history.OK, "b-0", 2))}, 1, 2},
		{"one term of two servers", []history.Run{run(1, "x",
			insert(1, 0, 10, history.OK, "a-0", 1), insert(2, 20, 30, history.OK, "b-0", 1))}, 1, 2},
		{"what failed proves nothing", []history.Run{
			run(1, "x", insert(1, 40, 50, history.Fail, "", 0)), run(2, "y", insert(1, 20, 30, history.OK, "b-0", 2))}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			var there []history.RowID
			for _, r := range c.runs {
				for _, o := range r.Operations {
					if o.Outcome == history.OK {
						there = append(there, history.RowID{Run: r.Header.Run, Number: o.Number})
					}
				}
			}
			v := history.Check(history.Evidence{Runs: c.runs, Replicas: replicas(there...)})
			g.Expect(v.Overlaps).To(HaveLen(c.overlaps))
			g.Expect(v.Terms).To(HaveLen(c.terms))
			g.Expect(v.Result == history.Passed).To(Equal(c.overlaps == 0), "%v", v.Reasons)
		})
	}
}

// Clocks of two machines are compared by wall time, and only beyond their error.
func TestCheckOfTermsOnSeveralMachines(t *testing.T) {
	g := NewWithT(t)
	old, young := run(1, "x", insert(1, 40, 50, history.OK, "a-0", 1)),
		run(2, "y", insert(1, 20, 30, history.OK, "b-0", 2))
	young.Boot = "another"
	e := history.Evidence{
		Runs:       []history.Run{old, young},
		Replicas:   replicas(rows(1, 1)[0], rows(2, 1)[0]),
		ClockError: 9 * time.Millisecond,
	}
	g.Expect(history.Check(e).Overlaps).To(HaveLen(1))
	e.ClockError = 11 * time.Millisecond
	g.Expect(history.Check(e).Overlaps).To(BeEmpty())
}

func register(number, from, to int64, f history.Function, value int64, outcome history.Outcome) history.Operation {
	return history.Operation{
		Number:    number,
		Function:  f,
		Key:       1,
		Value:     value,
		Invoked:   at(from),
		Completed: at(to),
		Outcome:   outcome,
	}
}

// elsewhere is a run of another machine, whose clocks tell nothing of this one's.
func elsewhere(number int64, operations ...history.Operation) history.Run {
	r := run(number, "y", operations...)
	r.Boot = "another"
	for i := range r.Operations {
		r.Operations[i].Invoked.Monotonic += int64(time.Hour)
		r.Operations[i].Completed.Monotonic += int64(time.Hour)
	}
	return r
}

// What clients of one machine read and wrote is judged by its own clock, wherever the manager and other clients are. Of
// other machines it counts that they have written what is read, and not when.
func TestRegistersOfSeveralMachines(t *testing.T) {
	stale := run(1, "x", register(1, 0, 1, history.Write, 10, history.OK),
		register(2, 2, 3, history.Write, 20, history.OK), register(3, 4, 5, history.Read, 10, history.OK))
	read := func(values ...int64) history.Run {
		r := run(1, "x")
		for i, v := range values {
			n := int64(i)
			r.Operations = append(r.Operations, register(n+1, 2*n, 2*n+1, history.Read, v, history.OK))
		}
		return r
	}
	written := elsewhere(2, register(1, 0, 1, history.Write, 5, history.OK),
		register(2, 2, 3, history.Write, 6, history.OK))
	unnamed := stale
	unnamed.Boot = ""
	for name, c := range map[string]struct {
		runs []history.Run
		want history.Result
	}{
		"a stale read, the manager elsewhere":      {[]history.Run{stale}, history.Failed},
		"a stale read, other clients elsewhere":    {[]history.Run{written, stale}, history.Failed},
		"a stale read within a session":            {[]history.Run{written, unnamed}, history.Failed},
		"what others wrote is read":                {[]history.Run{read(0, 5, 5, 6), written}, history.Passed},
		"and in whatever order":                    {[]history.Run{read(6, 5), written}, history.Passed},
		"but nothing comes back that was replaced": {[]history.Run{read(5, 6, 5), written}, history.Failed},
		"nor what was there before":                {[]history.Run{read(0, 5, 0), written}, history.Failed},
		"what others were refused is read": {[]history.Run{read(5),
			elsewhere(2, register(1, 0, 1, history.Write, 5, history.Fail))}, history.Failed},
		"what others may have written is read": {[]history.Run{read(0, 5),
			elsewhere(2, register(1, 0, 1, history.Write, 5, history.Unknown))}, history.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			r := history.Check(history.Evidence{Runs: c.runs, FaultsBoot: "the manager's"}).Registers
			NewWithT(t).Expect(r).To(And(HaveField("Result", c.want), HaveField("Unordered", len(c.runs) > 1)), r.Reason)
		})
	}
}

func TestCheckOfRegisters(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []history.Run
		want history.Result
	}{
		{"reads what was written", []history.Run{run(1, "x", register(1, 0, 1, history.Write, 5, history.OK),
			register(2, 2, 3, history.Read, 5, history.OK))}, history.Passed},
		{"a stale read", []history.Run{run(1, "x", register(1, 0, 1, history.Write, 5, history.OK),
			register(2, 2, 3, history.Read, 0, history.OK))}, history.Failed},
		{"a read at the same time may see either", []history.Run{run(1, "x", register(1, 0, 9, history.Write, 5, history.OK)),
			run(2, "y", register(1, 1, 2, history.Read, 0, history.OK), register(2, 3, 4, history.Read, 5, history.OK))},
			history.Passed},
		{"and not first the new one and then the old",
			[]history.Run{run(1, "x", register(1, 0, 9, history.Write, 5, history.OK)),
				run(2, "y", register(1, 1, 2, history.Read, 5, history.OK), register(2, 3, 4, history.Read, 0, history.OK))},
			history.Failed},
		{"a write of unknown outcome may come late",
			[]history.Run{run(1, "x", register(1, 0, 1, history.Write, 5, history.Unknown),
				register(2, 2, 3, history.Read, 0, history.OK), register(3, 4, 5, history.Read, 5, history.OK))}, history.Passed},
		{"or never", []history.Run{run(1, "x", register(1, 0, 1, history.Write, 5, history.Unknown),
			register(2, 2, 3, history.Read, 0, history.OK))}, history.Passed},
		{"a write that was refused is read",
			[]history.Run{run(1, "x", register(1, 0, 1, history.Write, 5, history.Fail),
				register(2, 2, 3, history.Read, 5, history.OK))}, history.Failed},
		{"it may begin with what an earlier run left",
			[]history.Run{run(1, "x", register(1, 0, 1, history.Read, 77, history.OK),
				register(2, 2, 3, history.Write, 5, history.OK), register(3, 4, 5, history.Read, 5, history.OK))}, history.Passed},
		{"but not go back to it", []history.Run{run(1, "x", register(1, 0, 1, history.Read, 77, history.OK),
			register(2, 2, 3, history.Write, 5, history.OK), register(3, 4, 5, history.Read, 77, history.OK))}, history.Failed},
		{"and there is one that it begins with",
			[]history.Run{run(1, "x", register(1, 0, 1, history.Read, 77, history.OK),
				register(2, 2, 3, history.Read, 78, history.OK))}, history.Failed},
		{"a read of unknown outcome says nothing",
			[]history.Run{run(1, "x", register(1, 0, 1, history.Write, 5, history.OK),
				register(2, 2, 3, history.Read, 0, history.Unknown))}, history.Passed},
	} {
		t.Run(c.name, func(t *testing.T) {
			NewWithT(t).Expect(history.Check(history.Evidence{Runs: c.runs}).Registers.Result).To(Equal(c.want))
		})
	}
}
