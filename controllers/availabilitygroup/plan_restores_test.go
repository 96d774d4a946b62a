// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
)

// restoreTo is a Restore that brings a database to the group of these tests.
func restoreTo(name string, database v1alpha1.DatabaseName) v1alpha1.Restore {
	return v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
		Spec: v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "nightly", Database: database},
			Target: v1alpha1.RestoreTarget{AvailabilityGroup: "content"}},
		Status: v1alpha1.RestoreStatus{Server: "tukpub"}}
}

// restored is a database as a Restore leaves it to the operator.
func (e *environ) restored(server v1alpha1.ServerName, name, state, owner string) {
	e.servers[server].mirroring.Databases[name] = mssql.Database{Name: name, State: state, RecoveryModel: "FULL",
		Owner: owner, LogChain: true}
}

// rounds lets the plan be carried out while it waits for something.
func (e *environ) rounds(n int) {
	for range n {
		e.round()
	}
}

// A group is made of the database that a Restore has brought, and no empty one comes in its place.
func TestAGroupIsMadeOfARestoredDatabase(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.d.Restores = []v1alpha1.Restore{restoreTo("back", "content")}
	e.rounds(30)
	p := plan(e.d, e.observe())
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonRestoreAwaited),
		HaveField("Message", ContainSubstring("Content comes from Restore back"))))
	g.Expect(e.servers["tukpub"].mirroring.Databases).To(BeEmpty())
	g.Expect(e.group).To(BeNil())

	// ONLINE is not over: the agent owns it still.
	e.restored("tukpub", "Content", "ONLINE", "geosql_agent")
	e.d.Restores[0].Status.Outcome = v1alpha1.RestoreSucceeded
	g.Expect(plan(e.d, e.observe()).Outcome.Reason).To(Equal(v1alpha1.ReasonRestoreAwaited))
	e.restored("tukpub", "Content", "ONLINE", "geosql_operator")
	e.d.Restores[0].Status.Phase = v1alpha1.RestoreCompleted
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(e.group.databases).To(ConsistOf("Content"))
	g.Expect(e.servers["quisec"].mirroring.Databases["Content"].InGroup).To(BeTrue(), "the others are seeded")
	for _, step := range e.done {
		g.Expect(step).NotTo(ContainSubstring("CREATE DATABASE"))
	}
}

// While a database is restored the group goes on, with what it has: replicas stay promotable, and come back.
func TestAGroupGoesOnWhileADatabaseIsRestored(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Restores = []v1alpha1.Restore{restoreTo("orders", "Orders")}
	e.d.Group.Spec.Databases = append(e.d.Group.Spec.Databases, v1alpha1.Database{Name: "Orders"})
	e.servers["quisec"].joined = false
	delete(e.servers["quisec"].mirroring.Databases, "Content")
	for _, state := range []string{"", "RESTORING", "ONLINE"} {
		if state != "" {
			e.restored("tukpub", "Orders", state, "geosql_agent")
		}
		e.rounds(20)
		p := plan(e.d, e.observe())
		g.Expect(p.All()).To(BeEmpty())
		g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonRestoreAwaited),
			HaveField("Message", HavePrefix("tukpub-0 is primary and serves"))))
		g.Expect(e.group.databases).To(ConsistOf("Content"))
		o := e.observe()
		g.Expect(promotable(e.d, o, "quisec", "tukpub").Status).To(Equal(metav1.ConditionTrue))
	}
	e.restored("tukpub", "Orders", "ONLINE", "geosql_operator")
	e.d.Restores[0].Status.Outcome, e.d.Restores[0].Status.Phase = v1alpha1.RestoreSucceeded, v1alpha1.RestoreCompleted
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(e.group.databases).To(ConsistOf("Content", "Orders"))
}

// While what a Restore has brought takes a database's place, the group makes none and takes none in, under whatever
// names these stand; then it takes in what has the name.
func TestAGroupWaitsWhileADatabaseIsReplaced(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	r := restoreTo("back", "Content")
	r.Spec.Target.Database, r.Spec.Replace = "Content", "Content"
	e.d.Restores = []v1alpha1.Restore{r}
	e.restored("tukpub", "Content_restored_1", "ONLINE", "geosql_agent")
	g.Expect(plan(e.d, e.observe()).All()).To(BeEmpty())
	g.Expect(e.group.databases).To(ConsistOf("Content"), "until it makes way")
	awaited := func(why string) {
		t.Helper()
		e.rounds(20)
		p := plan(e.d, e.observe())
		g.Expect(p.All()).To(BeEmpty(), why)
		g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonRestoreAwaited)), why)
	}
	e.group.databases = nil
	for server, state := range map[v1alpha1.ServerName]string{"tukpub": "ONLINE", "quisec": "RESTORING"} {
		e.restored(server, "Content", state, "geosql_operator")
	}
	awaited("it has left the group")
	have := e.servers["tukpub"].mirroring.Databases
	have["Content_replaced_1"] = have["Content"]
	delete(have, "Content")
	awaited("nothing has the name")
	e.restored("tukpub", "Content", "ONLINE", "geosql_operator")
	awaited("what was restored has it")
	for server := range e.servers {
		if server != "tukpub" {
			delete(e.servers[server].mirroring.Databases, "Content")
		}
	}
	e.d.Restores[0].Status.Outcome, e.d.Restores[0].Status.Phase = v1alpha1.RestoreSucceeded, v1alpha1.RestoreCompleted
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(e.group.databases).To(ConsistOf("Content"))
	g.Expect(e.servers["quisec"].mirroring.Databases["Content"].InGroup).To(BeTrue(), "the others are seeded")
}

// What a Restore says of a declared database decides whether one is made.
func TestWhatARestoreSaysOfADatabase(t *testing.T) {
	gone := metav1.Now()
	for name, c := range map[string]struct {
		edit   func(*environ, *v1alpha1.Restore)
		reason string
		made   bool
	}{
		"it is of another group": {func(_ *environ, r *v1alpha1.Restore) {
			r.Spec.Target.AvailabilityGroup = "other"
		}, v1alpha1.ReasonSynchronized, true},
		"it is of another database": {func(_ *environ, r *v1alpha1.Restore) {
			r.Spec.Target.Database = "Aside"
		}, v1alpha1.ReasonSynchronized, true},
		"it changes nothing": {func(_ *environ, r *v1alpha1.Restore) { r.Spec.DryRun = true },
			v1alpha1.ReasonSynchronized, true},
		"it is withdrawn": {func(_ *environ, r *v1alpha1.Restore) {
			r.DeletionTimestamp, r.Status.Outcome = &gone, v1alpha1.RestoreFailed
		}, v1alpha1.ReasonRestoreAwaited, false},
		"it was refused": {func(_ *environ, r *v1alpha1.Restore) {
			r.Status.Outcome, r.Status.Phase = v1alpha1.RestoreRefused, v1alpha1.RestoreCompleted
		}, v1alpha1.ReasonSynchronized, true},
		"it has failed halfway": {func(e *environ, r *v1alpha1.Restore) {
			r.Status.Outcome, r.Status.Phase = v1alpha1.RestoreFailed, v1alpha1.RestoreCompleted
			e.restored("tukpub", "Orders", "RESTORING", "geosql_agent")
		}, v1alpha1.ReasonRestoreFailed, false},
		"another server became primary while it went on": {func(_ *environ, r *v1alpha1.Restore) {
			r.Status = v1alpha1.RestoreStatus{Server: "quisec", Outcome: v1alpha1.RestoreFailed,
				Phase: v1alpha1.RestoreCompleted, Reason: v1alpha1.ReasonPrimaryMoved}
		}, v1alpha1.ReasonDatabaseMissing, false},
		"it is no more, and what it began is there": {func(e *environ, r *v1alpha1.Restore) {
			r.Spec.Target.Database = "Aside"
			e.restored("tukpub", "Orders", "RESTORING", "geosql_agent")
		}, v1alpha1.ReasonDatabaseOutside, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			r := restoreTo("orders", "Orders")
			c.edit(e, &r)
			e.d.Restores = []v1alpha1.Restore{r}
			e.d.Group.Spec.Databases = append(e.d.Group.Spec.Databases, v1alpha1.Database{Name: "Orders"})
			e.rounds(30)
			g.Expect(plan(e.d, e.observe()).Outcome.Reason).To(Equal(c.reason))
			g.Expect(contains(e.group.databases, "Orders")).To(Equal(c.made))
		})
	}
}

// fromBucket is a database that comes from another's backups.
func fromBucket(name v1alpha1.DatabaseName) v1alpha1.Database {
	return v1alpha1.Database{Name: name, From: &v1alpha1.DatabaseSource{Restore: &v1alpha1.DatabaseRestore{
		BackupSource: v1alpha1.BackupSource{Store: "s3", Path: "shop/group/live/Orders"},
		To:           &v1alpha1.RestorePoint{LSN: "34000000012300001"}}}}
}

// ends ends a Restore, with the database at its server in a state.
func (e *environ) ends(r *v1alpha1.Restore, as v1alpha1.RestoreOutcome, state string) {
	r.Status = v1alpha1.RestoreStatus{Server: "tukpub", Outcome: as, Phase: v1alpha1.RestoreCompleted,
		Reason: v1alpha1.ReasonNoChain, Message: "no chain leads there"}
	if state != "" {
		e.restored("tukpub", string(r.Spec.DatabaseName()), state, "geosql_operator")
	}
}

// A group of databases that come from backups makes one Restore of each, and is made of what they bring. Nothing that
// happens to a source afterwards counts.
func TestAGroupsDatabasesComeFromBackups(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.d.Group.UID = "u-content"
	e.d.Group.Spec.Databases = []v1alpha1.Database{fromBucket("Content"), {Name: "Plain"}, fromBucket("Other")}
	e.rounds(30)
	g.Expect(plan(e.d, e.observe()).Outcome.Reason).To(Equal(v1alpha1.ReasonRestoreAwaited))
	g.Expect(e.d.Restores).To(HaveLen(2))
	r := e.d.Restores[0]
	g.Expect(r.Name).To(MatchRegexp("^content-content-[0-9a-f]{8}$"))
	g.Expect(r.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "AvailabilityGroup"), HaveField("Name", "content"),
		HaveField("UID", e.d.Group.UID))))
	g.Expect(r.Spec).To(Equal(v1alpha1.RestoreSpec{
		Source: v1alpha1.RestoreSource{Store: "s3", Path: "shop/group/live/Orders"},
		To:     &v1alpha1.RestorePoint{LSN: "34000000012300001"},
		Target: v1alpha1.RestoreTarget{AvailabilityGroup: "content", Database: "Content"}}))
	g.Expect(e.group).To(BeNil(), "it is made of all of them")
	for i := range e.d.Restores {
		e.ends(&e.d.Restores[i], v1alpha1.RestoreSucceeded, "ONLINE")
	}
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(e.group.databases).To(ConsistOf("Content", "Plain", "Other"))
	g.Expect(e.done).NotTo(ContainElement(MatchRegexp(`CREATE DATABASE \[(Content|Other)`)))

	e.d.Group.Spec.Databases[0].From.Restore.To = nil
	e.d.Restores = nil
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(e.d.Restores).To(BeEmpty(), "a source counts once")
}

// A database with a source is never made empty: what stands in its way is told, and a person decides.
func TestADatabaseWithASourceIsNeverMadeEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*environ)
		reason string
		says   string
		mended func(*environ)
		made   int
	}{
		"a replica does not answer": {func(e *environ) { e.silent["quisec"] = true }, v1alpha1.ReasonReplicaNotAnswering,
			"quisec", func(e *environ) { clear(e.silent) }, 1},
		"a witness does not answer": {func(e *environ) { e.silent["dubcfg"] = true }, v1alpha1.ReasonReplicaNotAnswering,
			"dubcfg", func(e *environ) { clear(e.silent) }, 1},
		"another replica has one of the name": {func(e *environ) {
			e.restored("quisec", "Orders", "RESTORING", "somebody")
		}, v1alpha1.ReasonDatabaseMissing, "Nothing is created beside it", func(e *environ) {
			delete(e.servers["quisec"].mirroring.Databases, "Orders")
		}, 1},
		"the restore was refused": {func(e *environ) {
			e.rounds(3)
			e.ends(&e.d.Restores[0], v1alpha1.RestoreRefused, "")
		}, v1alpha1.ReasonRestoreFailed, "delete that Restore", func(e *environ) { e.d.Restores = nil }, 1},
		"it was restored, and dropped": {func(e *environ) {
			e.rounds(3)
			e.ends(&e.d.Restores[0], v1alpha1.RestoreSucceeded, "")
		}, v1alpha1.ReasonDatabaseMissing, "delete that Restore", func(e *environ) { e.d.Restores = nil }, 1},
		"a person's own Restore is under way": {func(e *environ) {
			e.d.Restores = []v1alpha1.Restore{restoreTo("mine", "Orders")}
		}, v1alpha1.ReasonRestoreAwaited, "comes from Restore mine", func(*environ) {}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			e.d.Group.Spec.Databases = append(e.d.Group.Spec.Databases, fromBucket("Orders"))
			c.edit(e)
			for range 10 {
				for _, s := range plan(e.d, e.observe()).All() {
					_ = e.do(s) // a server may be silent
				}
				e.work()
			}
			p := plan(e.d, e.observe())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			g.Expect(e.servers["tukpub"].mirroring.Databases).NotTo(HaveKey("Orders"))
			c.mended(e)
			e.rounds(10)
			g.Expect(e.d.Restores).To(HaveLen(c.made))
			e.ends(&e.d.Restores[0], v1alpha1.RestoreSucceeded, "ONLINE")
			g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
			g.Expect(e.group.databases).To(ConsistOf("Content", "Orders"))
			g.Expect(e.done).NotTo(ContainElement(ContainSubstring("CREATE DATABASE [Orders]")))
		})
	}
}

// A site that a person has called lost is awaited by nobody.
func TestALostSiteKeepsNoDatabaseFromComing(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, three())
	e.settle(everything)
	e.d.Group.Spec.Databases = append(e.d.Group.Spec.Databases, fromBucket("Orders"))
	o := e.observe()
	o.Instances["dubthird"] = Instance{Err: sites.ErrSiteLost}
	g.Expect(steps(plan(e.d, o))).To(ContainSubstring("content-orders-"))
}
