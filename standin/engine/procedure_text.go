// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// TextProcedure registers a system procedure that is a T-SQL text, in which @p1, @p2 ... are its parameters' values.
// parameters is a list like that of a table's columns; a name with ! behind it is required, a default stands behind =.
func (r *Registry) TextProcedure(name, parameters, text string) {
	r.Procedure(
		Procedure{Name: name, Parameters: ParameterList(parameters), Run: func(ctx context.Context, c *ProcCall) error {
			var values []any
			for _, p := range c.procedure.Parameters {
				values = append(values, c.Value(p.Name))
			}
			return c.Exec(ctx, text, values...)
		}},
	)
}

// PrincipalProcedure is TextProcedure for the former procedures that make and change principals: they take no NULL for
// a name (15004) and do not run within a transaction (15002).
func (r *Registry) PrincipalProcedure(name, parameters, text string) {
	list := ParameterList(parameters)
	r.Procedure(
		Procedure{Name: name, Parameters: list, NoTransaction: true, Run: func(ctx context.Context, c *ProcCall) error {
			var values []any
			for _, p := range list {
				if p.Required && c.Value(p.Name) == nil {
					return sqlerr.New(15004, 1)
				}
				values = append(values, c.Value(p.Name))
			}
			return c.Exec(ctx, text, values...)
		}},
	)
}

// ParameterList reads a list of parameters as TextProcedure takes it.
func ParameterList(list string) []Parameter {
	out := []Parameter{}
	if list == "" {
		return out
	}
	for _, text := range strings.Split(list, ", ") {
		text, def, given := strings.Cut(text, " = ")
		name, typ, _ := strings.Cut(text, " ")
		p := Parameter{Name: strings.TrimSuffix(name, "!"), Required: strings.HasSuffix(name, "!")}
		t, err := syntax.ParseType(typ)
		if err != nil {
			panic("parameter " + text + ": " + err.Error())
		}
		p.Type = t
		if given {
			v, e := sqltype.Convert(def, sqltype.NVarCharMax, t, 0, sqltype.Explicit)
			if e != nil {
				panic("default of parameter " + text + ": " + e.Error())
			}
			p.Default = v
		}
		out = append(out, p)
	}
	return out
}

// ColumnList reads the columns of a result set or a view: "name sysname, object_id int, scale decimal(10,2)".
func ColumnList(list string) []tds.Column { return columns(list) }
