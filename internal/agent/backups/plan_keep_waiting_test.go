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

// A set that the store has damaged waits to be sent again: it keeps its base, and makes nothing needless until then.
func TestWhatIsDamagedWaitsToBeSentAgain(t *testing.T) {
	g := NewWithT(t)
	p := planned(t, order(func(o *orders.Backup) { o.KeepFulls = 1 }))
	base := taken("base", backup.Full, 96*time.Hour, "10", "20")
	next := taken("next", backup.Full, 48*time.Hour, "30", "40")
	next.CopyOnly = true
	differential := taken("differential", backup.Differential, 47*time.Hour, "20", "50")
	differential.BaseID = "base"
	shown := stored(base, next, differential)
	shown.Sets[2].Damaged = true
	o := &Observed{Now: noon, Sources: []mssql.BackupSource{source(primary)}, Stores: []Stored{shown}}
	g.Expect(p.removes(o)).To(ContainElement("base"), "nobody sends it again")
	o.Own = []Own{{Description: differential}}
	g.Expect(p.removes(o)).NotTo(ContainElement("base"))
	shown = stored(base, next)
	shown.Sets[1].Damaged = true
	o.Stores, o.Own = []Stored{shown}, []Own{{Description: next}}
	g.Expect(p.removes(o)).NotTo(ContainElement("base"), "whether it ever comes is not known")
}

// What waits to be sent may never come: what is gone from the store is no less needed for it.
func TestWhatWaitsMakesNothingThatIsGoneNeedless(t *testing.T) {
	g := NewWithT(t)
	p := planned(t, order(func(o *orders.Backup) { o.KeepFulls = 1 }))
	old := taken("old", backup.Full, 96*time.Hour, "10", "20")
	next := taken("next", backup.Full, 48*time.Hour, "30", "40")
	shown := stored()
	shown.Listed = ago(time.Minute)
	sent := map[string]time.Time{"bucket": ago(time.Hour)}
	o := &Observed{Now: noon, Stores: []Stored{shown}, Own: []Own{{Description: old, In: sent}, {Description: next}}}
	g.Expect(p.gone(o, "bucket")).To(Equal(map[string]absence{"old": goneNeeded}))
	shown = stored(next)
	shown.Listed = ago(time.Minute)
	o.Stores = []Stored{shown}
	g.Expect(p.gone(o, "bucket")).To(Equal(map[string]absence{"old": goneNeedless}), "it has come")
	o.Own[0].In = map[string]time.Time{"bucket": shown.Listed}
	g.Expect(p.gone(o, "bucket")).To(BeEmpty(), "the list may be older than it")
}
