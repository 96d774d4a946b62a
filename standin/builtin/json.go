// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"

	"geosql.dev/standin/jsondata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// JSONConstruct is what JSON_OBJECT and JSON_ARRAY become; no client can name it.
const JSONConstruct = "json construct"

// The JSON functions (docs/t-sql/functions/json-functions-transact-sql.md).
func init() {
	two := []sqltype.Type{nmax, nmax}
	json := func(lo, hi int, t sqltype.Type, params []sqltype.Type, run func(a []any) (any, *sqlerr.Error)) *function {
		return &function{
			Min:    lo,
			Max:    hi,
			Params: params,
			Type:   t,
			Pure:   true,
			Run:    func(_ *Evaluation, a []any) (any, *sqlerr.Error) { return run(a) },
		}
	}
	add(map[string]*function{
		"isjson": json(
			1,
			1,
			intT,
			two,
			func(a []any) (any, *sqlerr.Error) { return yes(jsondata.IsObjectOrArray(a[0].(string))), nil },
		),
		"json_value": json(
			1,
			2,
			sqltype.NVarCharOf(4000),
			two,
			func(a []any) (any, *sqlerr.Error) { return jsondata.Value(a[0].(string), pathOf(a), 4000) },
		),
		"json_query": json(
			1,
			2,
			nmax,
			two,
			func(a []any) (any, *sqlerr.Error) { return jsondata.Query(a[0].(string), pathOf(a)) },
		),
		"json_path_exists": json(2, 2, intT, two, func(a []any) (any, *sqlerr.Error) {
			found, err := jsondata.Exists(a[0].(string), a[1].(string))
			if err != nil {
				return int64(0), err
			}
			return yes(found), nil
		}),
		// It takes a column of OPENJSON's WITH clause out of an element.
		"json_text": json(
			2,
			2,
			nmax,
			nil,
			func(a []any) (any, *sqlerr.Error) { return jsondata.Value(a[0].(string), a[1].(string), 0) },
		),
		"json_modify": {
			Min:    3,
			Max:    3,
			Params: []sqltype.Type{nmax, nmax, anyType},
			Type:   nmax,
			Pure:   true,
			Nulls:  true,
			Run:    jsonModify(false),
		},
		"json_modify_raw": {
			Min:    3,
			Max:    3,
			Params: []sqltype.Type{nmax, nmax, nmax},
			Type:   nmax,
			Pure:   true,
			Nulls:  true,
			Run:    jsonModify(true),
		},
	})
}

func pathOf(a []any) string {
	if len(a) > 1 {
		return a[1].(string)
	}
	return "$"
}

func jsonModify(isJSON bool) func(e *Evaluation, a []any) (any, *sqlerr.Error) {
	return func(e *Evaluation, a []any) (any, *sqlerr.Error) {
		if a[0] == nil || a[1] == nil {
			return nil, nil
		}
		value := ""
		switch {
		case a[2] == nil:
		case isJSON:
			value = a[2].(string)
		default:
			value = jsondata.Scalar(a[2], e.Types[2])
		}
		return jsondata.Modify(a[0].(string), a[1].(string), value)
	}
}

func init() {
	add(
		map[string]*function{
			JSONConstruct: {Min: 1, Max: 1000, Nulls: true, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				flags, kinds, _ := strings.Cut(a[0].(string), "/")
				object, absent := strings.HasPrefix(flags, "json_object"), strings.HasSuffix(flags, " absent")
				var parts []string
				for i := 1; i < len(a); i++ {
					key := ""
					if object {
						name, ok := a[i].(string)
						if !ok {
							return nil, sqlerr.Unsupported("A name of JSON_OBJECT that is NULL")
						}
						key = jsondata.Quote(name) + ":"
						i++
					}
					switch {
					case a[i] == nil && absent:
					case a[i] == nil:
						parts = append(parts, key+"null")
					case kinds[i-1] == 'j':
						parts = append(parts, key+sqltype.AsText(a[i], e.Types[i]))
					default:
						parts = append(parts, key+jsondata.Scalar(a[i], e.Types[i]))
					}
				}
				if object {
					return "{" + strings.Join(parts, ",") + "}", nil
				}
				return "[" + strings.Join(parts, ",") + "]", nil
			}},
		},
	)
}
