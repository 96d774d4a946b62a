// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
)

// showing are the permissions on an object of which any one shows that it is there, defining those that show its
// definition as well (docs/relational-databases/security/metadata-visibility-configuration.md).
var (
	defining = []string{"VIEW DEFINITION", "ALTER", "CONTROL", "TAKE OWNERSHIP"}
	showing  = []string{"SELECT", "EXECUTE", "INSERT", "UPDATE", "DELETE", "REFERENCES", "VIEW CHANGE TRACKING"}
)

// Sight serves engine.Authorizer.
func (e *Extension) Sight(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
) func(object, schema int32) engine.Sight {
	always := func(sight engine.Sight) func(int32, int32) engine.Sight {
		return func(int32, int32) engine.Sight { return sight }
	}
	if e.unrestricted(s) || e.mayServer(ctx, s, "CONTROL SERVER", "VIEW ANY DEFINITION") {
		return always(engine.SeenThrough)
	}
	u, err := e.User(ctx, s, db)
	if err != nil {
		return always(engine.Unseen)
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return always(engine.Unseen)
	}
	if catalog.verdict(u.ID, securable{class: classDatabase}, "CONTROL") == allows {
		return always(engine.SeenThrough)
	}
	owned := e.schemasOf(ctx, s, db, catalog.roles(u.ID))
	return func(object, schema int32) engine.Sight {
		sec := securable{class: classObject, major: object, schema: schema}
		any := func(names []string) bool {
			for _, name := range names {
				if catalog.verdict(u.ID, sec, name) == allows {
					return true
				}
			}
			return false
		}
		switch {
		case catalog.verdict(u.ID, sec, "VIEW DEFINITION") == denies:
			return engine.Unseen
		case owned[schema], any(defining):
			return engine.SeenThrough
		case any(showing), e.mayServer(ctx, s, "SELECT ALL USER SECURABLES"):
			return engine.Seen
		}
		return engine.Unseen
	}
}

// schemasOf are the schemas that some principals own; an owner may do everything there.
func (e *Extension) schemasOf(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	principals map[int32]bool,
) map[int32]bool {
	owned := map[int32]bool{}
	_ = e.reading(ctx, s, db, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(
			conn,
			"SELECT id, principal FROM __schemas",
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				if principals[stmt.ColumnInt32(1)] {
					owned[stmt.ColumnInt32(0)] = true
				}
				return nil
			}},
		)
	})
	return owned
}
