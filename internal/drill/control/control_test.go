// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/control"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

const (
	second = int64(time.Second)
	// wall is by how much the wall clock is ahead of the monotonic one, in the manager and at the client.
	wall = 1000 * second
)

func at(t int64) history.Instant { return history.Instant{Monotonic: t, Wall: t + wall} }

// sound is a run of two clients of one machine, each of which does one thing every 200 ms for 40 s: rows and registers,
// or transactions on lists. The fault at 20 s takes nobody's time.
func sound(lists bool) control.Run {
	var e history.Evidence
	state := map[int64]listappend.List{}
	replicas := []history.Replica{{Server: "a-0"}, {Server: "b-0"}}
	for client := range int64(2) {
		e.Runs = append(e.Runs,
			history.Run{Header: history.Header{Run: client + 1, Client: "quincy", Boot: "q"}, Ended: true})
	}
	value := map[int64]int64{}
	for i := range int64(400) {
		run := &e.Runs[i%2]
		number := int64(len(run.Operations) + 1)
		o := history.Operation{Number: number, Function: history.Insert, Invoked: at(second + i*second/10),
			Completed: at(second + i*second/10 + second/100), Outcome: history.OK, Server: "a-0", Configuration: 1 << 32}
		switch {
		case lists:
			o.Steps = steps(run.Header.Run, number, state)
		case i%10 == 3:
			o.Function, o.Value = history.Write, i
			value[0] = i
		case i%10 == 6:
			o.Function, o.Value = history.Read, value[0]
		}
		if o.Function == history.Insert {
			for at := range replicas {
				replicas[at].Rows = append(replicas[at].Rows, history.RowID{Run: run.Header.Run, Number: number})
			}
		}
		run.Operations = append(run.Operations, o)
	}
	if lists {
		replicas[0].Lists, replicas[1].Lists = state, state
		e.Subscribers = []history.Replica{{Server: "s-0", Lists: state}}
	} else {
		for at := range replicas {
			replicas[at].Tables = tablesOf(replicas[at].Rows)
		}
		e.Subscribers = []history.Replica{{Server: "s-0", Rows: replicas[0].Rows, Tables: replicas[0].Tables[1:]}}
	}
	e.Replicas, e.AcknowledgedAtLeast, e.FaultsBoot = replicas, 1, "manager"
	e.Faults = []history.Fault{
		{Name: "kill", Target: "a-0", Injected: at(20 * second), Settled: at(22 * second), Proof: "seen"}}
	for i := range int64(3) {
		sent := wall + i*10*second
		e.Clocks = append(e.Clocks, history.ClockReading{Boot: "q", Monotonic: sent - wall + second/1000, Sent: sent,
			Received: sent + second/500})
	}
	return measured(e)
}

// tablesOf a copy that has these rows, each with a payload.
func tablesOf(rows []history.RowID) []history.Table {
	var recorded, payloads history.Spans
	for _, id := range rows {
		recorded.Say(id, "a-0", 1<<32)
		payloads.Add(id)
	}
	return []history.Table{{Name: history.TableRecorded, Rows: len(rows), SHA256: "1", Spans: recorded.List()},
		{Name: "dbo.Article", Each: 1, Rows: len(rows), SHA256: "2", Spans: payloads.List()}}
}

// steps of a transaction on three lists in turn: it appends to two, and reads one before and one after.
func steps(run, number int64, state map[int64]listappend.List) []listappend.Step {
	read := func(list int64) listappend.Step { return listappend.Step{List: list, Read: state[list]} }
	var all []listappend.Step
	add := func(list int64) {
		s := listappend.Step{List: list, Append: listappend.NewElement(run, number, len(all))}
		state[list] = append(state[list][:len(state[list]):len(state[list])], s.Append)
		all = append(all, s)
	}
	generation := number / 10 * 4
	all = append(all, read(generation+number%3), read(generation+(number+1)%3))
	add(generation + (number+2)%3)
	add(generation + (number+2)%3)
	add(generation + 3)
	return append(all, read(generation+3))
}

func measured(e history.Evidence) control.Run {
	m := verdict.Measured{History: history.Check(e), Read: []string{"a-0", "b-0"}, NoGroup: true}
	m.Faults = []v1alpha1.FaultStatus{
		{Name: "kill", State: v1alpha1.FaultRemoved, Effect: &v1alpha1.FaultEffect{Status: metav1.ConditionTrue}}}
	if len(e.Subscribers) > 0 && e.Subscribers[0].Lists == nil && len(e.Replicas) > 0 {
		d := history.CheckDelivery(e.Runs, e.Replicas[0], e.Subscribers[0])
		m.Places = []verdict.Place{{Server: "s", Kind: verdict.PlaceSubscriber, Delivery: &d}}
	}
	return control.Run{Evidence: e, Measured: m}
}

func results(list []v1alpha1.DrillControl) map[string]v1alpha1.ControlResult {
	all := map[string]v1alpha1.ControlResult{}
	for _, c := range list {
		all[c.Planted] = c.Result
	}
	return all
}

// In a run that has something of everything each error is found that is planted in it; the evidence stays as it was.
func TestEveryPlantedErrorIsFound(t *testing.T) {
	for name, lists := range map[string]bool{"rows and registers": false, "lists": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			run, again := sound(lists), sound(lists)
			g.Expect(verdict.Judge(run.Spec, nil, run.Measured).Verdict).To(Equal(v1alpha1.VerdictPassed),
				"%+v", verdict.Judge(run.Spec, nil, run.Measured))
			list := control.Check(run)
			g.Expect(reflect.DeepEqual(run, again)).To(BeTrue(), "the evidence was changed")
			for _, c := range list {
				ofLists := len(c.Planted) > 8 && c.Planted[:8] == "on lists"
				expected := v1alpha1.ControlFound
				if ofLists && !lists || lists && slices.Contains([]string{"a stale read of a register",
					"a transaction of which one copy has a part", "a table that is another one in one copy",
					"a row that the subscriber lacks though it has later ones"}, c.Planted) {
					expected = v1alpha1.ControlNothing
				}
				g.Expect(c.Result).To(Equal(expected), "%s: %s", c.Planted, c.Evidence)
				g.Expect(c.Evidence).NotTo(BeEmpty())
			}
			g.Expect(list).To(HaveLen(11 + len(listappend.Plants())))
		})
	}
}

// What a run has nothing of is said, and never counted as found.
func TestWhereThereIsNothingToPlantIn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*history.Evidence)
		none   []string
	}{
		"no register was read": {func(e *history.Evidence) {
			for i := range e.Runs {
				for j := range e.Runs[i].Operations {
					if o := &e.Runs[i].Operations[j]; o.Function == history.Read {
						o.Outcome = history.Fail
					}
				}
			}
		}, []string{"a stale read of a register"}},
		"no replica was read": {func(e *history.Evidence) { e.Replicas = nil }, []string{
			"an acknowledged row that is gone from one copy", "a row that is there twice", "a row that nobody wrote",
			"a transaction of which one copy has a part", "a row that the subscriber lacks though it has later ones"}},
		"one copy was read, and no subscriber": {func(e *history.Evidence) {
			e.Replicas, e.Subscribers = e.Replicas[:1], nil
		}, []string{"a table that is another one in one copy", "a row that the subscriber lacks though it has later ones"}},
		"no group": {func(e *history.Evidence) {
			for i := range e.Runs {
				for j := range e.Runs[i].Operations {
					e.Runs[i].Operations[j].Configuration = 0
				}
			}
			for i := range e.Replicas {
				e.Replicas[i].Tables = nil
			}
		}, []string{"two servers that acknowledge in one term", "a transaction of which one copy has a part"}},
		"no clock was compared": {func(e *history.Evidence) { e.Clocks = nil },
			[]string{"a clock that was shifted by a minute", "a client that is never served again"}},
		"no fault was done": {func(e *history.Evidence) { e.Faults = nil },
			[]string{"a clock that was shifted by a minute", "a client that is never served again"}},
	} {
		t.Run(name, func(t *testing.T) {
			run := sound(false)
			c.change(&run.Evidence)
			found := results(control.Check(measured(run.Evidence)))
			for _, planted := range c.none {
				NewWithT(t).Expect(found).To(HaveKeyWithValue(planted, v1alpha1.ControlNothing))
			}
		})
	}
	run := sound(false)
	run.Measured.Faults[0].Effect = nil
	NewWithT(t).Expect(results(control.Check(run))).
		To(HaveKeyWithValue("a fault that strikes nothing", v1alpha1.ControlNothing))
}

// A checker that does not see an error is found out: a run that takes every copy for right says so of each.
func TestAnErrorThatIsNotFoundIsSaid(t *testing.T) {
	run := sound(false)
	// The wish that a thousand rows may be lost does not hide that one more was.
	goal := int64(1000)
	run.Spec.Objectives.LostRows = &goal
	NewWithT(t).Expect(results(control.Check(run))).
		To(HaveKeyWithValue("an acknowledged row that is gone from one copy", v1alpha1.ControlFound))
	// Errors of the kind that are there before are not taken for the planted one.
	blind := sound(false)
	blind.Measured.Read = nil
	list := control.Check(blind)
	NewWithT(t).Expect(results(list)).
		To(HaveKeyWithValue("an acknowledged row that is gone from one copy", v1alpha1.ControlNotFound))
	NewWithT(t).Expect(control.Missed(list)).To(ContainElement("an acknowledged row that is gone from one copy"))
}
