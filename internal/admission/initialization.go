// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
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
		"the Subscription is registered, and gets copies: allowed are %s and %s, of which neither copies anything by "+
			"itself. To bring the data in another way delete it with reclaimPolicy Delete, and declare it again",
		v1alpha1.InitializeSnapshot, v1alpha1.InitializeCompare))}
}

// lessCopiesOf refuses the same of a Publication, for the Subscriptions that say nothing for themselves.
func (w *World) lessCopiesOf(at *field.Path, before *World, old, p *v1alpha1.Publication) field.ErrorList {
	if old == nil || !old.Copies(nil) || p.Copies(nil) {
		return nil
	}
	for _, s := range sorted(w.Subscriptions) {
		if string(s.Spec.Publication) == p.Name && ownMethod(s) == "" && registered(before.Subscriptions[s.Name]) {
			const why = "Subscription %s is registered, and gets copies: let it have a method of its own, " +
				"spec.initialization {method: %s}, or keep %s or %s here"
			return field.ErrorList{field.Invalid(at.Child("initialization", "method"), p.Spec.InitializationMethod(),
				fmt.Sprintf(why, s.Name, v1alpha1.InitializeSnapshot, v1alpha1.InitializeSnapshot,
					v1alpha1.InitializeCompare))}
		}
	}
	return nil
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

// keepsCopy warns that a Subscription which was registered without a copy gets none by another method.
func (w *World) keepsCopy(s *v1alpha1.Subscription) admission.Warnings {
	live := w.Subscriptions[s.Name]
	if !registered(live) || live.Status.Initialization.Method != v1alpha1.InitializeReplicationSupportOnly ||
		w.published(s.Spec.Publication).Copies(live) ||
		!w.published(s.Spec.Publication).Copies(s) {
		return nil
	}
	then := "until somebody asks for a new copy by kubectl geosql reinitialize"
	if ownMethod(s) == v1alpha1.InitializeCompare {
		then = "unless they differ"
	}
	return admission.Warnings{fmt.Sprintf("%s: the Subscription is registered without a copy, and another method copies "+
		"nothing by itself: its tables are compared with the publisher's, and are kept %s",
		top.Child("initialization", "method"), then)}
}
