// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// distributionDatabase is the one of a Distributor that names none.
const distributionDatabase = "distribution"

// sameDatabase compares names as the server's default collation does.
func sameDatabase(a, b v1alpha1.DatabaseName) bool { return strings.EqualFold(string(a), string(b)) }

// eachOnce refuses a database that is listed twice: the engine takes names that differ in case for the same one.
func eachOnce(at *field.Path, databases []v1alpha1.Database) field.ErrorList {
	var errs field.ErrorList
	for i, d := range databases {
		for _, before := range databases[:i] {
			if sameDatabase(d.Name, before.Name) {
				errs = append(errs, field.Duplicate(at.Index(i).Child("name"), d.Name))
				break
			}
		}
	}
	return errs
}

// serverDatabases refuses a database of a server that another object declares for it: two would keep it in two ways.
func (w *World) serverDatabases(at *field.Path, s *v1alpha1.SQLServer) field.ErrorList {
	errs := eachOnce(at, s.Spec.Databases)
	name := v1alpha1.ServerName(s.Name)
	for i, d := range s.Spec.Databases {
		path := at.Index(i).Child("name")
		if g := w.replicaOf(name, d.Name); g != nil {
			errs = append(errs, field.Invalid(path, d.Name, fmt.Sprintf(
				"AvailabilityGroup %s declares it, and this server has a replica: its properties go to the group's "+
					"spec.databases, and it is left out here", g.Name)))
		}
		if other := w.distribution(name, d.Name); other != nil {
			errs = append(errs, field.Invalid(path, d.Name, fmt.Sprintf(
				"it is the distribution database of Distributor %s: leave it out here, or name another database", other.Name)))
		}
	}
	return errs
}

// declaredAlone refuses a database of a group that one of its servers declares for itself.
func (w *World) declaredAlone(at *field.Path, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	errs := eachOnce(at, g.Spec.Databases)
	for i, d := range g.Spec.Databases {
		for _, r := range g.Spec.Replicas {
			s := w.Servers[string(r.Server)]
			if s == nil || r.AvailabilityMode == v1alpha1.ConfigurationOnly || s.Spec.Database(string(d.Name)) == nil {
				continue
			}
			errs = append(errs, field.Invalid(at.Index(i).Child("name"), d.Name, fmt.Sprintf(
				"SQLServer %s declares it for itself: take it out of that server's spec.databases first", r.Server)))
		}
	}
	return errs
}

// distribution is the Distributor whose database this is, nil when it is none's.
func (w *World) distribution(server v1alpha1.ServerName, database v1alpha1.DatabaseName) *v1alpha1.Distributor {
	for _, d := range sorted(w.Distributors) {
		if d.Spec.Server == server && sameDatabase(cmp.Or(d.Spec.Database, distributionDatabase), database) {
			return d
		}
	}
	return nil
}

// distributes refuses a distribution database that its server declares.
func (w *World) distributes(at *field.Path, d *v1alpha1.Distributor) field.ErrorList {
	s, database := w.Servers[string(d.Spec.Server)], cmp.Or(d.Spec.Database, distributionDatabase)
	if s == nil || s.Spec.Database(string(database)) == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("database"), database, fmt.Sprintf(
		"SQLServer %s declares a database of that name: name another one, or take it out of that server's spec.databases "+
			"first", s.Name))}
}
