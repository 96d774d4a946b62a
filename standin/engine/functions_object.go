// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
)

// objectID is OBJECT_ID(name, type); nil when there is none.
func (s *Session) objectID(text, kind string) any {
	name := bind.SplitName(text)
	if name.Database != "" && s.inst.Database(name.Database) == nil {
		return nil
	}
	return s.objectIDOf(nil, name, kind)
}

// objectIDOf is the object_id of what a name means, in the text of a module or, where that is nil, in a batch.
func (s *Session) objectIDOf(module *metadata.Object, name bind.ObjectName, kind string) any {
	var o *metadata.Object
	var sch *metadata.Catalog
	var space int32
	b := newBinder(s.context(), s, s.db.ID())
	leave := s.within(module)
	err := bind.Safely(func() { space, sch, o = b.Resolve(name) })
	if leave(); err != nil || o != nil && space != bind.TempSpace && !s.sees(space, sch, o) {
		return nil
	}
	if o != nil &&
		(kind == "" || strings.EqualFold(strings.TrimSpace(kind), o.Kind) || o.Kind == metadata.KindDefault &&
			strings.EqualFold(strings.TrimSpace(kind), "D")) {
		return int64(o.ID)
	}
	if o != nil {
		return nil
	}
	if v := s.findView(name); v != nil && (kind == "" || strings.EqualFold(strings.TrimSpace(kind), "V")) {
		return int64(metadata.SystemObjectID(v.Schema + "." + v.Name))
	}
	if p, _ := s.findProcedure(name); p != nil &&
		(kind == "" || strings.EqualFold(strings.TrimSpace(kind), "P") || strings.EqualFold(strings.TrimSpace(kind), "X")) {
		return int64(metadata.SystemObjectID(p.Schema + "." + p.Name))
	}
	return nil
}

func (s *Session) objectByID(v any) *metadata.Object {
	id, ok := v.(int64)
	if !ok {
		return nil
	}
	if sch, err := s.schema(s.context(), s.db.ID()); err == nil {
		if o := sch.Objects[int32(id)]; o != nil {
			if !s.sees(s.db.ID(), sch, o) {
				return nil
			}
			return o
		}
	}
	if s.local.schema != nil {
		return s.local.schema.Objects[int32(id)]
	}
	return nil
}

func (s *Session) objectPart(a []any, schemaName bool) any {
	db := s.db
	if len(a) > 1 && a[1] != nil {
		if db = s.inst.DatabaseByID(int32(integer(a[1]))); db == nil {
			return nil
		}
	}
	sch, err := s.schema(s.context(), db.ID())
	if err != nil || a[0] == nil {
		return nil
	}
	id := int32(integer(a[0]))
	o := sch.Objects[id]
	if o == nil {
		for _, v := range s.inst.registry.views {
			if metadata.SystemObjectID(v.Schema+"."+v.Name) == id {
				if schemaName {
					return v.Schema
				}
				return v.Name
			}
		}
		return nil
	}
	switch {
	case !s.sees(db.ID(), sch, o):
		return nil
	case schemaName:
		return sch.SchemaName(o)
	}
	return o.Name
}

func yes(b bool) any { return map[bool]int64{true: 1}[b] }

func columnProperty(s *Session, a []any) any {
	o := s.objectByID(a[0])
	name, _ := a[1].(string)
	property, _ := a[2].(string)
	if o == nil || o.Table == nil {
		return nil
	}
	c := o.Table.Column(name)
	if c == nil {
		return nil
	}
	switch lower(property) {
	case "allowsnull":
		return yes(c.Nullable)
	case "columnid", "ordinal":
		return int64(c.ID)
	case "isidentity":
		return yes(c.Identity != nil)
	case "isidnotforrepl":
		return yes(c.Identity != nil && c.Identity.NotForReplication)
	case "iscomputed":
		return yes(c.Computed != "")
	case "isdeterministic", "isprecise":
		if c.Computed == "" {
			return nil
		}
		k, err := s.computation(o, c)
		if err != nil {
			return nil
		}
		return yes(lower(property) == "isprecise" && !k.rough || lower(property) == "isdeterministic" && !k.varies)
	case "isrowguidcol":
		return yes(c.RowGUID)
	case "precision":
		if c.Type.Kind.IsCharacter() || c.Type.Kind.IsBinary() {
			return int64(c.Type.Length)
		}
		return int64(c.Type.DisplayPrecision())
	case "scale":
		return int64(c.Type.DisplayScale())
	case "charmaxlen":
		return int64(c.Type.Length)
	case "ishidden", "issparse", "iscolumnset", "isfulltextindexed":
		return int64(0)
	}
	return nil
}

// baseType is what a synonym stands for, or the object's own type.
func (s *Session) baseType(o *metadata.Object) string {
	if o.Kind != metadata.KindSynonym {
		return o.Kind
	}
	b := newBinder(s.context(), s, s.db.ID())
	var base *metadata.Object
	if bind.Safely(func() { _, _, base = b.ResolveWrite(bind.SplitName(o.Target)) }) != nil || base == nil {
		return ""
	}
	return base.Kind
}
