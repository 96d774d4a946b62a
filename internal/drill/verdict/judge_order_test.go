// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// Transactions on lists and controls have an objective each where there are any.
func TestOrderAndControls(t *testing.T) {
	ordered := func(change func(*history.Order)) func(*verdict.Measured) {
		return func(m *verdict.Measured) {
			m.History.Order = history.Order{Result: history.Passed, Verdict: listappend.Verdict{Transactions: 100, Copies: 2}}
			change(&m.History.Order)
		}
	}
	found := func(k listappend.Kind) func(*history.Order) {
		return func(o *history.Order) {
			o.Result, o.Reason, o.Counts = history.Failed, string(k)+": an example", map[listappend.Kind]int{k: 1}
		}
	}
	planted := func(results ...v1alpha1.ControlResult) func(*verdict.Measured) {
		return func(m *verdict.Measured) {
			for i, r := range results {
				m.Controls = append(m.Controls, v1alpha1.DrillControl{Planted: string(rune('a' + i)), Result: r})
			}
		}
	}
	for name, c := range map[string]struct {
		change    func(*verdict.Measured)
		verdict   v1alpha1.DrillVerdict
		objective string
		evidence  string
	}{
		"an order":   {ordered(func(*history.Order) {}), v1alpha1.VerdictPassed, "order", "100 transactions"},
		"an anomaly": {ordered(found(listappend.G2)), v1alpha1.VerdictFailed, "order", "G2: an example"},
		"what is open": {ordered(func(o *history.Order) { o.Result, o.Reason = history.Inconclusive, "not read" }),
			v1alpha1.VerdictInconclusive, "order", "not read"},
		"an element of a client's whose history is lost": {func(m *verdict.Measured) {
			ordered(found(listappend.Phantom))(m)
			m.Missing = []string{"quincy"}
		}, v1alpha1.VerdictInconclusive, "order", "quincy"},
		"an anomaly beside a lost history": {func(m *verdict.Measured) {
			ordered(found(listappend.G1c))(m)
			m.Missing = []string{"quincy"}
		}, v1alpha1.VerdictFailed, "order", "G1c"},
		"all controls found": {planted(v1alpha1.ControlFound, v1alpha1.ControlFound), v1alpha1.VerdictPassed, "controls", ""},
		"a control not found": {planted(v1alpha1.ControlFound, v1alpha1.ControlNotFound), v1alpha1.VerdictInconclusive,
			"controls", "not found: b"},
		"nothing to plant in": {planted(v1alpha1.ControlNothing, v1alpha1.ControlFound), v1alpha1.VerdictPassed, "controls",
			"nothing to plant in: a"},
	} {
		t.Run(name, func(t *testing.T) {
			g, m := NewWithT(t), good()
			c.change(&m)
			j := verdict.Judge(v1alpha1.DrillSpec{Objectives: goals()}, nil, m)
			i := slices.IndexFunc(j.Objectives, func(o v1alpha1.ObjectiveResult) bool { return o.Name == c.objective })
			g.Expect(i).To(BeNumerically(">=", 0))
			g.Expect(j.Objectives[i].Verdict).To(Equal(c.verdict))
			g.Expect(j.Objectives[i].Evidence).To(ContainSubstring(c.evidence))
			g.Expect(j.Verdict == v1alpha1.VerdictPassed).To(Equal(c.verdict == v1alpha1.VerdictPassed))
		})
	}
	m := good()
	planted(v1alpha1.ControlNothing, v1alpha1.ControlFound)(&m)
	j := verdict.Judge(v1alpha1.DrillSpec{Objectives: goals()}, nil, m)
	NewWithT(t).Expect(j.Objectives[len(j.Objectives)-1].Measured).To(Equal("1 of 1 found"), "nothing is not found")
}
