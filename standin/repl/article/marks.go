// SPDX-License-Identifier: Apache-2.0

package article

import (
	"encoding/json"
	"fmt"
	"slices"

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// SchemaMark is the kind of log records that carry a schema change; the payload is a SchemaChange as JSON.
const SchemaMark = "schemachange"

// SchemaChange is a change of an article's table, in its place among the transactions.
type SchemaChange struct {
	Article int64 `json:"article"`
	// Version is the row of MSreplarticleversions that has the article as it was before.
	Version int64 `json:"version"`
	// Script is what subscribers run, batches separated by GO; empty when the change does not concern them.
	Script string `json:"script,omitempty"`
}

// Publishes tells whether a column belongs to the article.
func (a *Article) Publishes(column int32) bool {
	for _, c := range append(slices.Clone(a.Columns), a.Versions...) {
		if c.ID == column {
			return true
		}
	}
	return false
}

// ScriptMark is the kind of log records that carry a posted script; the payload is a PostedScript as JSON.
const ScriptMark = "scriptexec"

// PostedScript is a script for all subscribers of a publication, in its place among the transactions. It goes the way
// of one of the publication's articles.
type PostedScript struct {
	Article int64  `json:"article"`
	Script  string `json:"script"`
	// Skip says that errors are passed over.
	Skip bool `json:"skip,omitempty"`
}

// scriptCommand is the command of a posted script; none when its article is not published any more.
func (l *Log) scriptCommand(t *storage.Transaction, m storage.Mark) ([]Replicated, error) {
	var c PostedScript
	if err := json.Unmarshal(m.Payload, &c); err != nil {
		return nil, fmt.Errorf("read a posted script: %w", err)
	}
	publication, ok := l.has(c.Article)
	if !ok {
		return nil, nil
	}
	var skip []byte
	if c.Skip {
		skip = stored.AppendText(nil, "skip")
	}
	return []Replicated{
		{
			Seqno:       t.Commit,
			Begin:       t.Begin,
			Time:        t.Time,
			Kind:        stored.CommandPosted,
			Article:     c.Article,
			Publication: publication,
			Command:     stored.EncodeCommand(c.Script, skip),
		},
	}, nil
}

// SetUpMark is the kind of log records that have the log reader set up a subscriber that has the rows already; the
// payload is a SetUp as JSON.
const SetUpMark = "setup"

// SetUp names an article of a subscription, and the number under which the distributor has what is to be set up.
type SetUp struct {
	Article int64  `json:"article"`
	Number  string `json:"number"`
}

// setUpCommand is the command of a set-up; none when its article is not published any more.
func (l *Log) setUpCommand(t *storage.Transaction, m storage.Mark) ([]Replicated, error) {
	var c SetUp
	if err := json.Unmarshal(m.Payload, &c); err != nil {
		return nil, fmt.Errorf("read a set-up: %w", err)
	}
	publication, ok := l.has(c.Article)
	if !ok {
		return nil, nil
	}
	return []Replicated{
		{
			Seqno:       t.Commit,
			Begin:       t.Begin,
			Time:        t.Time,
			Kind:        stored.CommandSetUp,
			Article:     c.Article,
			Publication: publication,
			Command:     stored.EncodeCommand(c.Number, nil),
		},
	}, nil
}

// TokenMark is the kind of log records that carry tracer tokens: the token's id and the publication's, 8 bytes each.
const TokenMark = "tracertoken"

// ValidationMark is the kind of log records that ask for a validation; the payload is a validation as JSON.
const ValidationMark = "validation"

// Validation is a request that subscribers compare an article's rows with the publisher's.
type Validation struct {
	Article int64 `json:"article"`
	// Text is the statement that validates at the subscriber.
	Text string `json:"text"`
	// Some says that only the agents of Subscriptions validate: a subscriber's name and a database's, in turn.
	Some          bool     `json:"some,omitempty"`
	Subscriptions []string `json:"subscriptions,omitempty"`
}
