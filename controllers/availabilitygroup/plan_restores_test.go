// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
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
		Owner: owner}
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
