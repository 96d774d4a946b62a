// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

// drillRepeat checks a schedule that repeats: what it draws from, and each drill that it will make.
func (w *World) drillRepeat(at *field.Path, old, s *v1alpha1.DrillSchedule) field.ErrorList {
	template, repeat := at.Child("template", "spec"), at.Child("repeat")
	if old != nil && changedSample(*old, *s) {
		return field.ErrorList{field.Forbidden(at, "drills of it were made: those to come would be no sample together "+
			"with them. Make another DrillSchedule; times, stopAfter, startingDeadline and suspend may be changed")}
	}
	var errs field.ErrorList
	if s.Spec.Template.Spec.Abort {
		errs = append(errs, field.Forbidden(template.Child("abort"),
			"a drill that is aborted before it begins shows nothing"))
	}
	if len(s.Spec.Template.Spec.Faults) == 0 {
		errs = append(errs, field.Required(template.Child("faults"), "there is nothing to draw from"))
	}
	for i, f := range s.Spec.Template.Spec.Faults {
		if f.At != nil {
			errs = append(errs, field.Forbidden(template.Child("faults").Index(i).Child("at"),
				"when a fault begins is drawn: repeat.pause bounds how long it is from one to the next"))
		}
	}
	if errs = append(errs, w.drillSpec(template, s.Spec.Template.Spec)...); len(errs) > 0 {
		return errs
	}
	r := *s.Spec.Repeat
	for number := drill.First(r); number <= drill.Last(r); number++ {
		for _, err := range w.drillSpec(template, drill.Drawn(s.Spec.Template.Spec, r, number)) {
			return field.ErrorList{field.Invalid(repeat, number, fmt.Sprintf(
				"the drill of that number, as it is drawn, would be refused: %s: %s", err.Field, err.Detail))}
		}
	}
	return nil
}

// changedSample says that drills were made, and that those to come would be drawn otherwise.
func changedSample(old, s v1alpha1.DrillSchedule) bool {
	was := old.Spec.Repeat
	if was == nil || old.Status.Repeated == nil || old.Status.Repeated.Made == 0 {
		return false
	}
	is := *s.Spec.Repeat
	is.Times, is.StopAfter = was.Times, was.StopAfter
	return !equality.Semantic.DeepEqual(is, *was) ||
		!equality.Semantic.DeepEqual(old.Spec.Template, s.Spec.Template)
}
