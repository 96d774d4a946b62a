// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// jsonConstruct is what JSON_OBJECT and JSON_ARRAY become; no client can name it.
const jsonConstruct = "json construct"

// jsonConstructor binds JSON_OBJECT and JSON_ARRAY (docs/t-sql/functions/json-object-transact-sql.md,
// json-array-transact-sql.md). NULLs are kept in objects and left out of arrays unless the call says otherwise.
func (b *binder) jsonConstructor(sc *scope, n *ast.FunctionCall, name string) expr {
	object := name == "json_object"
	absent := !object
	if len(n.AbsentOrNullOnNull) > 0 {
		absent = strings.EqualFold(n.AbsentOrNullOnNull[0].Value, "ABSENT")
	}
	var args []expr
	kinds := ""
	add := func(e expr) {
		if e.null {
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
		add(b.convert(b.scalar(sc, p.JsonKeyName), sqltype.NVarCharMax, sqltype.Implicit, 0, false))
		add(b.scalar(sc, p.JsonValue))
	}
	for _, p := range n.Parameters {
		add(b.scalar(sc, p))
	}
	flags := name
	if absent {
		flags += " absent"
	}
	out := b.goCall(jsonConstruct, append([]expr{literal(sqltype.VarCharMax, flags+"/"+kinds)}, args...), sqltype.NVarCharMax, true)
	out.json = true
	return out
}

func init() {
	addBuiltins(map[string]*builtinFunction{jsonConstruct: {min: 1, max: 1000, nulls: true, pure: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
		flags, kinds, _ := strings.Cut(a[0].(string), "/")
		object, absent := strings.HasPrefix(flags, "json_object"), strings.HasSuffix(flags, " absent")
		var parts []string
		for i := 1; i < len(a); i++ {
			key := ""
			if object {
				name, ok := a[i].(string)
				if !ok {
					return nil, unsupported("A name of JSON_OBJECT that is NULL")
				}
				key = quoteJSON(name) + ":"
				i++
			}
			switch {
			case a[i] == nil && absent:
			case a[i] == nil:
				parts = append(parts, key+"null")
			case kinds[i-1] == 'j':
				parts = append(parts, key+text(a[i], e.types[i]))
			default:
				parts = append(parts, key+jsonScalar(a[i], e.types[i]))
			}
		}
		if object {
			return "{" + strings.Join(parts, ",") + "}", nil
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	}}})
}
