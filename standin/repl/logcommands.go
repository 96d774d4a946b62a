// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sort"

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// order is deletes, updates, inserts: within a record of the log there are net changes without an order between rows,
// and this is the order in which they do not meet each other's keys.
var order = map[storage.Op]int{storage.OpDelete: 0, storage.OpUpdate: 1, storage.OpInsert: 2}

// filtered is an article with the filter of its rows.
type filtered struct {
	*article
	rows *rowFilter
}

// commandsOf turns a transaction into commands, in the order of its records.
func (l *logArticles) commandsOf(ctx context.Context, t *storage.Transaction) ([]replicated, error) {
	var out []replicated
	later, err := schemaChanges(t)
	if err != nil {
		return nil, err
	}
	marks := t.Marks
	for at := 0; at < len(t.Changes) || len(marks) > 0; {
		var more []replicated
		if len(marks) > 0 && (at == len(t.Changes) || marks[0].LSN.Less(t.Changes[at].LSN)) {
			if marks[0].Kind == schemaMark {
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
func (l *logArticles) rowCommands(
	ctx context.Context,
	t *storage.Transaction,
	record []storage.TableChange,
	later []schemaChange,
) ([]replicated, error) {
	if len(l.byTable) == 0 {
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
		for _, a := range l.byTable[c.Table] {
			if instead[a.publication] {
				continue
			}
			if byArticle[a.id] == nil {
				byArticle[a.id] = newArticleChanges(l.at(a, t.Commit, later))
			}
			byArticle[a.id].note(c)
			changes = append(changes, articleChange{byArticle[a.id], c})
		}
	}
	changes = deferUpdates(changes)
	sort.SliceStable(changes, func(i, j int) bool { return order[changes[i].Op] < order[changes[j].Op] })
	var out []replicated
	for _, c := range changes {
		a := c.of.article
		command, err := a.commandOf(ctx, a.rows, c.TableChange)
		if err != nil {
			return nil, err
		}
		if command != nil {
			out = append(
				out,
				replicated{
					seqno:       t.Commit,
					begin:       t.Begin,
					time:        t.Time,
					kind:        stored.CommandCall,
					article:     a.id,
					publication: a.publication,
					command:     command,
				},
			)
		}
	}
	return out, nil
}

// schemaChanges are the schema changes of a transaction in their order.
func schemaChanges(t *storage.Transaction) ([]schemaChange, error) {
	var out []schemaChange
	for _, m := range t.Marks {
		if m.Kind != schemaMark {
			continue
		}
		var c schemaChange
		if err := json.Unmarshal(m.Payload, &c); err != nil {
			return nil, fmt.Errorf("read a schema change: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// schemaCommand is the command of a schema change; none when the article is not published any more.
func (l *logArticles) schemaCommand(t *storage.Transaction, c schemaChange) []replicated {
	publication, ok := l.has(c.Article)
	if !ok || c.Script == "" {
		return nil
	}
	return []replicated{
		{
			seqno:       t.Commit,
			begin:       t.Begin,
			time:        t.Time,
			kind:        stored.CommandSchema,
			article:     c.Article,
			publication: publication,
			command:     stored.EncodeCommand(c.Script, nil),
		},
	}
}

// markCommands are the commands of a tracer token, a validation or a call.
func (l *logArticles) markCommands(t *storage.Transaction, m storage.Mark) ([]replicated, error) {
	switch m.Kind {
	case validationMark:
		return l.validationCommand(t, m)
	case callMark:
		return l.callCommands(t, m)
	case scriptMark:
		return l.scriptCommand(t, m)
	}
	if m.Kind != tokenMark || len(m.Payload) != 16 {
		return nil, nil
	}
	token, publication := int64(binary.BigEndian.Uint64(m.Payload)), int64(binary.BigEndian.Uint64(m.Payload[8:]))
	return []replicated{
		{
			seqno:       t.Commit,
			begin:       t.Begin,
			time:        t.Time,
			kind:        stored.CommandToken,
			publication: publication,
			command:     stored.EncodeCommand(fmt.Sprint(token), nil),
		},
	}, nil
}

// validationCommand is the command of a validation; none when its article is not published any more.
func (l *logArticles) validationCommand(t *storage.Transaction, m storage.Mark) ([]replicated, error) {
	var v validation
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
	return []replicated{
		{
			seqno:       t.Commit,
			begin:       t.Begin,
			time:        t.Time,
			kind:        stored.CommandValidate,
			article:     v.Article,
			publication: publication,
			command:     stored.EncodeCommand(v.Text, names),
		},
	}, nil
}
