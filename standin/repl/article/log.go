// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// order is deletes, updates, inserts: within a record of the log there are net changes without an order between rows,
// and this is the order in which they do not meet each other's keys.
var order = map[storage.Op]int{storage.OpDelete: 0, storage.OpUpdate: 1, storage.OpInsert: 2}

// Filtered is an article with the filter of its rows.
type Filtered struct {
	*Article
	Rows *RowFilter
}

// CommandsOf turns a transaction into commands, in the order of its records.
func (l *Log) CommandsOf(ctx context.Context, t *storage.Transaction) ([]Replicated, error) {
	var out []Replicated
	later, err := schemaChanges(t)
	if err != nil {
		return nil, err
	}
	marks := t.Marks
	for at := 0; at < len(t.Changes) || len(marks) > 0; {
		var more []Replicated
		if len(marks) > 0 && (at == len(t.Changes) || marks[0].LSN.Less(t.Changes[at].LSN)) {
			if marks[0].Kind == SchemaMark {
				more, later = l.schemaCommand(t, later[0]), later[1:]
			} else if more, err = l.markCommands(t, marks[0]); err != nil {
				return nil, err
			}
			marks = marks[1:]
		} else {
			end := at + 1
			for end < len(t.Changes) && t.Changes[end].LSN == t.Changes[at].LSN {
				end++
			}
			if more, err = l.rowCommands(ctx, t, t.Changes[at:end], later); err != nil {
				return nil, err
			}
			at = end
		}
		out = append(out, more...)
	}
	return out, nil
}

// rowCommands are the commands of one record's changes.
func (l *Log) rowCommands(
	ctx context.Context,
	t *storage.Transaction,
	record []storage.TableChange,
	later []SchemaChange,
) ([]Replicated, error) {
	if len(l.ByTable) == 0 {
		return nil, nil
	}
	instead, err := l.calledInstead(record[0].PartOf)
	if err != nil {
		return nil, err
	}
	byArticle := map[int64]*articleChanges{}
	var changes []articleChange
	for _, c := range record {
		if c.Columns == nil {
			continue // written before the table was published, or part of a schema change
		}
		for _, a := range l.ByTable[c.Table] {
			if instead[a.Publication] {
				continue
			}
			if byArticle[a.ID] == nil {
				byArticle[a.ID] = newArticleChanges(l.at(a, t.Commit, later))
			}
			byArticle[a.ID].note(c)
			changes = append(changes, articleChange{byArticle[a.ID], c})
		}
	}
	changes = deferUpdates(changes)
	sort.SliceStable(changes, func(i, j int) bool { return order[changes[i].Op] < order[changes[j].Op] })
	var out []Replicated
	for _, c := range changes {
		a := c.of.article
		command, err := a.commandOf(ctx, a.Rows, c.TableChange)
		if err != nil {
			return nil, err
		}
		if command != nil {
			out = append(
				out,
				Replicated{
					Seqno:       t.Commit,
					Begin:       t.Begin,
					Time:        t.Time,
					Kind:        stored.CommandCall,
					Article:     a.ID,
					Publication: a.Publication,
					Command:     command,
				},
			)
		}
	}
	return out, nil
}

// schemaChanges are the schema changes of a transaction in their order.
func schemaChanges(t *storage.Transaction) ([]SchemaChange, error) {
	var out []SchemaChange
	for _, m := range t.Marks {
		if m.Kind != SchemaMark {
			continue
		}
		var c SchemaChange
		if err := json.Unmarshal(m.Payload, &c); err != nil {
			return nil, fmt.Errorf("read a schema change: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// schemaCommand is the command of a schema change; none when the article is not published any more.
func (l *Log) schemaCommand(t *storage.Transaction, c SchemaChange) []Replicated {
	publication, ok := l.has(c.Article)
	if !ok || c.Script == "" {
		return nil
	}
	return []Replicated{
		{
			Seqno:       t.Commit,
			Begin:       t.Begin,
			Time:        t.Time,
			Kind:        stored.CommandSchema,
			Article:     c.Article,
			Publication: publication,
			Command:     stored.EncodeCommand(c.Script, nil),
		},
	}
}

// markCommands are the commands of a tracer token, a validation or a call.
func (l *Log) markCommands(t *storage.Transaction, m storage.Mark) ([]Replicated, error) {
	switch m.Kind {
	case ValidationMark:
		return l.validationCommand(t, m)
	case CallMark:
		return l.callCommands(t, m)
	case ScriptMark:
		return l.scriptCommand(t, m)
	case SetUpMark:
		return l.setUpCommand(t, m)
	}
	if m.Kind != TokenMark || len(m.Payload) != 16 {
		return nil, nil
	}
	token, publication := int64(binary.BigEndian.Uint64(m.Payload)), int64(binary.BigEndian.Uint64(m.Payload[8:]))
	return []Replicated{
		{
			Seqno:       t.Commit,
			Begin:       t.Begin,
			Time:        t.Time,
			Kind:        stored.CommandToken,
			Publication: publication,
			Command:     stored.EncodeCommand(fmt.Sprint(token), nil),
		},
	}, nil
}

// validationCommand is the command of a validation; none when its article is not published any more.
func (l *Log) validationCommand(t *storage.Transaction, m storage.Mark) ([]Replicated, error) {
	var v Validation
	if err := json.Unmarshal(m.Payload, &v); err != nil {
		return nil, fmt.Errorf("read a validation: %w", err)
	}
	publication, ok := l.has(v.Article)
	if !ok || v.Some && len(v.Subscriptions) == 0 {
		return nil, nil
	}
	var names []byte
	for _, n := range v.Subscriptions {
		names = stored.AppendText(names, n)
	}
	return []Replicated{
		{
			Seqno:       t.Commit,
			Begin:       t.Begin,
			Time:        t.Time,
			Kind:        stored.CommandValidate,
			Article:     v.Article,
			Publication: publication,
			Command:     stored.EncodeCommand(v.Text, names),
		},
	}, nil
}

// Replicated is one command that the log reader delivers.
type Replicated struct {
	Seqno, Begin storage.LSN
	Time         time.Time
	Kind         int64
	Article      int64
	Publication  int64
	Command      []byte
}
