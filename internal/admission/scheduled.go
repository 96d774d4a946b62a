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

// keeps tells that a Subscription asks for a method that keeps what the subscriber has, or has a person bring it.
func keeps(s *v1alpha1.Subscription) bool {
	i := s.Spec.Initialization
	return i != nil && i.Method != "" && i.Method != v1alpha1.InitializeSnapshot &&
		i.Method != v1alpha1.InitializeCompressedSnapshot
}

// scheduled refuses a schedule that nobody can read, and a Publication that is copied by one while a Subscription to it
// promises how soon a row arrives, or is to keep what the subscriber has.
func (w *World) scheduled(at *field.Path, p *v1alpha1.Publication) field.ErrorList {
	if !p.Spec.Scheduled() {
		return nil
	}
	errs := times(at, p.Spec.Schedule, p.Spec.TimeZone)
	for _, s := range sorted(w.Subscriptions) {
		if string(s.Spec.Publication) != p.Name {
			continue
		}
		if promises(s) {
			errs = append(errs, field.Invalid(at.Child("type"), p.Spec.Type, fmt.Sprintf(
				"Subscription %s has objectives.latency, and nothing is streamed by type Snapshot: take it out there first",
				s.Name)))
		}
		if keeps(s) {
			errs = append(errs, field.Invalid(at.Child("type"), p.Spec.Type, fmt.Sprintf(
				"Subscription %s has initialization.method %s, and each snapshot of type Snapshot replaces what is there: take "+
					"it out there first", s.Name, s.Spec.Initialization.Method)))
		}
	}
	return errs
}

// unscheduled refuses what a copy by a schedule cannot have: an objective of latency, and a method that keeps what the
// subscriber has.
func (w *World) unscheduled(at *field.Path, s *v1alpha1.Subscription) (errs field.ErrorList) {
	p := w.Publications[string(s.Spec.Publication)]
	if p == nil || !p.Spec.Scheduled() {
		return nil
	}
	if promises(s) {
		errs = append(errs, field.Invalid(at.Child("objectives", "latency"), s.Spec.Objectives.Latency.Duration.String(),
			fmt.Sprintf("Publication %s is of type Snapshot, which streams nothing: its schedule says how old a copy may be, "+
				"and the objective is left out", p.Name)))
	}
	if keeps(s) {
		errs = append(errs, field.Invalid(at.Child("initialization", "method"), s.Spec.Initialization.Method,
			fmt.Sprintf("Publication %s is of type Snapshot, each of which replaces what is there: Snapshot is the method, "+
				"where the field is left out, or CompressedSnapshot", p.Name)))
	}
	return errs
}
