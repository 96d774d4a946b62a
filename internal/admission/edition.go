// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// mostBasic is how many replicas with data a basic group has
// (docs/database-engine/availability-groups/windows/basic-availability-groups-always-on-availability-groups.md).
const mostBasic = 2

// editions refuses what the editions of the group's servers cannot. What a product key is for only the engine says.
func (w *World) editions(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	var errs field.ErrorList
	standard := w.basicServer(g)
	for i, r := range g.Spec.Replicas {
		s := w.Servers[string(r.Server)]
		if s == nil || r.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		if s.Spec.DeclaredEdition().WitnessOnly() {
			errs = append(errs, field.Invalid(
				at.Child("replicas").Index(i).Child("availabilityMode"), r.AvailabilityMode, fmt.Sprintf(
					"must be %s: SQLServer %s has the edition %s, which holds no copy of a group's databases; or name a server "+
						"with another edition", v1alpha1.ConfigurationOnly, r.Server, s.Spec.Edition)))
		}
	}
	if standard != "" {
		errs = append(errs, w.basic(at, g, standard)...)
	}
	return errs
}

// basicServer is the first server of a group because of which it is a basic one; empty when there is none.
func (w *World) basicServer(g *v1alpha1.AvailabilityGroup) v1alpha1.ServerName {
	for _, r := range g.Spec.Replicas {
		s := w.Servers[string(r.Server)]
		if s != nil && r.AvailabilityMode != v1alpha1.ConfigurationOnly && s.Spec.DeclaredEdition().BasicOnly() {
			return r.Server
		}
	}
	return ""
}

// basicOf is basicServer of a group by its name.
func (w *World) basicOf(group v1alpha1.ObjectName) v1alpha1.ServerName {
	if g := w.Groups[string(group)]; g != nil {
		return w.basicServer(g)
	}
	return ""
}

// basic refuses what a basic group does not have, for the server because of which it is one.
func (w *World) basic(at *field.Path, g *v1alpha1.AvailabilityGroup, standard v1alpha1.ServerName) field.ErrorList {
	why := fmt.Sprintf("SQLServer %s has the edition %s, whose groups are basic", standard,
		w.Servers[string(standard)].Spec.Edition)
	var errs field.ErrorList
	data := 0
	for i, r := range g.Spec.Replicas {
		path := at.Child("replicas").Index(i)
		if r.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		if data++; data == mostBasic+1 {
			errs = append(errs, field.Invalid(path.Child("availabilityMode"), r.AvailabilityMode, fmt.Sprintf(
				"%s: at most %d replicas with data, and one that is %s", why, mostBasic, v1alpha1.ConfigurationOnly)))
		}
		if r.Readable {
			errs = append(errs, field.Invalid(path.Child("readable"), true, why+": must be false, no secondary is read"))
		}
	}
	for i, database := range g.Spec.Databases {
		if i > 0 {
			errs = append(errs, field.Invalid(at.Child("databases").Index(i).Child("name"), database.Name,
				why+": one database, declare another group for this one"))
		}
	}
	return errs
}

// newEditions are the errors of editions, unless the group as it is stored, old, had as many already: one that was
// declared before they were refused can be changed, and paused, all the same. Editions of a group may differ while they
// are raised one server after another. old is nil on creation, before the world in which it is stored.
func (w *World) newEditions(at *field.Path, before *World, old, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	errs := w.editions(at, g)
	if old != nil && len(errs) <= len(before.editions(at, old)) {
		return nil
	}
	return errs
}

// editionFits refuses an edition with which the server cannot be what groups declare it to be.
func (w *World) editionFits(at *field.Path, s *v1alpha1.SQLServer) field.ErrorList {
	next := NewWorld()
	maps.Copy(next.Servers, w.Servers)
	next.Servers[s.Name] = s
	var errs field.ErrorList
	for _, g := range sorted(w.Groups) {
		if !hosts(g, v1alpha1.ServerName(s.Name)) {
			continue
		}
		before := len(w.editions(field.NewPath("spec"), g))
		if found := next.editions(field.NewPath("spec"), g); len(found) > before {
			errs = append(errs, field.Invalid(at, s.Spec.Edition, fmt.Sprintf(
				"does not fit AvailabilityGroup %s: %s", g.Name, found[0].Error())))
		}
	}
	return errs
}
