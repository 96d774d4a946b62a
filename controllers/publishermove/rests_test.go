// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// A move rests with its Publication, between any two steps; one that is over is a record.
func TestAMoveRestsWithItsPublication(t *testing.T) {
	for name, c := range map[string]struct {
		suspended, whole, absent bool
		deleted                  bool
		phase                    v1alpha1.PublisherMovePhase
		why                      string
	}{
		"the Publication goes on": {},
		"it is suspended":         {suspended: true, why: "Publication articles is suspended (spec.suspend is true)"},
		"its Topology is": {whole: true,
			why: "Publication articles is suspended (spec.suspend of Topology msdn is true)"},
		"while it moves": {suspended: true, phase: v1alpha1.MoveSwitching,
			why: "Publication articles is suspended (spec.suspend is true)"},
		"when it has moved":     {suspended: true, phase: v1alpha1.MoveCompleted},
		"there is none yet":     {absent: true},
		"when it is taken back": {suspended: true, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			objects := []client.Object{&v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"},
				Spec: v1alpha1.TopologySpec{Suspend: c.whole}}}
			if !c.absent {
				objects = append(objects, &v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Namespace: "web",
					Name: "articles", Labels: map[string]string{v1alpha1.LabelTopology: "msdn"}},
					Spec: v1alpha1.PublicationSpec{Suspend: c.suspended}})
			}
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
			move := &v1alpha1.PublisherMove{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "m"},
				Spec:   v1alpha1.PublisherMoveSpec{Publication: "articles"},
				Status: v1alpha1.PublisherMoveStatus{Phase: c.phase}}
			if c.deleted {
				move.DeletionTimestamp = &metav1.Time{Time: noon}
			}
			why, err := r.rests(t.Context(), move)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(why).To(Equal(c.why))
		})
	}
}

// A move waits for whatever it takes steps at: Subscriptions, both Distributors, and their servers and the next
// publisher's. What it takes none at holds up nothing.
func TestAMoveWaitsForWhatItTakesStepsAt(t *testing.T) {
	const own = " is suspended (spec.suspend is true)"
	is := func(name string) func(client.Object) bool {
		return func(o client.Object) bool { return o.GetName() == name }
	}
	switched := func(m *v1alpha1.PublisherMove, p *v1alpha1.Publication) {
		p.Spec.MovedBy, p.Spec.Distributor = v1alpha1.ObjectName(m.Name), "far"
	}
	for name, c := range map[string]struct {
		suspended func(client.Object) bool
		change    func(*v1alpha1.PublisherMove, *v1alpha1.Publication)
		lost      v1alpha1.SiteName
		why       string
	}{
		"nothing is suspended":            {suspended: is("")},
		"the new publisher's copy":        {suspended: is("dublin"), why: "Subscription dublin" + own},
		"another subscriber's":            {suspended: is("quincy"), why: "Subscription quincy" + own},
		"that of another publication":     {suspended: is("beside")},
		"the next publisher":              {suspended: is("dubsub"), why: "SQLServer dubsub" + own},
		"the next Distributor":            {suspended: is("far"), why: "Distributor far" + own},
		"the next Distributor's server":   {suspended: is("fardist"), why: "SQLServer fardist" + own},
		"the former Distributor":          {suspended: is("main"), why: "Distributor main" + own},
		"the former Distributor's server": {suspended: is("dist"), why: "SQLServer dist" + own},
		"one whose Site is lost":          {suspended: is("main"), lost: "tukwila"},
		"one that is fenced": {suspended: is("main"), change: func(m *v1alpha1.PublisherMove, _ *v1alpha1.Publication) {
			m.Spec.FencedServers = append(m.Spec.FencedServers, "dist")
		}},
		"once nothing is done there": {suspended: is("main"), change: switched},
		"the Subscriptions after that": {suspended: is("quincy"), change: switched,
			why: "Subscription quincy" + own},
		"the former publisher, of which it only reads": {suspended: is("tukpub")},
		"their Topology": {suspended: is("msdn"), why: "Publication articles, Subscription dublin, Subscription quincy " +
			"are suspended (spec.suspend of Topology msdn is true)"},
		"several": {suspended: func(o client.Object) bool { return o.GetName() == "far" || o.GetName() == "dubsub" },
			why: "Distributor far, SQLServer dubsub are suspended (spec.suspend is true)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			d, _ := lostSite()
			d.Move.Status = v1alpha1.PublisherMoveStatus{From: d.Move.Status.From, FromDatabase: "Content",
				FromDistributor: "main"}
			if c.change != nil {
				c.change(d.Move, d.Publication)
			}
			meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
			of := map[string]string{v1alpha1.LabelTopology: "msdn"}
			d.Publication.Labels = of
			beside := subscriptionOf("beside", "quisub")
			beside.Spec.Publication = "other"
			objects := []client.Object{d.Publication, &beside, &v1alpha1.Topology{ObjectMeta: meta("msdn")},
				&v1alpha1.Distributor{ObjectMeta: meta("main"), Spec: v1alpha1.DistributorSpec{Server: "dist"}},
				&v1alpha1.Distributor{ObjectMeta: meta("far"), Spec: v1alpha1.DistributorSpec{Server: "fardist"}}}
			for i := range d.Subscriptions {
				d.Subscriptions[i].Labels = of
				objects = append(objects, &d.Subscriptions[i])
			}
			for server, site := range map[string]v1alpha1.SiteName{"dubsub": "dublin", "fardist": "farpoint", "dist": "tukwila",
				"tukpub": "tukwila"} {
				s := &v1alpha1.SQLServer{ObjectMeta: meta(server)}
				s.Spec.Site = site
				objects = append(objects, s)
			}
			for _, o := range objects {
				if c.suspended(o) {
					suspend(o)
				}
			}
			for _, site := range []v1alpha1.SiteName{"dublin", "farpoint", "tukwila"} {
				s := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: string(site)}}
				if site == c.lost {
					s.Spec.Lifecycle = v1alpha1.SiteLost
				}
				objects = append(objects, s)
			}
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
			g.Expect(r.rests(t.Context(), d.Move)).To(Equal(c.why))
		})
	}
}

// suspend sets spec.suspend of an object.
func suspend(o client.Object) {
	reflect.ValueOf(o).Elem().FieldByName("Spec").FieldByName("Suspend").SetBool(true)
}
