// SPDX-License-Identifier: Apache-2.0

package files

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Nothing is removed without all of the evidence.
func TestWhatMayBeRemoved(t *testing.T) {
	long, hour := noon.Add(-2*time.Hour), noon.Add(-unnamedFor)
	unnamed, part := naming{since: long}, staged{kind: begun, written: long}
	for name, c := range map[string]struct {
		s  staged
		n  naming
		is bool
	}{
		"begun, and named by no order for long":  {part, unnamed, true},
		"whole, and brought by a sidecar":        {staged{kind: whole, recorded: true, written: long}, unnamed, true},
		"for an hour to the second":              {staged{kind: begun, written: hour}, naming{since: hour}, true},
		"whole, and nobody knows who brought it": {staged{kind: whole, written: long}, unnamed, false},
		"an order names it":                      {part, naming{named: true, since: long}, false},
		"an order named it a moment ago":         {part, naming{since: hour.Add(1)}, false},
		"orders are not known":                   {part, naming{}, false},
		"somebody wrote there a moment ago":      {staged{kind: begun, written: hour.Add(1)}, unnamed, false},
		"what has a time to come":                {staged{kind: begun, written: noon.Add(time.Hour)}, unnamed, false},
		"not all of it can be looked at":         {staged{kind: begun, written: long, unread: true}, unnamed, false},
		"a clock that was set back":              {part, naming{since: noon.Add(1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.s.removable(c.n, noon)).To(Equal(c.is))
		})
	}
}

// The oldest goes first, and no more than has to.
func TestWhatIsChosen(t *testing.T) {
	at := func(snapshot string, age time.Duration, bytes int64) staged {
		return staged{spot: spot{"dist-0", "pub", snapshot}, kind: begun, written: noon.Add(-age), bytes: bytes}
	}
	all := []staged{at("b", 3*time.Hour, 20), at("a", 2*time.Hour, 30), at("c", 5*time.Hour, 10), at("d", time.Minute, 40)}
	for goal, want := range map[int64][]string{100: nil, 99: {"c"}, 90: {"c"}, 89: {"c", "b"}, 70: {"c", "b"},
		69: {"c", "b", "a"}, 0: {"c", "b", "a"}} {
		g := NewWithT(t)
		var names []string
		for _, s := range choose(all, func(staged) naming { return naming{since: noon.Add(-unnamedFor)} }, noon, goal) {
			names = append(names, s.snapshot)
		}
		g.Expect(names).To(Equal(want), "%d", goal)
	}
}

// world is any state of mirrors and orders.
func world(t *rapid.T) ([]staged, map[string]naming) {
	folder := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	age := rapid.Custom(func(t *rapid.T) time.Time {
		return noon.Add(-time.Duration(rapid.IntRange(-30, 300).Draw(t, "minutes")) * time.Minute)
	})
	orders := map[string]naming{}
	for _, f := range []string{"a", "b", "c", "d"} {
		n := naming{named: rapid.Bool().Draw(t, "named")}
		if rapid.Bool().Draw(t, "known") {
			n.since = age.Draw(t, "since")
		}
		orders[f] = n
	}
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) staged {
		name := rapid.SampledFrom([]string{first, next}).Draw(t, "name")
		return staged{spot: spot{"dist-0", folder.Draw(t, "folder"), name},
			kind:     rapid.SampledFrom([]kind{whole, begun}).Draw(t, "kind"),
			recorded: rapid.Bool().Draw(t, "recorded"), unread: rapid.Bool().Draw(t, "unread"),
			bytes: rapid.Int64Range(0, 50).Draw(t, "bytes"), written: age.Draw(t, "written")}
	})).Draw(t, "all"), orders
}

// Whatever lies there and whatever is ordered: what is needed, or may be somebody's, stays; the oldest goes first; no
// more goes than has to; and when the goal is not met nothing is left that may go.
func TestChoosing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		all, orders := world(t)
		of := func(s staged) naming { return orders[s.folder] }
		goal := rapid.Int64Range(-10, 300).Draw(t, "goal")
		before := slices.Clone(all)
		chosen := choose(all, of, noon, goal)
		g.Expect(all).To(Equal(before))

		used := takenBy(all)
		for i, s := range chosen {
			n := orders[s.folder]
			g.Expect(n.named).To(BeFalse())
			g.Expect(n.since).NotTo(BeZero())
			g.Expect(noon.Sub(n.since)).To(BeNumerically(">=", time.Hour))
			g.Expect(noon.Sub(s.written)).To(BeNumerically(">=", time.Hour))
			g.Expect(s.unread).To(BeFalse())
			g.Expect(s.kind == begun || s.recorded).To(BeTrue())
			g.Expect(used).To(BeNumerically(">", goal), "no more than has to")
			used -= s.bytes
			if i > 0 {
				g.Expect(s.written).NotTo(BeTemporally("<", chosen[i-1].written))
			}
		}
		left := 0
		for _, s := range all {
			if s.removable(of(s), noon) {
				left++
				if len(chosen) > 0 && s.written.Before(chosen[len(chosen)-1].written) {
					g.Expect(chosen).To(ContainElement(s), "nothing older stays")
				}
			}
		}
		if used > goal {
			g.Expect(chosen).To(HaveLen(left))
		}
		g.Expect(waitingOf(all, of, noon)).To(BeNumerically("<=", takenBy(all)))
	})
}

// What snapshots under way are to have counts once, however much of it is there.
func TestTheQuotaThatIsNeeded(t *testing.T) {
	g := NewWithT(t)
	one, other := spot{"dist-0", "a", next}, spot{"dist-0", "b", next}
	all := []staged{{spot: one, kind: begun, bytes: 30}, {spot: spot{"dist-0", "a", first}, kind: whole, bytes: 50}}
	g.Expect(needed(all, nil)).To(BeEquivalentTo(80))
	g.Expect(needed(all, map[spot]int64{one: 100})).To(BeEquivalentTo(150))
	g.Expect(needed(all, map[spot]int64{one: 100, other: 7})).To(BeEquivalentTo(157))
	g.Expect(needed(all, map[spot]int64{one: 20})).To(BeEquivalentTo(80), "what is there does not come again")
	rapid.Check(t, func(t *rapid.T) {
		all, _ := world(t)
		claims := map[spot]int64{}
		least := takenBy(all)
		for _, f := range []string{"a", "b"} {
			total := rapid.Int64Range(0, 200).Draw(t, "total")
			claims[spot{"dist-0", f, next}] = total
			least = max(least, total)
		}
		NewWithT(t).Expect(needed(all, claims)).To(And(BeNumerically(">=", least),
			BeNumerically("<=", takenBy(all)+claims[spot{"dist-0", "a", next}]+claims[spot{"dist-0", "b", next}])))
	})
}
