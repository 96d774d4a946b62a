// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// What was told is never written a second time: a header that cannot be read is waited for, and another set in a
// backup's place, at either end, is given up. Nothing is registered meanwhile.
func TestABackupIsTheOneThatWasTold(t *testing.T) {
	t.Parallel()
	read := func(h *mssql.BackupHeader) reconcile.Reading[FoundBackup] {
		return reconcile.Read(FoundBackup{Header: h})
	}
	missing := reconcile.Read(FoundBackup{Missing: errors.New("3201")})
	for name, c := range map[string]struct {
		change func(w *backupWorld)
		waits  string
	}{
		"not read": {func(w *backupWorld) {
			w.o.Backup.Taken = reconcile.NotRead[FoundBackup](errors.New("refused"))
		}, v1alpha1.ReasonEngineNotAnswering},
		"does not open": {func(w *backupWorld) { w.o.Backup.Taken = missing }, v1alpha1.ReasonEngineNotAnswering},
		"gone": {func(w *backupWorld) {
			w.o.Backup.Taken, w.o.Backup.Sent[publisher].Total = missing, 0
		}, ""},
		"another set":      {func(w *backupWorld) { w.o.Backup.Taken = read(header("set-9")) }, ""},
		"cut off":          {func(w *backupWorld) { w.o.Backup.Taken = read(&mssql.BackupHeader{Position: 1}) }, ""},
		"no backup at all": {func(w *backupWorld) { w.o.Backup.Taken = read(nil) }, ""},
		"another database": {func(w *backupWorld) {
			h := header("set-1")
			h.Database = "Other"
			w.o.Backup.Taken = read(h)
		}, ""},
		"another family": {func(w *backupWorld) { w.from(func(f *mssql.FromBackup) { f.Family = "other" }) }, ""},
		"restored since": {func(w *backupWorld) { w.from(func(f *mssql.FromBackup) { f.Fork = "other" }) }, ""},
		"a fork that nobody tells": {func(w *backupWorld) { w.from(func(f *mssql.FromBackup) { f.Fork = "" }) },
			v1alpha1.ReasonDelivering},
		"brought another": {func(w *backupWorld) { w.o.Backup.Brought = read(header("set-9")) }, ""},
		"brought the same with another end": {func(w *backupWorld) {
			h := header("set-1")
			h.LastLSN = "9"
			w.o.Backup.Brought = read(h)
		}, ""},
		"brought is not read": {func(w *backupWorld) {
			w.o.Backup.Brought = reconcile.NotRead[FoundBackup](errors.New("refused"))
		}, v1alpha1.ReasonEngineNotAnswering},
		"brought does not open": {func(w *backupWorld) { w.o.Backup.Brought = missing },
			v1alpha1.ReasonEngineNotAnswering},
		"an older folder was brought": {func(w *backupWorld) { w.o.Backup.Mirror.Snapshot = "20261101000000" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.until(t, func() bool { r := w.o.order(w.d); return r != nil && w.o.Backup.arrived(r.Backup) })
			g.Expect(w.o.order(w.d).Attempt.Set).To(Equal("set-1"))
			g.Expect(w.restored).To(BeEmpty())
			c.change(w)
			p := plan(w.d, w.look())
			switch c.waits {
			case "":
				g.Expect(p.All()).To(ConsistOf(And(HaveField("Reader.Ended", true), HaveField("Reader.Attempt.Failed", 1),
					HaveField("Reader.Attempt.Why", Not(BeEmpty())), HaveField("Reader.Attempt.NotBefore", Not(BeEmpty())))))
			case v1alpha1.ReasonDelivering:
				g.Expect(p.All()).NotTo(BeEmpty())
			default:
				g.Expect(p.Outcome.Reason).To(Equal(c.waits), p.Outcome.Message)
				g.Expect(p.All()).To(BeEmpty())
			}
		})
	}
}

// What is restored already is compared once more before it is registered with.
func TestARestoredBackupIsProvedBeforeItIsRegisteredWith(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *backupWorld){
		"not read": func(w *backupWorld) {
			w.o.Backup.Taken = reconcile.NotRead[FoundBackup](errors.New("refused"))
		},
		"another set": func(w *backupWorld) {
			w.o.Backup.Taken = reconcile.Read(FoundBackup{Header: header("set-9")})
		},
		"whose the published one is, is not read": func(w *backupWorld) {
			w.o.Backup.From = reconcile.NotRead[mssql.FromBackup](errors.New("refused"))
		},
		"not allowed any more": func(w *backupWorld) { w.from(func(f *mssql.FromBackup) { f.Allowed = false }) },
		"nothing is kept any more": func(w *backupWorld) {
			w.from(func(f *mssql.FromBackup) { f.ImmediateSync = false })
		},
		"restored of another set": func(w *backupWorld) {
			w.place("ONLINE", w.d.mark(w.o.order(w.d).Backup+"-set-9")+"-1.mdf")
		},
		"restored of another backup": func(w *backupWorld) {
			w.place("ONLINE", w.d.mark("20261101000000-set-1")+"-1.mdf")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.until(t, func() bool { return registers(plan(w.d, w.look())) })
			change(w)
			g.Expect(registers(plan(w.d, w.look()))).To(BeFalse())
		})
	}
}

// A restore that was cut off is begun again, over what it has left.
func TestARestoreThatWasCutOffIsBegunAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.until(t, func() bool { r := w.o.order(w.d); return r != nil && w.o.Backup.arrived(r.Backup) })
	w.place(restoring, w.d.mark(w.o.order(w.d).Backup+"-set-1")+"-1.mdf")
	p, done := w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
	g.Expect(w.databaseDropped).To(BeFalse())
	g.Expect(w.sent).To(HaveLen(1))
}

// A backup that nobody was told of is written while there is none that opens; where one is being written, or something
// else lies there, that is not written over.
func TestABackupIsTakenOnce(t *testing.T) {
	t.Parallel()
	backs := func(p reconcile.Plan) bool {
		for _, s := range p.All() {
			if e, is := s.(replication.Execute); is && e.Statement.Task.Command == takesBackups {
				return true
			}
		}
		return false
	}
	for name, c := range map[string]struct {
		found       reconcile.Reading[FoundBackup]
		taking      bool
		takes, ends bool
	}{
		"nothing":              {reconcile.Read(FoundBackup{Missing: errors.New("3201")}), false, true, false},
		"nothing opens yet":    {reconcile.Read(FoundBackup{Missing: errors.New("3201")}), true, true, false},
		"begun":                {reconcile.Read(FoundBackup{}), true, true, false},
		"a part":               {reconcile.Read(FoundBackup{}), false, false, true},
		"refused":              {reconcile.NotRead[FoundBackup](errors.New("refused")), false, false, false},
		"refused while taking": {reconcile.NotRead[FoundBackup](errors.New("refused")), true, false, false},
		"whole":                {reconcile.Read(FoundBackup{Header: header("set-1")}), false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.until(t, func() bool { r := w.o.order(w.d); return r != nil && w.o.Backup.made(publisher, r.Backup) })
			w.o.Backup.Taken, w.o.Backup.Taking = c.found, c.taking
			p := plan(w.d, w.look())
			g.Expect(backs(p)).To(Equal(c.takes))
			if c.ends {
				g.Expect(p.All()).To(ConsistOf(HaveField("Reader.Ended", true)))
			}
		})
	}
}

// A registration that the engine refuses for its backup is made with another one, after a pause, and some times; then a
// person is asked, until the distributor keeps for longer what comes after a backup.
func TestARefusedBackupIsTakenAgainSomeTimes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.refuses = 1000
	var p reconcile.Plan
	for n := 1; n < mostFailed; n++ {
		p, _ = w.settles(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonInitializing), p.Outcome.Message)
		g.Expect(p.Outcome.Message).To(ContainSubstring("21397"))
		g.Expect(w.sent).To(HaveLen(n))
		g.Expect(w.d.Subscription.Status.Initialization).To(BeNil(), "it is not registered")
		again, err := time.Parse(time.RFC3339, w.o.Backup.Readers[publisher].Attempt.NotBefore)
		g.Expect(err).NotTo(HaveOccurred())
		w.o.Now = again.Add(-2 * time.Second)
		g.Expect(plan(w.d, w.look()).All()).To(BeEmpty(), "not before the pause is over")
		w.o.Now = again
	}
	p, _ = w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonBackupUnsuitable))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("21397"), ContainSubstring("spec.retention")))
	w.o.Now = w.o.Now.Add(failedPause << mostFailed)
	_, _ = w.settles(t, all)
	g.Expect(w.sent).To(HaveLen(mostFailed))

	w.d.System.Retention, w.refuses = 96, 0
	p, _ = w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.sent).To(HaveLen(mostFailed + 1))
	g.Expect(w.o.Backup.ordered()).To(BeFalse())
}

// What lies in a folder, and the token that opens it, are one object's, for one database of one server.
func TestFolderAndTokenAreOfOneBackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folders, names := map[string]bool{}, map[string]bool{}
	for _, c := range []struct {
		uid      types.UID
		server   v1alpha1.ServerName
		database v1alpha1.DatabaseName
	}{
		{"1", subscriber, "Content"}, {"2", subscriber, "Content"}, {"1", "othersub", "Content"}, {"1", subscriber, "Other"},
	} {
		d := declared()
		d.Subscription.UID, d.Subscriber, d.Subscription.Spec.Database = c.uid, c.server, c.database
		folders[d.backupFolder()], names[d.backupOf()] = true, true
	}
	g.Expect(folders).To(HaveLen(4))
	g.Expect(names).To(HaveLen(4))
}

// An order that an object of the name had before is no attempt of this one: what it brought is removed at both ends
// first.
func TestTheOrderOfAnObjectBeforeIsEndedFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.until(t, func() bool { r := w.o.order(w.d); return r != nil && w.o.Backup.arrived(r.Backup) })
	old := w.o.order(w.d).Folder
	w.d.Subscription.UID = "another"
	g.Expect(w.o.attempt(w.d)).To(BeEmpty())
	p := plan(w.d, w.look())
	g.Expect(p.All()).To(ConsistOf(And(HaveField("Server", publisher), HaveField("Reader.Ended", true),
		HaveField("Reader.Folder", old))))
	p, done := w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
	g.Expect(w.sent).To(HaveLen(2))
	g.Expect(w.o.Backup.ordered()).To(BeFalse())
}

// No stamp is told twice, also where a manager's clock is behind that of the one before.
func TestStampsGoOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := start.Format(stampForm)
	o := Observed{Now: start, Backup: Backup{}}
	g.Expect(o.nextStamp()).To(Equal(at))
	o.Backup.Readers = map[v1alpha1.ServerName]*orders.Reader{publisher: {Backup: "20270101000000", Ended: true}}
	g.Expect(o.nextStamp()).To(Equal("20270101000001"))
	o.Backup.Told = &orders.Mirror{Generation: "2027-02-01T00:00:00"}
	g.Expect(o.nextStamp()).To(Equal("20270201000001"))
}

// A subscription that was registered and not told of is known to have begun with a backup while its order is there, and
// nothing of it counts as proved.
func TestAFoundRegistrationThatBeganWithABackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.until(t, func() bool { return registers(plan(w.d, w.look())) })
	for _, s := range plan(w.d, w.look()).All() {
		g.Expect(w.does(t, s)).To(Succeed())
	}
	now := metav1.NewTime(w.o.Now)
	s := found(w.d, w.look(), now)
	g.Expect(s.Method).To(BeEquivalentTo(v1alpha1.InitializeBackup))
	g.Expect(s.ValidatedArticles).To(BeEmpty())
	w.o.Backup.Readers = nil
	g.Expect(found(w.d, w.look(), now).Method).To(BeEquivalentTo(v1alpha1.InitializeReplicationSupportOnly))
}

// A file that has more than what was told is told by the sidecar's bytes alone while the engine does not open it.
func TestEmptied(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := Backup{Sent: map[v1alpha1.ServerName]*files.Status{publisher: {State: files.Made, Snapshot: "a"}}}
	g.Expect(b.emptied(publisher, "a")).To(BeTrue())
	g.Expect(b.emptied(publisher, "b")).To(BeFalse())
	g.Expect(b.emptied(secondary, "a")).To(BeFalse())
	b.Sent[publisher].Total = 1
	g.Expect(b.emptied(publisher, "a")).To(BeFalse())
	b.Sent[publisher] = &files.Status{State: files.Failing, Snapshot: "a"}
	g.Expect(b.emptied(publisher, "a")).To(BeFalse())
}
