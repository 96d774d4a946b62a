// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// Sight is how much of an object's metadata somebody sees
// (docs/relational-databases/security/metadata-visibility-configuration.md).
type Sight int

const (
	// Unseen objects are not in catalog views, and functions of metadata are NULL for them.
	Unseen Sight = iota
	// Seen are objects that somebody has a permission on.
	Seen
	// SeenThrough are objects whose definition is shown as well.
	SeenThrough
)

// Sight tells what the session sees of the objects of a database. Parts of a table, its constraints and triggers, are
// seen with it; what belongs to the system and temporary objects are seen by everybody.
func (s *Session) Sight(ctx context.Context, space int32) func(sch *metadata.Catalog, o *metadata.Object) Sight {
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
		case metadata.KindTable,
			metadata.KindView,
			metadata.KindProcedure,
			metadata.KindScalar,
			metadata.KindInline,
			metadata.KindTableFunction,
			metadata.KindSequence,
			metadata.KindSynonym:
			return of(o.ID, o.Schema)
		}
		return SeenThrough
	}
}

// sees tells whether the session sees an object of a database.
func (s *Session) sees(space int32, sch *metadata.Catalog, o *metadata.Object) bool {
	return s.Sight(s.context(), space)(sch, o) != Unseen
}

// DefinitionSeen is the text of an object's definition, NULL for who may not see it.
func (s *Session) DefinitionSeen(sch *metadata.Catalog, o *metadata.Object) any {
	if s.Sight(s.context(), s.viewDatabase().ID())(sch, o) != SeenThrough {
		return nil
	}
	return ShownDefinition(o)
}

// VisibleObjects are the objects that a view shows: those of its database that the session may see, and in tempdb the
// session's temporary tables.
func (s *Session) VisibleObjects(ctx context.Context) (*metadata.Catalog, []*metadata.Object, error) {
	sch, err := s.Catalog(ctx, s.viewDatabase())
	if err != nil {
		return nil, nil, err
	}
	var list []*metadata.Object
	sight := s.Sight(ctx, s.viewDatabase().ID())
	for _, o := range sch.Sorted() {
		switch {
		case o.Kind == metadata.KindAlias, o.Kind == metadata.KindScopedTrigger, sight(sch, o) == Unseen:
			continue
		case o.Kind == metadata.KindTableType:
			shown := *o
			shown.Name, shown.Schema = fmt.Sprintf("TT_%s_%08X", sqltype.Cut(o.TypeName(), 110), uint32(o.ID)), 4
			o = &shown
		}
		list = append(list, o)
	}
	if s.viewDatabase().ID() == 2 && s.local.schema != nil {
		for _, o := range s.local.schema.Sorted() {
			if len(o.Name) > 0 && o.Name[0] == '#' {
				list = append(list, o)
			}
		}
	}
	return sch, list, nil
}
