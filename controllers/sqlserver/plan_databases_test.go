// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// A server makes what it declares for itself, keeps it so, and leaves alone what is somebody else's. Nothing of the
// server waits for that.
func TestDatabasesOfAServerAlone(t *testing.T) {
	blog := v1alpha1.Database{Name: "Blog", Collation: "Latin1_General_100_CI_AS", CompatibilityLevel: 150,
		ReadCommittedSnapshot: ptr.To(true)}
	is := mssql.Database{Name: "blog", State: "ONLINE", Owner: credentials.RoleOperator.Login(),
		Collation: "Latin1_General_100_CI_AS", CompatibilityLevel: 150, ReadCommittedSnapshot: true}
	for name, c := range map[string]struct {
		change     func(*mssql.Database)
		missing    bool
		adopt      bool
		replacing  bool
		ready      metav1.ConditionStatus
		reason     string
		says       string
		statements []tsql.Statement
	}{
		"as declared": {ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning},
		"not there": {missing: true, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonWaitingForDatabase, says: "Blog",
			statements: []tsql.Statement{tsql.CreateDatabaseWith("Blog", "Latin1_General_100_CI_AS"),
				tsql.SetCompatibilityLevel("Blog", 150), tsql.SetReadCommittedSnapshot("Blog", true)}},
		"not there, while a Restore brings it": {missing: true, replacing: true, ready: metav1.ConditionFalse,
			reason: v1alpha1.ReasonRestoreAwaited, says: "Blog comes from Restore back"},
		"there, and to make way": {change: func(x *mssql.Database) { x.CompatibilityLevel = 160 }, replacing: true,
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			statements: []tsql.Statement{tsql.SetCompatibilityLevel("blog", 150)}},
		"the agent's, while a Restore brings it": {change: func(x *mssql.Database) { x.Owner = "geosql_agent" },
			replacing: true, ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestoreAwaited,
			says: "Blog comes from Restore back"},
		"not online": {change: func(x *mssql.Database) { x.State = "RECOVERING" },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonWaitingForDatabase, says: "blog is recovering"},
		"somebody else's": {change: func(x *mssql.Database) { x.Owner, x.CompatibilityLevel = "sa", 130 },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonDatabaseConflict, says: `belongs to "sa"`},
		"somebody else's, adopted": {change: func(x *mssql.Database) { x.Owner, x.CompatibilityLevel = "sa", 130 },
			adopt: true, ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			statements: []tsql.Statement{tsql.SetCompatibilityLevel("blog", 150)}},
		"a group's": {change: func(x *mssql.Database) { x.InGroup, x.CompatibilityLevel = true, 130 },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonDatabaseConflict, says: "is in an availability group"},
		"another level": {change: func(x *mssql.Database) { x.CompatibilityLevel = 160 },
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			statements: []tsql.Statement{tsql.SetCompatibilityLevel("blog", 150)}},
		"another collation": {change: func(x *mssql.Database) { x.Collation = "Turkish_CI_AS" },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonDatabaseDiffers, says: "collation Turkish_CI_AS"},
		"used by others": {change: func(x *mssql.Database) { x.ReadCommittedSnapshot, x.Sessions = false, 1 },
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonDatabaseInUse, says: "None is ended"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.d.Server.Spec.Databases = []v1alpha1.Database{blog}
			if c.adopt {
				e.d.Server.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			}
			if c.replacing {
				back := v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: v1alpha1.RestoreSpec{
					Target: v1alpha1.RestoreTarget{Server: v1alpha1.ServerName(e.d.Server.Name), Database: "blog"}, Replace: "blog"}}
				over := *back.DeepCopy()
				over.Name, over.Status.Outcome = "over", v1alpha1.RestoreFailed
				e.d.Restores = []v1alpha1.Restore{back, over}
			}
			have := is
			if c.change != nil {
				c.change(&have)
			}
			e.o.Engine.Databases = map[string]mssql.Database{"other": {Name: "other", Owner: "sa"}}
			if !c.missing {
				e.o.Engine.Databases["blog"] = have
			}
			p := plan(e.d, e.o)
			g.Expect(p.Outcome).To(And(HaveField("Ready", c.ready), HaveField("Reason", c.reason),
				HaveField("Message", ContainSubstring(c.says))))
			g.Expect(p.Steps).To(BeEmpty())
			var statements []tsql.Statement
			for _, s := range p.Aside {
				execute, ok := s.Step.(mssql.Execute)
				g.Expect(ok).To(BeTrue(), "%T", s.Step)
				g.Expect(execute.Role).To(Equal(credentials.RoleOperator))
				statements = append(statements, execute.Statement)
			}
			g.Expect(statements).To(Equal(c.statements))
			e.d.Server.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: p.Outcome.Ready, Reason: p.Outcome.Reason}}
			g.Expect(e.d.Server.Status.Serves()).To(BeTrue(), "groups are made with it, and others restart beside it")
		})
	}
}

// The owner of a database changes with its declaration, which is on record before: a manager that ends between any two
// steps leaves nothing that the next takes for somebody else's. What somebody else changed is told.
func TestTheOwnerOfADatabaseChanges(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	have := mssql.Database{Name: "Blog", State: "ONLINE", Owner: credentials.RoleOperator.Login()}
	for _, login := range []string{"shop", "web", "net"} {
		e.o.Engine.Logins[login] = mssql.Login{}
	}
	owners := func() []string { return e.d.ownersOf("blog") }
	// look plans, and reports unless the manager ends before.
	look := func(declared string, reports bool) reconcile.Plan {
		t.Helper()
		e.d.Server.Spec.Databases = []v1alpha1.Database{{Name: "Blog", Owner: declared}}
		e.o.Engine.Databases = map[string]mssql.Database{"Blog": have}
		p := plan(e.d, e.o)
		for _, s := range p.Aside {
			execute, ok := s.Step.(mssql.Execute)
			g.Expect(ok).To(BeTrue())
			g.Expect(execute.Statement).To(Equal(tsql.SetDatabaseOwner("Blog", declared)))
			g.Expect(execute.Role).To(Equal(credentials.RoleSA))
		}
		if reports {
			e.d.Server.Status.Databases = ownDatabases(e.d, e.o)
		}
		return p
	}
	for _, owner := range []string{"shop", "web"} {
		was := have.Owner
		p := look(owner, true)
		g.Expect(p.Outcome.Message).To(ContainSubstring("Blog from " + was + " to " + owner))
		g.Expect(p.Aside).To(BeEmpty(), "it is not on record yet")
		g.Expect(owners()).To(Equal([]string{was, owner}))
		p = look(owner, true)
		g.Expect(p.Aside).To(HaveLen(1))
		have.Owner = owner
		g.Expect(look(owner, true).Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
		g.Expect(owners()).To(Equal([]string{owner}))
	}

	// The manager ends after the change, and another owner is declared before it is back.
	look("shop", true)
	g.Expect(look("shop", false).Aside).To(HaveLen(1))
	have.Owner = "shop"
	g.Expect(look("net", true).Outcome.Message).To(ContainSubstring("Blog from shop to net"))
	g.Expect(look("net", true).Aside).To(HaveLen(1))
	have.Owner = "net"
	g.Expect(look("", true).Outcome.Reason).To(Equal(v1alpha1.ReasonRunning), "what is not declared stays")
	g.Expect(owners()).To(Equal([]string{"net"}))

	have.Owner = "somebody"
	for _, declared := range []string{"net", "web", ""} {
		p := look(declared, true)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDatabaseConflict))
		g.Expect(p.Outcome.Message).To(ContainSubstring(`belongs to "somebody"`))
		g.Expect(p.Aside).To(BeEmpty())
	}
	g.Expect(owners()).To(Equal([]string{"net"}), "it is not the operator's doing")
	e.d.Server.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	look("", true)
	e.d.Server.Annotations = nil
	g.Expect(look("", true).Outcome.Reason).To(Equal(v1alpha1.ReasonRunning), "it was taken over")
	g.Expect(owners()).To(Equal([]string{"somebody"}))
}

// A database that was restored from another instance has an owner that is no login here. Adopted, it gets the one that
// is declared.
func TestADatabaseWithoutAnOwnerGetsTheDeclaredOne(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.o.Engine.Logins["shop"] = mssql.Login{}
	e.o.Engine.Databases = map[string]mssql.Database{"Blog": {Name: "Blog", State: "ONLINE"}}
	e.d.Server.Spec.Databases = []v1alpha1.Database{{Name: "Blog", Owner: "shop"}}
	p := plan(e.d, e.o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDatabaseConflict))
	g.Expect(ownDatabases(e.d, e.o)).To(BeEmpty())

	e.d.Server.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	g.Expect(plan(e.d, e.o).Outcome.Message).To(ContainSubstring("Blog from nobody to shop"))
	e.d.Server.Status.Databases = ownDatabases(e.d, e.o)
	p = plan(e.d, e.o)
	g.Expect(p.Aside).To(HaveLen(1))
	g.Expect(p.Aside[0].Step.(mssql.Execute).Statement).To(Equal(tsql.SetDatabaseOwner("Blog", "shop")))
	e.o.Engine.Databases["Blog"] = mssql.Database{Name: "Blog", State: "ONLINE", Owner: "shop"}
	g.Expect(plan(e.d, e.o).Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
}

func TestTheEngineBeginsWithItsCollationAndTimeZone(t *testing.T) {
	g := NewWithT(t)
	s := server()
	variables := func() []corev1.EnvVar { return environment(declared(s, Surroundings{})) }
	g.Expect(variables()).NotTo(ContainElement(HaveField("Name", BeElementOf("MSSQL_COLLATION", "TZ"))))
	s.Spec.TimeZone = "Europe/Dublin"
	g.Expect(variables()).To(ContainElement(corev1.EnvVar{Name: "TZ", Value: "Europe/Dublin"}))
	s.Spec.Collation = "Latin1_General_100_CI_AS_SC_UTF8"
	g.Expect(variables()).
		To(ContainElement(corev1.EnvVar{Name: "MSSQL_COLLATION", Value: "Latin1_General_100_CI_AS_SC_UTF8"}))
}
