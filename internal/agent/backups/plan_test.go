// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// noon is a Sunday's.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

func order(edit func(*orders.Backup)) orders.Backup {
	o := orders.Backup{Policy: "nightly", Namespace: "web", Target: "group/content", Group: "content",
		Full: orders.BackupTimes{Schedule: "0 1 * * 0"}, LogEvery: 5 * time.Minute,
		Stores: []orders.BackupStore{{Name: "bucket"}}}
	if edit != nil {
		edit(&o)
	}
	return o
}

func planned(t *testing.T, o orders.Backup) planner {
	t.Helper()
	s, err := schedules(o)
	if err != nil {
		t.Fatal(err)
	}
	return planner{o, s}
}

func source(edit func(*mssql.BackupSource)) mssql.BackupSource {
	s := mssql.BackupSource{Database: "Content", State: "ONLINE", Recovery: "FULL", Family: "f", Group: "content",
		Logged: true, Synchronization: "SYNCHRONIZED"}
	if edit != nil {
		edit(&s)
	}
	return s
}

func primary(s *mssql.BackupSource)   { s.Primary = true }
func preferred(s *mssql.BackupSource) { s.Preferred = true }

// taken is a set of the family that ended so long ago; a log backup begins where the one before it ended.
func taken(id string, kind backup.Kind, before time.Duration, first, last backup.LSN) backup.Description {
	return backup.Description{
		Set: backup.Set{ID: id, Kind: kind, Database: "Content", Family: "f", FirstLSN: first, LastLSN: last, Fork: "a",
			Begun: ago(before), Finished: ago(before), Until: ago(before)},
		Namespace: "web", Target: "group/content", Policy: "nightly", Server: "tukpub-0",
		Files: []backup.File{{Name: "1.bak", Bytes: 1, SHA256: "00"}},
	}
}

func stored(sets ...backup.Description) Stored {
	s := Stored{Name: "bucket", Listed: noon}
	for _, d := range sets {
		s.Sets = append(s.Sets, Kept{Description: d})
	}
	return s
}

func TestWhichBackupsAServerTakes(t *testing.T) {
	full := taken("full", backup.Full, 11*time.Hour, "10", "20")
	log := taken("log", backup.Log, 6*time.Minute, "15", "30")
	recent := taken("recent", backup.Log, time.Minute, "15", "30")
	type takes []Take
	copied := Take{Database: "Content", Family: "f", Kind: backup.Full, CopyOnly: true}
	plain := Take{Database: "Content", Family: "f", Kind: backup.Full}
	logged := Take{Database: "Content", Family: "f", Kind: backup.Log}
	for _, row := range []struct {
		why    string
		order  func(*orders.Backup)
		source mssql.BackupSource
		o      Observed
		data   takes
		logs   takes
	}{
		{why: "the first backup is the preferred secondary's, a copy", source: source(preferred),
			o: Observed{Begun: noon, Stores: []Stored{stored()}}, data: takes{copied}},
		{why: "not the primary's at once", source: source(primary), o: Observed{Begun: noon, Stores: []Stored{stored()}}},
		{why: "but when nobody takes it", source: source(primary),
			o: Observed{Begun: ago(7 * time.Hour), Stores: []Stored{stored()}}, data: takes{plain}},
		{why: "which takes hours", source: source(primary),
			o: Observed{Begun: ago(5 * time.Hour), Stores: []Stored{stored()}}},
		{why: "one that the schedule asks for, too", source: source(primary),
			o:    Observed{Stores: []Stored{stored(taken("full", backup.Full, 7*24*time.Hour+time.Hour, "10", "20"), recent)}},
			data: takes{plain}},
		{why: "nor that of a secondary that is not preferred", source: source(nil),
			o: Observed{Begun: ago(time.Hour), Stores: []Stored{stored()}}},
		{why: "nor of one that does not follow",
			source: source(func(s *mssql.BackupSource) { s.Preferred, s.Synchronization = true, "NOT SYNCHRONIZING" }),
			o:      Observed{Begun: ago(time.Hour), Stores: []Stored{stored()}}},
		{why: "a full backup is not taken while nobody can look whether there is one", source: source(preferred),
			o:    Observed{Begun: ago(time.Hour), Stores: []Stored{{Name: "bucket", Err: errors.New("away")}}},
			logs: takes{logged}},
		{why: "it is by what another store tells", source: source(preferred),
			o:    Observed{Begun: ago(time.Hour), Stores: []Stored{{Name: "far", Err: errors.New("away")}, stored()}},
			data: takes{copied}, logs: takes{logged}},
		{why: "which may be that there is one", source: source(preferred),
			o: Observed{Begun: ago(time.Hour), Stores: []Stored{{Name: "far", Err: errors.New("away")}, stored(full, recent)}}},
		{why: "once the other was asked", source: source(preferred),
			o: Observed{Begun: ago(time.Hour), Stores: []Stored{{Name: "far"}, stored()}}, logs: takes{logged}},
		{why: "nor are logs that wait for the store the last", source: source(preferred), o: Observed{Begun: ago(time.Hour),
			Own: []Own{{Description: log}}, Stores: []Stored{{Name: "bucket"}}}, logs: takes{logged}},
		{why: "but they are taken in their time", source: source(preferred), o: Observed{Begun: ago(time.Hour),
			Own: []Own{{Description: log}, {Description: recent}}, Stores: []Stored{{Name: "bucket"}}}},
		{why: "whatever full backup waits", source: source(preferred), o: Observed{Begun: ago(time.Hour),
			Own: []Own{{Description: full}, {Description: log}}, Stores: []Stored{{Name: "bucket"}}}, logs: takes{logged}},
		{why: "the log is due by the newest of anybody", source: source(preferred),
			o: Observed{Stores: []Stored{stored(full, log)}}, logs: takes{logged}},
		{why: "and not before", source: source(preferred), o: Observed{Stores: []Stored{stored(full, recent)}}},
		{why: "the primary takes it when it is a minute late", source: source(primary),
			o:    Observed{Stores: []Stored{stored(full, taken("log", backup.Log, 7*time.Minute, "15", "30"))}},
			logs: takes{logged}},
		{why: "and not sooner", source: source(primary),
			o: Observed{Stores: []Stored{stored(full, taken("log", backup.Log, 5*time.Minute+30*time.Second, "15", "30"))}}},
		{why: "a set that is still on its way counts", source: source(preferred),
			o: Observed{Own: []Own{{Description: recent}}, Stores: []Stored{stored(full)}}},
		{why: "no log without a full backup", source: source(preferred), o: Observed{Begun: noon, Stores: []Stored{stored()}},
			data: takes{copied}},
		{why: "no log of a database that keeps none",
			source: source(func(s *mssql.BackupSource) { s.Preferred, s.Recovery = true, "SIMPLE" }),
			o:      Observed{Stores: []Stored{stored(full, log)}}},
		{why: "one whose log cannot be backed up needs a full backup, whatever there is",
			order:  func(o *orders.Backup) { o.Group = "" },
			source: source(func(s *mssql.BackupSource) { s.Group, s.Logged = "", false }),
			o:      Observed{Stores: []Stored{stored(full, log)}}, data: takes{plain}},
		{why: "that is no copy", source: source(func(s *mssql.BackupSource) { s.Primary, s.Logged = true, false }),
			o: Observed{Stores: []Stored{{Name: "bucket"}}}, data: takes{plain}},
		{why: "which the engine may not show yet", order: func(o *orders.Backup) { o.Group = "" },
			source: source(func(s *mssql.BackupSource) { s.Group, s.Logged = "", false }),
			o: Observed{Own: []Own{{Description: taken("new", backup.Full, time.Minute, "30", "40")}},
				Stores: []Stored{stored(full, log)}}},
		{why: "none where no log is kept", order: func(o *orders.Backup) { o.Group = "" },
			source: source(func(s *mssql.BackupSource) { s.Group, s.Logged, s.Recovery = "", false, "SIMPLE" }),
			o:      Observed{Stores: []Stored{stored(full, log)}}},
		{why: "a secondary is not asked", source: source(func(s *mssql.BackupSource) { s.Preferred, s.Logged = true, false }),
			o: Observed{Stores: []Stored{stored(full, log)}}, logs: takes{logged}},
		{why: "a hole in the log asks for a full backup", source: source(preferred),
			o:    Observed{Stores: []Stored{stored(full, taken("log", backup.Log, 20*time.Minute, "25", "30"))}},
			data: takes{copied}, logs: takes{logged}},
		{why: "and not while what is between may be on its way", source: source(preferred),
			o: Observed{Stores: []Stored{stored(full, taken("log", backup.Log, 2*time.Minute, "25", "30"))}}},
		{why: "a full backup that is damaged is none", source: source(preferred),
			o:    Observed{Stores: []Stored{{Name: "bucket", Listed: noon, Sets: []Kept{{Description: full, Damaged: true}}}}},
			data: takes{copied}},
		{why: "another database of the name has its own", source: source(func(s *mssql.BackupSource) {
			s.Preferred, s.Family = true, "g"
		}), o: Observed{Stores: []Stored{stored(full, recent)}},
			data: takes{{Database: "Content", Family: "g", Kind: backup.Full, CopyOnly: true}}},
		{why: "by its schedule", source: source(preferred),
			o:    Observed{Stores: []Stored{stored(taken("full", backup.Full, 7*24*time.Hour, "10", "20"), recent)}},
			data: takes{copied}},
		{why: "at the primary alone", order: func(o *orders.Backup) { o.AtPrimary = true }, source: source(primary),
			o: Observed{Stores: []Stored{stored()}}, data: takes{plain}},
		{why: "and not at the secondary", order: func(o *orders.Backup) { o.AtPrimary = true }, source: source(preferred),
			o: Observed{Begun: ago(time.Hour), Stores: []Stored{stored(full, log)}}},
		{why: "a differential", order: func(o *orders.Backup) {
			o.AtPrimary, o.Differential.Schedule = true, "0 */6 * * *"
		}, source: source(primary), o: Observed{Stores: []Stored{stored(full, recent)}},
			data: takes{{Database: "Content", Family: "f", Kind: backup.Differential}}},
		{why: "a database that the policy does not name", order: func(o *orders.Backup) { o.Databases = []string{"other"} },
			source: source(preferred), o: Observed{Stores: []Stored{stored()}}},
		{why: "another group's", source: source(func(s *mssql.BackupSource) { s.Group, s.Preferred = "other", true }),
			o: Observed{Stores: []Stored{stored()}}},
		{why: "one that is not there", source: source(func(s *mssql.BackupSource) {
			s.State, s.Preferred = "RESTORING", true
		}),
			o: Observed{Stores: []Stored{stored()}}},
		{why: "a request", order: func(o *orders.Backup) {
			o.Requests = []orders.BackupRequest{{ID: "r1", Kind: "Full", Database: "content"}}
		}, source: source(primary), o: Observed{Stores: []Stored{stored(full, recent)}},
			data: takes{{Database: "Content", Family: "f", Kind: backup.Full, Request: "r1"}}},
		{why: "a request that a set answers", order: func(o *orders.Backup) {
			o.Requests = []orders.BackupRequest{{ID: "r1", Kind: "Full", Database: "content"}}
		}, source: source(primary), o: Observed{Stores: []Stored{stored(func() backup.Description {
			d := taken("asked", backup.Full, time.Minute, "30", "40")
			d.Request = "r1"
			return d
		}(), full, recent)}}},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			p := planned(t, order(row.order))
			row.o.Now, row.o.Sources = noon, []mssql.BackupSource{row.source}
			for what, both := range map[string][2][]Take{"data": {p.planData(&row.o), row.data},
				"logs": {p.planLogs(&row.o), row.logs}} {
				got := both[0]
				for i := range got {
					g.Expect(got[i].Reason).NotTo(BeEmpty())
					got[i].Reason = ""
				}
				if len(both[1]) == 0 {
					g.Expect(got).To(BeEmpty(), what)
					continue
				}
				g.Expect(got).To(Equal(both[1]), what)
			}
		})
	}
}

func TestWhatIsSentForgottenRemovedAndReadBack(t *testing.T) {
	g := NewWithT(t)
	old := taken("old", backup.Full, 90*24*time.Hour, "1", "2")
	full := taken("full", backup.Full, 24*time.Hour, "10", "20")
	log := taken("log", backup.Log, time.Hour, "15", "30")
	own := Own{Description: log, In: map[string]time.Time{}}
	p := planned(t, order(func(o *orders.Backup) { o.KeepAge, o.Verify = 14*24*time.Hour, true }))
	lead := []mssql.BackupSource{source(primary)}

	o := &Observed{Now: noon, Sources: lead, Own: []Own{own}, Stores: []Stored{stored(old, full)}}
	g.Expect(p.planSends(o)).To(HaveLen(1))
	g.Expect(p.planForget(o)).To(BeEmpty())

	own.In = map[string]time.Time{"bucket": noon}
	o.Own = []Own{own}
	g.Expect(p.planSends(o)).To(BeEmpty())
	g.Expect(p.planForget(o)).To(BeEmpty(), "the list is older than the set: it would be known to nobody meanwhile")
	o.Stores = []Stored{stored(old, full, log)}
	g.Expect(p.planForget(o)).To(BeEmpty(), "nobody has read back what the store has")
	g.Expect(p.planRemovals(o)).To(BeEmpty(), "what was not read back makes nothing needless")
	for i := range o.Stores[0].Sets {
		o.Stores[0].Sets[i].Verified = true
	}
	g.Expect(p.planForget(o)).To(HaveLen(1))

	removals := p.planRemovals(o)
	g.Expect(removals).To(HaveLen(1))
	g.Expect(removals[0].Set.ID).To(Equal("old"))
	o.Stores[0].Err = errors.New("away")
	g.Expect(p.planRemovals(o)).To(BeEmpty(), "what is there now is not known")
	o.Stores[0].Err = nil
	o.Sources = []mssql.BackupSource{source(preferred)}
	g.Expect(p.planRemovals(o)).To(BeEmpty(), "the primary removes for all")
	o.Sources = lead

	for i := range o.Stores[0].Sets {
		o.Stores[0].Sets[i].Verified = false
	}
	g.Expect(p.planChecks(o, "tukpub-0")[0].ID).To(Equal("log"), "the newest first")
	g.Expect(p.planChecks(o, "tukpub-0")).To(HaveLen(3))
	o.Stores[0].Sets[0].Verified, o.Stores[0].Sets[1].Damaged = true, true
	g.Expect(p.planChecks(o, "tukpub-0")).To(HaveLen(1))
	o.Sources = nil
	g.Expect(p.planChecks(o, "quisec-0")).To(BeEmpty(), "whoever took it reads it back")

	o.Sources = lead
	const quiet, recent = 25 * time.Hour, 23 * time.Hour
	o.Stores[0].Leftovers = []Leftover{
		{"web/group/content/Content/20260201T000000Z-log-x", ago(quiet)},
		{"web/group/content/Content/20260201T000000Z-full-y", ago(recent)},
		{"web/group/content/Content/20260201T000000Z-full-z", time.Time{}},
		{"web/group/content/notes", ago(quiet)}}
	var left []string
	for _, r := range p.planRemovals(o) {
		if r.Leftover != "" {
			left = append(left, r.Leftover)
		}
	}
	g.Expect(left).To(Equal([]string{o.Stores[0].Leftovers[0].Folder}), "what may still be on its way stays, though its "+
		"backup ended long ago, and what is nobody's set")
}

// The own set is the only good one until the store's was read back: it is sent again, and goes when that is good.
func TestASetThatAStoreHasDamagedIsSentAgain(t *testing.T) {
	g := NewWithT(t)
	full := taken("full", backup.Full, 24*time.Hour, "10", "20")
	log := taken("log", backup.Log, time.Hour, "15", "30")
	for _, verify := range []bool{true, false} {
		p := planned(t, order(func(o *orders.Backup) { o.Verify = verify }))
		o := &Observed{Now: noon, Stores: []Stored{stored(full)},
			Own: []Own{{Description: full, In: map[string]time.Time{"bucket": noon}}, {Description: log}}}
		o.Stores[0].Sets[0].Damaged = true
		g.Expect(p.planForget(o)).To(BeEmpty())
		sends := p.planSends(o)
		g.Expect(sends).To(HaveLen(2))
		g.Expect(sends[0].ID).To(Equal("log"), "what was never sent goes first")
		g.Expect(sends[1].ID).To(Equal("full"))
		g.Expect(sends[1].Damaged.ID).To(Equal("full"), "what is there goes before")
		o.Stores[0].Sets[0].Damaged, o.Stores[0].Sets[0].Verified = false, verify
		g.Expect(p.planSends(o)).To(HaveLen(1))
		g.Expect(p.planForget(o)).To(HaveLen(1))
	}
}

// A database that was restored under another name has the family of the one that it was made of.
func TestDatabasesOfOneFamilyHaveTheirOwnBackups(t *testing.T) {
	g := NewWithT(t)
	of := func(name string, d backup.Description) backup.Description {
		d.ID, d.Database = d.ID+" of "+name, name
		return d
	}
	p := planned(t, order(func(o *orders.Backup) { o.KeepAge, o.AtPrimary = 5*time.Hour, true }))
	at := func(name string) mssql.BackupSource {
		return source(func(s *mssql.BackupSource) { s.Database, s.Primary = name, true })
	}
	o := &Observed{Now: noon, Begun: ago(time.Hour), Sources: []mssql.BackupSource{at("Alpha"), at("Beta"), at("Gamma")},
		Stores: []Stored{stored(
			of("Alpha", taken("full", backup.Full, 10*time.Hour, "10", "20")),
			of("Alpha", taken("log", backup.Log, 6*time.Minute, "15", "30")),
			of("beta", taken("old", backup.Full, 96*time.Hour, "1", "2")),
			of("beta", taken("full", backup.Full, 9*time.Hour, "40", "50")),
			of("beta", taken("log", backup.Log, time.Minute, "45", "60")))}}
	data := p.planData(o)
	g.Expect(data).To(HaveLen(1), "each that has none needs a full backup, and no other")
	g.Expect(data[0].Database).To(Equal("Gamma"))
	logs := p.planLogs(o)
	g.Expect(logs).To(HaveLen(1), "a log is due by the newest of its own")
	g.Expect(logs[0].Database).To(Equal("Alpha"))
	removals := p.planRemovals(o)
	g.Expect(removals).To(HaveLen(1), "what restores one is not made good by another's")
	g.Expect(removals[0].Set.ID).To(Equal("old of beta"))

	r := &runner{planner: p}
	status := r.databases(o)
	g.Expect(status).To(HaveLen(3))
	for i, want := range []DatabaseStatus{
		{Name: "Alpha", Sets: 2, Windows: []backup.Window{{From: ago(10 * time.Hour), To: ago(6 * time.Minute)}}},
		{Name: "Beta", Sets: 3, Windows: []backup.Window{{From: ago(96 * time.Hour), To: ago(96 * time.Hour)},
			{From: ago(9 * time.Hour), To: ago(time.Minute)}}},
		{Name: "Gamma"},
	} {
		g.Expect(status[i].Name).To(Equal(want.Name))
		g.Expect(status[i].Here).To(BeTrue())
		g.Expect(status[i].Sets).To(Equal(want.Sets), want.Name)
		g.Expect(status[i].Windows).To(Equal(want.Windows), want.Name)
	}
}
