// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
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
				g.Expect(refused.ToAggregate().Error()).To(ContainSubstring("allowed are Snapshot and Compare"))
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
				g.Expect(before.keepsCopy(s)).To(HaveExactElements(And(HavePrefix("spec.initialization.method"),
					ContainSubstring(c.warned))))
			} else {
				g.Expect(before.keepsCopy(s)).To(BeEmpty())
			}
		})
	}
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
