// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// propertyKinds are the objects of fn_listextendedproperty's types of level 1.
var propertyKinds = map[string]string{
	"TABLE":     " U ",
	"VIEW":      " V ",
	"PROCEDURE": " P ",
	"FUNCTION":  " FN IF TF ",
	"SYNONYM":   " SN ",
	"SEQUENCE":  " SO ",
}

// propertyLevels are the levels of fn_listextendedproperty: a type that is nil ends them, a name that is nil stands for
// every one (docs/relational-databases/system-functions/sys-fn-listextendedproperty-transact-sql.md).
type propertyLevels struct{ kinds, names [3]any }

func installExtendedProperties(r *engine.Registry) {
	r.TableFunction(
		engine.TableFunction{
			Schema: "sys",
			Name:   "fn_listextendedproperty",
			Parameters: []sqltype.Type{
				sqltype.Sysname,
				sqltype.Sysname,
				sqltype.Sysname,
				sqltype.Sysname,
				sqltype.Sysname,
				sqltype.Sysname,
				sqltype.Sysname,
			},
			Columns: engine.ColumnList(
				"objtype sysname, objname sysname, name sysname, value sql_variant",
			),
			Rows: func(ctx context.Context, s *engine.Session, args []any) ([][]any, error) {
				sch, err := s.Catalog(ctx, s.ViewDatabase())
				if err != nil {
					return nil, err
				}
				levels := propertyLevels{[3]any{args[1], args[3], args[5]}, [3]any{args[2], args[4], args[6]}}
				list, err := propertyRecords(ctx, s)
				var rows [][]any
				for _, rec := range list {
					if !anyOr(args[0], rec["name"].(string)) {
						continue
					}
					if kind, name, ok := levels.of(sch, rec["class"].(int64), rec["major_id"].(int64), rec["minor_id"].(int64)); ok {
						rows = append(rows, []any{kind, name, rec["name"], rec["value"]})
					}
				}
				return rows, err
			},
		},
	)
}

// anyOr tells whether a name is the one that is asked for; nil asks for every one.
func anyOr(asked any, name string) bool {
	text, ok := asked.(string)
	return !ok || strings.EqualFold(text, name)
}

// of tells whether what has a property is what the levels name: its type, nil for the database, and its name.
func (l propertyLevels) of(sch *metadata.Catalog, class, major, minor int64) (kind, name any, ok bool) {
	kinds := [3]string{}
	depth := 0
	for ; depth < 3 && l.kinds[depth] != nil; depth++ {
		kinds[depth], _ = l.kinds[depth].(string)
		kinds[depth] = strings.ToUpper(kinds[depth])
	}
	if depth == 0 {
		return nil, nil, class == 0
	}
	if kinds[0] != "SCHEMA" && (kinds[0] != "USER" || depth == 1) {
		return nil, nil, false
	}
	if depth == 1 {
		for _, n := range sch.Schemas {
			if class == 3 && int64(n.ID) == major && anyOr(l.names[0], n.Name) {
				return kinds[0], n.Name, true
			}
		}
		return nil, nil, false
	}
	o := sch.Objects[int32(major)]
	if o == nil {
		return nil, nil, false
	}
	child := o
	if list, known := childKinds[kinds[2]]; depth == 3 && known {
		if o = sch.Objects[child.Parent]; o == nil || class != 1 || !strings.Contains(list, " "+child.Kind+" ") {
			return nil, nil, false
		}
	}
	if !anyOr(l.names[0], sch.SchemaName(o)) || !anyOr(l.names[1], o.Name) ||
		!strings.Contains(propertyKinds[kinds[1]], " "+o.Kind+" ") {
		return nil, nil, false
	}
	if depth == 2 {
		return kinds[1], o.Name, class == 1 && minor == 0
	}
	last := ""
	switch {
	case child != o:
		last = child.Name
	case kinds[2] == "COLUMN" && class == 1 && o.Table != nil:
		if column := o.Table.ColumnByID(int32(minor)); column != nil {
			last = column.Name
		}
	case kinds[2] == "INDEX" && class == 7 && o.Table != nil:
		for _, i := range o.Table.Indexes {
			if int64(i.ID) == minor {
				last = i.Name
			}
		}
	}
	return kinds[2], last, last != "" && anyOr(l.names[2], last)
}

// childKinds are the objects of level 2 that belong to one of level 1.
var childKinds = map[string]string{"CONSTRAINT": " PK UQ F C D ", "TRIGGER": " TR "}

// propertyClasses are the words of those numbers.
var propertyClasses = map[int64]any{
	0:  "DATABASE",
	1:  "OBJECT_OR_COLUMN",
	2:  "PARAMETER",
	3:  "SCHEMA",
	4:  "DATABASE_PRINCIPAL",
	6:  "TYPE",
	7:  "INDEX",
	20: "DATASPACE",
	21: "PARTITION_FUNCTION",
}
