// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func desired() Desired {
	return Desired{
		Policy: &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nightly"},
			Spec:   v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}},
			Status: v1alpha1.BackupPolicyStatus{Servers: []v1alpha1.ServerName{"tukpub", "quisec"}}},
		Servers: []v1alpha1.ServerName{"tukpub", "quisec"}, Primary: "tukpub",
		Databases: []v1alpha1.DatabaseName{"Content"},
		Order: orders.Backup{Policy: "nightly", Namespace: "web", Target: "group/content", LogEvery: 5 * time.Minute,
			Full:   orders.BackupTimes{Schedule: "0 1 * * 0"},
			Stores: []orders.BackupStore{{Name: "bucket", SecretKey: "secret"}}},
	}
}

// user has what the agents need.
func user() *mssql.UserState {
	u := &mssql.UserState{Login: "geosql_agent", Roles: []string{backupOperator}}
	for _, table := range history {
		u.Grants = append(u.Grants, mssql.Grant{On: table, Permission: "SELECT"})
	}
	return u
}

// told is a server that knows its order and says that the database can be restored until then.
func told(t *testing.T, until time.Time) Server {
	t.Helper()
	order, err := desired().Order.Encode()
	if err != nil {
		t.Fatal(err)
	}
	says := &backups.Status{Policy: "nightly", Databases: []backups.DatabaseStatus{{Name: "Content", Family: "f",
		Here: true}}}
	if !until.IsZero() {
		says.Databases[0].Windows = []backup.Window{{From: noon.Add(-time.Hour), To: until}}
	}
	return Server{Order: reconcile.Read(order), Says: reconcile.Read(says), History: reconcile.Read(user())}
}

func observed(t *testing.T, until time.Time) Observed {
	t.Helper()
	return Observed{Now: noon,
		Servers: map[v1alpha1.ServerName]Server{"tukpub": told(t, until), "quisec": told(t, until)},
		Users:   map[v1alpha1.DatabaseName]reconcile.Reading[*mssql.UserState]{"Content": reconcile.Read(user())}}
}

// inSimple has the database in the simple recovery model.
func inSimple(_ *Desired, o *Observed) {
	o.Models = reconcile.Read(map[string]mssql.BackupModel{"content": {Recovery: simple}})
}

// readOnly has a read-only database with a user of the agents, or none.
func readOnly(u *mssql.UserState) func(*Desired, *Observed) {
	return func(_ *Desired, o *Observed) {
		o.Models = reconcile.Read(map[string]mssql.BackupModel{"content": {Recovery: "FULL", ReadOnly: true}})
		o.Users["Content"] = reconcile.Read(u)
	}
}

// unlisted has the sidecars begin anew: they do not know yet what a store has.
func unlisted(_ *Desired, o *Observed) {
	for name := range o.Servers {
		says, _ := o.Servers[name].Says.Get()
		says.Stores = []backups.StoreStatus{{Name: "bucket"}}
	}
}

// What was known of backups stays in the status until a store was listed again.
func TestAStoreThatIsNotListedYetIsNotEmpty(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t, time.Time{})
	unlisted(&d, &o)
	at := metav1.NewTime(noon.Add(-5 * time.Minute))
	d.Policy.Status.Restorable = &at
	d.Policy.Status.Databases = []v1alpha1.BackedUpDatabase{{Name: "Content",
		Windows: []v1alpha1.RestorableWindow{{From: at, To: at}}}}
	status := reported(d, o)
	g.Expect(status.Restorable).To(Equal(&at))
	g.Expect(status.Databases).To(Equal(d.Policy.Status.Databases))
}

// otherHub has tukpub find another hub's claim in the store, and fail with something.
func otherHub(d *Desired, o *Observed, owner *backup.Owner) {
	d.Policy.Spec.Stores = []v1alpha1.ObjectName{"bucket"}
	says, _ := o.Servers["tukpub"].Says.Get()
	says.Stores = []backups.StoreStatus{{Name: "bucket", Listed: noon.Add(-time.Minute), OtherHub: owner}}
	if owner.Policy != "" {
		says.Failing = map[string]string{"x": "y"}
	}
}

// What a person says may be taken over, as it is written.
func TestWhatMayBeTakenOver(t *testing.T) {
	for value, want := range map[string][]string{"": nil, "a": {"a"}, "a,b": {"a", "b"}, " a, b ": {"a", "b"}} {
		p := desired().Policy
		p.Annotations = map[string]string{v1alpha1.TakeOverBackupsAnnotation: value}
		NewWithT(t).Expect(takenOver(p)).To(ConsistOf(want), value)
	}
}

func TestPlan(t *testing.T) {
	away := errors.New("nobody answers")
	for _, row := range []struct {
		why    string
		until  time.Time
		edit   func(*Desired, *Observed)
		steps  []string
		reason string
		says   string
		// stalled says that it needs a person.
		stalled bool
	}{
		{why: "everything is backed up", until: noon.Add(-time.Minute), reason: v1alpha1.ReasonBackedUp,
			says: "2026-03-01T11:59:00Z"},
		{why: "the first full backup is due", reason: v1alpha1.ReasonBackupPreparing, says: "nothing restores Content yet"},
		{why: "the newest point is old", until: noon.Add(-13 * time.Minute), reason: v1alpha1.ReasonBackupLate,
			says: "Content (2026-03-01T11:47:00Z)"},
		{why: "twice the time and some more is not late", until: noon.Add(-11 * time.Minute),
			reason: v1alpha1.ReasonBackedUp},
		{why: "who looked last counts", until: noon.Add(-time.Minute), edit: func(_ *Desired, o *Observed) {
			o.Servers["quisec"] = told(t, noon.Add(-time.Hour))
		}, reason: v1alpha1.ReasonBackedUp},
		{why: "a server that does not answer is named", until: noon, edit: func(_ *Desired, o *Observed) {
			o.Servers["quisec"] = Server{Order: reconcile.NotRead[[]byte](away), Says: reconcile.NotRead[*backups.Status](away)}
		}, reason: v1alpha1.ReasonBackedUp, says: "quisec-0 (nobody answers)"},
		{why: "nobody says anything", until: noon, edit: func(_ *Desired, o *Observed) {
			for name := range o.Servers {
				o.Servers[name] = Server{Order: reconcile.NotRead[[]byte](away), Says: reconcile.NotRead[*backups.Status](away)}
			}
		}, reason: v1alpha1.ReasonBackupUnknown, says: "nobody answers"},
		{why: "a step fails", until: noon, edit: func(_ *Desired, o *Observed) {
			says, _ := o.Servers["tukpub"].Says.Get()
			says.Failing = map[string]string{"send to bucket": "access denied"}
		}, reason: v1alpha1.ReasonBackupFailing, says: "tukpub-0 cannot send to bucket: access denied"},
		{why: "a server that was not told", until: noon, edit: func(_ *Desired, o *Observed) {
			s := o.Servers["quisec"]
			s.Order = reconcile.Read[[]byte](nil)
			o.Servers["quisec"] = s
		}, steps: []string{"tell quisec-0 which backups to take"}, reason: v1alpha1.ReasonBackedUp},
		{why: "a server that is told nothing before it is on record", until: noon, edit: func(d *Desired, o *Observed) {
			d.Policy.Status.Servers = d.Servers[:1]
			s := o.Servers["quisec"]
			s.Order = reconcile.Read[[]byte](nil)
			o.Servers["quisec"] = s
		}, reason: v1alpha1.ReasonBackupPreparing, says: "about to tell quisec-0"},
		{why: "a server that left has nothing to do any more", until: noon, edit: func(d *Desired, o *Observed) {
			d.Former = []v1alpha1.ServerName{"dubsec"}
			o.Servers["dubsec"] = Server{Order: reconcile.Read([]byte("{}"))}
		}, steps: []string{"tell dubsec-0 to take no backups"}, reason: v1alpha1.ReasonBackedUp},
		{why: "a server that left and was told so", until: noon, edit: func(d *Desired, o *Observed) {
			d.Former = []v1alpha1.ServerName{"dubsec"}
			o.Servers["dubsec"] = Server{Order: reconcile.Read[[]byte](nil)}
		}, reason: v1alpha1.ReasonBackedUp},
		{why: "another order", until: noon, edit: func(d *Desired, _ *Observed) { d.Order.Stripes = 4 },
			steps:  []string{"tell tukpub-0 which backups to take", "tell quisec-0 which backups to take"},
			reason: v1alpha1.ReasonBackedUp},
		{why: "the agents have no right to a database yet", until: noon, edit: func(_ *Desired, o *Observed) {
			o.Users["Content"] = reconcile.Read[*mssql.UserState](nil)
		}, steps: []string{"CREATE USER [geosql_agent] FOR LOGIN [geosql_agent]",
			"ALTER ROLE [db_backupoperator] ADD MEMBER [geosql_agent]"}, reason: v1alpha1.ReasonBackedUp},
		{why: "a database that was restored has the user of another server", until: noon, edit: func(_ *Desired,
			o *Observed) {
			u := user()
			u.Login = ""
			o.Users["Content"] = reconcile.Read(u)
		}, steps: []string{"ALTER USER [geosql_agent] WITH LOGIN = [geosql_agent]"}, reason: v1alpha1.ReasonBackedUp},
		{why: "a database that is not there yet is nobody's", until: noon, edit: func(_ *Desired, o *Observed) {
			o.Users["Content"] = reconcile.NotRead[*mssql.UserState](away)
		}, reason: v1alpha1.ReasonBackedUp},
		{why: "the history of a server", until: noon, edit: func(_ *Desired, o *Observed) {
			s := o.Servers["quisec"]
			s.History = reconcile.Read[*mssql.UserState](nil)
			o.Servers["quisec"] = s
		}, steps: []string{"CREATE USER [geosql_agent]", "GRANT SELECT ON OBJECT::[dbo].[backupset] TO [geosql_agent]",
			"GRANT SELECT ON OBJECT::[dbo].[backupmediafamily] TO [geosql_agent]",
			"GRANT SELECT ON OBJECT::[dbo].[backupfile] TO [geosql_agent]"}, reason: v1alpha1.ReasonBackedUp},
		{why: "a newest point that is to come tells nothing", until: noon.Add(time.Hour),
			reason: v1alpha1.ReasonBackupFailing, says: "ends in the future"},
		{why: "clocks that are somewhat apart", until: noon.Add(time.Minute), reason: v1alpha1.ReasonBackedUp},
		{why: "a database without backups of the log is not late before two of the others were due",
			until: noon.Add(-7 * 24 * time.Hour), edit: inSimple, reason: v1alpha1.ReasonBackedUp},
		{why: "a database without backups of the log is late then", until: noon.Add(-8 * 24 * time.Hour), edit: inSimple,
			reason: v1alpha1.ReasonBackupLate},
		{why: "a policy without backups of the log", until: noon.Add(-7 * 24 * time.Hour), edit: func(d *Desired,
			_ *Observed) {
			d.Order.LogEvery = 0
		}, reason: v1alpha1.ReasonBackedUp, steps: []string{"tell tukpub-0", "tell quisec-0"}},
		{why: "a database that is read-only has its user", until: noon, edit: readOnly(user()),
			reason: v1alpha1.ReasonBackedUp},
		{why: "a database that is read-only can have none", until: noon, edit: readOnly(nil),
			reason: v1alpha1.ReasonBackupFailing, says: "Content is read-only"},
		{why: "a backup is damaged that another server has looked at", until: noon, edit: func(_ *Desired, o *Observed) {
			says, _ := o.Servers["quisec"].Says.Get()
			says.Databases[0].Damaged = 2
		}, reason: v1alpha1.ReasonBackupDamaged, says: "2 backups of Content"},
		{why: "a description is not as it was written", until: noon, edit: func(_ *Desired, o *Observed) {
			for name := range o.Servers {
				says, _ := o.Servers[name].Says.Get()
				says.Stores = []backups.StoreStatus{{Name: "bucket", Listed: noon,
					Unreadable: []string{"web/group/content/1 cannot be used"}}}
			}
		}, reason: v1alpha1.ReasonBackupDamaged, says: "1 descriptions of backups cannot be used: web/group/content/1"},
		{why: "another hub has the folder", until: noon, edit: func(d *Desired, o *Observed) {
			otherHub(d, o, &backup.Owner{Hub: "other", Claim: "theirs", Policy: "web/theirs", At: noon})
		}, reason: v1alpha1.ReasonBackupOtherHub, says: "web/group/content in store bucket is that of the hub other, by " +
			"its BackupPolicy web/theirs, since 2026-03-01T12:00:00Z. Nothing is sent or removed there, and backups stay on " +
			"the servers' backup volumes. If that hub is gone for good, or is to back this up no more: kubectl annotate " +
			"--overwrite backuppolicy nightly -n web geosql.dev/take-over-backups=theirs; besides: tukpub-0 cannot x: y",
			stalled: true},
		{why: "another hub's folder is taken over", until: noon, edit: func(d *Desired, o *Observed) {
			d.Order.TakeOver = []string{"former", "theirs"}
			otherHub(d, o, &backup.Owner{Hub: "other", Claim: "theirs"})
		}, steps: []string{"tell tukpub-0", "tell quisec-0"}, reason: v1alpha1.ReasonBackupOtherHub,
			says: "It is being taken over"},
		{why: "nobody can read whose the folder is", until: noon, edit: func(d *Desired, o *Observed) {
			otherHub(d, o, &backup.Owner{Claim: "unreadable-1"})
		}, reason: v1alpha1.ReasonBackupOtherHub, says: "its owner.json cannot be read", stalled: true},
		{why: "who has looked last knows whose the folder is", until: noon, edit: func(d *Desired, o *Observed) {
			otherHub(d, o, &backup.Owner{Hub: "other", Claim: "theirs"})
			says, _ := o.Servers["quisec"].Says.Get()
			says.Stores = []backups.StoreStatus{{Name: "bucket", Listed: noon}}
		}, reason: v1alpha1.ReasonBackedUp},
		{why: "something is missing", edit: func(d *Desired, _ *Observed) { d.Missing = "there is no BackupStore bucket" },
			reason: v1alpha1.ReasonReferenceMissing},
		{why: "another policy came first, and this one was told before it was there", edit: func(d *Desired, _ *Observed) {
			d.First = "older"
		}, steps: []string{"tell tukpub-0 to take no backups", "tell quisec-0 to take no backups"},
			reason: v1alpha1.ReasonBackupConflict, stalled: true},
		{why: "another policy came first", edit: func(d *Desired, o *Observed) {
			d.First = "older"
			for name := range o.Servers {
				o.Servers[name] = Server{Order: reconcile.Read[[]byte](nil)}
			}
		}, reason: v1alpha1.ReasonBackupConflict, stalled: true},
		{why: "a database that the target does not have", until: noon, edit: func(d *Desired, _ *Observed) {
			d.Policy.Spec.Databases = []v1alpha1.DatabaseName{"content", "Contnet"}
		}, reason: v1alpha1.ReasonReferenceMissing, says: "the target has no database Contnet: mend databases"},
		{why: "a target without databases", edit: func(d *Desired, o *Observed) {
			d.Databases, o.Users = nil, nil
			for name := range o.Servers {
				says, _ := o.Servers[name].Says.Get()
				says.Databases = nil
			}
		}, reason: v1alpha1.ReasonReferenceMissing, says: "the target has no database yet"},
		{why: "no store was listed yet", edit: unlisted, reason: v1alpha1.ReasonBackupUnknown, says: "no server has listed"},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := desired(), observed(t, row.until)
			if row.edit != nil {
				row.edit(&d, &o)
			}
			p := plan(d, o)
			g.Expect(p.Outcome.Reason).To(Equal(row.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(row.says))
			g.Expect(p.Outcome.Progress == conditions.Stuck).To(Equal(row.stalled))
			g.Expect(p.Steps).To(HaveLen(len(row.steps)))
			for i, s := range p.Steps {
				g.Expect(s.Describe()).To(And(ContainSubstring(row.steps[i]), Not(ContainSubstring("secret"))))
			}
		})
	}
}

// A secondary of a basic group takes no backups: its primary has them all, as long as nobody knows that the group is
// none. What the engine says of itself counts before what is declared.
func TestASecondaryOfABasicGroupTakesNoBackups(t *testing.T) {
	standard, enterprise := reconcile.Read(mssql.EngineEditionStandard), reconcile.Read(mssql.EngineEditionEnterprise)
	for _, row := range []struct {
		why       string
		declared  v1alpha1.Edition
		engine    reconcile.Reading[int]
		primary   bool
		alone     bool
		atPrimary bool
	}{
		{why: "one that is declared as Enterprise", declared: "Enterprise"},
		{why: "one that is declared as Standard", declared: v1alpha1.EditionStandard, atPrimary: true},
		{why: "one whose product key is for Standard", engine: standard, atPrimary: true},
		{why: "one whose product key is for Enterprise", engine: enterprise},
		{why: "one that is Enterprise still", declared: v1alpha1.EditionStandard, engine: enterprise},
		{why: "one that nobody knows", atPrimary: true},
		{why: "the primary is asked for", declared: "Enterprise", primary: true, atPrimary: true},
		{why: "a server alone", declared: v1alpha1.EditionStandard, alone: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := desired(), observed(t, noon)
			d.Order.AtPrimary, d.Order.Group = row.primary, "content"
			if row.alone {
				d.Order.Group = ""
			}
			d.Editions = map[v1alpha1.ServerName]v1alpha1.Edition{}
			for _, name := range d.Servers {
				d.Editions[name] = row.declared
				s := o.Servers[name]
				s.EngineEdition = row.engine
				o.Servers[name] = s
			}
			g.Expect(order(d, o).AtPrimary).To(Equal(row.atPrimary))
		})
	}
}

func TestPlanDelete(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t, noon)
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeTrue())
	g.Expect(p.Steps).To(Equal([]reconcile.Step{Tell{Server: "tukpub"}, Tell{Server: "quisec"}}))
	o.Servers["quisec"] = Server{Order: reconcile.NotRead[[]byte](errors.New("nobody answers"))}
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("quisec-0 does not answer"))
	d.Former = []v1alpha1.ServerName{"dubsec"}
	o.Servers["dubsec"] = Server{Order: reconcile.Read([]byte("{}"))}
	g.Expect(planDelete(d, o).Steps).To(ContainElement(Tell{Server: "dubsec"}), "one that left the group")
}

// A server that left the target is remembered until it is known to be told nothing: it has the buckets' credentials.
func TestWhoIsRemembered(t *testing.T) {
	away := reconcile.NotRead[[]byte](errors.New("nobody answers"))
	declared := func(why string) sites.Gone { return sites.GoneFor(map[v1alpha1.ServerName]string{"dubsec": why}) }
	for why, row := range map[string]struct {
		order      reconcile.Reading[[]byte]
		gone       sites.Gone
		remembered bool
	}{
		"it has the order":              {order: reconcile.Read([]byte("{}")), remembered: true},
		"it has none":                   {order: reconcile.Read[[]byte](nil)},
		"it does not answer":            {order: away, gone: declared(""), remembered: true},
		"its site is lost":              {order: away, gone: declared("Site is lost"), remembered: true},
		"it is not declared any longer": {order: away, gone: sites.GoneFor(map[v1alpha1.ServerName]string{"tukpub": ""})},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := desired(), observed(t, noon)
			d.Former, d.Gone = []v1alpha1.ServerName{"dubsec"}, row.gone
			o.Servers["dubsec"] = Server{Order: row.order}
			names := reported(d, o).Servers
			g.Expect(names).To(ContainElements(d.Servers))
			g.Expect(slices.Contains(names, "dubsec")).To(Equal(row.remembered))
		})
	}
}

func TestReported(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t, noon.Add(-time.Minute))
	one, _ := o.Servers["tukpub"].Says.Get()
	one.Databases[0].Waiting, one.Databases[0].Sets = 2, 7
	other, _ := o.Servers["quisec"].Says.Get()
	other.Databases[0].Waiting, other.Databases[0].Here = 1, false
	s := reported(d, o)
	g.Expect(s.Restorable.Time).To(Equal(noon.Add(-time.Minute)))
	g.Expect(s.Servers).To(Equal(d.Servers))
	g.Expect(s.Databases).To(HaveLen(1))
	g.Expect(s.Databases[0]).To(And(HaveField("Waiting", int32(3)), HaveField("Sets", int32(7)),
		HaveField("Windows", HaveLen(1))))

	// A moment that is to come is none to which anything can be restored.
	g.Expect(reported(d, observed(t, noon.Add(time.Hour))).Restorable).To(BeNil())

	// A database that was made anew under its name has another family: what is kept of the former one is not its.
	other.Databases[0] = backups.DatabaseStatus{Name: "content", Family: "former",
		Windows: []backup.Window{{From: noon, To: noon.Add(time.Hour)}}}
	g.Expect(reported(d, o).Restorable.Time).To(Equal(noon.Add(-time.Minute)))

	// What nobody tells any more stays as it was told last.
	d.Policy.Status = s
	o.Servers = map[v1alpha1.ServerName]Server{}
	g.Expect(reported(d, o).Databases).To(Equal(s.Databases))
}
