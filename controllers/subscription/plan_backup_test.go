// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// backupWorld is a world whose subscriber begins with a backup, with the sidecars' and the engines' part in that.
type backupWorld struct {
	*world
	// backups at the publisher, restored at the subscriber, each by its folder's name; renamed databases.
	taken, restored string
	aside           []string
	// dropped tells that the subscriber's database was.
	databaseDropped bool
}

func newBackupWorld(d Desired) *backupWorld {
	d.Subscription.UID = "6f9619ff"
	d.Subscription.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeBackup}
	d.System.Retention = 72
	d.Senders = map[v1alpha1.ServerName]Sender{
		publisher: {Source: "tukpub-0.web.svc:8443", CA: []byte("ca"), Token: "backup-secret"},
		secondary: {Source: "quisec-0.web.svc:8443", CA: []byte("ca"), Token: "other-secret"}}
	w := &backupWorld{world: newWorld(d)}
	w.o.Backup = Backup{Looked: true, Readers: map[v1alpha1.ServerName]*orders.Reader{},
		Sent: map[v1alpha1.ServerName]*files.Status{},
		From: reconcile.Read(mssql.FromBackup{}), Places: reconcile.Read[*mssql.DatabasePlaces](nil)}
	// The log reader sets subscribers up already.
	w.o.LogReaderJob = &mssql.Job{Enabled: true, Running: true, Description: "somebody's"}
	return w
}

// happens is what the sidecars do by themselves, and what is read then.
func (w *backupWorld) happens() {
	b := &w.o.Backup
	for server, r := range b.Readers {
		if r.Ended {
			b.Sent[server] = &files.Status{State: files.Removed}
			w.taken = ""
			continue
		}
		b.Sent[server] = &files.Status{State: files.Made, Snapshot: r.Backup}
	}
	switch {
	case b.Told == nil:
		b.Mirror = nil
	case b.Told.Ended:
		b.Mirror = &files.Status{State: files.Removed}
	case w.taken != "" && b.Told.Generation == generation(w.taken):
		b.Mirror = &files.Status{State: files.Verified, Generation: b.Told.Generation, Total: 10, Bytes: 10}
	}
	w.reads()
}

func (w *backupWorld) reads() {
	b := &w.o.Backup
	var header *mssql.BackupHeader
	if asked := b.asked(w.o.primary(w.d)); asked != "" && asked == w.taken {
		header = &mssql.BackupHeader{Type: 1, LastLSN: "34000000012300001"}
	}
	b.Header = reconcile.Read(header)
	b.Files = reconcile.Read([]mssql.BackupFileEntry{{DatabaseFile: mssql.DatabaseFile{Name: "Content"}},
		{DatabaseFile: mssql.DatabaseFile{Name: "More"}}, {DatabaseFile: mssql.DatabaseFile{Name: "Log", Log: true}}})
}

func (w *backupWorld) does(t fatal, step replication.Step) {
	t.Helper()
	b := &w.o.Backup
	switch s := step.(type) {
	case TellBackup:
		if s.Server == subscriber {
			b.Told = s.Mirror
		} else if b.Readers[s.Server] = s.Reader; s.Reader == nil {
			delete(b.Readers, s.Server)
		}
	case replication.Execute:
		text := s.Statement.Text
		switch {
		case strings.Contains(text, "allow_initialize_from_backup"):
			b.From = reconcile.Read(mssql.FromBackup{Allowed: true})
		case strings.HasPrefix(text, "BACKUP DATABASE"):
			from, _ := b.From.Get()
			stamp := b.asked(s.Server)
			if !from.Allowed || !b.made(s.Server, stamp) || !strings.Contains(text, w.d.taken(stamp)) ||
				!strings.Contains(text, "COPY_ONLY") || !strings.Contains(text, "CHECKSUM") {
				t.Fatalf("a backup is taken too early, or otherwise: %s", text)
			}
			w.taken = stamp
		case strings.Contains(text, "RESTORE DATABASE"):
			if !b.arrived(w.taken) || !strings.Contains(text, w.d.mark(w.taken)) {
				t.Fatalf("restored before it was there: %s", text)
			}
			w.restored = w.taken
			w.place("ONLINE", w.d.mark(w.taken)+"-1.mdf")
			for key, a := range w.o.Publication.Articles {
				w.o.Here.Tables[key] = mssql.Table{Schema: a.Schema, Name: a.Table}
			}
		case strings.Contains(text, "MODIFY NAME"):
			w.aside = append(w.aside, text)
			w.o.Here.Tables = map[string]mssql.Table{}
			w.unplace()
		case strings.Contains(text, "DROP DATABASE"):
			w.databaseDropped = true
			w.unplace()
		default:
			if strings.Contains(text, "sp_addsubscription") {
				if w.restored == "" || w.restored != w.taken || !strings.Contains(text, "initialize with backup") ||
					!strings.Contains(text, w.d.taken(w.taken)) {
					t.Fatalf("registered without its backup: %s", text)
				}
			}
			w.do(t, step)
			for i := range w.o.Publication.Subscriptions {
				w.o.Publication.Subscriptions[i].DataWasThere, w.o.Publication.Subscriptions[i].Status = true, 2
			}
		}
	default:
		w.do(t, step)
	}
	w.reads()
}

// place has the subscriber have the database, with a file.
func (w *backupWorld) place(state, file string) {
	w.o.Backup.Places = reconcile.Read(&mssql.DatabasePlaces{State: state, Files: []string{"/var/opt/mssql/data/" + file}})
	w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: state}
}

func (w *backupWorld) unplace() {
	w.o.Backup.Places = reconcile.Read[*mssql.DatabasePlaces](nil)
	delete(w.o.Servers[subscriber].State.Databases, "content")
}

// settles is settle with the backup's part.
func (w *backupWorld) settles(t fatal, most func() int) (reconcile.Plan, []string) {
	t.Helper()
	var done []string
	idle := 0
	for range 300 {
		w.o.Now = w.o.Now.Add(time.Second)
		o := w.look()
		p := plan(w.d, o)
		status := &w.d.Subscription.Status
		status.Initialization = initialization(w.d, o, p)
		if len(p.All()) == 0 {
			if idle++; idle > 4 {
				return p, done
			}
			w.happens()
			w.run()
			continue
		}
		idle = 0
		n := most()
		for i, s := range p.All() {
			if i == n {
				break
			}
			done = append(done, s.Describe())
			w.does(t, s)
		}
	}
	t.Fatalf("the plan does not come to an end: %q", done[len(done)-5:])
	return reconcile.Plan{}, nil
}

// Whenever the process ends, the subscriber begins with a backup that was taken after the publication allowed it, is
// registered with that one, and the files and orders are gone in the end.
func TestASubscriberBeginsWithABackupWheneverTheProcessEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := declared()
		if rapid.Bool().Draw(t, "push") {
			d = push(v1alpha1.AgentAtDistributor)
		}
		w := newBackupWorld(d)
		p, done := w.settles(t, crashes(t))
		if p.Outcome.Reason != v1alpha1.ReasonDelivering {
			t.Fatalf("%s: %s after %q", p.Outcome.Reason, p.Outcome.Message, done)
		}
		if w.o.Backup.ordered() || w.taken != "" || w.databaseDropped || len(w.aside) > 0 {
			t.Fatalf("left: %+v, %q; aside %q", w.o.Backup, w.taken, w.aside)
		}
		if strings.Contains(strings.Join(done, "\n"), "secret") {
			t.Fatalf("a secret is told: %q", done)
		}
		s := w.d.Subscription.Status.Initialization
		if s.Method != v1alpha1.InitializeBackup && len(s.ValidatedArticles) > 0 {
			t.Fatalf("%+v", s)
		}
	})
}

// What the subscriber has stays until a person agrees, and then under another name; nothing is taken for it before.
func TestABackupTakesTheWayOfNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *backupWorld)
		reason string
		aside  int
		drops  bool
	}{
		"no database":    {func(*backupWorld) {}, v1alpha1.ReasonDelivering, 0, false},
		"empty database": {func(w *backupWorld) { w.place("ONLINE", "Content.mdf") }, v1alpha1.ReasonDelivering, 1, false},
		"tables": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.o.Here.Tables["dbo.other"] = mssql.Table{Schema: "dbo", Name: "Other"}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
		"tables, automatic": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			w.o.Here.Tables["dbo.other"] = mssql.Table{Schema: "dbo", Name: "Other"}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
		"its own tables, automatic": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
		}, v1alpha1.ReasonDelivering, 1, false},
		"tables, adopted": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			w.o.Here.Tables["dbo.other"] = mssql.Table{Schema: "dbo", Name: "Other"}
		}, v1alpha1.ReasonDelivering, 1, false},
		"tables not read": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.o.HereErr = errors.New("no answer")
		}, v1alpha1.ReasonEngineNotAnswering, 0, false},
		"publishes": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			x := w.o.Servers[subscriber].State.Databases["content"]
			x.Published = true
			w.o.Servers[subscriber].State.Databases["content"] = x
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
		"somebody's restore": {func(w *backupWorld) { w.place("RESTORING", "Content.mdf") },
			v1alpha1.ReasonWaitingForDatabase, 0, false},
		"left by its own": {func(w *backupWorld) { w.place("RESTORING", w.d.mark("20261101000000")+"-1.mdf") },
			v1alpha1.ReasonDelivering, 0, true},
		"of another subscription": {func(w *backupWorld) { w.place("RESTORING", "geosql-other-20261101000000-1.mdf") },
			v1alpha1.ReasonWaitingForDatabase, 0, false},
		"declared by its server": {func(w *backupWorld) { w.d.DatabaseDeclared = true },
			v1alpha1.ReasonNotSupported, 0, false},
		"filter": {func(w *backupWorld) {
			w.d.Publication.Spec.Articles = []v1alpha1.Article{{Table: "dbo.Article", Filter: "Id > 1"}}
		}, v1alpha1.ReasonNotSupported, 0, false},
		"timestamps": {func(w *backupWorld) {
			w.o.Backup.From = reconcile.Read(mssql.FromBackup{RowVersions: []string{"dbo.Article"}})
		}, v1alpha1.ReasonNotSupported, 0, false},
		"publisher itself": {func(w *backupWorld) { w.d.Publisher.Servers = []v1alpha1.ServerName{publisher, subscriber} },
			v1alpha1.ReasonNotSupported, 0, false},
		"another publication's": {func(w *backupWorld) { w.d.Beside = []Beside{{Name: "other"}} },
			v1alpha1.ReasonNotSupported, 0, false},
		"an article is to come": {func(w *backupWorld) {
			w.d.Publication.Spec.Articles = []v1alpha1.Article{{Table: "a.a"}, {Table: "b.b"}, {Table: "c.c"}}
		}, v1alpha1.ReasonWaitingForPublication, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			c.change(w)
			p, done := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), "%s after %q", p.Outcome.Message, done)
			g.Expect(w.aside).To(HaveLen(c.aside))
			g.Expect(w.databaseDropped).To(Equal(c.drops))
			if c.reason != v1alpha1.ReasonDelivering {
				g.Expect(w.taken).To(BeEmpty())
				g.Expect(w.restored).To(BeEmpty())
			}
		})
	}
}

// A backup after which the distributor may lack something is taken again, and so is one that an article came after, or
// that lies on a former primary, whose file goes.
func TestABackupIsTakenAgain(t *testing.T) {
	t.Parallel()
	arrived := func(t *testing.T) *backupWorld {
		w := newBackupWorld(declared())
		for w.o.Backup.Told == nil {
			w.o.Now = w.o.Now.Add(time.Second)
			for _, s := range plan(w.d, w.look()).All() {
				w.does(t, s)
			}
			w.happens()
		}
		return w
	}
	for name, change := range map[string]func(w *backupWorld){
		"old": func(w *backupWorld) { w.o.Now = w.o.Now.Add(55 * time.Hour) },
		"before an article": func(w *backupWorld) {
			w.o.Backup.From = reconcile.Read(mssql.FromBackup{Allowed: true, Oldest: []byte{0, 0, 0, 35, 0, 0, 0, 0, 0, 0}})
		},
		"at a former primary": func(w *backupWorld) {
			for server, role := range map[v1alpha1.ServerName]string{publisher: "SECONDARY", secondary: "PRIMARY"} {
				s := w.o.Servers[server]
				s.Role = role
				w.o.Servers[server] = s
			}
			w.o.Servers[secondary].State.Databases["content"] = w.o.Servers[publisher].State.Databases["content"]
			w.reads()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := arrived(t)
			before := w.taken
			change(w)
			p := plan(w.d, w.look())
			var told []TellBackup
			for _, s := range p.All() {
				if tell, is := s.(TellBackup); is {
					told = append(told, tell)
				} else {
					t.Errorf("nothing else is done: %s", s.Describe())
				}
			}
			g.Expect(told).To(ContainElement(And(HaveField("Server", w.o.primary(w.d)),
				HaveField("Reader.Backup", Not(Or(BeEmpty(), Equal(before)))))))
			if name == "at a former primary" {
				g.Expect(told).To(ContainElement(And(HaveField("Server", publisher), HaveField("Reader.Ended", true))))
			}
		})
	}
}

// Once the backup is restored the subscription waits for the log reader alone, also while the publication changes: it
// does to give the log reader the right, as long as the subscription says that it waits for that.
func TestARestoredBackupWaitsForNoPublication(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.o.LogReaderJob = &mssql.Job{Enabled: true, Running: true, Description: "geosql.dev web/articles"}
	p, _ := w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForLogReader), p.Outcome.Message)
	w.d.Publication.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConfiguring}}
	g.Expect(w.d.publicationRests(w.o)).To(BeFalse())
	p, _ = w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForLogReader), p.Outcome.Message)
}

// Status follows the copy through its phases, and forgets the backup when both ends have none.
func TestProgressOfABackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	var phases []v1alpha1.CopyPhase
	for range 40 {
		w.o.Now = w.o.Now.Add(time.Second)
		o := w.look()
		p := plan(w.d, o)
		w.d.Subscription.Status = describe(w.d, o)
		w.d.Subscription.Status.Initialization = initialization(w.d, o, p)
		if c := w.d.Subscription.Status.Copy; c != nil && (len(phases) == 0 || phases[len(phases)-1] != c.Phase) {
			phases = append(phases, c.Phase)
		}
		for _, s := range p.All() {
			w.does(t, s)
		}
		w.happens()
		if len(p.All()) == 0 {
			w.run()
		}
	}
	g.Expect(phases).To(Equal([]v1alpha1.CopyPhase{v1alpha1.CopyBackup, v1alpha1.CopyTransfer, v1alpha1.CopyRestore,
		v1alpha1.CopyApply, v1alpha1.CopyDone}))
	c := w.d.Subscription.Status.Copy
	g.Expect(c.Backup).To(BeEmpty())
	g.Expect(c.Bytes).To(BeEquivalentTo(10))
	for _, took := range []*int64{c.BackupSeconds, c.TransferSeconds, c.RestoreSeconds, c.ApplySeconds} {
		g.Expect(took).NotTo(BeNil())
	}
	g.Expect(w.d.looksForBackup(&w.o)).To(BeFalse(), "nothing is read for it any more")
}

// A deletion has the files removed before it is done; a sidecar that says nothing keeps it from nothing.
func TestADeletionTakesTheBackupAlong(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"answers": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
			for w.o.Backup.Told == nil {
				w.o.Now = w.o.Now.Add(time.Second)
				for _, s := range plan(w.d, w.look()).All() {
					w.does(t, s)
				}
				w.happens()
			}
			now := metav1.NewTime(w.o.Now)
			w.d.Subscription.DeletionTimestamp = &now
			var p reconcile.Plan
			for range 10 {
				if silent {
					w.o.Backup.Sent, w.o.Backup.Mirror = map[v1alpha1.ServerName]*files.Status{}, nil
				}
				p = planDelete(w.d, w.look())
				for _, s := range p.All() {
					w.does(t, s)
				}
				if p.Done {
					break
				}
				w.happens()
			}
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			g.Expect(w.o.Backup.ordered()).To(BeFalse())
		})
	}
}
