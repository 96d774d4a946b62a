// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"maps"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// installMyPermissions registers fn_my_permissions (securable, class): what the caller may do on a server, a database
// or a securable in it (docs/relational-databases/system-functions/sys-fn-my-permissions-transact-sql.md). On the
// columns of a table the caller may what it may on the table.
func (e *Extension) installMyPermissions(r *engine.Registry) {
	sysname := sqltype.Sysname
	r.TableFunction(
		engine.TableFunction{Schema: "sys", Name: "fn_my_permissions", Parameters: []sqltype.Type{sysname, sysname},
			Columns: []tds.Column{
				{Name: "entity_name", Type: sysname, Nullable: true},
				{Name: "subentity_name", Type: sysname, Nullable: true},
				{Name: "permission_name", Type: sqltype.NVarCharOf(60), Nullable: true},
			},
			Rows: func(ctx context.Context, s *engine.Session, args []any) ([][]any, error) {
				name, named := text(args, 0)
				class, _ := text(args, 1)
				class = strings.ToUpper(class)
				if !named && (class == "" || class == "SERVER") {
					return permitted("server", serverPermissions, func(p string) bool { return e.mayServer(ctx, s, p) }), nil
				}
				sec, db, server, ok, err := e.namedSecurable(ctx, s, class, name)
				if err != nil || !ok {
					return nil, err
				}
				if class == "DATABASE" {
					name = "database"
				}
				may := func(p string) bool {
					if server {
						return e.maySecurable(ctx, s, p, sec.class, sec.major)
					}
					return e.may(ctx, s, db, sec, p)
				}
				rows := permitted(name, securablePermissions[sec.class], may)
				if sec.class == classObject && !server {
					columns, err := e.columnsNamed(ctx, s, target{sec: sec, db: db})
					if err != nil {
						return nil, err
					}
					for _, column := range slices.Sorted(maps.Keys(columns)) {
						for _, row := range permitted(name, columnPermissions, may) {
							rows = append(rows, []any{name, column, row[2]})
						}
					}
				}
				return rows, nil
			}},
	)
}

// permitted are the rows of the permissions that may says yes to, by name.
func permitted(entity string, known map[string]bool, may func(string) bool) [][]any {
	var names []string
	for p := range known {
		if p != "ALL" && may(p) {
			names = append(names, p)
		}
	}
	slices.Sort(names)
	rows := make([][]any, len(names))
	for i, p := range names {
		rows[i] = []any{entity, "", p}
	}
	return rows
}
