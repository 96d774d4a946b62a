// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// fromBucket is a database that comes from another's backups.
func fromBucket(name v1alpha1.DatabaseName) v1alpha1.Database {
	return v1alpha1.Database{Name: name, From: &v1alpha1.DatabaseSource{Restore: &v1alpha1.DatabaseRestore{
		BackupSource: v1alpha1.BackupSource{Store: "s3", Path: "shop/server/live/Blog"},
		To:           &v1alpha1.RestorePoint{LSN: "34000000012300001"}}}}
}

// restoreTo is a person's own Restore to the server of these tests.
func restoreTo(name string, database v1alpha1.DatabaseName) v1alpha1.Restore {
	return v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
		Spec: v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "nightly", Database: database},
			Target: v1alpha1.RestoreTarget{Server: "tukpub"}},
		Status: v1alpha1.RestoreStatus{Server: "tukpub"}}
}

// ended is how a Restore is over.
func ended(as v1alpha1.RestoreOutcome) v1alpha1.RestoreStatus {
	return v1alpha1.RestoreStatus{Server: "tukpub", Outcome: as, Phase: v1alpha1.RestoreCompleted,
		Reason: v1alpha1.ReasonNoChain, Message: "no chain leads there"}
}

func in(state, owner string) mssql.Database {
	return mssql.Database{Name: "blog", State: state, Owner: owner}
}

// A server's databases that come from backups have one Restore each, and are taken up as what the operator made itself.
// Nothing that happens to a source afterwards counts.
func TestAServersDatabasesComeFromBackups(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.d.Server.UID = "u-tukpub"
	e.d.Server.Spec.Databases = []v1alpha1.Database{fromBucket("Blog"), fromBucket("Other")}
	e.o.Engine.Databases = map[string]mssql.Database{}
	p := plan(e.d, e.o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRestoreAwaited))
	g.Expect(p.Aside).To(HaveLen(2), "no empty one is made")
	for _, s := range p.Aside {
		e.d.Restores = append(e.d.Restores, *s.Step.(databases.MakeRestore).Restore)
	}
	r := e.d.Restores[0]
	g.Expect(p.Aside[0].Describe()).To(Equal("make Restore " + r.Name + ", which restores database Blog on tukpub-0"))
	g.Expect(r.Name).To(MatchRegexp("^tukpub-blog-[0-9a-f]{8}$"))
	g.Expect(r.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "SQLServer"), HaveField("Name", "tukpub"),
		HaveField("UID", e.d.Server.UID))))
	g.Expect(r.Spec).To(Equal(v1alpha1.RestoreSpec{
		Source: v1alpha1.RestoreSource{Store: "s3", Path: "shop/server/live/Blog"},
		To:     &v1alpha1.RestorePoint{LSN: "34000000012300001"},
		Target: v1alpha1.RestoreTarget{Server: "tukpub", Database: "Blog"}}))

	agent, operator := credentials.RoleAgent.Login(), credentials.RoleOperator.Login()
	for _, state := range []string{"", "RESTORING", "ONLINE"} {
		if state != "" {
			e.o.Engine.Databases = map[string]mssql.Database{"Blog": in(state, agent), "Other": in("ONLINE", operator)}
		}
		p = plan(e.d, e.o)
		g.Expect(p.All()).To(BeEmpty())
		g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonRestoreAwaited),
			HaveField("Message", ContainSubstring("Blog comes from Restore "+r.Name))))
	}
	for i := range e.d.Restores {
		e.d.Restores[i].Status = ended(v1alpha1.RestoreSucceeded)
	}
	e.o.Engine.Databases["Blog"] = in("ONLINE", operator)
	g.Expect(plan(e.d, e.o).Outcome.Ready).To(Equal(metav1.ConditionTrue))

	e.d.Server.Spec.Databases[0].From.Restore.To = nil
	e.d.Restores = nil
	p = plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty(), "a source counts once")
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
}

// What a Restore says of a declared database decides whether one is made, and whether that is an empty one. Nothing of
// the server waits for it.
func TestWhatARestoreSaysOfAServersDatabase(t *testing.T) {
	const made, empty = "make Restore", "CREATE DATABASE"
	gone := metav1.Now()
	agent, operator := credentials.RoleAgent.Login(), credentials.RoleOperator.Login()
	with := func(status v1alpha1.RestoreStatus) func(*v1alpha1.Restore) {
		return func(r *v1alpha1.Restore) { r.Status = status }
	}
	for name, c := range map[string]struct {
		// source says that the database has one; own that the Restore is the one that the server makes.
		source, own bool
		restore     func(*v1alpha1.Restore)
		have        *mssql.Database
		reason      string
		says        string
		does        string
	}{
		"a person's is under way": {restore: func(*v1alpha1.Restore) {}, reason: v1alpha1.ReasonRestoreAwaited,
			says: "comes from Restore mine"},
		"a person's is under way, beside a source": {source: true, restore: func(*v1alpha1.Restore) {},
			reason: v1alpha1.ReasonRestoreAwaited, says: "comes from Restore mine"},
		"a person's is withdrawn": {restore: func(r *v1alpha1.Restore) {
			r.Status, r.DeletionTimestamp = ended(v1alpha1.RestoreFailed), &gone
		}, reason: v1alpha1.ReasonRestoreAwaited},
		"a person's was refused": {restore: with(ended(v1alpha1.RestoreRefused)),
			reason: v1alpha1.ReasonWaitingForDatabase, does: empty},
		"a person's was refused, beside a source": {source: true, restore: with(ended(v1alpha1.RestoreRefused)),
			reason: v1alpha1.ReasonRestoreAwaited, does: made},
		"it goes to a group": {source: true, restore: func(r *v1alpha1.Restore) {
			r.Spec.Target = v1alpha1.RestoreTarget{AvailabilityGroup: "tukpub"}
		}, reason: v1alpha1.ReasonRestoreAwaited, does: made},
		"it goes to another server": {restore: func(r *v1alpha1.Restore) { r.Spec.Target.Server = "other" },
			reason: v1alpha1.ReasonWaitingForDatabase, does: empty},
		"it changes nothing": {restore: func(r *v1alpha1.Restore) { r.Spec.DryRun = true },
			reason: v1alpha1.ReasonWaitingForDatabase, does: empty},
		"it was refused": {source: true, own: true, restore: with(ended(v1alpha1.RestoreRefused)),
			reason: v1alpha1.ReasonRestoreFailed, says: "delete that Restore: another one is made then"},
		"it has failed, and left nothing": {source: true, own: true, restore: with(ended(v1alpha1.RestoreFailed)),
			reason: v1alpha1.ReasonRestoreFailed, says: "no chain leads there"},
		"it has failed halfway": {source: true, own: true, restore: with(ended(v1alpha1.RestoreFailed)),
			have: new(in("RESTORING", agent)), reason: v1alpha1.ReasonRestoreFailed,
			says: "drop it there, then delete that Restore"},
		"a person's has failed halfway": {source: true, restore: with(ended(v1alpha1.RestoreFailed)),
			have: new(in("RESTORING", agent)), reason: v1alpha1.ReasonRestoreFailed, says: "restore it by another Restore"},
		"what has failed halfway was deleted": {source: true, own: true, restore: func(r *v1alpha1.Restore) {
			r.Spec.Target.Server = "other"
		}, have: new(in("RESTORING", agent)), reason: v1alpha1.ReasonRestoreFailed,
			says: "is RESTORING and no Restore is at it: drop it there, or recover it"},
		"it was restored, and dropped": {source: true, own: true, restore: with(ended(v1alpha1.RestoreSucceeded)),
			reason: v1alpha1.ReasonDatabaseMissing, says: "delete that Restore to have it restored again"},
		"it is the agent's still": {source: true, own: true, restore: with(v1alpha1.RestoreStatus{
			Outcome: v1alpha1.RestoreSucceeded, Phase: v1alpha1.RestoreFinishing}), have: new(in("ONLINE", agent)),
			reason: v1alpha1.ReasonRestoreAwaited},
		"it is over what there is": {restore: func(*v1alpha1.Restore) {}, have: new(in("ONLINE", operator)),
			reason: v1alpha1.ReasonRunning},
		"it is over somebody else's": {source: true, restore: func(*v1alpha1.Restore) {},
			have: new(in("ONLINE", "somebody")), reason: v1alpha1.ReasonDatabaseConflict},
		"nobody restores what is RESTORING": {source: true, restore: with(ended(v1alpha1.RestoreRefused)),
			have: new(in("RESTORING", "somebody")), reason: v1alpha1.ReasonRestoreFailed, says: "no Restore is at it"},
		"it is recovered": {source: true, restore: with(ended(v1alpha1.RestoreRefused)),
			have: new(in("RECOVERING", "somebody")), reason: v1alpha1.ReasonWaitingForDatabase},
		"it is in a group": {source: true, restore: func(*v1alpha1.Restore) {},
			have: &mssql.Database{Name: "blog", State: "ONLINE", InGroup: true}, reason: v1alpha1.ReasonDatabaseConflict},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			declares := fromBucket("Blog")
			r := restoreTo("mine", "blog")
			if c.own {
				r = *e.d.declarer().RestoreOf(declares)
			}
			if !c.source {
				declares.From = nil
			}
			c.restore(&r)
			e.d.Server.Spec.Databases = []v1alpha1.Database{declares}
			e.d.Restores = databases.Brings([]v1alpha1.Restore{r}, e.d.declarer().Target())
			e.o.Engine.Databases = map[string]mssql.Database{"other": in("ONLINE", "sa")}
			if c.have != nil {
				e.o.Engine.Databases["blog"] = *c.have
			}
			p := plan(e.d, e.o)
			g.Expect(p.Outcome).To(And(HaveField("Reason", c.reason), HaveField("Message", ContainSubstring(c.says))))
			g.Expect(p.Steps).To(BeEmpty())
			if c.does == "" {
				g.Expect(p.Aside).To(BeEmpty())
			} else {
				g.Expect(p.Aside).To(ConsistOf(WithTransform(reconcile.Aside.Describe, ContainSubstring(c.does))))
			}
			e.d.Server.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: p.Outcome.Ready, Reason: p.Outcome.Reason}}
			g.Expect(e.d.Server.Status.Serves()).To(BeTrue(), "groups are made with it, and others restart beside it")
		})
	}
}

// The Restores from which databases come are announced as well, and none of these is made empty.
func TestPreviewTellsOfAServersRestores(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.Databases = []v1alpha1.Database{fromBucket("Blog"), {Name: "Plain"}}
	steps, _ := Preview(declared(s, Surroundings{}), Observed{})
	var said []string
	for _, step := range steps {
		said = append(said, step.Describe())
	}
	g.Expect(said).To(ContainElement(HavePrefix("make Restore tukpub-blog-")))
	g.Expect(said).To(ContainElement(ContainSubstring("CREATE DATABASE [Plain]")))
	g.Expect(said).NotTo(ContainElement(ContainSubstring("CREATE DATABASE [Blog]")))
}
