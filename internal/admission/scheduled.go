// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// promises tells that a Subscription has an objective of latency.
func promises(s *v1alpha1.Subscription) bool {
	return s.Spec.Objectives != nil && s.Spec.Objectives.Latency != nil
}

// scheduled refuses a schedule that nobody can read, and a Publication that is copied by one while a Subscription to it
// promises how soon a row arrives.
func (w *World) scheduled(at *field.Path, p *v1alpha1.Publication) field.ErrorList {
	if !p.Spec.Scheduled() {
		return nil
	}
	errs := times(at, p.Spec.Schedule, p.Spec.TimeZone)
	for _, s := range sorted(w.Subscriptions) {
		if string(s.Spec.Publication) == p.Name && promises(s) {
			errs = append(errs, field.Invalid(at.Child("type"), p.Spec.Type, fmt.Sprintf(
				"Subscription %s has objectives.latency, and nothing is streamed by type Snapshot: take it out there first",
				s.Name)))
		}
	}
	return errs
}

// unscheduled refuses an objective of latency for what is copied by a schedule.
func (w *World) unscheduled(at *field.Path, s *v1alpha1.Subscription) field.ErrorList {
	p := w.Publications[string(s.Spec.Publication)]
	if p == nil || !p.Spec.Scheduled() || !promises(s) {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("objectives", "latency"), s.Spec.Objectives.Latency.Duration.String(),
		fmt.Sprintf("Publication %s is of type Snapshot, which streams nothing: its schedule says how old a copy may be, "+
			"and the objective is left out", p.Name))}
}
