// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// needless says why nobody need bring, or pack, the files of a Subscription's snapshots; empty where that has a use, or
// is not asked for.
func (w *World) needless(p *v1alpha1.Publication, s *v1alpha1.Subscription) string {
	if p == nil || p.Brought(s) == "" && !p.Packs(s) {
		return ""
	}
	if s.Spec.Type == v1alpha1.SubscriptionPush && s.Spec.AgentAt != v1alpha1.AgentAtSubscriber {
		return fmt.Sprintf("the agent of Subscription %s runs at the distributor", s.Name)
	}
	d := w.Distributors[string(p.Spec.Distributor)]
	if d != nil && d.Spec.Server == s.Spec.Subscriber.Server {
		return fmt.Sprintf("Subscription %s is at %s, which is the distributor", s.Name, d.Spec.Server)
	}
	return ""
}

// broughtFor refuses a Subscription to which files would be brought, or packed, that its agent has already.
func (w *World) broughtFor(at *field.Path, s *v1alpha1.Subscription) field.ErrorList {
	p := w.Publications[string(s.Spec.Publication)]
	why := w.needless(p, s)
	if why == "" {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("initialization", "method"), p.InitializationOf(s), fmt.Sprintf(
		"%s, which has the files of snapshots: allowed are %s, %s, %s and %s, and the others for an agent elsewhere",
		why, v1alpha1.InitializeSnapshot, v1alpha1.InitializeCompare, v1alpha1.InitializeBackup,
		v1alpha1.InitializeReplicationSupportOnly))}
}

// broughtForAll refuses the same of a Publication, for the Subscriptions that say nothing for themselves.
func (w *World) broughtForAll(at *field.Path, p *v1alpha1.Publication) field.ErrorList {
	for _, s := range sorted(w.Subscriptions) {
		if string(s.Spec.Publication) != p.Name || ownMethod(s) != "" {
			continue
		}
		if why := w.needless(p, s); why != "" {
			return field.ErrorList{field.Invalid(at.Child("initialization", "method"), p.Spec.InitializationMethod(),
				fmt.Sprintf("%s, which has the files of snapshots: let it have a method of its own, spec.initialization "+
					"{method: %s}", why, v1alpha1.InitializeSnapshot))}
		}
	}
	return nil
}
