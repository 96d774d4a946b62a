// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
)

// registered tells that a subscription was registered, as far as its status knows.
func registered(s *v1alpha1.Subscription) bool { return s != nil && s.Status.Initialization != nil }

// published is a Publication by its name; one without fields while there is none, which has what fields have by
// default.
func (w *World) published(name v1alpha1.ObjectName) *v1alpha1.Publication {
	if p := w.Publications[string(name)]; p != nil {
		return p
	}
	return &v1alpha1.Publication{}
}

// ownMethod is what a Subscription says of its method for itself.
func ownMethod(s *v1alpha1.Subscription) v1alpha1.InitializationMethod {
	if s.Spec.Initialization == nil {
		return ""
	}
	return s.Spec.Initialization.Method
}

// lessCopies refuses a Subscription that is registered and would get no copies any more: nobody would bring one that is
// still to come, nor prove one that was kept. before is the world as it is, and old nil on creation.
func (w *World) lessCopies(at *field.Path, before *World, old, s *v1alpha1.Subscription) field.ErrorList {
	if !registered(old) || ownMethod(old) == ownMethod(s) ||
		!before.published(old.Spec.Publication).Copies(old) ||
		w.published(s.Spec.Publication).Copies(s) {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("initialization", "method"), ownMethod(s), fmt.Sprintf(
		"the Subscription is registered, and gets copies: allowed are %s, %s, %s and %s, of which none copies anything by "+
			"itself. To bring the data in another way delete it with reclaimPolicy Delete, and declare it again",
		v1alpha1.InitializeSnapshot, v1alpha1.InitializeCompressedSnapshot, v1alpha1.InitializeCompare,
		v1alpha1.InitializeManual))}
}

// lessCopiesOf refuses the same of a Publication, for the Subscriptions that say nothing for themselves.
func (w *World) lessCopiesOf(at *field.Path, before *World, old, p *v1alpha1.Publication) field.ErrorList {
	if old == nil || !old.Copies(nil) || p.Copies(nil) {
		return nil
	}
	for _, s := range sorted(w.Subscriptions) {
		if string(s.Spec.Publication) == p.Name && ownMethod(s) == "" && registered(before.Subscriptions[s.Name]) {
			const why = "Subscription %s is registered, and gets copies: let it have a method of its own, " +
				"spec.initialization {method: %s}, or keep %s, %s, %s or %s here"
			return field.ErrorList{field.Invalid(at.Child("initialization", "method"), p.Spec.InitializationMethod(),
				fmt.Sprintf(why, s.Name, v1alpha1.InitializeSnapshot, v1alpha1.InitializeSnapshot,
					v1alpha1.InitializeCompressedSnapshot, v1alpha1.InitializeCompare, v1alpha1.InitializeManual))}
		}
	}
	return nil
}

// retyped refuses another type of a Subscription that began with a backup: it takes a new copy, and a backup brings the
// first one alone. One that waits for that since it was stored may go back. before is the world as it is, and old nil
// on creation.
func (w *World) retyped(at *field.Path, before *World, old, s *v1alpha1.Subscription) field.ErrorList {
	push := func(s *v1alpha1.Subscription) bool { return s.Spec.Type == v1alpha1.SubscriptionPush }
	if !registered(old) || push(old) == push(s) ||
		w.published(s.Spec.Publication).InitializationOf(s) != v1alpha1.InitializeBackup || waitsForCopy(old) {
		return nil
	}
	if began := old.Status.Initialization.Method; began != v1alpha1.InitializeBackup &&
		before.published(old.Spec.Publication).InitializationOf(old) != v1alpha1.InitializeBackup {
		return nil
	}
	is := v1alpha1.SubscriptionPull
	if push(old) {
		is = v1alpha1.SubscriptionPush
	}
	return field.ErrorList{field.Invalid(at.Child("type"), s.Spec.Type, fmt.Sprintf(
		"the Subscription began with a backup, and another type takes a new copy, which a backup does not bring: allowed is "+
			"%s. To change it delete the Subscription with reclaimPolicy Delete and declare it again, with %s=true to begin "+
			"with a new backup; or let it have copies by snapshots, initialization.method %s, and ask for one",
		is, v1alpha1.AdoptAnnotation, v1alpha1.InitializeSnapshot))}
}

// waitsForCopy tells that a Subscription says that what is declared of it takes a new copy.
func waitsForCopy(s *v1alpha1.Subscription) bool {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonReinitializationNeeded
}

// oneThread warns of a profile that was stored with bulk copies beside each other, of which its agent makes none.
func (w *World) oneThread(s *v1alpha1.Subscription) admission.Warnings {
	p := w.Profiles[string(s.Spec.Profile)]
	if p == nil || p.Spec.Agent != v1alpha1.AgentDistribution || p.Spec.MaxBcpThreads == nil {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("%s: maxBcpThreads %d of AgentProfile %s has no effect: publications make "+
		"concurrent snapshots, of which one thread applies each; take it out there",
		top.Child("profile"), *p.Spec.MaxBcpThreads, p.Name)}
}

// fixedBatches warns of a profile that was stored with batches of the snapshot agent, which has its own.
func (w *World) fixedBatches(p *v1alpha1.Publication) admission.Warnings {
	x := w.Profiles[string(p.Spec.SnapshotProfile)]
	if x == nil || x.Spec.Agent != v1alpha1.AgentSnapshot || x.Spec.BcpBatchSize == nil {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("%s: bcpBatchSize %d of AgentProfile %s has no effect: the snapshot agent "+
		"writes rows in batches of 1000; take it out there", top.Child("snapshotProfile"), *x.Spec.BcpBatchSize, x.Name)}
}

// keepsCopy warns of what another method does with a Subscription that was registered without a copy, or with a backup:
// none is made by itself. before is the world as it is.
func (w *World) keepsCopy(at *field.Path, before *World, s *v1alpha1.Subscription) admission.Warnings {
	live := before.Subscriptions[s.Name]
	if live == nil || ownMethod(live) == ownMethod(s) || before.published(live.Spec.Publication).Copies(live) {
		return nil
	}
	was := before.published(live.Spec.Publication).InitializationOf(live)
	return w.newMethod(at, w.published(s.Spec.Publication), was, live, s)
}

// keepsCopies warns of the same where a Publication's method is another one, for each Subscription that says nothing
// for itself.
func (w *World) keepsCopies(at *field.Path, before *World, p *v1alpha1.Publication) (all admission.Warnings) {
	was := before.Publications[p.Name]
	if was == nil || was.Copies(nil) {
		return nil
	}
	for _, s := range sorted(before.Subscriptions) {
		if string(s.Spec.Publication) == p.Name && ownMethod(s) == "" {
			all = append(all, w.newMethod(at, p, was.InitializationOf(s), s, s)...)
		}
	}
	return all
}

// newMethod says what becomes of a Subscription that got no copies by the method that was, and would by another one,
// and what one costs.
func (w *World) newMethod(
	at *field.Path,
	p *v1alpha1.Publication,
	was v1alpha1.InitializationMethod,
	live, s *v1alpha1.Subscription,
) admission.Warnings {
	if !p.Copies(s) {
		return nil
	}
	at, cost := at.Child("initialization", "method"), w.price(p, s)
	if !registered(live) {
		before, then := "are what a person brings", "they come with a snapshot"
		if was == v1alpha1.InitializeBackup {
			before = "come with a backup"
		}
		if replication.Compares(p, s) {
			then = "they are kept where all are equal to the publisher's, and a snapshot replaces them otherwise"
		}
		return admission.Warnings{fmt.Sprintf("%s: the tables of Subscription %s, which is not registered yet, %s no more: "+
			"%s: %s", at, s.Name, before, then, cost)}
	}
	how, compared := "without a copy", "its tables"
	switch live.Status.Initialization.Method {
	case v1alpha1.InitializeReplicationSupportOnly:
	case v1alpha1.InitializeBackup:
		how, compared = "with a backup", "its tables of articles that came later"
	default:
		return nil
	}
	as := s.DeepCopy()
	as.Status.Initialization = live.Status.Initialization
	then := fmt.Sprintf("until somebody asks for a new copy by kubectl geosql reinitialize %s", s.Name)
	if replication.Agrees(p, as) {
		then = "unless they differ: a snapshot replaces them then"
	}
	return admission.Warnings{fmt.Sprintf("%s: Subscription %s is registered %s, and another method copies nothing by "+
		"itself: %s are compared with the publisher's, and are kept %s. A new copy costs %s",
		at, s.Name, how, compared, then, cost)}
}

// price of a Subscription's copy, with what is known of the Publication.
func (w *World) price(p *v1alpha1.Publication, s *v1alpha1.Subscription) string {
	var size *v1alpha1.CopySize
	if live := w.Publications[p.Name]; live != nil {
		size = live.Status.Size
	}
	sender, at := p.Spec.Publisher.Server, map[v1alpha1.ServerName]v1alpha1.SiteName{}
	if g := w.Groups[string(p.Spec.Publisher.AvailabilityGroup)]; g != nil {
		sender = replication.PrimaryOf(g)
	}
	var distributor v1alpha1.ServerName
	if d := w.Distributors[string(p.Spec.Distributor)]; d != nil {
		distributor = d.Spec.Server
	}
	for _, x := range w.Servers {
		at[v1alpha1.ServerName(x.Name)] = x.Spec.Site
	}
	var sites []v1alpha1.Site
	for _, x := range sorted(w.Sites) {
		sites = append(sites, *x)
	}
	route := replication.RouteOf(at, sites, sender, distributor, s.Spec.Subscriber.Server)
	return replication.PriceTo(p, s, size, len(p.Spec.Articles), route)
}
