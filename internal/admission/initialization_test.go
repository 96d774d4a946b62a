// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

const noMethod v1alpha1.InitializationMethod = ""

func by(method v1alpha1.InitializationMethod) *v1alpha1.Initialization {
	if method == noMethod {
		return nil
	}
	return &v1alpha1.Initialization{Method: method}
}

// Of a subscription that is registered, and gets copies, none is refused; any other change is let through.
func TestAnotherMethodOfARegisteredSubscription(t *testing.T) {
	const snapshot, none = v1alpha1.InitializeSnapshot, v1alpha1.InitializeReplicationSupportOnly
	const compare v1alpha1.InitializationMethod = v1alpha1.InitializeCompare
	type methods struct{ published, subscribed v1alpha1.InitializationMethod }
	for name, c := range map[string]struct {
		before, after methods
		unregistered  bool
		// subscription and publication are the changes that are refused, warned what is warned of the former.
		subscription, publication bool
		warned                    string
	}{
		"no copy any more":             {before: methods{"", snapshot}, after: methods{"", none}, subscription: true},
		"nothing was said":             {before: methods{}, after: methods{"", none}, subscription: true},
		"the Publication copies none":  {before: methods{none, compare}, after: methods{none, ""}, subscription: true},
		"before it is registered":      {before: methods{}, after: methods{"", none}, unregistered: true},
		"none was copied before":       {before: methods{none, ""}, after: methods{none, none}},
		"a comparison":                 {before: methods{"", snapshot}, after: methods{"", compare}},
		"the whole Publication":        {before: methods{}, after: methods{none, ""}, publication: true},
		"not of this Subscription":     {before: methods{"", snapshot}, after: methods{none, snapshot}},
		"both at once":                 {before: methods{}, after: methods{none, snapshot}},
		"the Publication, none before": {before: methods{}, after: methods{none, ""}, unregistered: true},
		"a copy after all": {before: methods{none, ""}, after: methods{none, snapshot},
			warned: "until somebody asks for a new copy by kubectl geosql reinitialize"},
		"a comparison after all": {before: methods{none, ""}, after: methods{none, compare}, warned: "unless they differ"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			world := func(m methods, live bool) (*World, *v1alpha1.Publication, *v1alpha1.Subscription) {
				w, p, s := NewWorld(), &v1alpha1.Publication{}, &v1alpha1.Subscription{}
				p.Name, s.Name, s.Spec.Publication = "articles", "dublin", "articles"
				p.Spec.Initialization, s.Spec.Initialization = by(m.published), by(m.subscribed)
				if live && !c.unregistered {
					s.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: snapshot}
					if m.subscribed == none || m.subscribed == noMethod && m.published == none {
						s.Status.Initialization.Method = none
					}
				}
				w.Publications[p.Name], w.Subscriptions[s.Name] = p, s
				return w, p, s
			}
			before, was, old := world(c.before, true)
			after, p, s := world(c.after, false)
			refused, whole := after.lessCopies(top, before, old, s), after.lessCopiesOf(top, before, was, p)
			if c.subscription {
				g.Expect(refused).To(HaveExactElements(HaveField("Field", "spec.initialization.method")))
				g.Expect(refused.ToAggregate().Error()).
					To(ContainSubstring("allowed are Snapshot, CompressedSnapshot, Compare and Manual"))
			} else {
				g.Expect(refused).To(BeEmpty())
			}
			if c.publication {
				g.Expect(whole).To(HaveExactElements(HaveField("Field", "spec.initialization.method")))
				g.Expect(whole.ToAggregate().Error()).To(ContainSubstring("Subscription dublin is registered"))
			} else {
				g.Expect(whole).To(BeEmpty())
			}
			g.Expect(after.lessCopies(top, before, nil, s)).To(BeEmpty(), "a new one")
			g.Expect(after.lessCopiesOf(top, before, nil, p)).To(BeEmpty(), "a new one")
			before.Publications[p.Name] = p
			if c.warned != "" {
				g.Expect(before.keepsCopy(top, before, s)).To(HaveExactElements(And(HavePrefix("spec.initialization.method"),
					ContainSubstring(c.warned))))
			} else {
				g.Expect(before.keepsCopy(top, before, s)).To(BeEmpty())
			}
		})
	}
}

// Whoever edits the method of a Publication is told what becomes of each Subscription that follows it, and what a copy
// costs: what a person has brought stays until somebody agrees, of the Subscription itself.
func TestAnotherMethodOfAPublicationThatCopiedNothing(t *testing.T) {
	const asked = "are kept until somebody asks for a new copy by kubectl geosql reinitialize dublin. A new copy costs " +
		"12 rows, 4.0 KiB, from site tukwila to dublin (round trip not declared, 1Gbit)"
	const differ = "are kept unless they differ: a snapshot replaces them then. A new copy costs 12 rows, 4.0 KiB"
	for name, c := range map[string]struct {
		method v1alpha1.InitializationMethod
		change func(*World, *v1alpha1.Publication, *v1alpha1.Subscription)
		warned string
	}{
		"a comparison": {v1alpha1.InitializeCompare, nil, asked},
		"a snapshot":   {v1alpha1.InitializeSnapshot, nil, asked},
		"still none":   {v1alpha1.InitializeReplicationSupportOnly, nil, ""},
		"a comparison, and the policy agrees": {v1alpha1.InitializeCompare,
			func(_ *World, p *v1alpha1.Publication, _ *v1alpha1.Subscription) {
				p.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			}, differ},
		"a Subscription with a word of its own": {v1alpha1.InitializeCompare,
			func(_ *World, _ *v1alpha1.Publication, s *v1alpha1.Subscription) {
				s.Spec.Initialization = by(v1alpha1.InitializeReplicationSupportOnly)
			}, ""},
		"of another Publication": {v1alpha1.InitializeCompare,
			func(_ *World, _ *v1alpha1.Publication, s *v1alpha1.Subscription) { s.Spec.Publication = "others" }, ""},
		"one that is not registered, compared": {v1alpha1.InitializeCompare,
			func(_ *World, _ *v1alpha1.Publication, s *v1alpha1.Subscription) { s.Status.Initialization = nil },
			"dublin, which is not registered yet, are what a person brings no more: they are kept where all are equal to the " +
				"publisher's, and a snapshot replaces them otherwise: 12 rows, 4.0 KiB"},
		"one that is not registered, copied": {v1alpha1.InitializeSnapshot,
			func(_ *World, _ *v1alpha1.Publication, s *v1alpha1.Subscription) { s.Status.Initialization = nil },
			"no more: they come with a snapshot: 12 rows"},
		"one that began with a backup": {v1alpha1.InitializeCompare,
			func(w *World, _ *v1alpha1.Publication, s *v1alpha1.Subscription) {
				w.Publications["articles"].Spec.Initialization = by(v1alpha1.InitializeBackup)
				s.Status.Initialization.Method = v1alpha1.InitializeBackup
			}, "dublin is registered with a backup, and another method copies nothing by itself: its tables of articles that " +
				"came later are compared with the publisher's, and are kept until somebody asks for a new copy"},
		"one that was to begin with a backup": {v1alpha1.InitializeCompare,
			func(w *World, _ *v1alpha1.Publication, s *v1alpha1.Subscription) {
				w.Publications["articles"].Spec.Initialization = by(v1alpha1.InitializeBackup)
				s.Status.Initialization = nil
			}, "dublin, which is not registered yet, come with a backup no more: they are kept where all are equal"},
		"a new Publication": {v1alpha1.InitializeCompare,
			func(w *World, _ *v1alpha1.Publication, _ *v1alpha1.Subscription) { clear(w.Publications) }, ""},
		"one that copied before": {v1alpha1.InitializeCompare,
			func(w *World, _ *v1alpha1.Publication, _ *v1alpha1.Subscription) {
				w.Publications["articles"].Spec.Initialization = nil
			}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := placed()
			live := &v1alpha1.Publication{Status: v1alpha1.PublicationStatus{
				Size: &v1alpha1.CopySize{Rows: 12, Bytes: 4096}}}
			live.Name, live.Spec.Publisher.Server, live.Spec.Distributor = "articles", "pub", "main"
			live.Spec.Initialization = by(v1alpha1.InitializeReplicationSupportOnly)
			s := &v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{Publication: "articles",
				Subscriber: v1alpha1.ServerOrGroup{Server: "sub"}}}
			s.Name = "dublin"
			s.Status.Initialization = &v1alpha1.SubscriptionInitialization{
				Method: v1alpha1.InitializeReplicationSupportOnly}
			p := live.DeepCopy()
			p.Spec.Initialization = by(c.method)
			w.Publications["articles"], w.Subscriptions["dublin"] = live, s
			if c.change != nil {
				c.change(w, p, s)
			}
			warned := w.keepsCopies(top, w, p)
			if c.warned == "" {
				g.Expect(warned).To(BeEmpty())
				return
			}
			g.Expect(warned).To(HaveExactElements(And(HavePrefix("spec.initialization.method: "), ContainSubstring(c.warned))))
			g.Expect(warnPublication(w, p)).To(ContainElement(warned[0]))
		})
	}
}

// A Topology tells the same of the Publications and Subscriptions that it declares.
func TestAnotherMethodOfAPublicationOfATopology(t *testing.T) {
	g := NewWithT(t)
	w := placed()
	live, s := &v1alpha1.Publication{}, &v1alpha1.Subscription{}
	live.Name, live.Spec.Initialization = "articles", by(v1alpha1.InitializeReplicationSupportOnly)
	s.Name, s.Spec.Publication = "dublin", "articles"
	s.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: v1alpha1.InitializeReplicationSupportOnly}
	w.Publications["articles"], w.Subscriptions["dublin"] = live, s
	t1 := &v1alpha1.Topology{Spec: v1alpha1.TopologySpec{
		Servers:      []v1alpha1.TopologyServer{{Name: "a", SQLServerSpec: *limited("engine:1")}},
		Publications: []v1alpha1.TopologyPublication{{Name: "articles"}},
	}}
	t1.Spec.Publications[0].Initialization = by(v1alpha1.InitializeCompare)
	g.Expect(warnTopology(w, t1)).To(ContainElement(HavePrefix(
		"spec.publications[0].initialization.method: Subscription dublin is registered without a copy")))
	t1.Spec.Publications[0].Initialization = by(v1alpha1.InitializeReplicationSupportOnly)
	t1.Spec.Subscriptions = []v1alpha1.TopologySubscription{{Name: "dublin"}}
	t1.Spec.Subscriptions[0].Publication = "articles"
	t1.Spec.Subscriptions[0].Initialization = by(v1alpha1.InitializeCompare)
	g.Expect(warnTopology(w, t1)).To(ContainElement(And(HavePrefix(
		"spec.subscriptions[0].initialization.method: Subscription dublin"), ContainSubstring("unless they differ"))))
}

// placed is a world with a publisher and a distributor at one site, and a subscriber at another.
func placed() *World {
	w := NewWorld()
	for name, site := range map[string]v1alpha1.SiteName{"pub": "tukwila", "dist": "tukwila", "sub": "dublin"} {
		s := &v1alpha1.SQLServer{}
		s.Name, s.Spec.Site = name, site
		w.Servers[name] = s
	}
	site := &v1alpha1.Site{Spec: v1alpha1.SiteSpec{Links: []v1alpha1.SiteLink{{To: "dublin", Bandwidth: "1Gbit"}}}}
	site.Name = "tukwila"
	w.Sites["tukwila"] = site
	d := &v1alpha1.Distributor{Spec: v1alpha1.DistributorSpec{Server: "dist"}}
	d.Name = "main"
	w.Distributors["main"] = d
	return w
}

// A profile that was stored before bulk copies of its agent were refused is warned of where it is used.
func TestBulkCopiesThatHaveNoEffect(t *testing.T) {
	g := NewWithT(t)
	w, s := NewWorld(), &v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{Profile: "wan"}}
	wan := &v1alpha1.AgentProfile{Spec: v1alpha1.AgentProfileSpec{Agent: v1alpha1.AgentDistribution}}
	wan.Name = "wan"
	g.Expect(w.oneThread(s)).To(BeEmpty(), "it is not there yet")
	w.Profiles["wan"] = wan
	g.Expect(w.oneThread(s)).To(BeEmpty())
	wan.Spec.MaxBcpThreads = ptr.To[int32](4)
	g.Expect(warnSubscription(w, s)).To(ContainElement(HavePrefix(
		"spec.profile: maxBcpThreads 4 of AgentProfile wan has no effect")))
}

// A profile that was stored with batches of the snapshot agent is warned of where it is used.
func TestBatchesThatHaveNoEffect(t *testing.T) {
	g := NewWithT(t)
	w, p := NewWorld(), &v1alpha1.Publication{Spec: v1alpha1.PublicationSpec{SnapshotProfile: "wan"}}
	wan := &v1alpha1.AgentProfile{Spec: v1alpha1.AgentProfileSpec{Agent: v1alpha1.AgentSnapshot}}
	wan.Name = "wan"
	g.Expect(w.fixedBatches(p)).To(BeEmpty(), "it is not there yet")
	w.Profiles["wan"] = wan
	g.Expect(w.fixedBatches(p)).To(BeEmpty())
	wan.Spec.BcpBatchSize = ptr.To[int32](500)
	g.Expect(warnPublication(w, p)).To(ContainElement(HavePrefix(
		"spec.snapshotProfile: bcpBatchSize 500 of AgentProfile wan has no effect")))
}

// Another type of a Subscription that began with a backup is refused: it takes a copy that a backup does not bring.
func TestAnotherTypeOfASubscriptionThatBeganWithABackup(t *testing.T) {
	const pull, push = v1alpha1.SubscriptionPull, v1alpha1.SubscriptionPush
	const snapshot, backup = v1alpha1.InitializeSnapshot, v1alpha1.InitializeBackup
	for name, c := range map[string]struct {
		was, is v1alpha1.SubscriptionType
		change  func(p *v1alpha1.Publication, old, s *v1alpha1.Subscription)
		allowed string
	}{
		"push":                   {pull, push, nil, "allowed is Pull"},
		"push, nothing was said": {"", push, nil, "allowed is Pull"},
		"pull":                   {push, pull, nil, "allowed is Push"},
		"pull, nothing is said":  {push, "", nil, "allowed is Push"},
		"the same":               {pull, "", nil, ""},
		"adopted": {pull, push, func(_ *v1alpha1.Publication, _, s *v1alpha1.Subscription) {
			s.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			s.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
		}, "allowed is Pull"},
		"as the Publication says": {pull, push, func(p *v1alpha1.Publication, old, s *v1alpha1.Subscription) {
			p.Spec.Initialization, old.Spec.Initialization, s.Spec.Initialization = by(backup), nil, nil
		}, "allowed is Pull"},
		"it was found registered": {pull, push, func(_ *v1alpha1.Publication, old, _ *v1alpha1.Subscription) {
			old.Status.Initialization.Method = v1alpha1.InitializeReplicationSupportOnly
		}, "allowed is Pull"},
		"before it is registered": {pull, push, func(_ *v1alpha1.Publication, old, _ *v1alpha1.Subscription) {
			old.Status.Initialization = nil
		}, ""},
		"snapshots from now on": {pull, push, func(_ *v1alpha1.Publication, _, s *v1alpha1.Subscription) {
			s.Spec.Initialization = by(snapshot)
		}, ""},
		"it began with a snapshot": {pull, push, func(_ *v1alpha1.Publication, old, s *v1alpha1.Subscription) {
			old.Status.Initialization.Method, old.Spec.Initialization, s.Spec.Initialization = snapshot, nil, nil
		}, ""},
		"back, of what waits for a copy": {push, pull, func(_ *v1alpha1.Publication, old, _ *v1alpha1.Subscription) {
			old.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady,
				Reason: v1alpha1.ReasonReinitializationNeeded}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, p, s := NewWorld(), &v1alpha1.Publication{}, &v1alpha1.Subscription{}
			p.Name, s.Name, s.Spec.Publication, s.Spec.Initialization = "articles", "dublin", "articles", by(backup)
			s.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: backup}
			old := s.DeepCopy()
			old.Spec.Type, s.Spec.Type = c.was, c.is
			if c.change != nil {
				c.change(p, old, s)
			}
			w.Publications[p.Name], w.Subscriptions[s.Name] = p, old
			refused := w.retyped(top, w, old, s)
			if c.allowed == "" {
				g.Expect(refused).To(BeEmpty())
			} else {
				g.Expect(refused).To(HaveExactElements(HaveField("Field", "spec.type")))
				g.Expect(refused.ToAggregate().Error()).To(ContainSubstring(c.allowed))
			}
			g.Expect(w.retyped(top, w, nil, s)).To(BeEmpty(), "a new one")
		})
	}
}
