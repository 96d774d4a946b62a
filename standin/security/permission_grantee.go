// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
)

// grantee is who a permission is given to or taken from.
type grantee struct {
	id   int32
	role bool
}

// grantees are the named principals. Errors: 4617 fixed roles, 4624 those who have everything or ask themselves.
func (e *Extension) grantees(ctx context.Context, s *engine.Session, t target, principals []string) ([]grantee, error) {
	var all []grantee
	if t.server {
		catalog, err := e.server(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, name := range principals {
			l := catalog.login(name)
			switch {
			case l == nil:
				return nil, failure(15151, 1, "find", "login", name)
			case l.Fixed:
				return nil, failure(4617, 1)
			case l.ID == saID || l.ID == s.Login().ID:
				return nil, failure(4624, 1)
			}
			all = append(all, grantee{l.ID, l.Type == rolePrincipal})
		}
		return all, nil
	}
	catalog, err := e.database(ctx, s, t.db)
	if err != nil {
		return nil, err
	}
	caller, err := s.User(ctx, t.db)
	if err != nil {
		return nil, err
	}
	for _, name := range principals {
		u := catalog.user(name)
		switch {
		case u == nil:
			return nil, failure(15151, 1, "find", "user", name)
		case u.Fixed:
			return nil, failure(4617, 1)
		case u.ID == dboID || u.ID == informationSchemaID || u.ID == sysID || u.ID == caller.ID:
			return nil, failure(4624, 1)
		}
		all = append(all, grantee{u.ID, u.Type == rolePrincipal})
	}
	return all, nil
}

// connectable refuses CONNECT for roles (4627), and to take it from guest where everybody has to come in (15182).
func connectable(t target, action string, names []string, grantees []grantee) error {
	if t.sec.class != classDatabase || !slices.Contains(names, "CONNECT") {
		return nil
	}
	for _, g := range grantees {
		switch {
		case g.role:
			return failure(4627, 1)
		case g.id == guestID && action != "GRANT" &&
			(strings.EqualFold(t.db.Name(), "master") || strings.EqualFold(t.db.Name(), "tempdb")):
			return failure(15182, 1)
		}
	}
	return nil
}
