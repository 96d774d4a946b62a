// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// FormerUser is a user that is declared no more, as the primary has it.
type FormerUser struct {
	v1alpha1.LoginUserStatus
	User
	// Outside says that its database is none of the group's any more: where it is now nobody knows.
	Outside bool
}

// formerUsers are the recorded users that are not declared any more.
func (d Desired) formerUsers() []v1alpha1.LoginUserStatus {
	return slices.DeleteFunc(slices.Clone(d.Login.Status.Users), func(was v1alpha1.LoginUserStatus) bool {
		return slices.ContainsFunc(d.Login.Spec.Users, func(u v1alpha1.LoginUser) bool { return d.sameUser(was, u) })
	})
}

func (d Desired) sameUser(was v1alpha1.LoginUserStatus, u v1alpha1.LoginUser) bool {
	return strings.EqualFold(string(was.Database), string(u.Database)) && strings.EqualFold(was.Name, d.user(u))
}

// observeFormerUsers asks the primary for the users that are declared no more.
func (r *Reconciler) observeFormerUsers(ctx context.Context, d Desired, o *Observed) {
	for _, was := range d.formerUsers() {
		f := FormerUser{LoginUserStatus: was, Outside: d.Databases != nil && !contains(d.Databases, string(was.Database))}
		exists := false
		if !f.Outside {
			exists, f.Err = r.exists(ctx, d, was.Database)
			f.NoDatabase = f.Err == nil && !exists
		}
		if exists && f.Err == nil {
			f.Err = r.ask(ctx, d, d.Primary, string(was.Database), func(ctx context.Context, db *mssql.DB) (err error) {
				f.State, err = mssql.ReadUser(ctx, db, was.Name)
				return err
			})
		}
		o.FormerUsers = append(o.FormerUsers, f)
	}
}

// planFormerUsers takes from users that are declared no more what was granted because they were, and nothing else: what
// they have beyond, somebody else gave them since. They themselves stay, as they may own objects. It returns what is
// not known.
func planFormerUsers(d Desired, o Observed, p *reconcile.Plan) []string {
	if d.Primary == "" && len(d.formerUsers()) > 0 {
		return []string{"no replica is known to be primary: what former users were granted is revoked there"}
	}
	var unknown []string
	for _, f := range o.FormerUsers {
		if why := f.unknown(d, o); why != "" && !f.Outside {
			unknown = append(unknown, fmt.Sprintf("former user %s of database %s: %s", f.Name, f.Database, why))
			continue
		}
		roles, permissions := f.granted(d)
		granted := reconcile.Seen("the user has what was granted while it was declared", f.Err)
		for _, role := range roles {
			destroy(p, granted, d.Primary, string(f.Database), tsql.DropRoleMember(string(role), f.Name))
		}
		for _, permission := range permissions {
			destroy(p, granted, d.Primary, string(f.Database),
				tsql.RevokeDatabasePermission(tsql.DatabasePermission(permission), f.Name))
		}
		for _, g := range f.grantedOn(d) {
			destroy(p, granted, d.Primary, string(f.Database),
				tsql.RevokeOn(tsql.ObjectPermission(g.Permission), g.On, f.Name))
		}
	}
	return unknown
}

// unknown says why it is not known what the user has yet; empty when it is.
func (f FormerUser) unknown(d Desired, o Observed) string { return f.User.unknown(d, o, f.Database) }

// unknown says why what the primary says of a user is no evidence of what its database has; empty when it is. A
// database of a group that the primary does not have is on other replicas.
func (u User) unknown(d Desired, o Observed, database v1alpha1.DatabaseName) string {
	why := o.unproved(d, database)
	switch {
	case u.Err != nil:
		return u.Err.Error()
	case why != "":
		return why
	case u.NoDatabase && d.ofGroup(database):
		return fmt.Sprintf("%s does not have it, and it is one of the group's", credentials.HostName(d.Primary))
	}
	return ""
}

// own tells that the user is there, and is this login's.
func (f FormerUser) own(d Desired) bool {
	return f.Err == nil && f.State != nil && bytes.Equal(f.State.SID, d.sid())
}

// granted is what the user still has of what was declared for it. One with another SID is another's.
func (f FormerUser) granted(d Desired) (roles []v1alpha1.RoleName, permissions []v1alpha1.DatabasePermission) {
	if !f.own(d) {
		return nil, nil
	}
	return having(f.Roles, f.State.Roles), having(f.Permissions, f.State.Permissions)
}

// having are the names that are among those that somebody has.
func having[T ~string](names []T, has []string) []T {
	return slices.DeleteFunc(slices.Clone(names), func(n T) bool { return !contains(has, string(n)) })
}

// planLeftUsers takes from former users, before a login is dropped, what they were granted: its SID is made again with
// its name, and they would have it at once. It returns what is not known, and notes what nobody can reach.
func planLeftUsers(d Desired, o Observed, p *reconcile.Plan) []string {
	why := ""
	switch {
	case o.away(d):
		why = "none of its servers answers"
	case len(d.Servers) == 0:
		why = d.Missing
	}
	if why != "" {
		for _, was := range d.formerUsers() {
			p.Leave("what user %s was granted in database %s (%s)", was.Name, was.Database, why)
		}
		return nil
	}
	for _, f := range o.FormerUsers {
		if f.Outside {
			p.Leave("what user %s was granted in database %s (it is none of the group's any more)", f.Name, f.Database)
		}
	}
	waiting := planFormerUsers(d, o, p)
	if len(waiting) > 0 {
		waiting = append(waiting, "reclaimPolicy Retain leaves what they were granted")
	}
	return waiting
}

// outside tells of former users that nobody can reach; empty when there are none.
func outside(o Observed) string {
	text := ""
	for _, f := range o.FormerUsers {
		if f.Outside {
			text += fmt.Sprintf(
				"; database %s is none of the group's any more: what user %s was granted in it is there still, wherever it is",
				f.Database,
				f.Name,
			)
		}
	}
	return text
}

// maxUsers is how many users status takes, maxRoles how many roles of each.
const (
	maxUsers = 64
	maxRoles = 64
)

// holds says whether what the user was granted is in its database still, or may be.
func (f FormerUser) holds(d Desired, o Observed) bool {
	roles, permissions := f.granted(d)
	return f.unknown(d, o) != "" || f.Outside || len(roles)+len(permissions)+len(f.grantedOn(d)) > 0
}

// recordOf is what status has of a declared user, nil when it has nothing.
func (d Desired) recordOf(u v1alpha1.LoginUser) *v1alpha1.LoginUserStatus {
	for i, was := range d.Login.Status.Users {
		if d.sameUser(was, u) {
			return &d.Login.Status.Users[i]
		}
	}
	return nil
}

// beyond are the databases of declared users for which status has no room beside those that hold something: it could
// not be taken from them again, so they are granted nothing yet.
func beyond(d Desired, o Observed) (databases []v1alpha1.DatabaseName) {
	room := maxUsers
	for _, f := range o.FormerUsers {
		if f.holds(d, o) {
			room--
		}
	}
	var later []v1alpha1.DatabaseName
	for _, u := range d.Login.Spec.Users {
		if d.recordOf(u) != nil {
			room--
		} else {
			later = append(later, u.Database)
		}
	}
	return later[min(max(room, 0), len(later)):]
}

// recordUsers is what status remembers of the users: what is declared, of grants on schemas and objects what of it is
// the operator's doing, what they have yet of what was, and the former ones that are not rid of it. What cannot be told
// leaves the record as it is.
func recordUsers(d Desired, o Observed, p reconcile.Plan) []v1alpha1.LoginUserStatus {
	if d.Primary == "" || p.Outcome.Reason == v1alpha1.ReasonLoginConflict {
		return d.Login.Status.Users
	}
	var users []v1alpha1.LoginUserStatus
	without := beyond(d, o)
	for _, u := range d.Login.Spec.Users {
		if slices.Contains(without, u.Database) {
			continue
		}
		now := v1alpha1.LoginUserStatus{
			Database:    u.Database,
			Name:        d.user(u),
			Roles:       slices.Clone(u.Roles),
			Permissions: slices.Clone(u.Permissions),
		}
		have, seen := o.Users[string(u.Database)]
		known := seen && have.unknown(d, o, u.Database) == ""
		grants := d.ownGrants(u, have, known)
		if was := d.recordOf(u); was != nil {
			roles := still(was.Roles, u.Roles, known, have, func(s *mssql.UserState) []string { return s.Roles })
			// More than fit are there only while nobody knows what the user has, and nothing is granted to it.
			now.Roles = append(now.Roles[:min(len(now.Roles), maxRoles-len(roles))], roles...)
			now.Permissions = append(
				now.Permissions,
				still(was.Permissions, u.Permissions, known, have, func(s *mssql.UserState) []string { return s.Permissions })...)
			grants = append(grants, stillGranted(was.Grants, u.Grants, known, have)...)
		}
		now.Grants = folded(grants)
		users = append(users, now)
	}
	for _, f := range o.FormerUsers {
		if f.holds(d, o) {
			users = append(users, f.LoginUserStatus)
		}
	}
	return users
}

// still are names that were declared, are no more, and that the user has yet, as far as is known.
func still[T ~string](was, declared []T, known bool, have User, of func(*mssql.UserState) []string) []T {
	return slices.DeleteFunc(slices.Clone(was), func(n T) bool {
		return contains(declared, string(n)) || known && (have.State == nil || !contains(of(have.State), string(n)))
	})
}
