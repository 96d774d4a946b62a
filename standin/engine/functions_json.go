// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// The JSON functions (docs/t-sql/functions/json-functions-transact-sql.md).
func init() {
	two := []sqltype.Type{nmax, nmax}
	json := func(lo, hi int, t sqltype.Type, params []sqltype.Type, run func(a []any) (any, *sqlerr.Error)) *builtinFunction {
		return &builtinFunction{min: lo, max: hi, params: params, typ: t, pure: true, run: func(_ *evaluation, a []any) (any, *sqlerr.Error) { return run(a) }}
	}
	addBuiltins(map[string]*builtinFunction{
		"isjson": json(1, 1, intT, two, func(a []any) (any, *sqlerr.Error) {
			text := a[0].(string)
			at := trimJSON(text)
			return yes(checkJSON(text) == nil && strings.IndexByte("{[", text[at.start]) >= 0), nil
		}),
		"json_value": json(1, 2, sqltype.NVarCharOf(4000), two, func(a []any) (any, *sqlerr.Error) { return jsonValue(a[0].(string), pathOf(a), 4000) }),
		"json_query": json(1, 2, nmax, two, func(a []any) (any, *sqlerr.Error) { return jsonQuery(a[0].(string), pathOf(a)) }),
		"json_path_exists": json(2, 2, intT, two, func(a []any) (any, *sqlerr.Error) {
			path, err := parseJSONPath(a[1].(string))
			if err != nil || checkJSON(a[0].(string)) != nil {
				return int64(0), err
			}
			_, found := path.find(a[0].(string))
			return yes(found), nil
		}),
		"json_modify":     {min: 3, max: 3, params: []sqltype.Type{nmax, nmax, anyType}, typ: nmax, pure: true, nulls: true, run: jsonModify(false)},
		"json_modify_raw": {min: 3, max: 3, params: []sqltype.Type{nmax, nmax, nmax}, typ: nmax, pure: true, nulls: true, run: jsonModify(true)},
	})
}

func pathOf(a []any) string {
	if len(a) > 1 {
		return a[1].(string)
	}
	return "$"
}

// jsonValue is a scalar of the text; limit is the longest one in characters, 0 for none.
func jsonValue(text, path string, limit int) (any, *sqlerr.Error) {
	raw, p, found, err := lookUp(text, path)
	if err != nil || !found {
		return nil, err
	}
	v, scalar := unquoteJSON(raw)
	if !scalar {
		if p.strict {
			return nil, jsonError(13623, 1, "Scalar value cannot be found in the specified JSON path.")
		}
		return nil, nil
	}
	if s, ok := v.(string); ok && limit > 0 && sqltype.Length(s) > limit {
		if p.strict {
			return nil, jsonError(13625, 1, "String value in the specified JSON path would be truncated.")
		}
		return nil, nil
	}
	return v, nil
}

// jsonQuery is an object or an array of the text.
func jsonQuery(text, path string) (any, *sqlerr.Error) {
	raw, p, found, err := lookUp(text, path)
	if err != nil || !found {
		return nil, err
	}
	if raw[0] != '{' && raw[0] != '[' {
		if p.strict {
			return nil, jsonError(13624, 1, "Object or array cannot be found in the specified JSON path.")
		}
		return nil, nil
	}
	return raw, nil
}

func jsonModify(isJSON bool) func(e *evaluation, a []any) (any, *sqlerr.Error) {
	return func(e *evaluation, a []any) (any, *sqlerr.Error) {
		if a[0] == nil || a[1] == nil {
			return nil, nil
		}
		text := a[0].(string)
		p, err := parseJSONPath(a[1].(string))
		if err != nil {
			return nil, err
		}
		if err := checkJSON(text); err != nil {
			return nil, err
		}
		value := ""
		switch {
		case a[2] == nil:
		case isJSON:
			value = a[2].(string)
		default:
			value = jsonScalar(a[2], e.types[2])
		}
		return p.modify(text, value)
	}
}

// modify sets the value at a path; an empty value is NULL: it deletes a key in lax mode and is null otherwise.
func (p jsonPath) modify(text, value string) (any, *sqlerr.Error) {
	missing := jsonError(13608, 6, "Property cannot be found on the specified JSON path.")
	remove := value == "" && !p.strict && !p.append
	if value == "" {
		value = "null"
	}
	if p.append {
		at, found := p.find(text)
		if !found || text[at.start] != '[' {
			if found || p.strict {
				return nil, jsonError(13621, 1, "Array cannot be found in the specified JSON path.")
			}
			return text, nil
		}
		return insertMember(text, at, value), nil
	}
	if len(p.steps) == 0 {
		return nil, jsonError(13619, 1, "Unsupported JSON path found in argument 2 of JSON_MODIFY.")
	}
	last := p.steps[len(p.steps)-1]
	parent, found := jsonPath{steps: p.steps[:len(p.steps)-1]}.find(text)
	if !found {
		if p.strict {
			return nil, missing
		}
		return text, nil
	}
	at, members, found := last.child(text, parent)
	switch {
	case found && remove && !last.array:
		return removeMember(text, members, at), nil
	case found:
		return text[:at.start] + value + text[at.end:], nil
	case p.strict:
		return nil, missing
	case remove || last.array || text[parent.start] != '{':
		return text, nil
	}
	return insertMember(text, parent, quoteJSON(last.key)+":"+value), nil
}

// insertMember puts a member at the end of an object or array.
func insertMember(text string, at jsonSpan, member string) string {
	inner := strings.TrimRight(text[at.start+1:at.end-1], " \t\r\n")
	if inner != "" {
		member = "," + member
	}
	end := at.start + 1 + len(inner)
	return text[:end] + member + text[end:]
}

// removeMember takes the member with the value at a place out, and one of the commas beside it.
func removeMember(text string, members []jsonMember, at jsonSpan) string {
	for i, m := range members {
		if m.value != at {
			continue
		}
		if i+1 < len(members) {
			return text[:m.from] + text[members[i+1].from:]
		}
		if i > 0 {
			return text[:members[i-1].value.end] + text[m.value.end:]
		}
		return text[:m.from] + text[m.value.end:]
	}
	return text
}

// installJSON registers what OPENJSON reads (docs/t-sql/functions/openjson-transact-sql.md): its default columns, and
// under a name that no client can write the elements that its WITH clause takes apart.
func installJSON(r *Registry) {
	two := []sqltype.Type{nmax, nmax}
	r.TableFunction(TableFunction{Schema: "sys", Name: "openjson", Parameters: two, Columns: columns("key nvarchar(4000), value nvarchar(max), type tinyint"),
		Rows: func(_ context.Context, _ *Session, args []any) ([][]any, error) { return openJSON(args, false) }})
	r.TableFunction(TableFunction{Schema: "sys", Name: "openjson elements", Parameters: two, Columns: columns("value nvarchar(max)"),
		Rows: func(_ context.Context, _ *Session, args []any) ([][]any, error) { return openJSON(args, true) }})
}

func openJSON(args []any, elements bool) ([][]any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, nil
	}
	path, _ := args[1].(string)
	if path == "" {
		path = "$"
	}
	raw, p, found, err := lookUp(text, path)
	if err != nil {
		return nil, err
	}
	if !found || raw[0] != '{' && raw[0] != '[' {
		if p.strict {
			return nil, jsonError(13624, 1, "Object or array cannot be found in the specified JSON path.")
		}
		return nil, nil
	}
	if elements && raw[0] == '{' {
		return [][]any{{raw}}, nil
	}
	members, problem := jsonMembers(raw)
	if problem != nil {
		return nil, badJSON(raw, problem)
	}
	rows := make([][]any, len(members))
	for i, m := range members {
		inner := raw[m.value.start:m.value.end]
		if elements {
			rows[i] = []any{inner}
			continue
		}
		value, scalar := unquoteJSON(inner)
		if !scalar {
			value = inner
		}
		rows[i] = []any{m.key, value, jsonKind(inner)}
	}
	return rows, nil
}

// jsonKind is the number of a value's type in OPENJSON's column type.
func jsonKind(raw string) int64 {
	switch raw[0] {
	case 'n':
		return 0
	case '"':
		return 1
	case 't', 'f':
		return 3
	case '[':
		return 4
	case '{':
		return 5
	}
	return 2
}
