// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

func (p planner) removes(o *Observed) (gone []string) {
	for _, r := range p.planRemovals(o) {
		gone = append(gone, r.Set.ID)
	}
	return gone
}

// Half a terabyte is on its way for a day and longer, and log backups that belong to it are in the store before.
func TestTheLogOfAFullBackupThatIsOnItsWayStays(t *testing.T) {
	lead := []mssql.BackupSource{source(primary)}
	full := taken("full", backup.Full, 30*time.Hour, "10", "20")
	var logs []backup.Description
	for i := range 29 {
		logs = append(logs, taken(fmt.Sprint("log", i), backup.Log, time.Duration(29-i)*time.Hour,
			backup.LSN(fmt.Sprint(20+i*10)), backup.LSN(fmt.Sprint(30+i*10))))
	}
	older := []backup.Description{taken("older", backup.Full, 96*time.Hour, "1", "2"),
		taken("stray", backup.Log, 97*time.Hour, "4", "5")}
	for name, keep := range map[string]func(*orders.Backup){
		"by number": func(o *orders.Backup) { o.KeepFulls = 1 },
		"by age":    func(o *orders.Backup) { o.KeepAge = 12 * time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := planned(t, order(keep))
			o := &Observed{Begun: ago(40 * time.Hour), Now: noon, Sources: lead, Stores: []Stored{stored(logs...)}}
			g.Expect(p.removes(o)).To(BeEmpty(), "another server has it")
			o.Own = []Own{{Description: full}}
			g.Expect(p.removes(o)).To(BeEmpty(), "this one has it")
			o.Stores = []Stored{stored(append(older, logs...)...)}
			g.Expect(p.removes(o)).To(Equal([]string{"stray"}), "one from before makes nothing needless")
			o.Stores = []Stored{stored(append(append(older, full), logs...)...)}
			o.Own = nil
			g.Expect(p.removes(o)).To(ConsistOf("older", "stray"))
		})
	}
}

// A base goes no sooner than the differential that is sent after it has one that it needs no more.
func TestWhatWaitsToBeSentKeepsItsBase(t *testing.T) {
	g := NewWithT(t)
	p := planned(t, order(func(o *orders.Backup) { o.KeepFulls = 1 }))
	base := taken("base", backup.Full, 96*time.Hour, "10", "20")
	next := taken("next", backup.Full, 48*time.Hour, "30", "40")
	next.CopyOnly = true
	differential := taken("differential", backup.Differential, 47*time.Hour, "20", "50")
	differential.BaseID = "base"
	o := &Observed{Now: noon, Sources: []mssql.BackupSource{source(primary)}, Stores: []Stored{stored(base, next)},
		Own: []Own{{Description: differential}}}
	g.Expect(p.removes(o)).To(BeEmpty())
	o.Own = nil
	g.Expect(p.removes(o)).To(Equal([]string{"base"}))
}
