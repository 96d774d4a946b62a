// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// A person asks that everything is read back once more: the server that leads reads what was not since, and tells what
// is left.
func TestWhatIsReadBackOnceMore(t *testing.T) {
	old, new := taken("old", backup.Full, time.Hour, "10", "20"), taken("new", backup.Log, time.Minute, "15", "30")
	asked := &orders.BackupVerification{Request: "u1/r", Since: ago(10 * time.Minute)}
	at := func(d backup.Description, before time.Duration) Kept {
		return Kept{Description: d, Verified: true, Checked: ago(before)}
	}
	for _, row := range []struct {
		why    string
		asked  *orders.BackupVerification
		source func(*mssql.BackupSource)
		kept   Kept
		again  bool
	}{
		{why: "nobody asks", source: primary, kept: at(old, 30*time.Minute)},
		{why: "it was read back before", asked: asked, source: primary, kept: at(old, 30*time.Minute), again: true},
		{why: "it never was", asked: asked, source: primary, kept: Kept{Description: old}, again: true},
		{why: "it is damaged, by what was read before", asked: asked, source: primary, kept: Kept{Description: old,
			Damaged: true, Checked: ago(30 * time.Minute)}, again: true},
		{why: "it was read back since", asked: asked, source: primary, kept: at(old, 9*time.Minute)},
		{why: "it was read back for it, whatever the store's clock says", asked: asked, source: primary,
			kept: Kept{Description: old, Verified: true, Checked: ago(30 * time.Minute), CheckedFor: "u1/r"}},
		{why: "for another request", asked: asked, source: primary,
			kept: Kept{Description: old, Verified: true, Checked: ago(30 * time.Minute), CheckedFor: "u1/q"}, again: true},
		{why: "it is newer than the request", asked: asked, source: primary, kept: Kept{Description: new}},
		{why: "a secondary leaves it to the primary", asked: asked, source: preferred, kept: at(old, 30*time.Minute)},
	} {
		t.Run(row.why, func(t *testing.T) {
			p := planned(t, order(func(o *orders.Backup) { o.Verification = row.asked }))
			all := p.planChecksAgain(&Observed{Now: noon, Sources: []mssql.BackupSource{source(row.source)},
				Stores: []Stored{{Name: "bucket", Listed: noon, Sets: []Kept{row.kept}}}})
			if row.again {
				NewWithT(t).Expect(all).To(Equal([]Check{{row.kept, "bucket"}}))
				return
			}
			NewWithT(t).Expect(all).To(BeEmpty())
		})
	}
}

// Only what was read back as it was written counts for what a store restores alone.
func TestWhatAStoreRestoresByWhatWasReadBack(t *testing.T) {
	full := taken("full", backup.Full, 30*time.Minute, "10", "20")
	first := taken("first", backup.Log, 20*time.Minute, "15", "30")
	second := taken("second", backup.Log, 10*time.Minute, "30", "40")
	third := taken("third", backup.Log, 5*time.Minute, "40", "50")
	good := func(d backup.Description) Kept { return Kept{Description: d, Verified: true} }
	damaged := func(d backup.Description) Kept { return Kept{Description: d, Verified: true, Damaged: true} }
	for _, row := range []struct {
		why  string
		sets []Kept
		want StoredDatabase
	}{
		{why: "nothing"},
		{why: "all of it", sets: []Kept{good(full), good(first), good(second)},
			want: StoredDatabase{Verified: ago(10 * time.Minute)}},
		{why: "up to a set that was not read back yet", sets: []Kept{good(full), good(first), {Description: second},
			good(third)}, want: StoredDatabase{Verified: ago(20 * time.Minute)}},
		{why: "up to one that is damaged, though it was read back once", sets: []Kept{good(full), good(first),
			damaged(second), good(third)}, want: StoredDatabase{Verified: ago(20 * time.Minute),
			Damaged: ago(10 * time.Minute)}},
		{why: "no full backup was read back", sets: []Kept{{Description: full}, good(first), good(second)}},
		{why: "one that is lost ends it", sets: []Kept{good(full), good(first), good(third)},
			want: StoredDatabase{Verified: ago(20 * time.Minute)}},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.want.Store = "bucket"
			NewWithT(t).Expect(Stored{Name: "bucket", Sets: row.sets}.of(backup.IdentityOf("f", "Content"))).To(Equal(row.want))
		})
	}
}

// Sets that were due by the policy are told with the stores that have them, the newest first; those that people asked
// for, of other policies, and of logs are not.
func TestWhatWasTakenByTheSchedule(t *testing.T) {
	with := func(d backup.Description, edit func(*backup.Description)) backup.Description {
		edit(&d)
		return d
	}
	old := taken("old", backup.Full, 2*time.Hour, "10", "20")
	new := taken("new", backup.Differential, time.Hour, "20", "30")
	new.Files = []backup.File{{Name: "1.bak", Bytes: 1}, {Name: "2.bak", Bytes: 2}}
	o := &Observed{Now: noon, Own: []Own{{Description: new}}, Stores: []Stored{
		{Name: "near", Listed: noon, Sets: []Kept{{Description: old, Verified: true}, {Description: new, Damaged: true}}},
		{Name: "far", Listed: noon, Sets: []Kept{{Description: old},
			{Description: taken("log", backup.Log, time.Hour, "20", "30")},
			{Description: with(old, func(d *backup.Description) { d.ID, d.Request = "asked", "u1/Content" })},
			{Description: with(old, func(d *backup.Description) { d.ID, d.Policy = "other", "weekly" })}}}}}
	r := &runner{planner: planned(t, order(nil))}
	all, whole := r.past(o)
	g := NewWithT(t)
	g.Expect(whole).To(BeTrue())
	g.Expect(all).To(Equal([]PastSet{
		PastOf(new, []AnswerPlace{{Store: "near", Damaged: true}}),
		PastOf(old, []AnswerPlace{{Store: "near", Verified: true}, {Store: "far"}}),
	}))
	g.Expect(all[0]).To(And(HaveField("Stored", int64(3)), HaveField("Folder", new.Folder())))
	for why, edit := range map[string]func(*Observed){
		"a store was never listed":      func(o *Observed) { o.Stores[1].Listed = time.Time{} },
		"a store does not answer":       func(o *Observed) { o.Stores[1].Err = errors.New("away") },
		"the volume was not looked at ": func(o *Observed) { o.Unread = true },
	} {
		some := *o
		some.Stores = append([]Stored{}, o.Stores...)
		edit(&some)
		_, whole := r.past(&some)
		g.Expect(whole).To(BeFalse(), why)
	}
	for n := range PastMost + 1 {
		o.Own = append(o.Own, Own{Description: taken(fmt.Sprint(n), backup.Full, time.Duration(n)*time.Second, "1", "2")})
	}
	all, _ = r.past(o)
	g.Expect(all).To(HaveLen(PastMost))
	g.Expect(all[0].ID).To(Equal("0"))
}
