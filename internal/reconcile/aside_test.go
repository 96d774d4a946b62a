// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// word is a step that says itself.
type word string

func (w word) Describe() string { return string(w) }

// A step beside the others keeps none of them from being done, and what it fails by is told without hiding what else
// is so.
func TestAStepBesideTheOthersFailsAlone(t *testing.T) {
	ready := conditions.Ready("Fine", "all is well")
	waits := conditions.InProgress("Waits", "somebody else comes first")
	for name, c := range map[string]struct {
		planned         conditions.Outcome
		fails           []string
		beside          string
		reason, message string
		ready           metav1.ConditionStatus
	}{
		"nothing fails":                 {ready, nil, "Odd", "Fine", "all is well", metav1.ConditionTrue},
		"the one beside":                {ready, []string{"beside"}, "Odd", "Odd", "no beside", metav1.ConditionFalse},
		"that has a condition":          {ready, []string{"beside"}, "", "Fine", "all is well", metav1.ConditionTrue},
		"while something is waited for": {waits, []string{"beside"}, "Odd", "Waits", "somebody else", metav1.ConditionFalse},
		"another one": {ready, []string{"second"}, "Odd", v1alpha1.ReasonApplyFailed, "no second",
			metav1.ConditionFalse},
		"both": {ready, []string{"beside", "second"}, "Odd", v1alpha1.ReasonApplyFailed, "no second",
			metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := reconcile.Plan{Outcome: c.planned}
			p.Add(word("first"))
			p.Beside(word("beside"), c.beside)
			p.Add(word("second"))
			g.Expect(p.All()).To(Equal([]reconcile.Step{word("beside"), word("first"), word("second")}))
			var done []string
			carryOut := func(_ context.Context, s reconcile.Step) error {
				done = append(done, s.Describe())
				for _, f := range c.fails {
					if s.Describe() == f {
						return errors.New("no " + f)
					}
				}
				return nil
			}
			failed := reconcile.WithAside(t.Context(), p, carryOut,
				func() error { return reconcile.InOrder(t.Context(), p.Steps, carryOut) })
			g.Expect(done).To(Equal([]string{"beside", "first", "second"}))
			for _, f := range c.fails {
				g.Expect(failed).To(MatchError(ContainSubstring("no " + f)))
			}
			o := reconcile.Outcome(p.Outcome, failed)
			g.Expect(o.Reason).To(Equal(c.reason))
			g.Expect(o.Message).To(ContainSubstring(c.message))
			g.Expect(o.Ready).To(Equal(c.ready))
		})
	}
}
