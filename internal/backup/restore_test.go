// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// described makes descriptions of a history, with a file of as many bytes as its number.
func history(sets []backup.Set, family string) []backup.Description {
	var all []backup.Description
	for n, s := range sets {
		s.Family = family
		s.ID = family + s.ID
		if s.BaseID != "" {
			s.BaseID = family + s.BaseID
		}
		all = append(all, backup.Description{Set: s, Files: []backup.File{{Name: "1.bak", Bytes: int64(n + 1)}}})
	}
	return all
}

// What restores a folder's database, by each way to say to when.
func TestPlanOf(t *testing.T) {
	d := newDatabase()
	d.full(10, false)  // Full0
	d.log(20)          // Log1
	d.log(30)          // Log2
	d.differential(35) // Differential3
	d.log(40)          // Log4
	anew := newDatabase()
	anew.full(110, false) // Full0
	anew.log(120)         // Log1
	all := append(history(d.sets, "old"), history(anew.sets, "new")...)
	damaged := history(d.sets, "old")
	damaged[2].Damaged = true
	for _, row := range []struct {
		why    string
		of     []backup.Description
		to     backup.Target
		sets   []string
		bytes  int64
		stop   time.Time
		before backup.LSN
		until  time.Time
		error  string
	}{
		{why: "the newest point is that of the newest database of the name", of: all,
			sets: []string{"newFull0", "newLog1"}, bytes: 3, until: at(120)},
		{why: "a moment of the former one", of: all, to: backup.Target{Time: at(25)},
			sets: []string{"oldFull0", "oldLog1", "oldLog2"}, bytes: 6, stop: at(25), until: at(25)},
		{why: "the very end of a log backup", of: all, to: backup.Target{Time: at(30)},
			sets: []string{"oldFull0", "oldLog1", "oldLog2"}, bytes: 6, stop: at(30), until: at(30)},
		{why: "a moment of the present one", of: all, to: backup.Target{Time: at(115)},
			sets: []string{"newFull0", "newLog1"}, bytes: 3, stop: at(115), until: at(115)},
		{why: "a moment of which there is nothing", of: all, to: backup.Target{Time: at(60)},
			error: "can be restored to 2026-03-01T00:00:10Z to 2026-03-01T00:00:40Z, "},
		{why: "a position between two", of: all, to: backup.Target{LSN: lsn(25)},
			sets: []string{"oldFull0", "oldLog1", "oldLog2"}, bytes: 6, before: lsn(25), until: at(30)},
		{why: "the position of the end of a set", of: all, to: backup.Target{LSN: lsn(20)},
			sets: []string{"oldFull0", "oldLog1"}, bytes: 3, until: at(20)},
		{why: "a position that a differential saves log for", of: all, to: backup.Target{LSN: lsn(38)},
			sets: []string{"oldFull0", "oldDifferential3", "oldLog4"}, bytes: 10, before: lsn(38), until: at(40)},
		{why: "the position of a full backup", of: all, to: backup.Target{LSN: lsn(10)},
			sets: []string{"oldFull0"}, bytes: 1, until: at(10)},
		{why: "a position before all", of: all, to: backup.Target{LSN: lsn(5)}, error: "no full backup ends before it"},
		{why: "a position behind all", of: history(d.sets, "old"), to: backup.Target{LSN: lsn(70)},
			error: "no log backup goes on behind the log backup"},
		{why: "a backup", of: all, to: backup.Target{ID: "oldDifferential3"},
			sets: []string{"oldFull0", "oldDifferential3"}, bytes: 5, until: at(35)},
		{why: "one of the log", of: all, to: backup.Target{ID: "oldLog1"}, error: "it is one of the log: name a time"},
		{why: "a damaged set restores nothing", of: damaged, to: backup.Target{Time: at(25)},
			error: "no log backup goes on behind"},
		{why: "and is gone around", of: damaged, sets: []string{"oldFull0", "oldDifferential3", "oldLog4"}, bytes: 10,
			until: at(40)},
		{why: "nothing is there", error: "there is no such backup of it"},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			p, err := backup.PlanOf(row.of, row.to)
			if row.error != "" {
				g.Expect(err).To(MatchError(ContainSubstring(row.error)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ids(backup.Sets(p.Sets))).To(Equal(row.sets))
			g.Expect(p.Stored()).To(Equal(row.bytes))
			g.Expect(p.StopAt).To(Equal(row.stop))
			g.Expect(p.StopBefore).To(Equal(row.before))
			g.Expect(p.Until).To(Equal(row.until))
		})
	}
}
