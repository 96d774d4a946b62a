// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// Every time has its bound beside it, where it has one, and clocks that strayed are told of.
func TestBoundsAreInTheResult(t *testing.T) {
	g := NewWithT(t)
	m := good()
	f := &m.History.Faults[0]
	f.RPOUnsure, f.CatchUpLess, f.CatchUpMore = 0, time.Second, 2*time.Second
	f.Clients[0].Unsure = 300 * time.Millisecond
	m.History.Clocks = []history.ClockFigures{
		{Boot: "one", Clients: []string{"quincy"}, Readings: 9, Bound: time.Second, Strayed: 800 * time.Millisecond},
		{Boot: "two", Clients: []string{"tukwila"}, Readings: 9, Bound: time.Millisecond},
	}
	j := verdict.Judge(v1alpha1.DrillSpec{Objectives: goals()}, nil, m)
	g.Expect(j.Verdict).To(Equal(v1alpha1.VerdictPassed), j.Message)
	bounds := map[string]any{}
	for _, o := range j.Objectives {
		if o.Bound != nil {
			bounds[o.Name] = o.Bound.Duration
		}
		if o.Name == "evidence" {
			g.Expect(o.Evidence).To(And(ContainSubstring("quincy moved against each other: by at least 800ms"),
				Not(ContainSubstring("tukwila moved"))))
		}
	}
	g.Expect(bounds).To(Equal(map[string]any{"rto": 300 * time.Millisecond, "redoCatchUp": 2 * time.Second}))
}
