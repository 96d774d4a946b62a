// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// userTyped gives the parameters of sp_executesql that are of types of CREATE TYPE their values. The returned func
// drops the tables that were made for them.
func (s *Session) userTyped(
	ctx context.Context,
	declared []declaredParameter,
	params []tds.Param,
	variables map[string]*variable,
) (func(), error) {
	var f *frame
	done := func() {
		if f != nil {
			s.dropLocals(f)
		}
	}
	for i := range declared {
		d := &declared[i]
		if d.TypeName == "" {
			continue
		}
		name := bind.SplitName(d.TypeName)
		t := s.userType(ctx, name)
		if t == nil {
			return done, sqlerr.New(2715, 3, i+1, name.Name)
		}
		p := given(declared, params, i)
		if t.Kind == metadata.KindAlias {
			v := variables[d.key]
			v.typ = s.inCodePage(t.Table.Columns[0].Type)
			if p == nil {
				continue
			}
			value, e := s.Convert(p.Value, p.Type, v.typ, sqltype.Implicit)
			if e != nil {
				return done, e
			}
			v.value = value
			continue
		}
		if !d.ReadOnly {
			return done, sqlerr.New(352, 1, d.Name)
		}
		if f == nil {
			f = &frame{variables: variables, depth: s.nest}
		}
		a := &argument{isDefault: p == nil}
		if p != nil {
			a.typ, a.rows, a.isDefault = p.Type, p.Table, p.Default
			if v, ok := p.Value.(*variable); ok {
				a.table = v
			}
		}
		if _, err := s.tableArgument(ctx, f, d.Name, t, a); err != nil {
			return done, err
		}
	}
	return done, nil
}

// given is the parameter of a call that a declaration is for; nil when it has none.
func given(declared []declaredParameter, params []tds.Param, at int) *tds.Param {
	for i := range params {
		if placeOf(declared, params[i].Name, i) == at {
			return &params[i]
		}
	}
	return nil
}
