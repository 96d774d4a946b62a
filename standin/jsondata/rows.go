// SPDX-License-Identifier: Apache-2.0

package jsondata

// Rows are what OPENJSON makes of the object or array at a path (docs/t-sql/functions/openjson-transact-sql.md): keys,
// values and the numbers of their types, or for its WITH clause the elements that it takes apart.
func Rows(text, path string, elements bool) ([][]any, error) {
	raw, p, found, err := lookUp(text, path)
	if err != nil {
		return nil, err
	}
	if !found || raw[0] != '{' && raw[0] != '[' {
		if p.strict {
			return nil, Error(13624, 1, "Object or array cannot be found in the specified JSON path.")
		}
		return nil, nil
	}
	if elements && raw[0] == '{' {
		return [][]any{{raw}}, nil
	}
	members, problem := membersOf(raw)
	if problem != nil {
		return nil, malformed(raw, problem)
	}
	rows := make([][]any, len(members))
	for i, m := range members {
		inner := raw[m.value.start:m.value.end]
		if elements {
			rows[i] = []any{inner}
			continue
		}
		value, scalar := unquote(inner)
		if !scalar {
			value = inner
		}
		rows[i] = []any{m.key, value, kindOf(inner)}
	}
	return rows, nil
}

// kindOf is the number of a value's type in OPENJSON's column type.
func kindOf(raw string) int64 {
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
