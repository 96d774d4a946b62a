// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"geosql.dev/operator/standin/sqlerr"
)

// Errors of JSON texts and paths
// (docs/relational-databases/errors-events/database-engine-events-and-errors-13000-to-13999.md).
func jsonError(number int32, state uint8, format string, args ...any) *sqlerr.Error {
	return &sqlerr.Error{Number: number, Class: 16, State: state, Message: fmt.Sprintf(format, args...)}
}

// badJSON is 13609 with the character that a text goes wrong at, and its position from 0.
func badJSON(text string, err error) *sqlerr.Error {
	at := len(text)
	if s := new(json.SyntaxError); errors.As(err, &s) && !errors.Is(err, io.ErrUnexpectedEOF) {
		at = max(int(s.Offset)-1, 0)
	}
	char := "."
	if at < len(text) {
		char = string([]rune(text[at:])[:1])
	}
	return jsonError(13609, 4, "JSON text is not properly formatted. Unexpected character '%s' is found at position %d.", char, at)
}

// jsonStep is a key, or with index an array's element.
type jsonStep struct {
	key   string
	index int
	array bool
}

type jsonPath struct {
	strict, append bool
	steps          []jsonStep
}

// parseJSONPath reads [append] [lax|strict] $.key."key with blanks"[0]
// (docs/relational-databases/json/json-path-expressions-sql-server.md).
func parseJSONPath(text string) (jsonPath, *sqlerr.Error) {
	var p jsonPath
	rest := strings.TrimSpace(text)
	for _, word := range []string{"append", "lax", "strict"} {
		if after, ok := strings.CutPrefix(rest, word+" "); ok {
			rest = strings.TrimSpace(after)
			p.append, p.strict = p.append || word == "append", word == "strict"
		}
	}
	bad := func() (jsonPath, *sqlerr.Error) {
		at := len(text) - len(rest)
		char := "."
		if rest != "" {
			char = rest[:1]
		}
		return p, jsonError(13607, 4, "JSON path is not properly formatted. Unexpected character '%s' is found at position %d.", char, at)
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
			p.steps = append(p.steps, jsonStep{key: rest[2 : 2+end]})
			rest = rest[end+3:]
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[ ")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return bad()
			}
			p.steps = append(p.steps, jsonStep{key: rest[1 : 1+end]})
			rest = rest[1+end:]
		case rest[0] == '[':
			digits, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(strings.TrimSpace(digits))
			if !ok || err != nil || n < 0 {
				return bad()
			}
			p.steps = append(p.steps, jsonStep{index: n, array: true})
			rest = after
		default:
			return bad()
		}
	}
	return p, nil
}

// jsonSpan is a value's place in a text.
type jsonSpan struct{ start, end int }

// jsonMember is an element of an object or array.
type jsonMember struct {
	key   string
	value jsonSpan
	// from is where the member with its key begins.
	from int
}

// jsonMembers are the elements of the object or array that fills text, in their order.
func jsonMembers(text string) ([]jsonMember, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	open, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("read a JSON text: %w", err)
	}
	var out []jsonMember
	for n := 0; d.More(); n++ {
		m := jsonMember{key: strconv.Itoa(n)}
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return nil, fmt.Errorf("read a key of a JSON text: %w", err)
			}
			m.key, _ = key.(string)
			m.from = int(d.InputOffset()) - len(encodedKey(text[:d.InputOffset()]))
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("read a value of a JSON text: %w", err)
		}
		m.value.end = int(d.InputOffset())
		m.value.start = m.value.end - len(raw)
		if open != json.Delim('{') {
			m.from = m.value.start
		}
		out = append(out, m)
	}
	return out, nil
}

// encodedKey is the quoted key at the end of text.
func encodedKey(text string) string {
	for i := len(text) - 2; i >= 0; i-- {
		if text[i] != '"' {
			continue
		}
		slashes := 0
		for j := i - 1; j >= 0 && text[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return text[i:]
		}
	}
	return text
}

// trimJSON is the span of a whole text without the blanks around it.
func trimJSON(text string) jsonSpan {
	const blanks = " \t\r\n"
	start := len(text) - len(strings.TrimLeft(text, blanks))
	return jsonSpan{start, max(start, len(strings.TrimRight(text, blanks)))}
}

// checkJSON refuses what is no JSON text.
func checkJSON(text string) *sqlerr.Error {
	var raw json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return badJSON(text, err)
	}
	return nil
}

// child finds a step's value below a span; the members are those of the span.
func (st jsonStep) child(text string, at jsonSpan) (jsonSpan, []jsonMember, bool) {
	inner := text[at.start:at.end]
	if inner == "" || st.array != (inner[0] == '[') || !st.array && inner[0] != '{' {
		return jsonSpan{}, nil, false
	}
	members, err := jsonMembers(inner)
	if err != nil {
		return jsonSpan{}, nil, false
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
	return jsonSpan{}, members, false
}

// find gives the value that a path leads to.
func (p jsonPath) find(text string) (jsonSpan, bool) {
	at := trimJSON(text)
	for _, st := range p.steps {
		next, _, ok := st.child(text, at)
		if !ok {
			return jsonSpan{}, false
		}
		at = next
	}
	return at, true
}

// lookUp parses both texts and finds the value; found is false in lax mode when there is none.
func lookUp(text, path string) (value string, p jsonPath, found bool, err *sqlerr.Error) {
	if p, err = parseJSONPath(path); err != nil {
		return "", p, false, err
	}
	if err = checkJSON(text); err != nil {
		return "", p, false, err
	}
	at, ok := p.find(text)
	if !ok && p.strict {
		return "", p, false, jsonError(13608, 5, "Property cannot be found on the specified JSON path.")
	}
	return text[at.start:at.end], p, ok, nil
}

// quoteJSON is a JSON string; SQL Server escapes the slash, too, and nothing for HTML's sake.
func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has no error
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "/", `\/`)
}

// unquoteJSON is a scalar's text, and whether raw is one; null has none.
func unquoteJSON(raw string) (any, bool) {
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal([]byte(raw), &s) != nil {
			return nil, false
		}
		return s, true
	case '{', '[':
		return nil, false
	}
	if raw == "null" {
		return nil, true
	}
	return raw, true
}
