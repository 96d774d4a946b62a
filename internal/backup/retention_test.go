// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"fmt"
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
	for i := range d.sets {
		d.sets[i].Damaged = rapid.IntRange(0, 19).Draw(t, "damaged") == 0
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

// Whatever the history and the retention: each moment of the promised time that could be restored still can be, as can
// the newest point and each of the newest full backups, and of what is old nothing is kept that none of these needs.
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
		before, couldBefore := backup.Newest(d.sets)
		after, canAfter := backup.Newest(left)
		g.Expect(canAfter).To(Equal(couldBefore))
		g.Expect(after).To(Equal(before), "the newest point")
		if keep.Age > 0 {
			for half := 2*second - int(keep.Age/time.Second)*2; half <= 2*second; half++ {
				to := backup.Target{Time: start.Add(time.Duration(half) * time.Second / 2)}
				if _, err := backup.Restoring(d.sets, to); err == nil {
					_, err = backup.Restoring(left, to)
					g.Expect(err).NotTo(HaveOccurred(), "to %s", to.Time)
				}
			}
		}
		for i := range left {
			s := left[i]
			if keep.Age > 0 && !s.Finished.Before(now.Add(-keep.Age)) {
				continue
			}
			g.Expect(d.serves(left, s, keep, now)).To(BeTrue(), "%s is kept for nothing", s.ID)
		}
	})
}

// serves says whether something that is promised is lost without a set, or takes it.
func (d *database) serves(left []backup.Set, s backup.Set, keep backup.Retention, now time.Time) bool {
	newer := 0
	for _, other := range d.sets {
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
