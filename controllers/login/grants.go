// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// flat lists grants with one permission each.
func flat(grants []v1alpha1.UserGrant) (all []mssql.Grant) {
	for _, g := range grants {
		for _, p := range g.Permissions {
			all = append(all, mssql.Grant{On: tsql.Securable{Schema: g.Schema, Object: g.Object}, Permission: string(p)})
		}
	}
	return all
}

// folded is what flat made of it, in order of appearance.
func folded(grants []mssql.Grant) (all []v1alpha1.UserGrant) {
	for _, g := range grants {
		i := slices.IndexFunc(all, func(u v1alpha1.UserGrant) bool {
			return u.Schema == g.On.Schema && u.Object == g.On.Object
		})
		if i < 0 {
			i = len(all)
			all = append(all, v1alpha1.UserGrant{Schema: g.On.Schema, Object: g.On.Object})
		}
		all[i].Permissions = append(all[i].Permissions, v1alpha1.ObjectPermission(g.Permission))
	}
	return all
}

// among tells that a grant is one of a list, by names as a database's default collation compares them.
func among(list []mssql.Grant, g mssql.Grant) bool {
	return slices.ContainsFunc(list, func(o mssql.Grant) bool {
		return strings.EqualFold(o.On.Schema, g.On.Schema) && strings.EqualFold(o.On.Object, g.On.Object) &&
			strings.EqualFold(o.Permission, g.Permission)
	})
}

// given tells that a grant is one of a list that the operator may have given: what somebody with the grant option gave
// is never its own, and stays when it revokes.
func given(list []mssql.Grant, g mssql.Grant) bool {
	return among(slices.DeleteFunc(slices.Clone(list), func(o mssql.Grant) bool { return o.Delegated }), g)
}

// recordedGrants are the grants of a declared user that status has as the operator's.
func (d Desired) recordedGrants(u v1alpha1.LoginUser) []mssql.Grant {
	if was := d.recordOf(u); was != nil {
		return flat(was.Grants)
	}
	return nil
}

// ownGrants are the declared grants of a user that are, or are about to be, the operator's doing: those on record, and
// those that the user lacks, of what is there. What it had before it was declared somebody else gave.
func (d Desired) ownGrants(u v1alpha1.LoginUser, have User, known bool) (own []mssql.Grant) {
	recorded := d.recordedGrants(u)
	for _, g := range flat(u.Grants) {
		switch {
		case known && slices.Contains(have.Absent, g.On):
		case among(recorded, g), known && !have.NoDatabase && !have.has(g):
			own = append(own, g)
		}
	}
	return own
}

// has tells that the user has a grant, whoever gave it.
func (u User) has(g mssql.Grant) bool { return u.State != nil && among(u.State.Grants, g) }

// unrecorded tells that something is to be granted that is not on record yet: it is granted in the next look. A record
// that came after the grant would not come where the manager ends between the two, and nobody would revoke it.
func (o Observed) unrecorded(d Desired) bool {
	without := beyond(d, o)
	return d.Primary != "" && slices.ContainsFunc(d.Login.Spec.Users, func(u v1alpha1.LoginUser) bool {
		have, seen := o.Users[string(u.Database)]
		if !seen || have.unknown(d, o, u.Database) != "" || slices.Contains(without, u.Database) {
			return false
		}
		recorded := d.recordedGrants(u)
		return slices.ContainsFunc(d.ownGrants(u, have, true), func(g mssql.Grant) bool { return !among(recorded, g) })
	})
}

// observeAbsent looks for the schemas and objects of the grants that a user does not have.
func (u *User) observeAbsent(ctx context.Context, db *mssql.DB, declared []v1alpha1.UserGrant) error {
	var have []mssql.Grant
	if u.State != nil {
		have = u.State.Grants
	}
	for _, g := range flat(declared) {
		if among(have, g) || slices.Contains(u.Absent, g.On) {
			continue
		}
		there := false
		err := db.Query(ctx, tsql.SecurableExists(g.On), func(r mssql.Row) error { return r.Scan(&there) })
		if err != nil {
			return err
		}
		if !there {
			u.Absent = append(u.Absent, g.On)
		}
	}
	return nil
}

// planGrants brings a user's permissions on schemas and objects to what is declared, as far as these are there and what
// is to be granted is on record, and revokes what the operator has granted and is declared no more.
func planGrants(d Desired, u v1alpha1.LoginUser, as User, have *mssql.UserState, p *reconcile.Plan) {
	user, database, declared, recorded := d.user(u), string(u.Database), flat(u.Grants), d.recordedGrants(u)
	for _, g := range declared {
		has := among(have.Grants, g)
		if slices.Contains(as.Absent, g.On) || has && !among(have.DeniedOn, g) || !has && !among(recorded, g) {
			continue
		}
		execute(p, d.Primary, database, tsql.GrantOn(tsql.ObjectPermission(g.Permission), g.On, user))
	}
	granted := reconcile.Seen("the user has what the operator has granted while it was declared", as.Err)
	for _, g := range recorded {
		if !among(declared, g) && given(have.Grants, g) {
			destroy(p, granted, d.Primary, database, tsql.RevokeOn(tsql.ObjectPermission(g.Permission), g.On, user))
		}
	}
}

// stillGranted are grants that were declared, are no more, and that the user has yet, as far as is known.
func stillGranted(was, declared []v1alpha1.UserGrant, known bool, have User) []mssql.Grant {
	return slices.DeleteFunc(flat(was), func(g mssql.Grant) bool {
		return among(flat(declared), g) || known && (have.State == nil || !given(have.State.Grants, g))
	})
}

// grantedOn is what a former user still has of what was declared for it on schemas and objects.
func (f FormerUser) grantedOn(d Desired) []mssql.Grant {
	if !f.own(d) {
		return nil
	}
	return slices.DeleteFunc(flat(f.Grants), func(g mssql.Grant) bool { return !given(f.State.Grants, g) })
}
