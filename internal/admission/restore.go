// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
)

// restore checks a new Restore against the groups that are declared: a database that stands alone on a replica keeps
// the group's own copy away. What the server has already is asked when it is carried out.
func (w *World) restore(at *field.Path, old, r *v1alpha1.Restore) field.ErrorList {
	name := r.Spec.DatabaseName()
	if old != nil {
		return nil
	}
	var errs field.ErrorList
	if g := w.Groups[string(r.Spec.Target.AvailabilityGroup)]; g != nil && g.Status.Has(name) &&
		r.Spec.Replace == "" {
		errs = append(errs, field.Invalid(at.Child("target", "availabilityGroup"), g.Name, fmt.Sprintf(
			"the group has database %s already, which is never restored over: name another one in target.database, or have it "+
				"make way by its name in target.database and in replace", name)))
	}
	for _, g := range w.Groups {
		if g.Spec.Holds(r.Spec.Target.Server, name) {
			errs = append(errs, field.Invalid(at.Child("target", "server"), r.Spec.Target.Server, fmt.Sprintf(
				"it is a replica of AvailabilityGroup %s, which declares database %s: name a server that is none, or another "+
					"name in target.database", g.Name, name)))
		}
	}
	return errs
}

// warnRestoreToGroup tells of a group that is not there yet, and of one that does not declare the database: it stays
// outside of the group then.
func warnRestoreToGroup(w *World, r *v1alpha1.Restore) admission.Warnings {
	name := string(r.Spec.Target.AvailabilityGroup)
	warnings := awaits(to(top.Child("target", "availabilityGroup"), "AvailabilityGroup", name, w.Groups))
	if g := w.Groups[name]; g != nil && g.Spec.Database(string(r.Spec.DatabaseName())) == nil {
		warnings = append(warnings, fmt.Sprintf("spec.target.database: AvailabilityGroup %s does not declare database %s: "+
			"it is restored at the primary, and in the group once the group's spec.databases has it", name,
			r.Spec.DatabaseName()))
	}
	return warnings
}

// warnRestore tells of a server that is not there yet, and of one that declares the database itself: what is made empty
// before it hears of the Restore is never restored over.
func warnRestore(w *World, r *v1alpha1.Restore) admission.Warnings {
	if r.Spec.Target.AvailabilityGroup != "" {
		return warnRestoreToGroup(w, r)
	}
	warnings := awaits(to(top.Child("target", "server"), "SQLServer", string(r.Spec.Target.Server), w.Servers))
	if s := w.Servers[string(r.Spec.Target.Server)]; s != nil {
		if d := s.Spec.Database(string(r.Spec.DatabaseName())); d != nil && d.From == nil && r.Spec.Replace == "" {
			warnings = append(warnings, fmt.Sprintf("spec.target.database: SQLServer %s declares database %s, which is made "+
				"empty where it is not there: nothing is restored over it. Give it the source in spec.databases[].from.restore",
				s.Name, d.Name))
		}
	}
	return warnings
}
