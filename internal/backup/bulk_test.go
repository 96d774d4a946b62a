// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// A log backup with changes that were logged in bulk restores as a whole, or not at all: a restore cannot stop within
// it (docs/relational-databases/backup-restore/recovery-models-sql-server.md).
func TestNoRestoreStopsWithinChangesInBulk(t *testing.T) {
	d := newDatabase()
	d.full(10, false)  // Full0
	d.log(20)          // Log1
	d.log(40)          // Log2, with changes in bulk
	d.differential(30) // Differential3, taken meanwhile
	d.log(50)          // Log4
	d.sets[2].BulkLogged = true
	for _, row := range []struct {
		why  string
		to   backup.Target
		want []string
		stop time.Time
		lack string
	}{
		{why: "the newest point", want: []string{"Full0", "Differential3", "Log2", "Log4"}},
		{why: "a moment before it", to: backup.Target{Time: at(15)}, want: []string{"Full0", "Log1"}, stop: at(15)},
		{why: "its begin", to: backup.Target{Time: at(20)}, want: []string{"Full0", "Log1"}, stop: at(20)},
		{why: "a moment within", to: backup.Target{Time: at(25)}, lack: "cannot stop within it"},
		{why: "the end of a differential within", to: backup.Target{Time: at(30)}, want: []string{"Full0", "Differential3"}},
		{why: "a moment within, behind a differential", to: backup.Target{Time: at(35)}, lack: "cannot stop within it"},
		{why: "its end is told no time", to: backup.Target{Time: at(40)}, want: []string{"Full0", "Differential3", "Log2"}},
		{why: "a moment behind it", to: backup.Target{Time: at(45)}, want: []string{"Full0", "Differential3", "Log2", "Log4"},
			stop: at(45)},
		{why: "a position within", to: backup.Target{LSN: lsn(35)}, lack: "name the LSN at its end, " + string(lsn(40))},
		{why: "the position of its end", to: backup.Target{LSN: lsn(40)}, want: []string{"Full0", "Differential3", "Log2"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			chain, err := backup.Restoring(d.sets, row.to)
			if row.lack != "" {
				g.Expect(err).To(MatchError(And(ContainSubstring(row.lack), ContainSubstring("it can be restored to "+
					"2026-03-01T00:00:10Z to 2026-03-01T00:00:20Z, 2026-03-01T00:00:30Z, "+
					"2026-03-01T00:00:40Z to 2026-03-01T00:00:50Z"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ids(chain.Sets)).To(Equal(row.want))
			g.Expect(chain.StopAt).To(Equal(row.stop))
			if !row.to.Time.IsZero() {
				g.Expect(chain.Until).To(Equal(row.to.Time))
			}
		})
	}
}

func TestWindowsLeaveOutChangesInBulk(t *testing.T) {
	g := NewWithT(t)
	d := newDatabase()
	d.full(10, false)
	d.idle(12)
	d.log(20)
	d.idle(25)
	d.log(40)
	d.log(50)
	d.log(60)
	for _, n := range []int{2, 4, 5} {
		d.sets[n].BulkLogged = true
	}
	g.Expect(backup.Windows(d.sets)).To(Equal([]backup.Window{{From: at(10), To: at(10)}, {From: at(20), To: at(25)},
		{From: at(40), To: at(40)}, {From: at(50), To: at(60)}}))
	newest, _ := backup.Newest(d.sets)
	g.Expect(newest).To(Equal(at(60)))
	// One that no full backup leads to takes nothing away, nor one that a former primary took at its end.
	d = newDatabase()
	d.full(10, false)
	d.log(20)
	d.log(30)
	d.logged = 20
	d.log(25)
	d.log(40)
	d.sets[2].BulkLogged = true
	g.Expect(backup.Windows(d.sets)).To(Equal([]backup.Window{{From: at(10), To: at(40)}}))
	for second := 10; second <= 40; second++ {
		_, err := backup.Restoring(d.sets, backup.Target{Time: at(second)})
		g.Expect(err).NotTo(HaveOccurred(), "to second %d", second)
	}
}
