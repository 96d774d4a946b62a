// SPDX-License-Identifier: Apache-2.0

package names

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
)

// A suspended group keeps the listener that it declared before, which leads where its listener of now does, at a site
// whose own process keeps the names as from the manager; it goes once the group is suspended no more, or is deleted.
func TestASuspendedGroupKeepsItsFormerListener(t *testing.T) {
	g := NewWithT(t)
	labels := ownLabels("web", v1alpha1.LabelGroup, "content")
	group := &groupView{namespace: "web", name: "content", listener: v1alpha1.Listener{Name: "content", Port: 1433},
		primary: view("tukwila", "10.101.0.7"), readable: []*serverView{view("quincy", "10.102.0.5")}}
	has := cluster{}
	do := func(suspended bool) {
		steps, conflicts := planOf(suspended, "dublin", groupNames(group, "dublin"), labels, has)
		g.Expect(conflicts).To(BeEmpty())
		has.carryOut(steps, len(steps))
		again, _ := planOf(suspended, "dublin", groupNames(group, "dublin"), labels, has)
		g.Expect(again).To(BeEmpty())
	}
	do(false)
	group.listener.Name = "renamed"
	do(true)
	group.primary, group.readable = view("quincy", "10.102.0.5"), []*serverView{view("tukwila", "10.101.0.7")}
	do(true)
	for _, name := range []string{"content", "renamed"} {
		g.Expect(has.leads(name)).To(Equal([]string{"10.102.0.5:1433"}), name)
		g.Expect(has.leads(name+readOnlySuffix)).To(Equal([]string{"10.101.0.7:1433"}), name)
	}
	do(false)
	g.Expect(has["content"].service).To(BeNil())
	g.Expect(has.leads("renamed")).To(Equal([]string{"10.102.0.5:1433"}))
}

// What a suspended server has is kept, unless the object itself is gone but for its names.
func TestASuspendedServerKeepsItsNames(t *testing.T) {
	labels := ownLabels("web", v1alpha1.LabelServer, "tukpub")
	server := view("tukwila", "10.101.0.7")
	server.exposure = v1alpha1.ExposureNodePort
	for what, c := range map[string]struct{ suspended, goes, kept bool }{
		"suspended":          {suspended: true, kept: true},
		"not suspended":      {},
		"suspended and gone": {suspended: true, goes: true},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			has := cluster{}
			steps, _ := plan("tukwila", serverNames("web", server, "tukwila"), labels, has)
			has.carryOut(steps, len(steps))
			g.Expect(has).To(HaveLen(2), "the nodes have a port, too")
			w := Observed{Desired: tukpub(), suspended: c.suspended,
				views: []*siteView{{name: "tukwila", member: &sites.Member{}, has: has}}}
			if !c.goes {
				w.names = func(at v1alpha1.SiteName) []name { return serverNames("web", view("tukwila", "10.101.0.7"), at) }
			}
			g.Expect(len(planNames(w.Desired, w).Steps) == 0).To(Equal(c.kept))
		})
	}
}

// Sites are told what is suspended, by itself or by its Topology: their own processes keep its names, too.
func TestSitesAreToldWhatIsSuspended(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	meta := func(name, topology string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "web", Name: name, Finalizers: []string{Finalizer},
			Labels: map[string]string{v1alpha1.LabelTopology: topology}}
	}
	topology := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"}}
	topology.Spec.Suspend = true
	suspended := &v1alpha1.SQLServer{ObjectMeta: meta("tukpub", "")}
	runs := &v1alpha1.SQLServer{ObjectMeta: meta("quisec", "")}
	suspended.Spec.Suspend = true
	fresh := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dubsub"}}
	fresh.Spec.Suspend = true
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: meta("content", "msdn")}
	d := declarer{&reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(topology).Build()}}
	told := declaration{Names: orders.Names{Servers: []orders.NamedServer{{Name: "tukpub"}, {Name: "quisec"}},
		Groups: []orders.NamedGroup{{Name: "content"}}}}
	g.Expect(d.rests(t.Context(), []client.Object{suspended, runs, fresh, group}, &told)).To(Succeed())
	g.Expect(told.Servers).To(Equal([]orders.NamedServer{{Name: "tukpub", Suspended: true}, {Name: "quisec"}}))
	g.Expect(told.Groups).To(Equal([]orders.NamedGroup{{Name: "content", Suspended: true}}))
	g.Expect(told.resting).To(Equal([]string{orders.ServerKey("dubsub")}))
}
