// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// start is when the histories of these tests begin. A commit is made every second, at the position of its second.
var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func at(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }

func lsn(second int) backup.LSN { return backup.LSN(strconv.Itoa(1_000_000 + second)) }

// database is one that is backed up, with a commit every second.
type database struct {
	sets []backup.Set
	// fork of now, logged the position up to which the log was backed up, and base the newest full backup that is no copy.
	fork   string
	logged int
	base   string
	// parted is where the present fork began, former the one before it.
	parted int
	former string
	// last is the second of the last backup.
	last int
}

func newDatabase() *database { return &database{fork: "A"} }

func (d *database) add(s backup.Set) backup.Set {
	s.ID, s.Database, s.Family, s.Fork = fmt.Sprint(s.Kind, len(d.sets)), "shop", "one", d.fork
	d.sets = append(d.sets, s)
	return s
}

func (d *database) full(second int, copyOnly bool) backup.Set {
	s := d.add(backup.Set{Kind: backup.Full, FirstLSN: lsn(second - 1), LastLSN: lsn(second), Begun: at(second - 1),
		Finished: at(second), CopyOnly: copyOnly, FirstFork: d.fork})
	if !copyOnly {
		d.base = s.ID
	}
	return s
}

func (d *database) differential(second int) backup.Set {
	return d.add(backup.Set{Kind: backup.Differential, FirstLSN: lsn(second - 1), LastLSN: lsn(second), BaseID: d.base,
		Begun: at(second - 1), Finished: at(second), FirstFork: d.fork})
}

func (d *database) log(second int) backup.Set {
	s := backup.Set{Kind: backup.Log, FirstLSN: lsn(d.logged), LastLSN: lsn(second), Begun: at(second),
		Finished: at(second),
		Until:    at(second), FirstFork: d.fork}
	if d.former != "" && d.logged < d.parted {
		s.FirstFork, s.ForkLSN = d.former, lsn(d.parted)
	}
	d.logged = second
	return d.add(s)
}

// idle is a log backup while nobody writes.
func (d *database) idle(second int) backup.Set {
	return d.add(backup.Set{Kind: backup.Log, FirstLSN: lsn(d.logged), LastLSN: lsn(d.logged), Begun: at(second),
		Finished: at(second), Until: at(second), FirstFork: d.fork})
}

// forced is a failover after which what came after a second is no more.
func (d *database) forced(second int, fork string) {
	d.former, d.parted, d.fork = d.fork, second, fork
	d.logged = 0
	for _, s := range d.sets {
		if s.Kind == backup.Log && s.LastLSN.Compare(lsn(second)) <= 0 {
			d.logged = int(s.Until.Sub(start) / time.Second)
		}
	}
}

func ids(sets []backup.Set) []string {
	var all []string
	for _, s := range sets {
		all = append(all, s.ID)
	}
	return all
}

func TestChains(t *testing.T) {
	d := newDatabase()
	d.full(10, false)  // Full0
	d.log(20)          // Log1
	d.log(30)          // Log2
	d.differential(35) // Differential3
	d.log(40)          // Log4
	d.full(50, true)   // Full5, copy only
	d.log(60)          // Log6
	d.differential(65) // Differential7, of Full0
	d.log(70)          // Log8
	without := func(gone ...string) []backup.Set {
		var left []backup.Set
		for _, s := range d.sets {
			if !contains(gone, s.ID) {
				left = append(left, s)
			}
		}
		return left
	}
	damaged := func(id string) []backup.Set {
		left := without()
		for i := range left {
			left[i].Damaged = left[i].ID == id
		}
		return left
	}
	for _, row := range []struct {
		why  string
		sets []backup.Set
		to   backup.Target
		want []string
		stop time.Time
		lack string
	}{
		{why: "the newest point", sets: d.sets, want: []string{"Full5", "Log6", "Log8"}},
		{why: "a time in the last log backup", sets: d.sets, to: backup.Target{Time: at(69)},
			want: []string{"Full5", "Log6", "Log8"}, stop: at(69)},
		{why: "a copy is no base of a differential", sets: without("Log6"), want: []string{"Full0", "Differential7", "Log8"}},
		{why: "a differential saves log", sets: without(), to: backup.Target{Time: at(38)},
			want: []string{"Full0", "Differential3", "Log4"}, stop: at(38)},
		{why: "before the differential", sets: d.sets, to: backup.Target{Time: at(33)},
			want: []string{"Full0", "Log1", "Log2", "Log4"}, stop: at(33)},
		{why: "at a full backup's end", sets: d.sets, to: backup.Target{Time: at(10)}, want: []string{"Full0"}},
		{why: "before the first", sets: d.sets, to: backup.Target{Time: at(9)}, lack: "no full backup was finished by then"},
		{why: "behind the last", sets: d.sets, to: backup.Target{Time: at(71)}, lack: "no log backup goes on behind"},
		{why: "a hole in the log", sets: without("Log2", "Full5"), to: backup.Target{Time: at(25)},
			lack: "no log backup goes on behind the log backup of shop of 2026-03-01T00:00:20Z"},
		{why: "a differential leaps over a hole", sets: without("Log2", "Full5"), to: backup.Target{Time: at(37)},
			want: []string{"Full0", "Differential3", "Log4"}, stop: at(37)},
		{why: "a damaged set restores nothing", sets: damaged("Full5"), want: []string{"Full0", "Differential7", "Log8"}},
		{why: "a damaged log is a hole", sets: damaged("Log4"), to: backup.Target{Time: at(38)}, lack: "no log backup " +
			"goes on"},
		{why: "a named full backup", sets: d.sets, to: backup.Target{ID: "Full5"}, want: []string{"Full5"}},
		{why: "a named differential", sets: d.sets, to: backup.Target{ID: "Differential3"},
			want: []string{"Full0", "Differential3"}},
		{why: "a differential whose base is gone", sets: without("Full0"), to: backup.Target{ID: "Differential3"},
			lack: "its base, Full0, is not there"},
		{why: "a log backup has no one end", sets: d.sets, to: backup.Target{ID: "Log4"}, lack: "name a time"},
		{why: "nothing", lack: "there is no full backup"},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			chain, err := backup.Restoring(row.sets, row.to)
			if row.lack != "" {
				g.Expect(err).To(MatchError(ContainSubstring(row.lack)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ids(chain.Sets)).To(Equal(row.want))
			g.Expect(chain.StopAt).To(Equal(row.stop))
		})
	}
	g := NewWithT(t)
	g.Expect(backup.Windows(d.sets)).To(Equal([]backup.Window{{From: at(10), To: at(70)}}))
	g.Expect(backup.Windows(without("Log2", "Full5"))).
		To(Equal([]backup.Window{{From: at(10), To: at(20)}, {From: at(35), To: at(70)}}))
	_, err := backup.Restoring(without("Log2", "Full5"), backup.Target{Time: at(25)})
	g.Expect(err).To(MatchError(ContainSubstring(
		"it can be restored to 2026-03-01T00:00:10Z to 2026-03-01T00:00:20Z, 2026-03-01T00:00:35Z to 2026-03-01T00:01:10Z")))
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// After a forced failover the chain goes on where the logs part; what the former primary backed up beyond that restores
// to moments before the failover alone, and nothing of the new log goes over it.
func TestChainsAcrossAForcedFailover(t *testing.T) {
	g := NewWithT(t)
	d := newDatabase()
	d.full(10, false)
	d.log(20)
	lost := d.log(30)
	d.forced(25, "B")
	d.log(40)
	chain, err := backup.Restoring(d.sets, backup.Target{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ids(chain.Sets)).NotTo(ContainElement(lost.ID))
	g.Expect(chain.Until).To(Equal(at(40)))
	chain, err = backup.Restoring(d.sets, backup.Target{Time: at(35)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ids(chain.Sets)).To(Equal([]string{"Full0", "Log1", "Log3"}))
}

// A primary that nobody followed any more backed up the end of its log before it ended, and its successor backed up
// another end of the same. Its set lies between those that restore, and is none of them.
func TestWhatAFormerPrimaryBackedUpAtItsEndIsInNoChain(t *testing.T) {
	g := NewWithT(t)
	d := newDatabase()
	d.full(10, false)
	d.log(20)
	former := d.log(30)
	d.logged = 20
	d.log(25)
	d.log(40)
	for _, to := range []backup.Target{{}, {Time: at(23)}, {Time: at(29)}, {Time: at(35)}} {
		chain, err := backup.Restoring(d.sets, to)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ids(chain.Sets)).NotTo(ContainElement(former.ID), "to %s", to.Time)
	}
}

// Log backups while nobody writes have nothing: they are not restored, and say until when that holds.
func TestIdleLogBackupsTakeTheEndFurther(t *testing.T) {
	g := NewWithT(t)
	d := newDatabase()
	d.full(10, false)
	d.log(20)
	d.idle(30)
	d.idle(40)
	for _, to := range []backup.Target{{}, {Time: at(35)}} {
		chain, err := backup.Restoring(d.sets, to)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ids(chain.Sets)).To(Equal([]string{"Full0", "Log1"}))
		g.Expect(chain.StopAt).To(BeZero())
		g.Expect(chain.Witness.ID).To(Equal("Log3"))
	}
	g.Expect(backup.Windows(d.sets)).To(Equal([]backup.Window{{From: at(10), To: at(40)}}))
	g.Expect(ids(removable(d.sets, backup.Retention{Fulls: 1}, at(100)))).To(Equal([]string{"Log2"}))
	d.log(50)
	chain, err := backup.Restoring(d.sets, backup.Target{Time: at(35)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chain.Until).To(Equal(at(35)))
}
