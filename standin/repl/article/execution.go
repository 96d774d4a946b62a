// SPDX-License-Identifier: Apache-2.0

package article

import (
	"encoding/json"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// CallMark is the kind of log records with a call; the payload is a PublishedCall as JSON.
const CallMark = "execution"

// PublishedCall is a call of a procedure whose execution is published.
type PublishedCall struct {
	Articles []Called `json:"articles"`
	// Parameters are those of a command: a question mark for each value, and DEFAULT.
	Parameters string `json:"parameters,omitempty"`
	Values     []byte `json:"values,omitempty"`
}

// Called is an article of a procedure whose publication's subscribers run it. The rows that a call changed have
// a list of them.
type Called struct {
	Article     int64 `json:"article"`
	Publication int64 `json:"publication"`
}

// IsExecution tells whether the article brings calls.
func (a *Article) IsExecution() bool {
	return BringsCalls(a.Kind)
}

// BringsCalls tells whether articles of a type replicate calls.
func BringsCalls(kind int64) bool {
	return kind == Execution || kind == Serializable
}

// Repeatable is 25023 and 21023 for a procedure with parameters whose values cannot be sent.
func Repeatable(procedure *metadata.Object) error {
	name, kind, err := engine.UnpublishableParameter(procedure)
	switch {
	case err != nil:
		return err
	case kind == engine.TableParameter:
		return sqlerr.Raise(25023, 1)
	case kind != "":
		return sqlerr.Raise(21023, 1, "A parameter of type "+kind+" ("+name+") of a procedure whose execution is published")
	}
	return nil
}

// callCommands are the commands of a call: one for each of its articles that is still there.
func (l *Log) callCommands(t *storage.Transaction, m storage.Mark) ([]Replicated, error) {
	var c PublishedCall
	if err := json.Unmarshal(m.Payload, &c); err != nil {
		return nil, fmt.Errorf("read a call: %w", err)
	}
	var out []Replicated
	for _, called := range c.Articles {
		a := l.Modules[called.Article]
		if a == nil {
			continue
		}
		out = append(
			out,
			Replicated{
				Seqno:       t.Commit,
				Begin:       t.Begin,
				Time:        t.Time,
				Kind:        stored.CommandCall,
				Article:     a.ID,
				Publication: a.Publication,
				Command:     stored.EncodeCommand("{CALL "+a.Destination()+" ("+c.Parameters+")}", c.Values),
			},
		)
	}
	return out, nil
}

// calledInstead are the publications whose subscribers get a call in place of rows that are a part of it.
func (l *Log) calledInstead(part []byte) (map[int64]bool, error) {
	if part == nil {
		return nil, nil
	}
	var list []Called
	if err := json.Unmarshal(part, &list); err != nil {
		return nil, fmt.Errorf("read which call changed rows: %w", err)
	}
	out := map[int64]bool{}
	for _, called := range list {
		if l.Modules[called.Article] != nil {
			out[called.Publication] = true
		}
	}
	return out, nil
}
