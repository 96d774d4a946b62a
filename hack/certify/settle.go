// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql/ledger"
)

// Outcome of one settling statement on one server.
type Outcome string

const (
	// Holds: every row is as the operator expects.
	Holds Outcome = "holds"
	// Differs: a row, or an error, is not.
	Differs Outcome = "differs"
	// Nothing: the server has nothing of which the statement tells, or did not answer.
	Nothing Outcome = "nothing to see"
)

// Answer is what a server answered to the settling statement of a doubt.
type Answer struct {
	ID      string   `json:"id"`
	SQL     string   `json:"sql"`
	Server  string   `json:"server"`
	Build   string   `json:"build"`
	Rows    []string `json:"rows,omitempty"`
	Columns int      `json:"columns,omitempty"`
	Error   string   `json:"error,omitempty"`
	Outcome Outcome  `json:"outcome"`
}

// Server is what a server says of itself, with its answers.
type Server struct {
	Name    string   `json:"name"`
	Build   string   `json:"build"`
	Engine  string   `json:"engine"`
	Answers []Answer `json:"answers"`
}

// IsStandIn tells whether the engine is the tests' own: what it answers settles nothing.
func (s Server) IsStandIn() bool { return strings.Contains(strings.ToLower(s.Engine), "stand-in") }

const (
	answerWithin = 30 * time.Second
	// rowsAtMost are looked at, so many bytes of each are kept.
	rowsAtMost, bytesAtMost = 200, 300
)

// opener gives connections to a database of one server.
type opener func(ctx context.Context, database string) (mssql.Querier, error)

// settle sends a server the harmless settling statements.
func settle(ctx context.Context, l *ledger.Ledger, open opener) (Server, error) {
	q, err := open(ctx, "master")
	if err != nil {
		return Server{}, err
	}
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	instance, err := mssql.ReadInstance(asking, q)
	if err != nil {
		return Server{}, err
	}
	s := Server{Name: instance.ServerName, Build: instance.ProductVersion, Engine: instance.Engine}
	for _, d := range l.Doubts {
		if !d.Settle.Harmless {
			continue
		}
		a := ask(ctx, open, d.Settle)
		a.ID, a.SQL, a.Server, a.Build = d.ID, d.Settle.SQL, s.Name, s.Build
		s.Answers = append(s.Answers, a)
	}
	return s, nil
}

func ask(ctx context.Context, open opener, s ledger.Settle) (a Answer) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	q, err := open(ctx, databaseOf(s))
	if err == nil {
		err = q.Query(ctx, s.Statement(), func(r mssql.Row) error {
			text, columns, err := shown(r)
			if a.Columns = columns; err == nil && len(a.Rows) < rowsAtMost {
				a.Rows = append(a.Rows, text)
			}
			return err
		})
	}
	a.Outcome = judge(s, a, err)
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func databaseOf(s ledger.Settle) string {
	if s.Database == "" {
		return "master"
	}
	return s.Database
}

// shown is a row's values with | between them.
func shown(r mssql.Row) (string, int, error) {
	rows, ok := r.(interface{ Columns() ([]string, error) })
	if !ok {
		return "", 0, errors.New("the row does not tell its columns")
	}
	names, err := rows.Columns()
	if err != nil {
		return "", 0, err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := r.Scan(into...); err != nil {
		return "", 0, err
	}
	texts := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			texts[i] = "NULL"
		case []byte:
			// Decimals and text come so, and so do binary values.
			if texts[i] = string(v); !utf8.Valid(v) || strings.ContainsRune(texts[i], 0) {
				texts[i] = fmt.Sprintf("0x%X", v)
			}
		default:
			texts[i] = fmt.Sprint(v)
		}
	}
	text := strings.Join(texts, "|")
	return strings.ToValidUTF8(text[:min(len(text), bytesAtMost)], ""), len(names), nil
}

// absent are errors of a server that lacks the database or the table: 208, 911, 4060. It has nothing to tell then.
var absent = []int32{208, 911, 4060}

// judge compares an answer with what holds. A time-out, or an answer that never came, says nothing.
func judge(s ledger.Settle, a Answer, err error) Outcome {
	switch {
	case err != nil && (mssql.Number(err) == 0 || mssql.HasNumber(err, absent...)):
		return Nothing
	case err != nil:
		return Differs
	case len(a.Rows) == 0:
		return Nothing
	case s.Columns > 0 && a.Columns != s.Columns:
		return Differs
	}
	expect, never := regexp.MustCompile(s.Expect), regexp.MustCompile(s.Never)
	for _, row := range a.Rows {
		if s.Expect != "" && !expect.MatchString(row) || s.Never != "" && never.MatchString(row) {
			return Differs
		}
	}
	return Holds
}
