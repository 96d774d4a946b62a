// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// complete fills in what extensions left to the catalog's documentation: columns of views, parameters of procedures.
func (r *Registry) complete() error {
	for key, v := range r.views {
		if v.Columns != nil {
			continue
		}
		cols, err := documentedColumns(v)
		if err != nil {
			return fmt.Errorf("view %s: %w", key, err)
		}
		v.Columns = cols
	}
	for key, p := range r.procedures {
		if p.Parameters != nil {
			continue
		}
		params, err := documentedParameters(p.Name)
		if err != nil {
			return fmt.Errorf("procedure %s: %w", key, err)
		}
		p.Parameters = params
	}
	return nil
}

// AddColumns gives a view the columns of the catalog's documentation and those of the same page that the catalog lacks.
func (r *Registry) AddColumns(view, list string) {
	v := r.views[lower("."+view)]
	documented, err := documentedColumns(v)
	if err != nil {
		r.problems = append(r.problems, "view "+view+": "+err.Error())
	}
	v.Columns = append(documented, columns(list)...)
}

func documentedColumns(v *View) ([]tds.Column, error) {
	var infos []catalog.ColumnInfo
	if info, ok := catalog.View(v.Schema + "." + v.Name); ok {
		infos = info.Columns
	} else if info, ok := catalog.View(v.Name); ok {
		infos = info.Columns
	} else if info, ok := catalog.ReplicationTable(v.Name); ok {
		infos = info.Columns
	} else {
		return nil, fmt.Errorf("it has no columns, and the catalog does not know it")
	}
	cols := make([]tds.Column, 0, len(infos))
	for _, c := range infos {
		t, err := documentedType(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		cols = append(cols, tds.Column{Name: c.Name, Type: t, Nullable: true})
	}
	return cols, nil
}

// documentedType reads a type as a page writes it; an empty one is sql_variant's plain cousin nvarchar(max).
func documentedType(text string) (sqltype.Type, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	if t == "" {
		return sqltype.NVarCharOf(4000), nil
	}
	if i := strings.IndexAny(t, "\n;"); i >= 0 {
		t = t[:i]
	}
	switch t {
	// A page that gives no length leaves it open; in a declaration it would mean one character.
	case "nvarchar", "varchar", "varbinary", "ncharvar":
		t = map[string]string{"nvarchar": "nvarchar(4000)", "ncharvar": "nvarchar(4000)", "varchar": "varchar(8000)",
			"varbinary": "varbinary(8000)"}[t]
	}
	parsed, err := syntax.ParseType(t)
	if err != nil {
		return sqltype.Type{}, fmt.Errorf("type %q: %w", text, err)
	}
	return parsed, nil
}

func documentedParameters(name string) ([]Parameter, error) {
	info, ok := catalog.Procedure(name)
	if !ok {
		return nil, fmt.Errorf("it has no parameters, and the catalog does not know it")
	}
	out := make([]Parameter, 0, len(info.Parameters))
	for _, p := range info.Parameters {
		t, err := documentedType(p.Type)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		q := Parameter{Name: p.Name, Type: t, Required: p.Required, Output: p.Output, Allowed: p.Allowed}
		if p.Default != nil && *p.Default != "NULL" && *p.Default != "unknown" {
			q.Default = documentedDefault(*p.Default, t)
		}
		out = append(out, q)
	}
	return out, nil
}

// documentedDefault is a default as a value of the parameter's type; nil when the page's words are no value.
func documentedDefault(text string, t sqltype.Type) any {
	text = strings.Trim(strings.TrimSpace(text), "'")
	if t.Kind.IsBinary() && strings.HasPrefix(strings.ToLower(text), "0x") {
		v, err := sqltype.Convert(text, sqltype.VarCharMax, t, 1, sqltype.Explicit)
		if err != nil {
			return nil
		}
		return v
	}
	if t.Kind.IsNumeric() {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return nil
		}
	}
	v, err := sqltype.Convert(text, sqltype.VarCharMax, t, 0, sqltype.Explicit)
	if err != nil {
		return nil
	}
	return v
}
