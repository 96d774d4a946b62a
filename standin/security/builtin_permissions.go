// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	_ "embed"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// builtinTable has a row of sys.fn_builtin_permissions in each line: class, permission, type, the permission of the
// class that covers it, the class that contains the class, and the permission there that implies it
// (docs/relational-databases/system-functions/sys-fn-builtin-permissions-transact-sql.md,
// docs/relational-databases/security/permissions-database-engine.md). Where the latter names a permission that the
// container does not have (SEARCH PROPERTY LIST, ALTER LEDGER ...), the container's own stands here. No page lists the
// covering permissions but those of 2022: they are recalled, not read, except on the server.
//
//go:embed builtin_permissions.txt
var builtinTable string

type builtinPermission struct{ class, name, kind, covering, parent, implied string }

var builtinPermissions = func() []builtinPermission {
	var out []builtinPermission
	for _, line := range strings.Split(strings.TrimSpace(builtinTable), "\n") {
		f := strings.Split(line, "|")
		if len(f) != 6 {
			panic("builtin_permissions.txt: " + line)
		}
		out = append(out, builtinPermission{f[0], f[1], f[2], f[3], f[4], f[5]})
	}
	return out
}()

// permissionsOf are the names of the permissions of classes, besides those named.
func permissionsOf(classes string, more ...string) map[string]bool {
	names := set(more...)
	for _, class := range strings.Split(classes, ", ") {
		for _, p := range builtinPermissions {
			if p.class == class {
				names[p.name] = true
			}
		}
	}
	return names
}

// permissionTypes has the types of permissions of up to four letters, by name (sys.database_permissions.type and
// sys.server_permissions.type: docs/relational-databases/system-catalog-views/sys-database-permissions-transact-sql.md,
// sys-server-permissions-transact-sql.md).
var permissionTypes = func() map[string]string {
	types := map[string]string{}
	for _, p := range builtinPermissions {
		types[p.name] = p.kind
	}
	return types
}()

// installBuiltinPermissions registers fn_builtin_permissions (class).
func installBuiltinPermissions(r *engine.Registry) {
	name := sqltype.NVarCharOf(60)
	var columns []tds.Column
	for _, c := range []struct {
		name string
		typ  sqltype.Type
	}{{"class_desc", name}, {"permission_name", name}, {"type", sqltype.Type{Kind: sqltype.VarChar, Length: 4}},
		{"covering_permission_name", name}, {"parent_class_desc", name}, {"parent_covering_permission_name", name}} {
		columns = append(columns, tds.Column{Name: c.name, Type: c.typ, Nullable: true})
	}
	r.TableFunction(
		engine.TableFunction{
			Schema:     "sys",
			Name:       "fn_builtin_permissions",
			Parameters: []sqltype.Type{name},
			Columns:    columns,
			Rows: func(_ context.Context, _ *engine.Session, args []any) ([][]any, error) {
				class, _ := text(args, 0)
				var rows [][]any
				for _, p := range builtinPermissions {
					if class == "" || strings.EqualFold(class, p.class) {
						rows = append(rows, []any{p.class, p.name, p.kind, given(p.covering), given(p.parent), given(p.implied)})
					}
				}
				return rows, nil
			},
		},
	)
}

// given is a text, or nil for none.
func given(text string) any {
	if text == "" {
		return nil
	}
	return text
}
