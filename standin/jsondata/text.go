// SPDX-License-Identifier: Apache-2.0

// Package jsondata reads, changes and writes JSON texts as the JSON functions of Transact-SQL do: texts, the paths into
// them, and values in JSON (docs/relational-databases/json/json-data-sql-server.md).
package jsondata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// Error is an error of JSON texts and paths
// (docs/relational-databases/errors-events/database-engine-events-and-errors-13000-to-13999.md).
func Error(number int32, state uint8, format string, args ...any) *sqlerr.Error {
	return &sqlerr.Error{Number: number, Class: 16, State: state, Message: fmt.Sprintf(format, args...)}
}

// malformed is 13609 with the character that a text goes wrong at, and its position from 0.
func malformed(text string, err error) *sqlerr.Error {
	at := len(text)
	if s := new(json.SyntaxError); errors.As(err, &s) && !errors.Is(err, io.ErrUnexpectedEOF) {
		at = max(int(s.Offset)-1, 0)
	}
	char := "."
	if at < len(text) {
		char = string([]rune(text[at:])[:1])
	}
	return Error(
		13609,
		4,
		"JSON text is not properly formatted. Unexpected character '%s' is found at position %d.",
		char,
		at,
	)
}

// span is a value's place in a text.
type span struct{ start, end int }

// member is an element of an object or array.
type member struct {
	key   string
	value span
	// from is where the member with its key begins.
	from int
}

// membersOf are the elements of the object or array that fills text, in their order.
func membersOf(text string) ([]member, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	open, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("read a JSON text: %w", err)
	}
	var out []member
	for n := 0; d.More(); n++ {
		m := member{key: strconv.Itoa(n)}
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

// trim is the span of a whole text without the blanks around it.
func trim(text string) span {
	const blanks = " \t\r\n"
	start := len(text) - len(strings.TrimLeft(text, blanks))
	return span{start, max(start, len(strings.TrimRight(text, blanks)))}
}

// check refuses what is no JSON text.
func check(text string) *sqlerr.Error {
	var raw json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return malformed(text, err)
	}
	return nil
}

// Quote is a JSON string; SQL Server escapes the slash, too, and nothing for HTML's sake.
func Quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has no error
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "/", `\/`)
}

// unquote is a scalar's text, and whether raw is one; null has none.
func unquote(raw string) (any, bool) {
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
