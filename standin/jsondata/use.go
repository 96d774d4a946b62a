// SPDX-License-Identifier: Apache-2.0

package jsondata

import (
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// IsObjectOrArray is ISJSON without a type.
func IsObjectOrArray(text string) bool {
	return check(text) == nil && strings.IndexByte("{[", text[trim(text).start]) >= 0
}

// Exists tells whether a path leads to a value; a text that is none has no values.
func Exists(text, path string) (bool, *sqlerr.Error) {
	p, err := parsePath(path)
	if err != nil || check(text) != nil {
		return false, err
	}
	_, found := p.find(text)
	return found, nil
}

// Value is a scalar of the text; limit is the longest one in characters, 0 for none.
func Value(text, path string, limit int) (any, *sqlerr.Error) {
	raw, p, found, err := lookUp(text, path)
	if err != nil || !found {
		return nil, err
	}
	v, scalar := unquote(raw)
	if !scalar {
		if p.strict {
			return nil, Error(13623, 1, "Scalar value cannot be found in the specified JSON path.")
		}
		return nil, nil
	}
	if s, ok := v.(string); ok && limit > 0 && sqltype.Length(s) > limit {
		if p.strict {
			return nil, Error(13625, 1, "String value in the specified JSON path would be truncated.")
		}
		return nil, nil
	}
	return v, nil
}

// Query is an object or an array of the text.
func Query(text, path string) (any, *sqlerr.Error) {
	raw, p, found, err := lookUp(text, path)
	if err != nil || !found {
		return nil, err
	}
	if raw[0] != '{' && raw[0] != '[' {
		if p.strict {
			return nil, Error(13624, 1, "Object or array cannot be found in the specified JSON path.")
		}
		return nil, nil
	}
	return raw, nil
}

// Modify sets the value at a path, written in JSON; an empty value is NULL: it deletes a key in lax mode and is null
// otherwise.
func Modify(text, path, value string) (any, *sqlerr.Error) {
	p, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	if err := check(text); err != nil {
		return nil, err
	}
	return p.modify(text, value)
}

func (p parsedPath) modify(text, value string) (any, *sqlerr.Error) {
	missing := Error(13608, 6, "Property cannot be found on the specified JSON path.")
	remove := value == "" && !p.strict && !p.append
	if value == "" {
		value = "null"
	}
	if p.append {
		at, found := p.find(text)
		if !found || text[at.start] != '[' {
			if found || p.strict {
				return nil, Error(13621, 1, "Array cannot be found in the specified JSON path.")
			}
			// What is not there becomes an array.
			p.append = false
			return p.modify(text, "["+value+"]")
		}
		return insertMember(text, at, value), nil
	}
	if len(p.steps) == 0 {
		return nil, Error(13619, 1, "Unsupported JSON path found in argument 2 of JSON_MODIFY.")
	}
	last := p.steps[len(p.steps)-1]
	parent, found := parsedPath{steps: p.steps[:len(p.steps)-1]}.find(text)
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
	return insertMember(text, parent, Quote(last.key)+":"+value), nil
}

// insertMember puts a member at the end of an object or array.
func insertMember(text string, at span, member string) string {
	inner := strings.TrimRight(text[at.start+1:at.end-1], " \t\r\n")
	if inner != "" {
		member = "," + member
	}
	end := at.start + 1 + len(inner)
	return text[:end] + member + text[end:]
}

// removeMember takes the member with the value at a place out, and one of the commas beside it.
func removeMember(text string, members []member, at span) string {
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
