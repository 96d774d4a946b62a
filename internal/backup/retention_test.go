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

// future is how far the clock that was wrong is ahead.
const future = 100 * time.Hour

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
	reading, clocks := rapid.Bool().Draw(t, "reading back"), rapid.Bool().Draw(t, "wrong clocks")
	for i := range d.sets {
		d.sets[i].Damaged = rapid.IntRange(0, 19).Draw(t, "damaged") == 0
		d.sets[i].Unverified = reading && !d.sets[i].Damaged && rapid.IntRange(0, 9).Draw(t, "unverified") == 0
		if clocks && rapid.IntRange(0, 9).Draw(t, "of the future") == 0 {
			s := &d.sets[i]
			s.Begun, s.Finished = s.Begun.Add(future), s.Finished.Add(future)
			if s.Kind == backup.Log {
				s.Until = s.Until.Add(future)
			}
		}
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

// present are the sets that were taken by clocks that were right.
func present(sets []backup.Set) []backup.Set {
	var left []backup.Set
	for _, s := range sets {
		if s.Finished.Sub(start) < future/2 {
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

// Whatever the history and the retention, whatever comes out of the reading back of what was not read back yet, and
// whatever a wrong clock took: each moment of the promised time that could be restored still can be, as can the newest
// point and each of the newest full backups. Where nothing is in doubt, of what is old nothing is kept that none of
// these needs.
func TestRetentionKeepsWhatIsPromisedAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		d := drawn(t)
		keep := backup.Retention{
			Age:   time.Duration(rapid.IntRange(0, 200).Draw(t, "age")) * time.Second,
			Fulls: rapid.IntRange(0, 3).Draw(t, "fulls"),
			Young: time.Duration(rapid.IntRange(0, 200).Draw(t, "young")) * time.Second,
		}
		second := d.last + rapid.IntRange(0, 300).Draw(t, "now")
		now := at(second)
		left := d.without(removable(d.sets, keep, now))
		if keep.Age == 0 && keep.Fulls == 0 {
			g.Expect(left).To(HaveLen(len(d.sets)), "nobody said that anything may go")
			return
		}
		bad := map[string]bool{}
		for _, s := range d.sets {
			bad[s.ID] = rapid.Bool().Draw(t, "turns out damaged")
		}
		promised(g, present(turned(d.sets, bad)), present(turned(left, bad)), keep, now)
		young := now.Add(-max(keep.Age, keep.Young))
		for _, s := range d.sets {
			if s.Unverified || s.Finished.After(now) {
				return
			}
			g.Expect(s.Finished.Before(young) || contains(ids(left), s.ID)).To(BeTrue(), "%s is young", s.ID)
		}
		for _, s := range left {
			if !s.Finished.Before(young) {
				continue
			}
			g.Expect(serves(d.sets, left, s, keep, now) || behind(d.sets, s)).To(BeTrue(), "%s is kept for nothing", s.ID)
		}
	})
}

// A full backup may be on its way for longer than anything is young, and what goes on from it is there before: once it
// has come it restores what it would have, had nothing been removed. So it does when it was here and is damaged, and is
// sent again.
func TestRetentionKeepsWhatAFullBackupOnItsWayNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		d := drawn(t)
		all := fulls(present(d.sets))
		if len(all) == 0 {
			return
		}
		away := all[0]
		d.sets = d.without([]backup.Set{away})
		if rapid.Bool().Draw(t, "damaged here") {
			damaged := away
			damaged.Damaged, damaged.Unverified = true, false
			d.sets = append(d.sets, damaged)
		}
		keep := backup.Retention{Age: time.Duration(rapid.IntRange(0, 20).Draw(t, "age")) * time.Second,
			Fulls: rapid.IntRange(1, 3).Draw(t, "fulls")}
		left := d.without(removable(d.sets, keep, at(d.last+rapid.IntRange(0, 300).Draw(t, "now"))))
		want, there := backup.Newest(append(present(turned(d.sets, nil)), away))
		got, still := backup.Newest(append(present(turned(left, nil)), away))
		g.Expect(still).To(Equal(there))
		g.Expect(got).To(Equal(want))
	})
}

// behind says whether a set may belong to a full backup that is on its way, as one that is damaged may be.
func behind(sets []backup.Set, s backup.Set) bool {
	all := fulls(sets)
	base := slices.ContainsFunc(sets, func(b backup.Set) bool { return b.ID == s.BaseID && !b.Damaged })
	return !s.Damaged && (len(all) == 0 || !s.Finished.Before(all[0].Begun)) &&
		(s.Kind == backup.Log || s.Kind == backup.Differential && !base)
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

// What a set is kept for is said, and what is said of none may go.
func TestWhatSetsAreKeptFor(t *testing.T) {
	set := func(id string, kind backup.Kind, ended int, first, last backup.LSN) backup.Set {
		return backup.Set{ID: id, Kind: kind, Database: "Content", Family: "f", FirstLSN: first, LastLSN: last, Fork: "a",
			Begun: at(ended), Finished: at(ended), Until: at(ended)}
	}
	sets := []backup.Set{set("full1", backup.Full, 0, "10", "20"), set("log1", backup.Log, 10, "10", "30"),
		set("full2", backup.Full, 100, "30", "40"), set("log2", backup.Log, 110, "30", "50"),
		set("full3", backup.Full, 200, "50", "60"), set("log3", backup.Log, 210, "50", "70"),
		set("stray", backup.Log, 205, "900", "910")}
	differential := func(id string, ended int) backup.Set {
		s := set(id, backup.Differential, ended, "25", "27")
		s.BaseID = "full1"
		return s
	}
	damaged := sets[0]
	damaged.Damaged = true
	// differentials are of full1, with full2 taken between them.
	differentials := []backup.Set{sets[2], differential("before", 90), differential("behind", 110),
		differential("newest", 120)}
	with := func(base backup.Set) []backup.Set { return append(slices.Clone(differentials), base) }
	// forced are what was taken before and after a failover that parted the log somewhere, unread since.
	forced := func(parted backup.LSN) []backup.Set {
		log, full := set("log b", backup.Log, 150, "20", "50"), set("full b", backup.Full, 200, "50", "60")
		log.FirstFork, log.Fork, log.ForkLSN, full.Fork = "a", "b", parted, "b"
		log.Unverified, full.Unverified = true, true
		return []backup.Set{sets[0], sets[2], log, full}
	}
	baseAway := map[string]string{"full2": "the newest point needs it",
		"behind": "a full backup that is on its way may need it", "newest": "a full backup that is on its way may need it"}
	for why, c := range map[string]struct {
		keep backup.Retention
		// sets are all of them unless given.
		sets []backup.Set
		want map[string]string
	}{
		"without a retention": {want: map[string]string{"full1": "there is no retention", "log1": "there is no retention",
			"full2": "there is no retention", "log2": "there is no retention", "full3": "there is no retention",
			"log3": "there is no retention", "stray": "there is no retention"}},
		"by number": {keep: backup.Retention{Fulls: 2}, want: map[string]string{"full3": "the newest point needs it",
			"log3": "the newest point needs it", "full2": "it is one of the 2 newest full backups",
			"stray": "a full backup that is on its way may need it"}},
		"by age": {keep: backup.Retention{Age: 110 * time.Second}, want: map[string]string{
			"full3": "the newest point needs it", "log3": "the newest point needs it",
			"full2": "moments within 1m50s need it", "log2": "moments within 1m50s need it",
			"stray": "a full backup that is on its way may need it"}},
		"by number without a full backup": {keep: backup.Retention{Fulls: 2}, sets: []backup.Set{sets[1], sets[3]},
			want: map[string]string{"log1": "a full backup that is on its way may need it",
				"log2": "a full backup that is on its way may need it"}},
		"differentials of a base that is here": {keep: backup.Retention{Fulls: 1}, sets: with(sets[0]),
			want: map[string]string{"full1": "the newest point needs it", "newest": "the newest point needs it",
				"full2": "it is one of the 1 newest full backups"}},
		"differentials of a base that is not here": {keep: backup.Retention{Fulls: 1}, sets: differentials, want: baseAway},
		"differentials of a base that is damaged": {keep: backup.Retention{Fulls: 1}, sets: with(damaged),
			want: baseAway},
		"a full backup of before a forced failover": {keep: backup.Retention{Fulls: 1}, sets: forced("45"),
			want: map[string]string{"full b": "the newest point needs it", "full2": "the newest point needs it",
				"log b": "it is not known to be whole yet"}},
		"a full backup of what a forced failover lost": {keep: backup.Retention{Fulls: 1}, sets: forced("25"),
			want: map[string]string{"full b": "the newest point needs it", "full2": "the newest point needs it",
				"log b": "it is not known to be whole yet", "full1": "others are not known to be whole yet"}},
	} {
		t.Run(why, func(t *testing.T) {
			if c.sets == nil {
				c.sets = sets
			}
			NewWithT(t).Expect(backup.Needed(c.sets, c.keep, at(215))).To(Equal(c.want))
		})
	}
}

// removable are the sets that are kept for nothing.
func removable(sets []backup.Set, keep backup.Retention, now time.Time) []backup.Set {
	needed := backup.Needed(sets, keep, now)
	return slices.DeleteFunc(slices.Clone(sets), func(s backup.Set) bool { return needed[s.ID] != "" })
}
