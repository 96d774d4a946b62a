// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
)

// A set that a store got, and that a later list of it does not show, was removed: by the retention, whose server may
// see it before whoever sent it does, or by somebody. What the retention needs is sent again, what it does not goes.
func TestASetThatIsGoneFromAStore(t *testing.T) {
	old := taken("old", backup.Full, 96*time.Hour, "1", "2")
	full := taken("full", backup.Full, 48*time.Hour, "10", "20")
	log := taken("log", backup.Log, 30*time.Hour, "15", "30")
	for _, row := range []struct {
		why  string
		edit func(*orders.Backup)
		// listed and sent are how long ago, shown what is listed.
		listed, sent time.Duration
		shown        []backup.Description
		own          backup.Description
		sends        bool
		forgets      bool
	}{
		{why: "the list may be older than it", listed: time.Minute, sent: time.Minute, shown: []backup.Description{full},
			own: old},
		{why: "the retention had no need of it", listed: time.Minute, sent: time.Hour, shown: []backup.Description{full},
			own: old, forgets: true},
		{why: "the retention had no need of it, and it is not read back either", listed: time.Minute, sent: time.Hour,
			shown: []backup.Description{full}, own: old, forgets: true, edit: func(o *orders.Backup) { o.Verify = false }},
		{why: "the newest full backup", listed: time.Minute, sent: time.Hour, shown: []backup.Description{old}, own: full,
			sends: true},
		{why: "a log that belongs to it", listed: time.Minute, sent: time.Hour, shown: []backup.Description{full}, own: log,
			sends: true},
		{why: "nothing ever goes by this policy", listed: time.Minute, sent: time.Hour, shown: []backup.Description{full},
			own: old, sends: true, edit: func(o *orders.Backup) { o.KeepAge, o.KeepFulls = 0, 0 }},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			p := planned(t, order(func(o *orders.Backup) {
				o.KeepFulls, o.Verify = 1, true
				if row.edit != nil {
					row.edit(o)
				}
			}))
			s := stored(row.shown...)
			s.Listed = ago(row.listed)
			for i := range s.Sets {
				s.Sets[i].Verified = true
			}
			o := &Observed{Now: noon, Stores: []Stored{s},
				Own: []Own{{Description: row.own, In: map[string]time.Time{"bucket": ago(row.sent)}}}}
			g.Expect(len(p.planSends(o)) == 1).To(Equal(row.sends), "sends")
			g.Expect(len(p.planForget(o)) == 1).To(Equal(row.forgets), "forgets")
		})
	}
}

// What was never sent goes before what is sent again.
func TestWhatIsGoneFromAStoreIsSentLast(t *testing.T) {
	g := NewWithT(t)
	p := planned(t, order(nil))
	full := taken("full", backup.Full, 48*time.Hour, "10", "20")
	log := taken("log", backup.Log, 30*time.Hour, "15", "30")
	sends := p.planSends(&Observed{Now: noon, Stores: []Stored{stored()},
		Own: []Own{{Description: full, In: map[string]time.Time{"bucket": ago(time.Hour)}}, {Description: log}}})
	g.Expect(sends).To(HaveLen(2))
	g.Expect(sends[0].ID).To(Equal("log"))
	g.Expect(sends[1].ID).To(Equal("full"))
}
