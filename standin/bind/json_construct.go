// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqltype"
)

// jsonConstructor binds JSON_OBJECT and JSON_ARRAY (docs/t-sql/functions/json-object-transact-sql.md,
// json-array-transact-sql.md). NULLs are kept in objects and left out of arrays unless the call says otherwise.
func (b *Binder) jsonConstructor(sc *Scope, n *ast.FunctionCall, name string) Expr {
	object := name == "json_object"
	absent := !object
	if len(n.AbsentOrNullOnNull) > 0 {
		absent = strings.EqualFold(n.AbsentOrNullOnNull[0].Value, "ABSENT")
	}
	var args []Expr
	kinds := ""
	add := func(e Expr) {
		if e.Null {
			e = literal(sqltype.NVarCharOf(1), nil)
		}
		kind := "v"
		if e.json {
			kind = "j"
		}
		kinds += kind
		args = append(args, e)
	}
	for _, p := range n.JsonParameters {
		add(b.Convert(b.Scalar(sc, p.JsonKeyName), sqltype.NVarCharMax, sqltype.Implicit, 0, false))
		add(b.Scalar(sc, p.JsonValue))
	}
	for _, p := range n.Parameters {
		add(b.Scalar(sc, p))
	}
	flags := name
	if absent {
		flags += " absent"
	}
	out := b.goCall(
		builtin.JSONConstruct,
		append([]Expr{literal(sqltype.VarCharMax, flags+"/"+kinds)}, args...),
		sqltype.NVarCharMax,
		true,
	)
	out.json = true
	return out
}
