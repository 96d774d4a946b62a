// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/backup"
)

// drawn is a history of backups, with sets that got lost or are damaged.
func drawn(t *rapid.T) *database {
	d, second := newDatabase(), 10
	for range rapid.IntRange(1, 30).Draw(t, "backups") {
		second += rapid.IntRange(2, 20).Draw(t, "pause")
		switch rapid.SampledFrom([]string{"full", "copy", "differential", "log", "log", "log", "idle", "forced"}).Draw(t,
			"what") {
		case "full":
			d.full(second, false)
		case "copy":
			d.full(second, true)
		case "differential":
			if d.base != "" {
				d.differential(second)
			}
		case "log":
			d.log(second)
		case "idle":
			d.idle(second)
		case "forced":
			d.forced(second-rapid.IntRange(0, 5).Draw(t, "lost"), fmt.Sprint("fork", second))
		}
	}
	reading := rapid.Bool().Draw(t, "reading back")
	for i := range d.sets {
		d.sets[i].Damaged = rapid.IntRange(0, 19).Draw(t, "damaged") == 0
		d.sets[i].Unverified = reading && !d.sets[i].Damaged && rapid.IntRange(0, 9).Draw(t, "unverified") == 0
	}
	var left []backup.Set
	for _, s := range d.sets {
		if rapid.IntRange(0, 19).Draw(t, "gone") != 0 {
			left = append(left, s)
		}
	}
	d.sets, d.last = left, second
	return d
}

func (d *database) without(gone []backup.Set) []backup.Set {
	var left []backup.Set
	for _, s := range d.sets {
		if !contains(ids(gone), s.ID) {
			left = append(left, s)
		}
	}
	return left
}

// sure are the sets of which no doubt is left.
func sure(sets []backup.Set) []backup.Set {
	var left []backup.Set
	for _, s := range sets {
		if !s.Unverified {
			left = append(left, s)
		}
	}
	return left
}

// turned are the sets once those that were not read back are, some of them not as they were written.
func turned(sets []backup.Set, damaged map[string]bool) []backup.Set {
	var all []backup.Set
	for _, s := range sets {
		s.Damaged = s.Damaged || s.Unverified && damaged[s.ID]
		s.Unverified = false
		all = append(all, s)
	}
	return all
}

// Whatever the history and the retention, and whatever comes out of the reading back of what was not read back yet:
// each moment of the promised time that could be restored still can be, as can the newest point and each of the newest
// full backups, and of what is old nothing is kept that none of these needs.
func TestRetentionKeepsWhatIsPromisedAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		d := drawn(t)
		keep := backup.Retention{
			Age:   time.Duration(rapid.IntRange(0, 200).Draw(t, "age")) * time.Second,
			Fulls: rapid.IntRange(0, 3).Draw(t, "fulls"),
		}
		second := d.last + rapid.IntRange(0, 300).Draw(t, "now")
		now := at(second)
		left := d.without(backup.Removable(d.sets, keep, now))
		if keep.Age == 0 && keep.Fulls == 0 {
			g.Expect(left).To(HaveLen(len(d.sets)), "nobody said that anything may go")
			return
		}
		bad := map[string]bool{}
		for _, s := range d.sets {
			bad[s.ID] = rapid.Bool().Draw(t, "turns out damaged")
		}
		promised(g, turned(d.sets, bad), turned(left, bad), keep, now)
		if len(sure(d.sets)) < len(d.sets) {
			return
		}
		for _, s := range left {
			if keep.Age > 0 && !s.Finished.Before(now.Add(-keep.Age)) {
				continue
			}
			g.Expect(serves(d.sets, left, s, keep, now)).To(BeTrue(), "%s is kept for nothing", s.ID)
		}
	})
}

// promised expects of what is left all that the retention promises of what was there.
func promised(g Gomega, sets, left []backup.Set, keep backup.Retention, now time.Time) {
	before, couldBefore := backup.Newest(sets)
	after, canAfter := backup.Newest(left)
	g.Expect(canAfter).To(Equal(couldBefore))
	g.Expect(after).To(Equal(before), "the newest point")
	for to := now.Add(-keep.Age); keep.Age > 0 && !to.After(now); to = to.Add(time.Second / 2) {
		if _, err := backup.Restoring(sets, backup.Target{Time: to}); err == nil {
			_, err = backup.Restoring(left, backup.Target{Time: to})
			g.Expect(err).NotTo(HaveOccurred(), "to %s", to)
		}
	}
	for i, full := range fulls(sets) {
		if i < keep.Fulls {
			g.Expect(ids(left)).To(ContainElement(full.ID), "one of the newest full backups")
		}
	}
}

// fulls are those that can be read, the newest first.
func fulls(sets []backup.Set) []backup.Set {
	var all []backup.Set
	for _, s := range sets {
		if s.Kind == backup.Full && !s.Damaged {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b backup.Set) int { return b.Finished.Compare(a.Finished) })
	return all
}

// serves says whether something that is promised is lost without a set, or takes it.
func serves(sets, left []backup.Set, s backup.Set, keep backup.Retention, now time.Time) bool {
	newer := 0
	for _, other := range sets {
		if other.Kind == backup.Full && !other.Damaged && other.Finished.After(s.Finished) {
			newer++
		}
	}
	if s.Kind == backup.Full && newer < keep.Fulls {
		return true
	}
	targets := []backup.Target{{}}
	if keep.Age > 0 {
		for m := now.Add(-keep.Age); !m.After(now); m = m.Add(time.Second / 2) {
			targets = append(targets, backup.Target{Time: m})
		}
	}
	for _, to := range targets {
		chain, err := backup.Restoring(left, to)
		if err == nil && (contains(ids(chain.Sets), s.ID) || chain.Witness != nil && chain.Witness.ID == s.ID) {
			return true
		}
	}
	return false
}
