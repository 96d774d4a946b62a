// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/operator/standin/metadata"
)

// Sight is how much of an object's metadata somebody sees (docs/relational-databases/security/metadata-visibility-configuration.md).
type Sight int

const (
	// Unseen objects are not in catalog views, and functions of metadata are NULL for them.
	Unseen Sight = iota
	// Seen are objects that somebody has a permission on.
	Seen
	// SeenThrough are objects whose definition is shown as well.
	SeenThrough
)

// sight tells what the session sees of the objects of a database. Parts of a table, its constraints and triggers, are seen with it; what belongs to
// the system and temporary objects are seen by everybody.
func (s *Session) sight(ctx context.Context, space int32) func(sch *metadata.Catalog, o *metadata.Object) Sight {
	everything := func(*metadata.Catalog, *metadata.Object) Sight { return SeenThrough }
	a, db := s.inst.registry.authorizer, s.inst.DatabaseByID(space)
	if s.internal || s.login.Sysadmin && s.user == nil || a == nil || db == nil || space == 2 {
		return everything
	}
	of := a.Sight(ctx, s, db)
	return func(sch *metadata.Catalog, o *metadata.Object) Sight {
		if parent := sch.Objects[o.Parent]; o.Parent != 0 && parent != nil {
			o = parent
		}
		if o.Shipped {
			return SeenThrough
		}
		switch o.Kind {
		case metadata.KindTable, metadata.KindView, metadata.KindProcedure, metadata.KindScalar, metadata.KindInline, metadata.KindTableFunction, metadata.KindSequence, metadata.KindSynonym:
			return of(o.ID, o.Schema)
		}
		return SeenThrough
	}
}

// sees tells whether the session sees an object of a database.
func (s *Session) sees(space int32, sch *metadata.Catalog, o *metadata.Object) bool {
	return s.sight(s.context(), space)(sch, o) != Unseen
}

// definitionSeen is the text of an object's definition, NULL for who may not see it.
func (s *Session) definitionSeen(sch *metadata.Catalog, o *metadata.Object) any {
	if s.sight(s.context(), s.viewDatabase().ID())(sch, o) != SeenThrough {
		return nil
	}
	return shownDefinition(o)
}
