// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

const (
	// listsAtATime is how many lists users work on: few, so that their transactions meet.
	listsAtATime = 4
	// listLength is how long a list becomes, more or less: who sees one that is longer goes on to the next. A read is as
	// long as its list.
	listLength = 24
	// ListRange is how many lists a recording may use from its first one on.
	ListRange = int64(1) << 20
)

// lists is what one user knows of the lists that all of them work on.
type lists struct {
	from int64
	// generation of each of those at a time: how often it went on to the next list.
	generation [listsAtATime]int64
}

// number of a list.
func (l *lists) number(slot int) int64 {
	return l.from + l.generation[slot]*listsAtATime + int64(slot)
}

// choose the steps of a transaction on up to three lists. Transactions take their lists in the order of their numbers,
// and none reads a list before it appends to it, so that they wait for each other and do not end each other.
func (l *lists) choose(run, operation int64) []listappend.Step {
	slots := rand.Perm(listsAtATime)[:1+rand.IntN(3)]
	slices.SortFunc(slots, func(a, b int) int { return cmp.Compare(l.number(a), l.number(b)) })
	var steps []listappend.Step
	add := func(list int64, appends bool) {
		s := listappend.Step{List: list}
		if appends {
			s.Append = listappend.NewElement(run, operation, len(steps))
		}
		steps = append(steps, s)
	}
	for _, slot := range slots {
		switch n := l.number(slot); rand.IntN(10) {
		case 0:
			add(n, true)
			add(n, true)
		case 1:
			add(n, true)
			add(n, false)
		case 2, 3, 4, 5:
			add(n, true)
		default:
			add(n, false)
		}
	}
	return steps
}

// learn goes on to the next list where one was seen that is long enough.
func (l *lists) learn(steps []listappend.Step) {
	for _, s := range steps {
		slot := int(s.List-l.from) % listsAtATime
		if len(s.Read) >= listLength && s.List == l.number(slot) && s.List+listsAtATime < l.from+ListRange {
			l.generation[slot]++
		}
	}
}

// appendToLists is the statement of an operation with steps.
func (c *client) appendToLists(o history.Operation) tsql.Statement {
	steps := make([]tsql.ListStep, len(o.Steps))
	for i, s := range o.Steps {
		steps[i] = tsql.ListStep{List: s.List, Append: string(s.Append)}
	}
	return tsql.AppendToLists(c.row(o), steps)
}

// scanLists reads the answer of appendToLists.
func scanLists(row mssql.Row, o *history.Operation) error {
	into := []any{&o.Server, &o.Configuration}
	read := make([]*string, len(o.Steps))
	for i, s := range o.Steps {
		if s.Append == "" {
			into = append(into, &read[i])
		}
	}
	if err := row.Scan(into...); err != nil {
		return err
	}
	o.Steps = slices.Clone(o.Steps)
	for i, text := range read {
		if text != nil {
			o.Steps[i].Read = listappend.ParseList(*text)
		}
	}
	return nil
}

// listsAtOnce is how many lists one query takes.
const listsAtOnce = 500

// ReadLists reads the lists of a recording that a database has, whose first one is from.
func ReadLists(ctx context.Context, db *mssql.DB, from int64) (map[int64]listappend.List, error) {
	all := map[int64]listappend.List{}
	for after := from - 1; ; {
		rows := 0
		err := db.Query(ctx, tsql.ReadLists(after, from+ListRange, listsAtOnce), func(row mssql.Row) error {
			var text string
			if err := row.Scan(&after, &text); err != nil {
				return err
			}
			rows++
			all[after] = listappend.ParseList(text)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("lists after %d: %w", after, err)
		}
		if rows < listsAtOnce {
			return all, nil
		}
	}
}
