// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

// declared is a set of faults to draw from.
var declared = v1alpha1.DrillSpec{RunID: "x", Faults: []v1alpha1.DrillFault{
	{Name: "kill", Kind: v1alpha1.FaultPodKill},
	{Name: "cut", Kind: v1alpha1.FaultPartition, Duration: lasting(20 * time.Second)},
	{Name: "move", Kind: v1alpha1.FaultSwitchover, Every: lasting(15 * time.Second), Times: 3},
}}

func faultsOf(s v1alpha1.DrillSpec) (text []string) {
	for _, f := range s.Faults {
		text = append(text, fmt.Sprintf("%s %s", f.Name, f.At.Duration))
	}
	return text
}

// What a seed and a number stand for is the same in every release: a run that failed a year ago can be done again.
func TestWhatIsDrawn(t *testing.T) {
	g := NewWithT(t)
	repeat := v1alpha1.DrillRepeat{Times: 200, Seed: 42}
	for number, want := range map[int32][]string{
		1: {"cut 7.528s"}, 2: {"move 24.728s", "cut 58.165s"}, 17: {"cut 19.118s", "move 42.947s", "kill 1m20.998s"},
	} {
		s := drill.Drawn(declared, repeat, number)
		g.Expect(faultsOf(s)).To(Equal(want), "number %d", number)
	}
	alone := v1alpha1.DrillRepeat{Times: 1, First: 17, Seed: 42}
	g.Expect(drill.First(alone)).To(BeEquivalentTo(17))
	g.Expect(drill.Last(alone)).To(BeEquivalentTo(17))
	g.Expect(drill.Drawn(declared, alone, 17)).To(Equal(drill.Drawn(declared, repeat, 17)), "one alone is the same again")
	g.Expect(drill.Drawn(declared, repeat, 17).RunID).To(Equal("42-017"))
}

// Each drill has some of the declared faults, each once and one after the other, with pauses that are not too long; all
// of them come in some drill, and none changes what is declared.
func TestDrawnDrills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pause := rapid.IntRange(0, 60).Draw(t, "pause")
		r := v1alpha1.DrillRepeat{Times: 1, Seed: rapid.Int64Range(0, 999_999_999).Draw(t, "seed"),
			FaultsAtMost: rapid.Int32Range(0, 3).Draw(t, "at most"),
			Pause:        lasting(time.Duration(pause) * time.Second)}
		s := drill.Drawn(declared, r, rapid.Int32Range(1, 999).Draw(t, "number"))
		most := 3
		if r.FaultsAtMost > 0 {
			most = int(r.FaultsAtMost)
		}
		if n := len(s.Faults); n < 1 || n > most {
			t.Fatalf("%d faults", n)
		}
		var end time.Duration
		var names []string
		for _, f := range s.Faults {
			if slices.Contains(names, f.Name) {
				t.Fatalf("%s twice", f.Name)
			}
			names = append(names, f.Name)
			if f.At.Duration < end || f.At.Duration > end+r.Pause.Duration {
				t.Fatalf("%s begins at %s, the one before ends at %s", f.Name, f.At.Duration, end)
			}
			for _, o := range drill.Expand([]v1alpha1.DrillFault{f}) {
				end = max(end, o.At+o.Lasts())
			}
		}
	})
	g := NewWithT(t)
	kinds, first, counts := map[string]bool{}, map[string]bool{}, map[int]bool{}
	for number := range int32(200) {
		s := drill.Drawn(declared, v1alpha1.DrillRepeat{Seed: 7}, number+1)
		first[s.Faults[0].Name], counts[len(s.Faults)] = true, true
		for _, f := range s.Faults {
			kinds[f.Name] = true
		}
	}
	g.Expect(kinds).To(HaveLen(3))
	g.Expect(first).To(HaveLen(3), "in any order")
	g.Expect(counts).To(HaveLen(3), "one, two and all of them")
	g.Expect(declared.Faults).To(HaveEach(HaveField("At", BeNil())))
	g.Expect(drill.Drawn(v1alpha1.DrillSpec{}, v1alpha1.DrillRepeat{}, 1).Faults).To(BeEmpty())
}

// What counts as being served again has defaults, which a drill may change.
func TestServedAgain(t *testing.T) {
	g := NewWithT(t)
	g.Expect(drill.ServedPercent(v1alpha1.DrillObjectives{})).To(BeEquivalentTo(99))
	g.Expect(drill.ServedFor(v1alpha1.DrillObjectives{})).To(Equal(5 * time.Second))
	o := v1alpha1.DrillObjectives{Served: &v1alpha1.DrillServed{Percent: ptr.To[int32](90)}}
	g.Expect(drill.ServedPercent(o)).To(BeEquivalentTo(90))
	g.Expect(drill.ServedFor(o)).To(Equal(5 * time.Second))
	o.Served.For = lasting(time.Minute)
	g.Expect(drill.ServedFor(o)).To(Equal(time.Minute))
}
