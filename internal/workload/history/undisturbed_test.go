// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// What clients see of the baseline is measured from one acknowledgement to the next, up to the first fault; where there
// is no baseline, or no fault that figures could be given against it, nothing is.
func TestWhatClientsSeeUndisturbed(t *testing.T) {
	evidence := func() history.Evidence {
		one := run(1, "tukwila", steady(0, 60_000, [2]int64{5_000, 6_200}, [2]int64{20_100, 25_000})...)
		other := run(2, "dublin", steady(0, 60_000, [2]int64{20_000, 25_000})...)
		return history.Evidence{Runs: []history.Run{one, other}, Baseline: at(2_000), Faults: []history.Fault{
			fault("second", 40_050, 41_000, 43_000), fault("first", 20_050, 26_000, 30_000)}}
	}
	g := NewWithT(t)
	seen := history.Check(evidence()).Undisturbed
	g.Expect(seen).To(HaveExactElements(
		And(HaveField("Client", "dublin"), HaveField("RTO", HaveValue(Equal(100*time.Millisecond))),
			HaveField("Stall", 5*time.Millisecond)),
		And(HaveField("Client", "tukwila"), HaveField("RTO", HaveValue(Equal(1300*time.Millisecond))),
			HaveField("Users", 1))))
	for name, change := range map[string]func(*history.Evidence){
		"no baseline":                  func(e *history.Evidence) { e.Baseline = history.Instant{} },
		"no fault":                     func(e *history.Evidence) { e.Faults = nil },
		"the first fault is before it": func(e *history.Evidence) { e.Baseline = at(30_000) },
	} {
		e := evidence()
		change(&e)
		g.Expect(history.Check(e).Undisturbed).To(BeEmpty(), name)
	}
	// Whoever is served for the first time in the baseline is looked at from then on.
	late := evidence()
	late.Runs[1] = run(2, "dublin", steady(3_000, 60_000, [2]int64{20_000, 25_000})...)
	g.Expect(history.Check(late).Undisturbed[0].RTO).To(HaveValue(Equal(100 * time.Millisecond)))
	// Of clients whose machine's clock was never compared nobody knows what they did then.
	e := evidence()
	e.FaultsBoot = "another machine"
	g.Expect(history.Check(e).Undisturbed).To(HaveEach(And(HaveField("RTO", BeNil()),
		HaveField("Missing", Not(BeEmpty())))))
}
