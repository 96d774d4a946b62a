// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

// bulkStatement is INSERT BULK, which clients send before the rows of a bulk load: INSERT BULK table (column type, ...)
// WITH (option, ...). Its columns are described with the rows once more. The options are those of BULK INSERT
// (docs/t-sql/statements/bulk-insert-transact-sql.md).
type bulkStatement struct {
	table                   bind.ObjectName
	keepNulls, fireTriggers bool
}

// bulkHints are options of which nothing here depends: constraints are judged in any case, a table has one writer, and
// rows are stored as they come.
var bulkHints = map[string]bool{
	"TABLOCK":             true,
	"CHECK_CONSTRAINTS":   true,
	"ROWS_PER_BATCH":      true,
	"KILOBYTES_PER_BATCH": true,
	"ORDER":               true,
}

// parseBulkStatement reads INSERT BULK.
func parseBulkStatement(text string) (*bulkStatement, *sqlerr.Error) {
	s := &bulkScanner{rest: text}
	if !s.word("INSERT") || !s.word("BULK") {
		return nil, sqlerr.New(102, 1, "BULK")
	}
	b := &bulkStatement{table: bind.SplitName(s.name())}
	s.group()
	if !s.word("WITH") {
		return b, s.end()
	}
	options, ok := s.group()
	if !ok {
		return nil, sqlerr.New(102, 1, s.near())
	}
	in := &bulkScanner{rest: options}
	for more := true; more; more = in.punctuation(',') {
		if err := b.option(in); err != nil {
			return nil, err
		}
	}
	if err := in.end(); err != nil {
		return nil, err
	}
	return b, s.end()
}

// option reads one option, with its value or list.
func (b *bulkStatement) option(s *bulkScanner) *sqlerr.Error {
	word := strings.ToUpper(s.name())
	switch {
	case word == "KEEP_NULLS":
		b.keepNulls = true
	case word == "FIRE_TRIGGERS":
		b.fireTriggers = true
	case word == "KEEP_IDENTITY":
		// The columns say so: who does not want it leaves the identity column out.
	case word == "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS":
		return unsupported(word + " of INSERT BULK")
	case !bulkHints[word]:
		return sqlerr.New(155, 1, word, "INSERT BULK")
	case word == "ORDER":
		if _, ok := s.group(); !ok {
			return sqlerr.New(102, 1, s.near())
		}
	case strings.HasSuffix(word, "_PER_BATCH"):
		if !s.punctuation('=') || strings.Trim(s.name(), "0123456789") != "" {
			return sqlerr.New(102, 1, s.near())
		}
	}
	return nil
}

// bulkScanner reads the few forms of tokens that INSERT BULK has.
type bulkScanner struct{ rest string }

func (s *bulkScanner) skip() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

// word takes a keyword, in whatever case.
func (s *bulkScanner) word(want string) bool {
	before := s.rest
	if strings.EqualFold(s.name(), want) {
		return true
	}
	s.rest = before
	return false
}

// name takes what goes up to a space, a parenthesis, a comma or an equals sign; brackets and quotation marks hide them.
func (s *bulkScanner) name() string {
	s.skip()
	end := s.until(" \t\r\n(),=;")
	name := s.rest[:end]
	s.rest = s.rest[end:]
	return name
}

// until is where the first of some characters is that no brackets and quotation marks hide, or the end.
func (s *bulkScanner) until(stops string) int {
	quote := byte(0)
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case quote != 0 && c == quote && i+1 < len(s.rest) && s.rest[i+1] == quote:
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '[':
			quote = ']'
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte(stops, c) >= 0:
			return i
		}
	}
	return len(s.rest)
}

// group takes what is in parentheses, others among it.
func (s *bulkScanner) group() (string, bool) {
	if !s.punctuation('(') {
		return "", false
	}
	whole := s.rest
	for depth := 1; ; {
		at := s.until("()")
		if at == len(s.rest) {
			return "", false
		}
		if s.rest[at] == '(' {
			depth++
		} else {
			depth--
		}
		s.rest = s.rest[at+1:]
		if depth == 0 {
			return whole[:len(whole)-len(s.rest)-1], true
		}
	}
}

func (s *bulkScanner) punctuation(c byte) bool {
	s.skip()
	if s.rest == "" || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// near is the token that an error names.
func (s *bulkScanner) near() string {
	if name := s.name(); name != "" {
		return name
	}
	return s.rest[:min(1, len(s.rest))]
}

// end is error 102 where something is left.
func (s *bulkScanner) end() *sqlerr.Error {
	s.punctuation(';')
	if s.skip(); s.rest != "" {
		return sqlerr.New(102, 1, s.near())
	}
	return nil
}
