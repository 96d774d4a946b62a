// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/tsql"
)

// An owner is dbo in its database, and no other user of it: SQL Server refuses the owner where there is the user
// (15110), and the user where there is the owner (15063). Whichever of the two is declared later is refused here; what
// is there already can be edited.

// loginName is the name of the login that a Login declares.
func loginName(l *v1alpha1.Login) string { return cmp.Or(l.Spec.Name, l.Name) }

// usesAs tells that a login has a user in a database.
func usesAs(l *v1alpha1.Login, database v1alpha1.DatabaseName) bool {
	return slices.ContainsFunc(l.Spec.Users, func(u v1alpha1.LoginUser) bool { return sameDatabase(u.Database, database) })
}

// serverOwners refuses an owner of a server's database that a Login makes a user of it.
func (w *World) serverOwners(at *field.Path, old, s *v1alpha1.SQLServer) field.ErrorList {
	var before []v1alpha1.Database
	if old != nil {
		before = old.Spec.Databases
	}
	return w.ownersThatUse(at.Child("databases"), before, s.Spec.Databases, func(l *v1alpha1.Login) bool {
		return string(l.Spec.Target.Server) == s.Name
	})
}

// groupOwners refuses an owner of a group's database that a Login, of the group or of a replica, makes a user of it.
func (w *World) groupOwners(at *field.Path, old, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	var before []v1alpha1.Database
	if old != nil {
		before = old.Spec.Databases
	}
	return w.ownersThatUse(at.Child("databases"), before, g.Spec.Databases, func(l *v1alpha1.Login) bool {
		return string(l.Spec.Target.AvailabilityGroup) == g.Name ||
			slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool {
				return r.Server == l.Spec.Target.Server && r.AvailabilityMode != v1alpha1.ConfigurationOnly
			})
	})
}

func (w *World) ownersThatUse(
	at *field.Path,
	before, databases []v1alpha1.Database,
	there func(*v1alpha1.Login) bool,
) (errs field.ErrorList) {
	for i, d := range databases {
		if d.Owner == "" || slices.ContainsFunc(before, func(was v1alpha1.Database) bool {
			return sameDatabase(was.Name, d.Name) && strings.EqualFold(was.Owner, d.Owner)
		}) {
			continue
		}
		for _, l := range sorted(w.Logins) {
			if !there(l) || !strings.EqualFold(loginName(l), d.Owner) || !usesAs(l, d.Name) {
				continue
			}
			errs = append(errs, field.Invalid(at.Index(i).Child("owner"), d.Owner, fmt.Sprintf(
				"Login %s makes it a user of database %s, and an owner, who is dbo there, is no user besides (SQL Server's error "+
					"15110): take the database out of spec.users of that Login and drop the user, which stays (DROP USER %s), or "+
					"name another owner", l.Name, d.Name, tsql.Identifier(userOf(l, d.Name)))))
		}
	}
	return errs
}

// userOf is the name of a login's user in a database.
func userOf(l *v1alpha1.Login, database v1alpha1.DatabaseName) string {
	for _, u := range l.Spec.Users {
		if sameDatabase(u.Database, database) && u.Name != "" {
			return u.Name
		}
	}
	return loginName(l)
}

// usesAsOwner refuses a user of a login in a database that is declared to be that login's.
func (w *World) usesAsOwner(at *field.Path, old, l *v1alpha1.Login) (errs field.ErrorList) {
	for i, u := range l.Spec.Users {
		by, owner := w.ownerOf(l.Spec.Target, u.Database)
		if !strings.EqualFold(owner, loginName(l)) || old != nil && usesAs(old, u.Database) {
			continue
		}
		errs = append(errs, field.Invalid(at.Child("users").Index(i).Child("database"), u.Database, fmt.Sprintf(
			"%s declares login %s as the owner of database %s: as dbo it may do everything there, and is no user besides (SQL "+
				"Server's error 15063): leave the database out here, or declare another owner there", by, owner, u.Database)))
	}
	return errs
}

// ownerOf is the declared owner of a database where a login has a user, and who declares it; empty when nobody does.
func (w *World) ownerOf(target v1alpha1.ServerOrGroup, database v1alpha1.DatabaseName) (by, owner string) {
	if s := w.Servers[string(target.Server)]; s != nil {
		if d := s.Spec.Database(string(database)); d != nil && d.Owner != "" {
			return "SQLServer " + s.Name, d.Owner
		}
	}
	g := w.Groups[string(target.AvailabilityGroup)]
	if g == nil {
		g = w.replicaOf(target.Server, database)
	}
	if g != nil {
		if d := g.Spec.Database(string(database)); d != nil {
			return "AvailabilityGroup " + g.Name, d.Owner
		}
	}
	return "", ""
}
