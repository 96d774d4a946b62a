// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

// StillThere says what was still seen of a fault when its objects were gone; empty when all is as it was. A way is
// slower still when half of what it had become slower is left.
func StillThere(f v1alpha1.FaultStatus) string {
	if f.Effect == nil {
		return ""
	}
	if text := leftAtServers(f.Effect.Figures); text != "" {
		return text
	}
	if f.Kind != v1alpha1.FaultNetwork && f.Kind != v1alpha1.FaultPartition && len(f.Effect.Before) == 0 {
		return ""
	}
	if text := OnItsWays(f); text != "" {
		return text
	}
	pairs := pairsOf(f.Effect.Before, f.Effect.After)
	if len(pairs) == 0 {
		return "nobody looked after it"
	}
	if missing := unseen(f.Effect.Before, pairs); missing != "" {
		return "nobody looked after it between " + missing
	}
	return ""
}

// OnItsWays says what was still seen of a fault on a way between servers when its objects were gone; empty when nothing
// was, and where nobody looked.
func OnItsWays(f v1alpha1.FaultStatus) string {
	for _, p := range pairsOf(f.Effect.Before, f.Effect.After) {
		var worst v1alpha1.ProbeFigures
		for _, d := range f.Effect.During {
			if d.From == p.during.From && d.To == p.during.To {
				worst = d
			}
		}
		if text := p.stillThere(worst); text != "" {
			return text
		}
	}
	return ""
}

// stillThere compares a way after a fault with what it was before, and while the fault lasted.
func (p pair) stillThere(worst v1alpha1.ProbeFigures) string {
	way := p.during.From + " to " + p.during.To
	if p.before.Failures == 0 && p.during.Failures == p.during.Attempts {
		return fmt.Sprintf("after it %s did not reach %s", p.during.From, p.during.To)
	}
	if worst.Connect != nil && p.during.Connect != nil {
		was, is, slow := ptr.Deref(
			p.before.Connect,
			metav1.Duration{},
		).Duration, p.during.Connect.Duration, worst.Connect.Duration
		if slow-was > noticeable && is-was > (slow-was)/2 {
			return fmt.Sprintf("after it %s took %s instead of %s", way, is.Round(time.Millisecond), was.Round(time.Millisecond))
		}
	}
	was, is, bad := p.before.Transfer, p.during.Transfer, worst.Transfer
	switch {
	case was == nil || is == nil || bad == nil:
	case remains(was.Resent, is.Resent, bad.Resent, *was, *is, *bad):
		return fmt.Sprintf("after it %d of %d segments from %s were sent again", is.Resent, is.Segments, way)
	case remains(was.Duplicates, is.Duplicates, bad.Duplicates, *was, *is, *bad):
		return fmt.Sprintf("after it %d of %d segments from %s came twice", is.Duplicates, is.Segments, way)
	case 2*bad.KilobitsPerSecond < was.KilobitsPerSecond && 4*is.KilobitsPerSecond <= 5*bad.KilobitsPerSecond:
		return fmt.Sprintf("after it %s carried %d kbit/s instead of %d", way, is.KilobitsPerSecond, was.KilobitsPerSecond)
	}
	return ""
}

// remains says whether of what happened to segments while a fault lasted half is left, beyond what was usual before it.
func remains(was, is, bad int64, wasOf, isOf, badOf v1alpha1.TransferFigures) bool {
	return bad >= seenAtLeast && is >= seenAtLeast && is*badOf.Segments*2 > bad*isOf.Segments &&
		is*wasOf.Segments > 2*was*isOf.Segments
}

// noticeable is by how much a way must have become slower before that says anything.
const noticeable = 20 * time.Millisecond
