// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// Transactions on lists are judged by what they read and by the copies' lists, whatever their clocks say; evidence of
// other profiles says nothing of an order, and asks for none.
func TestTheOrderOfTransactions(t *testing.T) {
	evidence := func() history.Evidence {
		a, b := insert(1, 10, 20, history.OK, "a-0", 1), insert(1, 5, 30, history.OK, "a-0", 1)
		a.Steps = []listappend.Step{{List: 5, Append: "1.1.0"}, {List: 6, Append: "1.1.1"}}
		b.Steps = []listappend.Step{{List: 5, Read: listappend.List{"1.1.0"}}, {List: 6, Read: listappend.List{"1.1.1"}}}
		one, two := run(1, "client", a), run(2, "client", b)
		two.Boot = "another machine, whose clock was never compared"
		return history.Evidence{Runs: []history.Run{one, two}, Replicas: []history.Replica{{Server: "a-0",
			Rows:  []history.RowID{{Run: 1, Number: 1}, {Run: 2, Number: 1}},
			Lists: map[int64]listappend.List{5: {"1.1.0"}, 6: {"1.1.1"}}}}}
	}
	for name, c := range map[string]struct {
		change func(*history.Evidence)
		result history.Result
		reason string
	}{
		"all is well": {func(*history.Evidence) {}, history.Passed, ""},
		"half of a transaction was read": {func(e *history.Evidence) { e.Runs[1].Operations[0].Steps[1].Read = nil },
			history.Failed, "G-single, 1 times: operation 1 of run 2 read list 6 without 1.1.1"},
		"an append is lost": {func(e *history.Evidence) { delete(e.Replicas[0].Lists, 6) }, history.Failed, "lost append"},
		"it was told that it failed": {func(e *history.Evidence) { e.Runs[0].Operations[0].Outcome = history.Fail },
			history.Failed, "G1a"},
		"the lists were not read": {func(e *history.Evidence) { e.Replicas[0].Lists = nil }, history.Inconclusive,
			"no copy of the lists was read"},
		"a subscriber has the reader's row alone": {func(e *history.Evidence) {
			e.Subscribers = []history.Replica{{Server: "s-0", Rows: []history.RowID{{Run: 2, Number: 1}}}}
		}, history.Failed, "not a prefix"},
		"a subscriber has nothing yet": {func(e *history.Evidence) { e.Subscribers = []history.Replica{{Server: "s-0"}} },
			history.Passed, ""},
		"another profile": {func(e *history.Evidence) {
			for i := range e.Runs {
				e.Runs[i].Operations[0].Steps = nil
			}
		}, history.Passed, "no lists were used"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := evidence()
			c.change(&e)
			v := history.Check(e)
			g.Expect(v.Order.Result).To(Equal(c.result), v.Order.Reason)
			g.Expect(v.Order.Reason).To(ContainSubstring(c.reason))
			if c.result == history.Failed {
				g.Expect(v.Result).To(Equal(history.Failed))
			}
		})
	}
}

// A subscriber whose order nobody could see is not among those that were judged.
func TestSubscribersWhoseOrderWasJudged(t *testing.T) {
	g := NewWithT(t)
	one := insert(1, 10, 20, history.OK, "a-0", 1)
	one.Steps = []listappend.Step{{List: 5, Append: "1.1.0"}}
	rows := []history.RowID{{Run: 1, Number: 1}}
	lists := map[int64]listappend.List{5: {"1.1.0"}}
	v := history.Check(history.Evidence{Runs: []history.Run{run(1, "client", one)},
		Replicas: []history.Replica{{Server: "a-0", Rows: rows, Lists: lists}},
		Subscribers: []history.Replica{
			{Server: "s-0", Tables: []history.Table{{Name: history.TableRegister}}},
			{Server: "s-1", Tables: []history.Table{{Name: "dbo.Article", Each: 1}}},
			{Server: "s-2", Tables: []history.Table{{Name: history.TableRegister}}, Lists: lists},
		}})
	g.Expect(v.Order.Result).To(Equal(history.Passed), v.Order.Reason)
	g.Expect(v.Order.Subscribers).To(Equal(2))
}
