// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// defaultPause is the longest time between two drawn faults.
const defaultPause = 30 * time.Second

// First is the number of the first drill.
func First(r v1alpha1.DrillRepeat) int32 { return cmp.Or(r.First, 1) }

// Last is the number of the last one.
func Last(r v1alpha1.DrillRepeat) int32 { return First(r) + r.Times - 1 }

// Drawn is the spec of the drill of a number: some of the template's faults in an order, each some time after the one
// before is over. It follows from seed and number alone, in every release: what a run did can be done again.
func Drawn(template v1alpha1.DrillSpec, r v1alpha1.DrillRepeat, number int32) v1alpha1.DrillSpec {
	d := dice{rand.NewPCG(uint64(r.Seed), uint64(number))} //nolint:gosec // neither is below 0
	s := *template.DeepCopy()
	s.RunID = fmt.Sprintf("%d-%03d", r.Seed, number)
	set := s.Faults
	most := len(set)
	if r.FaultsAtMost > 0 {
		most = min(most, int(r.FaultsAtMost))
	}
	s.Faults = nil
	var end time.Duration
	for left := d.upTo(most); left > 0 && len(set) > 0; left-- {
		i := d.upTo(len(set)) - 1
		f := set[i]
		set = append(set[:i:i], set[i+1:]...)
		pause := orDefault(r.Pause, defaultPause)
		at := end + time.Duration(d.upTo(int(pause/time.Millisecond)+1)-1)*time.Millisecond
		f.At = &metav1.Duration{Duration: at}
		for _, o := range Expand([]v1alpha1.DrillFault{f}) {
			end = max(end, o.At+o.Lasts())
		}
		s.Faults = append(s.Faults, f)
	}
	return s
}

// dice draw numbers. What they make of the generator's output is written out here, since libraries may change theirs.
type dice struct{ *rand.PCG }

// upTo is a number from 1 to n; 0 where n is 0.
func (d dice) upTo(n int) int {
	if n <= 0 {
		return 0
	}
	return int(d.Uint64()%uint64(n)) + 1 //nolint:gosec // less than n, which is an int
}
