// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// A group without a primary says who is awaited, by its policy and by what people asked the agents for, and what a
// person can do.
func TestWithoutAPrimaryItSaysWhoIsAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		policy v1alpha1.FailoverPolicy
		paused bool
		says   string
	}{
		"the agents elect":              {v1alpha1.FailoverAutomatic, false, "the agents elect one when"},
		"the last one comes back":       {v1alpha1.FailoverManual, false, "only the agent of the last one"},
		"nothing is said of the policy": {"", false, "only the agent of the last one"},
		"paused in the manifest":        {v1alpha1.FailoverPaused, false, "elections are paused"},
		"paused by a command":           {v1alpha1.FailoverAutomatic, true, "elections are paused"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := declared()
			group.Spec.FailoverPolicy = c.policy
			e := newEnviron(t, group)
			e.settle(everything)
			e.group.primary = ""
			o := e.observe()
			o.Voters[1].Paused = c.paused
			said := withoutPrimary(e.d, o)
			g.Expect(said).To(And(ContainSubstring(c.says), ContainSubstring("the votes are Held by tukpub-0 in term 1"),
				ContainSubstring("kubectl geosql failover content --wait -n web")))
			g.Expect(plan(e.d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonNoPrimary))
		})
	}
}
