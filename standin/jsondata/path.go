// SPDX-License-Identifier: Apache-2.0

package jsondata

import (
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// step is a key, or with index an array's element.
type step struct {
	key   string
	index int
	array bool
}

type parsedPath struct {
	strict, append bool
	steps          []step
}

// parsePath reads [append] [lax|strict] $.key."key with blanks"[0]
// (docs/relational-databases/json/json-path-expressions-sql-server.md).
func parsePath(text string) (parsedPath, *sqlerr.Error) {
	var p parsedPath
	rest := strings.TrimSpace(text)
	for _, word := range []string{"append", "lax", "strict"} {
		if after, ok := strings.CutPrefix(rest, word+" "); ok {
			rest = strings.TrimSpace(after)
			p.append, p.strict = p.append || word == "append", word == "strict"
		}
	}
	bad := func() (parsedPath, *sqlerr.Error) {
		at := len(text) - len(rest)
		char := "."
		if rest != "" {
			char = rest[:1]
		}
		return p, Error(
			13607,
			4,
			"JSON path is not properly formatted. Unexpected character '%s' is found at position %d.",
			char,
			at,
		)
	}
	if !strings.HasPrefix(rest, "$") {
		return bad()
	}
	for rest = rest[1:]; rest != ""; {
		switch {
		case strings.HasPrefix(rest, `."`):
			end := strings.Index(rest[2:], `"`)
			if end < 0 {
				return bad()
			}
			p.steps = append(p.steps, step{key: rest[2 : 2+end]})
			rest = rest[end+3:]
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[ ")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return bad()
			}
			p.steps = append(p.steps, step{key: rest[1 : 1+end]})
			rest = rest[1+end:]
		case rest[0] == '[':
			digits, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(strings.TrimSpace(digits))
			if !ok || err != nil || n < 0 {
				return bad()
			}
			p.steps = append(p.steps, step{index: n, array: true})
			rest = after
		default:
			return bad()
		}
	}
	return p, nil
}

// child finds a step's value below a span; the members are those of the span.
func (st step) child(text string, at span) (span, []member, bool) {
	inner := text[at.start:at.end]
	if inner == "" || st.array != (inner[0] == '[') || !st.array && inner[0] != '{' {
		return span{}, nil, false
	}
	members, err := membersOf(inner)
	if err != nil {
		return span{}, nil, false
	}
	for i := range members {
		m := &members[i]
		m.from += at.start
		m.value.start += at.start
		m.value.end += at.start
	}
	for i, m := range members {
		if st.array && i == st.index || !st.array && m.key == st.key {
			return m.value, members, true
		}
	}
	return span{}, members, false
}

// find gives the value that a path leads to.
func (p parsedPath) find(text string) (span, bool) {
	at := trim(text)
	for _, st := range p.steps {
		next, _, ok := st.child(text, at)
		if !ok {
			return span{}, false
		}
		at = next
	}
	return at, true
}

// lookUp parses both texts and finds the value; found is false in lax mode when there is none.
func lookUp(text, path string) (value string, p parsedPath, found bool, err *sqlerr.Error) {
	if p, err = parsePath(path); err != nil {
		return "", p, false, err
	}
	if err = check(text); err != nil {
		return "", p, false, err
	}
	at, ok := p.find(text)
	if !ok && p.strict {
		return "", p, false, Error(13608, 5, "Property cannot be found on the specified JSON path.")
	}
	return text[at.start:at.end], p, ok, nil
}
