// SPDX-License-Identifier: Apache-2.0

package login

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// A server that nobody expects back keeps no login from going; one that is only silent does, and its condition says how
// to say so.
func TestDeletionWithoutAServer(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o := whole(d)
	g.Expect(planDelete(d, o).Steps).NotTo(BeEmpty())
	// It is shut out, and its user is gone.
	o.Servers["tukpub"].Login.Disabled, o.Users["Content"] = true, User{}
	secrets := o.Secrets
	o.Secrets = nil
	o.Servers["quisec"] = Server{Err: errMute}
	g.Expect(planDelete(d, o)).
		To(And(HaveField("Done", false), HaveField("Outcome.Message", ContainSubstring("delete SQLServer quisec"))))
	d.Gone = sites.GoneFor(map[v1alpha1.ServerName]string{"tukpub": "", "quisec": "Site quincy is declared lost"})
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(HaveLen(1), "all but the login there")
	g.Expect(p.Left).To(ConsistOf("login app on quisec-0 (Site quincy is declared lost)"))

	o.Secrets = secrets
	for server := range o.Servers {
		o.Servers[server] = Server{Err: errMute}
	}
	for database := range o.Users {
		o.Users[database] = User{Err: errMute}
	}
	g.Expect(planDelete(d, o).Done).To(BeFalse(), "one of them may answer again")
	d.Gone = sites.GoneFor(
		map[v1alpha1.ServerName]string{
			"tukpub": "SQLServer tukpub is being deleted",
			"quisec": "Site quincy is declared lost",
		},
	)
	p = planDelete(d, o)
	g.Expect(p.Steps).To(And(HaveLen(2), HaveEach(BeAssignableToTypeOf(DropSecret{}))))
	o.Secrets = nil
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Left).To(ConsistOf("login app on tukpub-0 (SQLServer tukpub is being deleted)",
		"login app on quisec-0 (Site quincy is declared lost)",
		"user app in database Content (no answer)"))
}

// What holds the login says of its shutting out what was read, and no more.
func TestWhatADeletionSaysWasRead(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o := whole(d)
	o.Servers["tukpub"].Login.Disabled = true
	o.Servers["quisec"] = Server{Err: errMute}
	o.Secrets = map[string]Secret{"": {}, "quincy": {Err: errMute}}
	user := o.Users["Content"]
	user.Owns = []mssql.Owned{{Class: "SCHEMA", Name: "app"}}
	o.Users["Content"] = user
	p := planDelete(d, o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonLoginOwns))
	g.Expect(p.Outcome.Message).To(And(
		ContainSubstring("login app is disabled on tukpub-0 and has no session there"),
		ContainSubstring("not known of quisec-0 (no answer)"),
		ContainSubstring("connection Secret app-connection at site quincy (no answer)")))
	g.Expect(p.Outcome.Message).NotTo(ContainSubstring("Secrets are gone"))

	o.Servers["quisec"], o.Secrets["quincy"] = Server{}, Secret{}
	g.Expect(planDelete(d, o).Outcome.Message).To(And(ContainSubstring("disabled on tukpub-0 and"),
		ContainSubstring("its connection Secrets are gone"), Not(ContainSubstring("not known"))))
}

// A secondary replica refuses to change the owner of its copy, so nobody is told to do that there.
func TestADeletionSaysHowASecondarysOwnerIsChanged(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o := whole(d)
	login := *o.Servers["quisec"].Login
	login.Disabled = true
	o.Servers = map[v1alpha1.ServerName]Server{"tukpub": {},
		"quisec": {Login: &login, Owns: []mssql.Owned{{Class: mssql.OwnedSecondary, Name: "Content"}}}}
	o.Users, o.Secrets = map[string]User{"Content": {}}, nil
	p := planDelete(d, o)
	g.Expect(p.Done || len(p.Steps) > 0).To(BeFalse(), "SQL Server refuses to drop it (15174)")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonLoginOwns))
	g.Expect(p.Outcome.Message).To(And(
		ContainSubstring("the login owns on quisec-0: database Content, of which this is a secondary replica"),
		ContainSubstring("let the server be the group's primary"), ContainSubstring("Retain")))
}

// A Secret that has the password is not left at a site that is silent for a while.
func TestADeletionWaitsForTheSecretOfASilentSite(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o := whole(d)
	o.Servers, o.Users = map[v1alpha1.ServerName]Server{"tukpub": {}, "quisec": {}}, map[string]User{"Content": {}}
	o.Secrets = map[string]Secret{"": {}, "quincy": {Err: errMute}}
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("Secret app-connection at site quincy: no answer"),
		ContainSubstring("the lifecycle of the Site to Lost")))
	o.Secrets["quincy"] = Secret{}
	o.Former = []FormerSecret{{Place: "quincy", Name: "before", Secret: Secret{Err: errMute}}}
	g.Expect(planDelete(d, o).Done).To(BeFalse())
	o.Former = nil
	g.Expect(planDelete(d, o).Done).To(BeTrue())
	o.Secrets["quincy"] = Secret{Err: &sites.NamespaceError{Site: "quincy", Namespace: "web", Gone: true}}
	g.Expect(planDelete(d, o).Done).To(BeTrue(), "it goes with its namespace")
}

// A database that was dropped has no user that could hold the login.
func TestADroppedDatabaseHoldsNoDeletion(t *testing.T) {
	g := NewWithT(t)
	d := declared()
	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o := whole(d)
	o.Servers["tukpub"].Login.Disabled, o.Servers["quisec"].Login.Disabled, o.Secrets = true, true, nil
	o.Users["Content"] = User{NoDatabase: true}
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeFalse(), "the group has it still, by its declaration: this primary may be none any more")
	g.Expect(p.Steps).To(BeEmpty())
	d.Databases = []string{"Orders"}
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(HaveLen(2), "the logins")
	g.Expect(p.Left).To(BeEmpty())
}

// A group that is no more tells neither its servers nor its primary: the login is shut out and dropped where status
// knows it, and the users that nobody looks for are told.
func TestDeletionWithoutTheGroup(t *testing.T) {
	g := NewWithT(t)
	group := types.NamespacedName{Namespace: "web", Name: "app"}
	l := declared().Login
	l.Spec.ReclaimPolicy, l.Spec.Target.AvailabilityGroup = v1alpha1.ReclaimDelete, "content"
	l.DeletionTimestamp, l.Finalizers = &metav1.Time{Time: time.Now()}, []string{v1alpha1.Finalizer}
	l.Status = v1alpha1.LoginStatus{SID: tsql.Binary(sid),
		Servers: []v1alpha1.LoginServerStatus{{Server: "tukpub-0"}, {Server: "quisec-0"}},
		Users:   []v1alpha1.LoginUserStatus{{Database: "Content", Name: "app"}}}
	tukpub := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub"}}
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tukpub, l).Build()
	g.Expect(hub.Get(t.Context(), group, l)).To(Succeed())
	d := Desired{Login: l}
	g.Expect((&Reconciler{hub: hub, fresh: hub}).desire(t.Context(), &d)).To(Succeed())
	g.Expect(d.Missing).To(Equal("there is no AvailabilityGroup content"))
	g.Expect(d.Servers).To(Equal([]v1alpha1.ServerName{"tukpub", "quisec"}))

	o := Observed{Servers: map[v1alpha1.ServerName]Server{"tukpub": whole(declared()).Servers["tukpub"],
		"quisec": {Err: errMute}}}
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).To(HaveExactElements(HaveField("Statement", tsql.DisableLogin("app"))))
	o.Servers["tukpub"].Login.Disabled = true
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(p.Steps).To(HaveExactElements(HaveField("Statement", tsql.DropLogin("app"))))
	g.Expect(p.Left).To(ConsistOf("login app on quisec-0 (there is no SQLServer quisec any more)",
		"user app in database Content (there is no AvailabilityGroup content)"))

	// What was never made anywhere leaves nothing.
	l.Status = v1alpha1.LoginStatus{}
	d = Desired{Login: l}
	g.Expect((&Reconciler{hub: hub, fresh: hub}).desire(t.Context(), &d)).To(Succeed())
	p = planDelete(d, Observed{})
	g.Expect(p.Done).To(BeTrue())
	g.Expect(p.Left).To(BeEmpty())
}

// Who the login was made for is remembered while the target is away.
func TestAMissingTargetIsNotForgotten(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	d := Desired{Login: declared().Login}
	d.Login.Spec.Target.AvailabilityGroup = "content"
	d.Login.Status.Servers = []v1alpha1.LoginServerStatus{{Server: "tukpub-0", State: "UpToDate"}}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	g.Expect((&Reconciler{hub: hub}).desire(t.Context(), &d)).To(Succeed())
	g.Expect(reported(d, Observed{}, plan(d, Observed{})).Servers).
		To(Equal([]v1alpha1.LoginServerStatus{{Server: "tukpub-0", State: "Unknown"}}))
}

// Which databases of a server are a group's is found by the groups; users there are dropped by the primary alone.
func TestADatabaseOfTheGroupIsTheGroups(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	m := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: m("articles"),
		Spec: v1alpha1.AvailabilityGroupSpec{Databases: []v1alpha1.Database{{Name: "CONTENT"}},
			Replicas: []v1alpha1.Replica{{Server: "tukpub"}, {Server: "quisec"}}},
		Status: v1alpha1.AvailabilityGroupStatus{Primary: "quisec-0"}}
	hub := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(group, &v1alpha1.SQLServer{ObjectMeta: m("tukpub")}, &v1alpha1.SQLServer{ObjectMeta: m("quisec")}).Build()
	resolved := func(server v1alpha1.ServerName) Desired {
		d := Desired{Login: declared().Login}
		d.Login.Spec.Target.Server = server
		g.Expect((&Reconciler{hub: hub}).target(t.Context(), &d)).To(Succeed())
		return d
	}
	g.Expect(resolved("quisec").InGroup).To(Equal(map[string]InGroup{"content": {Group: "articles"}}))
	d := resolved("tukpub")
	g.Expect(d.InGroup).To(Equal(map[string]InGroup{"content": {Group: "articles", Elsewhere: "quisec-0"}}))

	d.Login.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	o := whole(declared())
	o.Secrets = nil
	o.Servers["tukpub"].Login.Disabled = true
	p := planDelete(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Message).To(ContainSubstring("dropped here once tukpub-0 is primary"))
}
