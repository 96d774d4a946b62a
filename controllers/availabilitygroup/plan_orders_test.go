// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// Orders are written at a server's site. An engine that is away for a moment keeps none from its agent: it would go by
// the former ones when the engine is back.
func TestOrdersReachAnAgentWhoseEngineIsAway(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*environ)
		told   func(*environ) bool
	}{
		"a pause": {
			func(e *environ) { e.d.Group.Spec.FailoverPolicy = v1alpha1.FailoverPaused },
			func(e *environ) bool { return e.orders["quisec"].Paused },
		},
		"another voter": {
			func(e *environ) { e.d.Group.Spec.Voters = []v1alpha1.SiteName{"tukwila", "quincy", "blueridge"} },
			func(e *environ) bool { return reaches(*e.orders["quisec"], []string{"blueridge"}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			e.silent["quisec"] = true
			c.change(e)
			some := func() {
				for range 10 {
					for _, s := range plan(e.d, e.observe()).Steps {
						g.Expect(e.do(s)).To(Succeed())
					}
					e.work()
				}
			}
			e.cut["quincy"] = true
			some()
			g.Expect(c.told(e)).To(BeFalse(), "its site is out of reach")
			delete(e.cut, "quincy")
			some()
			g.Expect(c.told(e)).To(BeTrue())
		})
	}
}
