// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strings"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// runProcedure checks and converts the arguments of a procedure that is written in Go, and runs it.
func (s *Session) runProcedure(
	ctx context.Context,
	p *Procedure,
	db *Database,
	args []argument,
	w tds.Writer,
) (int32, error) {
	c := &ProcCall{
		Session:   s,
		Database:  db,
		Writer:    w,
		procedure: p,
		values:    map[string]any{},
		types:     map[string]sqltype.Type{},
		given:     map[string]bool{},
	}
	outputs := map[string]*variable{}
	if err := c.bind(args, outputs); err != nil {
		return 1, err
	}
	if p.NoTransaction && s.count > 0 {
		return 1, sqlerr.New(15002, 1, p.Name)
	}
	if !p.public() {
		if err := s.require(ctx, Permission{Name: "EXECUTE", Database: db, Schema: p.Schema, Object: p.Name}); err != nil {
			return 1, err
		}
	}
	f := &frame{variables: map[string]*variable{}, procedure: p.Name, depth: s.nest}
	before, line := s.db, s.line
	s.db = db
	s.frames = append(s.frames, f)
	s.nest++
	err := p.Run(ctx, c)
	s.popFrame()
	s.line = line
	if s.db == db {
		s.db = before
	}
	if err != nil {
		return 1, procedureError(err, p.Name)
	}
	for name, v := range outputs {
		out, e := sqltype.Convert(
			normalise(c.values[name]),
			valueType(c.values[name], c.types[name]),
			v.typ,
			0,
			sqltype.Explicit,
		)
		if e != nil {
			return 1, e
		}
		v.value = out
	}
	return c.status, nil
}

// public tells whether everybody may execute the procedure: its page says so, or asks for a permission on the server,
// for which the procedure itself looks, or it has none in the catalog, as sp_executesql, which public may execute.
func (p *Procedure) public() bool {
	info, ok := catalog.Procedure(p.Name)
	return !ok || strings.Contains(info.Permission, "public") || strings.Contains(info.Permission, "any user") ||
		strings.HasPrefix(info.Permission, "VIEW SERVER")
}

// valueType is the type of an output value: the parameter's, or the Go value's own when a procedure set another.
func valueType(v any, t sqltype.Type) sqltype.Type {
	own := sqltype.TypeOf(normalise(v))
	if _, ok := v.(sqltype.Variant); ok {
		own = sqltype.VariantType
	}
	switch {
	case v == nil, t.Kind.IsCharacter() && own.Kind.IsCharacter(), t.Kind.IsBinary() && own.Kind.IsBinary(),
		t.Kind.IsTemporal() && own.Kind.IsTemporal(), t.Kind.IsInteger() && own.Kind.IsInteger(), t.Kind == own.Kind:
		return t
	}
	return own
}

func procedureError(err error, name string) error {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Procedure == "" {
		copied := *e
		copied.Procedure = name
		if copied.Line == 0 {
			copied.Line = 1
		}
		return &copied
	}
	return err
}

// bind checks the arguments against the declared parameters: 8143 to 8145, 201, 214, 15600 and errors of conversion.
func (c *ProcCall) bind(args []argument, outputs map[string]*variable) error {
	p := c.procedure
	named := false
	seen := map[string]bool{}
	for i, a := range args {
		var param *Parameter
		switch {
		case a.name != "":
			named = true
			param = p.parameter(a.name)
			if param == nil && !p.Variadic {
				if len(p.Parameters) == 0 {
					return sqlerr.New(8146, 1, p.Name)
				}
				return sqlerr.New(8145, 1, a.name, p.Name)
			}
		case named:
			return sqlerr.New(119, 1, i+1)
		case i < len(p.Parameters):
			param = &p.Parameters[i]
		}
		if param == nil {
			if !p.Variadic {
				return sqlerr.New(8144, 2, p.Name)
			}
			c.extra = append(c.extra, a)
			continue
		}
		name := lower(param.Name)
		if c.givenTypes == nil {
			c.givenTypes = map[string]sqltype.Type{}
		}
		c.givenTypes[name] = a.typ
		if seen[name] {
			return sqlerr.New(8143, 1, param.Name)
		}
		seen[name] = true
		if err := c.take(param, name, a); err != nil {
			return err
		}
		if a.output != nil {
			if !param.Output && !a.returned {
				return sqlerr.New(8162, 1, param.Name)
			}
			if to := a.output.typ; param.Type.Kind == sqltype.SQLVariant && to.Kind != sqltype.SQLVariant && !a.returned {
				return sqlerr.New(257, 3, sqltype.SQLVariant, to.Kind)
			}
			outputs[name] = a.output
		}
	}
	for i := range p.Parameters {
		param := &p.Parameters[i]
		name := lower(param.Name)
		c.names = append(c.names, name)
		c.types[name] = param.Type
		if c.given[name] {
			continue
		}
		if param.Required {
			return sqlerr.New(201, 4, p.Name, param.Name)
		}
		c.values[name] = param.Default
	}
	return nil
}

func (c *ProcCall) take(param *Parameter, name string, a argument) error {
	if a.isDefault {
		return nil
	}
	from := a.typ
	if from.Kind == sqltype.Unknown {
		from = sqltype.TypeOf(a.value)
	}
	mode := sqltype.Implicit
	if param.Type.Kind == sqltype.SQLVariant || from.Kind == sqltype.SQLVariant || param.XML && from.Kind == sqltype.XML {
		mode = sqltype.Explicit
	}
	v, e := c.Session.Convert(a.value, from, param.Type, mode)
	if e != nil {
		return sqlerr.New(8114, 1, from.Kind, param.Type.Kind)
	}
	if text, ok := v.(string); ok && len(param.Allowed) > 0 && !allowed(param.Allowed, text) {
		if f := c.procedure.NotAllowed; f != nil {
			if e := f(param, text); e != nil {
				return procedureError(e, c.procedure.Name)
			}
		}
		return sqlerr.New(15600, 1, c.procedure.Name)
	}
	c.values[name], c.given[name] = v, true
	return nil
}

// allowed tells whether a text is one of the documented values; what one of these has in angle brackets stands for any
// name.
func allowed(list []string, v string) bool {
	for _, a := range list {
		if fixed, _, named := strings.Cut(a, "<"); named && len(v) > len(fixed) && strings.EqualFold(v[:len(fixed)], fixed) {
			return true
		}
		if strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(v)) {
			return true
		}
	}
	return false
}

func (p *Procedure) parameter(name string) *Parameter {
	for i := range p.Parameters {
		if param := &p.Parameters[i]; strings.EqualFold(param.Name, name) ||
			param.Alias != "" && strings.EqualFold(param.Alias, name) {
			return param
		}
	}
	return nil
}
