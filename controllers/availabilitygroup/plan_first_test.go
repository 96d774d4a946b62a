// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
)

// replaced is a group whose first primary is gone and replaced by a server at another site, which votes in its place.
// Another replica is primary.
func replaced(t *testing.T, group *v1alpha1.AvailabilityGroup) *environ {
	t.Helper()
	e := newEnviron(t, group)
	e.settle(everything)
	e.group.primary = "quisec"
	for _, r := range e.leases {
		r.Holder.Server, r.Term = host("quisec"), 2
	}
	e.cut["tukwila"] = true
	e.servers["blusec"] = &engine{logins: map[string]mssql.Login{}, lag: map[string]int{}, mirroring: mssql.Mirroring{
		Certificates: map[string]mssql.Certificate{}, Users: map[string]string{}, Connectors: map[string]bool{},
		Databases: map[string]mssql.Database{}}}
	e.d.Sites = maps.Clone(e.d.Sites)
	e.d.Sites["blusec"] = "blueridge"
	e.d.Group.Spec.Replicas[0] = v1alpha1.Replica{Server: "blusec", AvailabilityMode: v1alpha1.SynchronousCommit}
	e.d.Group.Spec.Voters = []v1alpha1.SiteName{"blueridge", "quincy", "dublin"}
	e.done = nil
	return e
}

// A group needs the server on which it began no more than any other: it is replaced at another site, and everything
// that is done afterwards is done without it.
func TestTheFirstPrimaryIsReplacedAtAnotherSite(t *testing.T) {
	g := NewWithT(t)
	e := replaced(t, three())
	p := e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(e.d.Group.Spec.InitialPrimary).To(BeEquivalentTo("tukpub"), "it stays as it is")
	g.Expect(e.group.replicas).To(And(HaveLen(3), HaveKey("blusec-0"), Not(HaveKey("tukpub-0"))))
	g.Expect(e.servers["blusec"].mirroring.Databases).To(HaveKey("Content"))
	g.Expect(e.group.required).To(Equal(1))
	g.Expect(e.d.Group.Status.Voters).To(ConsistOf(HaveField("Site", "blueridge"), HaveField("Site", "quincy"),
		HaveField("Site", "dublin")))
	g.Expect(e.leases["blueridge"].InitialPrimary).To(BeEmpty(), "nobody begins with the vote of a group that exists")

	e.d.Group.Spec.Databases = append(e.d.Group.Spec.Databases, v1alpha1.Database{Name: "Orders"})
	e.d.Group.Spec.Listener = &v1alpha1.Listener{Name: "articles"}
	p = e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(e.group.databases).To(ConsistOf("Content", "Orders"))
	g.Expect(e.group.listeners).To(ConsistOf(HaveField("Name", "articles")))
	g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty())
}

// It can be made asynchronous like any other, too.
func TestTheFirstPrimaryBecomesAsynchronous(t *testing.T) {
	g := NewWithT(t)
	group := three()
	group.Spec.Replicas = append(group.Spec.Replicas,
		v1alpha1.Replica{Server: "dubcfg", AvailabilityMode: v1alpha1.SynchronousCommit})
	e := newEnviron(t, group)
	e.settle(everything)
	e.group.primary = "quisec"
	for _, r := range e.leases {
		r.Holder.Server, r.Term = host("quisec"), 2
	}
	e.d.Group.Spec.Replicas[0].AvailabilityMode = v1alpha1.AsynchronousCommit
	e.settle(everything)
	g.Expect(e.group.replicas["tukpub-0"].Mode).To(Equal("ASYNCHRONOUS_COMMIT"))
}

// Nobody is left to make a group whose first primary was taken away before it did; what is in the way is said, and
// nothing is made that would be in the way. With it, or with the group there, all goes on.
func TestAGroupThatNobodyIsLeftToMake(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.AvailabilityGroupSpec){
		"it is no replica": func(s *v1alpha1.AvailabilityGroupSpec) { s.Replicas[0].Server = "dubcfg" },
		"it is asynchronous": func(s *v1alpha1.AvailabilityGroupSpec) {
			s.Replicas[0].AvailabilityMode = v1alpha1.AsynchronousCommit
		},
		"it never was one": func(s *v1alpha1.AvailabilityGroupSpec) { s.InitialPrimary = "nobody" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, three())
			change(&e.d.Group.Spec)
			o := e.observe()
			p := plan(e.d, o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonInitialPrimaryNotDeclared))
			g.Expect(p.Outcome.Message).To(ContainSubstring(string(e.d.Group.Spec.InitialPrimary)))
			g.Expect(Preview(e.d, begin)).To(BeEmpty())
			alter(o, "quisec", func(i *Instance) { *i = Instance{Err: errSilent} })
			g.Expect(plan(e.d, o).Outcome.Reason).NotTo(Equal(v1alpha1.ReasonInitialPrimaryNotDeclared),
				"a server that does not answer may have the group")
		})
	}
}

// A server that was a replica may have the group when none that is declared has it: the group was made there, and
// nobody has written down so. Nothing is made beside it.
func TestAGroupThatAFormerReplicaHas(t *testing.T) {
	has := func(role string) func(*Instance) {
		return func(i *Instance) { i.Group = &mssql.Group{ID: "g", Role: role} }
	}
	for name, c := range map[string]struct {
		former func(*Instance)
		never  bool
		gone   bool
		reason string
		steps  bool
	}{
		"it has nothing":    {former: func(*Instance) {}, steps: true},
		"it has the group":  {former: has("RESOLVING"), reason: v1alpha1.ReasonPrimaryNotDeclared},
		"it is a secondary": {former: has("SECONDARY"), reason: v1alpha1.ReasonPrimaryNotDeclared},
		"it does not answer": {former: func(i *Instance) { i.Err = errSilent },
			reason: v1alpha1.ReasonReplicaNotAnswering},
		"it is being deleted and has never answered": {former: func(i *Instance) { i.Err = errSilent }, never: true,
			steps: true},
		"its site is lost": {former: func(i *Instance) { i.Err = fmt.Errorf("lost: %w", sites.ErrSiteLost) },
			steps: true},
		"its object is gone": {former: func(i *Instance) { i.Err = errSilent }, gone: true, steps: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, three())
			e.d.Group.Status.Replicas = []v1alpha1.ReplicaStatus{{Server: "dubcfg-0"}}
			// Its object says nothing of an engine: it may have been made anew.
			e.d.objects = map[v1alpha1.ServerName]*v1alpha1.SQLServer{"dubcfg": {}}
			e.d.NeverAnswered = map[v1alpha1.ServerName]bool{"dubcfg": c.never}
			if c.gone {
				e.d.Sites = maps.Clone(e.d.Sites)
				delete(e.d.Sites, "dubcfg")
			}
			o := e.observe()
			former := o.Instances["dubcfg"]
			c.former(&former)
			o.Instances["dubcfg"] = former
			p := plan(e.d, o)
			g.Expect(len(p.Steps) > 0).To(Equal(c.steps), p.Outcome.Message)
			if !c.steps {
				g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
				g.Expect(p.Outcome.Message).To(ContainSubstring("dubcfg"))
			}
			if c.reason == v1alpha1.ReasonReplicaNotAnswering {
				g.Expect(p.Outcome.Message).To(ContainSubstring("declared again, as Lost"),
					"an object of a silent site does not go")
			}
			if former.Group != nil {
				g.Expect(o.neverMade(e.d)).To(BeFalse(), "its deletion leaves nothing out")
			}
		})
	}
}

// What a former replica that has the group has of its databases is a copy, too.
func TestCopiesAtFormerReplicas(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, three())
	e.d.Group.Status.Replicas = []v1alpha1.ReplicaStatus{{Server: "dubcfg-0"}}
	o := e.observe()
	former := o.Instances["dubcfg"]
	former.Mirroring.Databases = map[string]mssql.Database{"Content": {Name: "Content"}}
	o.Instances["dubcfg"] = former
	g.Expect(o.copies(e.d, "Content")).To(BeEmpty(), "one of its own")
	former.Group = &mssql.Group{ID: "g"}
	o.Instances["dubcfg"] = former
	g.Expect(o.copies(e.d, "Content")).To(ConsistOf(v1alpha1.ServerName("dubcfg")))
}

// A listener without a declared address has that of its Service at the first primary's site, and at another replica's
// when that server is gone.
func TestTheListenersAddressWithoutTheFirstPrimary(t *testing.T) {
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	at := cutSites{members: map[v1alpha1.SiteName]*sites.Member{}}
	for site, ip := range map[v1alpha1.SiteName]string{"tukwila": "10.1.0.1", "quincy": "10.2.0.1", "dublin": "10.3.0.1"} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content",
			Labels: map[string]string{v1alpha1.LabelGroup: "content"}}, Spec: corev1.ServiceSpec{ClusterIP: ip}}
		at.members[site] = &sites.Member{Namespaces: []string{"web"},
			Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(service).Build()}
	}
	r := &Reconciler{sites: at, now: time.Now}
	address := func(d Desired) string {
		var o Observed
		r.observeListener(t.Context(), d, &o)
		return o.ListenerIP
	}
	d := Desired{Group: three(), Sites: maps.Clone(homes)}
	g.Expect(address(d)).To(Equal("10.1.0.1"))
	d.Group.Spec.Replicas = d.Group.Spec.Replicas[1:]
	delete(d.Sites, "tukpub")
	g.Expect(address(d)).To(Equal("10.2.0.1"))
}
