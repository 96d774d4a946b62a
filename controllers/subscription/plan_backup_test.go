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
	"geosql.dev/operator/internal/mssql"
)

// Whenever the process ends, whatever cannot be read for a while, and if a backup that a manager before has sent comes
// late: the subscriber begins with a backup that was taken after the publication allowed it, is registered with the set
// that was restored, and the files and orders are gone in the end.
func TestASubscriberBeginsWithABackupWheneverTheProcessEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := declared()
		if rapid.Bool().Draw(t, "push") {
			d = push(v1alpha1.AgentAtDistributor)
		}
		w := newBackupWorld(d)
		left := rapid.IntRange(0, 8).Draw(t, "silences")
		w.silent = func() bool {
			left--
			return left >= 0 && rapid.Bool().Draw(t, "the header is refused")
		}
		late := rapid.IntRange(0, 3).Draw(t, "late backups")
		crash := crashes(t)
		p, done := w.settles(t, func() int {
			if n := len(w.sent); n > 0 && late > 0 && rapid.IntRange(0, 3).Draw(t, "a late one comes") == 0 {
				late--
				if stamp := w.sent[rapid.IntRange(0, n-1).Draw(t, "which")]; len(w.sets[publisher][stamp]) > 0 {
					w.adds(publisher, stamp) // the folder is there still
					w.reads()
				}
			}
			return crash()
		})
		if p.Outcome.Reason != v1alpha1.ReasonDelivering {
			t.Fatalf("%s: %s after %q", p.Outcome.Reason, p.Outcome.Message, done)
		}
		if w.o.Backup.ordered() || w.taken() || w.databaseDropped || len(w.aside) > 0 {
			t.Fatalf("left: %+v, %v; aside %q", w.o.Backup, w.sets, w.aside)
		}
		if strings.Contains(strings.Join(done, "\n"), "secret") {
			t.Fatalf("a secret is told: %q", done)
		}
		s := w.d.Subscription.Status.Initialization
		if s.Method != v1alpha1.InitializeBackup || len(s.ValidatedArticles) == 0 {
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
		"tables of the articles, automatic": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
		"a view": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.objects = []mssql.UserObject{{Kind: "view", Name: "dbo.Newest"}}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
		"a user": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.objects = []mssql.UserObject{{Kind: "sql_user", Name: "web"}}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
		"a user, adopted": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.objects = []mssql.UserObject{{Kind: "sql_user", Name: "web"}}
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		}, v1alpha1.ReasonDelivering, 1, false},
		"fed by somebody else, adopted": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			w.o.Here.Subscriptions = []mssql.SubscriptionHere{{Publisher: "other-0", PublisherDatabase: "Content",
				Publication: "articles"}}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
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
			w.from(func(f *mssql.FromBackup) { f.RowVersions = []string{"dbo.Article"} })
		}, v1alpha1.ReasonNotSupported, 0, false},
		"nothing is kept": {func(w *backupWorld) { w.from(func(f *mssql.FromBackup) { f.ImmediateSync = false }) },
			v1alpha1.ReasonNotSupported, 0, false},
		"an article is not active": {func(w *backupWorld) {
			w.from(func(f *mssql.FromBackup) { f.Inactive = []string{"dbo.Article"} })
		}, v1alpha1.ReasonWaitingForPublication, 0, false},
		"an older server": {func(w *backupWorld) { w.at(func(r *mssql.RestoreTarget) { r.Major = 15 }) },
			v1alpha1.ReasonNotSupported, 0, false},
		"a newer server": {func(w *backupWorld) { w.at(func(r *mssql.RestoreTarget) { r.Major = 17 }) },
			v1alpha1.ReasonDelivering, 0, false},
		"no key": {func(w *backupWorld) {
			w.from(func(f *mssql.FromBackup) { f.Encryptor = mssql.Encryptor{Thumbprint: "AB", Certificate: true} })
			w.at(func(r *mssql.RestoreTarget) { r.Certificates = []string{"CD"} })
		}, v1alpha1.ReasonKeyMissing, 0, false},
		"a key": {func(w *backupWorld) {
			w.from(func(f *mssql.FromBackup) { f.Encryptor = mssql.Encryptor{Thumbprint: "AB", Certificate: true} })
			w.at(func(r *mssql.RestoreTarget) { r.Certificates = []string{"CD", "AB"} })
		}, v1alpha1.ReasonDelivering, 0, false},
		"in a group": {func(w *backupWorld) {
			w.place("ONLINE", "Content.mdf")
			w.at(func(r *mssql.RestoreTarget) { r.Group, r.InGroup = "other", true })
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		}, v1alpha1.ReasonSubscriberNotEmpty, 0, false},
		"suspect, its own": {func(w *backupWorld) { w.place("SUSPECT", w.d.mark("20261101000000")+"-1.mdf") },
			v1alpha1.ReasonWaitingForDatabase, 0, false},
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
				g.Expect(w.taken()).To(BeFalse(), "%v", w.sets)
				g.Expect(w.restored).To(BeEmpty())
			}
		})
	}
}

// A backup that an article came after is taken again, and so is one of another publication, or that lies on a former
// primary, whose file goes.
func TestABackupIsTakenAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *backupWorld){
		"before an article": func(w *backupWorld) {
			w.o.Publication.Articles["dbo.later"] = mssql.PublishedArticle{ID: 9, Name: "dbo.Later", Schema: "dbo",
				Table: "Later"}
		},
		"of another publication of the name": func(w *backupWorld) { w.o.Publication.ID = 7 },
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
			w := newBackupWorld(declared())
			w.until(t, func() bool { return w.o.Backup.Told != nil })
			before := w.o.order(w.d).Backup
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
				HaveField("Reader.Backup", Not(Or(BeEmpty(), Equal(before)))), HaveField("Reader.Attempt.Set", BeEmpty()),
				HaveField("Reader.Attempt.Articles", articlesOf(w.o.Publication)))))
			if name == "at a former primary" {
				g.Expect(told).To(ContainElement(And(HaveField("Server", publisher), HaveField("Reader.Ended", true))))
				return
			}
			p, _ = w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
			s := w.d.Subscription.Status.Initialization
			g.Expect(s.ValidatedArticles).To(HaveLen(len(w.o.Publication.Articles)))
		})
	}
}

// An article that cannot be published is waited for until a person does something about it: who looks at the
// Subscription reads which it is, and where it is said why.
func TestABackupThatWaitsNamesTheArticles(t *testing.T) {
	t.Parallel()
	says := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
	}
	article := []v1alpha1.Article{{Table: "dbo.Article"}}
	for name, c := range map[string]struct {
		articles   []v1alpha1.Article
		states     []v1alpha1.ArticleStatus
		conditions []metav1.Condition
		message    string
	}{
		"no primary key": {append(article, v1alpha1.Article{Table: "dbo.Picture"}),
			[]v1alpha1.ArticleStatus{{Name: "dbo.Article", State: "Published"},
				{Name: "dbo.Picture", State: "NoPrimaryKey"}}, says(v1alpha1.ReasonNoPrimaryKey),
			"publication articles does not have dbo.Picture (NoPrimaryKey) yet: the backup is taken when it has all its " +
				"articles. Condition Ready of Publication articles says what is in the way (NoPrimaryKey)"},
		"in place of one that is to go": {[]v1alpha1.Article{{Table: "dbo.Article"}, {Table: "dbo.Page"}},
			nil, nil, "publication articles does not have dbo.Page yet: the backup is taken when it has all its " +
				"articles. Condition Ready of Publication articles says what is in the way"},
		"many": {append(article, v1alpha1.Article{Table: "a.a"}, v1alpha1.Article{Table: "b.b"},
			v1alpha1.Article{Table: "c.c"}, v1alpha1.Article{Table: "d.d"}, v1alpha1.Article{Table: "e.e"},
			v1alpha1.Article{Table: "f.f"}), nil, nil, "a.a, b.b, c.c, d.d, e.e and 1 more yet: "},
		"it changes": {article, nil, append(says(v1alpha1.ReasonConfiguring), metav1.Condition{
			Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConfiguring}),
			"publication articles is being changed: the backup is taken when it rests. Condition Ready of Publication " +
				"articles says what is in the way (Configuring)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.d.Publication.Spec.Articles = c.articles
			w.d.Publication.Status.Articles, w.d.Publication.Status.Conditions = c.states, c.conditions
			p, _ := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForPublication))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.message))
		})
	}
}

// One that was taken before the publication allowed it ends before that is allowed again.
func TestABackupFromBeforeItWasAllowedEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.until(t, func() bool { return w.o.Backup.Told != nil })
	before := w.o.order(w.d).Backup
	w.from(func(f *mssql.FromBackup) { f.Allowed = false })
	p := plan(w.d, w.look())
	g.Expect(p.All()).To(ConsistOf(HaveField("Reader.Ended", true)))
	for _, s := range p.All() {
		g.Expect(w.does(t, s)).To(Succeed())
	}
	p, _ = w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.sent).To(HaveLen(2))
	g.Expect(w.sent[1] > before).To(BeTrue(), "%v", w.sent)
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
			g.Expect(w.does(t, s)).To(Succeed())
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
