// SPDX-License-Identifier: Apache-2.0

package article

import (
	"fmt"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// Rows that exchange values of a unique key, or take each other's, cannot be updated one after another. Such updates
// are deferred, as SQL Server's own are: all rows are deleted before any of them is inserted again
// (docs/relational-databases/replication/transactional/transactional-articles-specify-how-changes-are-propagated.md,
// which calls them deferred updates).

// articleChange is a change of a row for one article.
type articleChange struct {
	of *articleChanges
	storage.TableChange
}

// articleChanges gathers what one record of the log changes of an article's unique keys.
type articleChanges struct {
	article Filtered
	keys    []*changedKey
}

// changedKey is a unique index and the values that updates of its rows take and give up: how many rows do.
type changedKey struct {
	columns     []*metadata.Column
	taken, left map[string]bool
	// met says that a value which one row takes is one that another gives up.
	met bool
}

func newArticleChanges(a Filtered) *articleChanges {
	out := &articleChanges{article: a}
	for _, i := range a.Table.Table.Indexes {
		if !i.Unique && !i.PrimaryKey {
			continue
		}
		k := &changedKey{taken: map[string]bool{}, left: map[string]bool{}}
		for _, key := range i.Keys {
			k.columns = append(k.columns, a.Table.Table.ColumnByID(key.Column))
		}
		out.keys = append(out.keys, k)
	}
	return out
}

// note takes an update in.
func (a *articleChanges) note(c storage.TableChange) {
	if c.Op != storage.OpUpdate {
		return
	}
	for _, k := range a.keys {
		before, after := k.values(c)
		if before == after {
			continue
		}
		k.met = k.met || k.left[after] || k.taken[before]
		k.taken[after], k.left[before] = true, true
	}
}

// values are the key's values before and after an update. Texts that a collation may take for the same are the same.
func (k *changedKey) values(c storage.TableChange) (before, after string) {
	at := map[string]int{}
	for i, name := range c.Columns {
		at[name] = i
	}
	text := func(row []any) string {
		var b strings.Builder
		for _, column := range k.columns {
			i, ok := at[column.StorageName()]
			if !ok || i >= len(row) {
				continue // computed, or added later
			}
			v := row[i]
			if s, ok := v.(string); ok {
				v = folded(column, s)
			}
			fmt.Fprintf(&b, "%T %q ", v, fmt.Sprint(v))
		}
		return b.String()
	}
	return text(c.Old), text(c.New)
}

// folded is a text in place of all those that its column's collation takes for the same.
func folded(column *metadata.Column, s string) string {
	if c, ok := sqltype.ParseCollation(column.Collation); ok && !c.AccentSensitive && !c.Binary {
		return "" // any of them may be
	}
	return strings.ToLower(strings.TrimRight(s, " "))
}

// deferUpdates makes a delete and an insert of each update that changes a key whose values rows take from each other.
func deferUpdates(changes []articleChange) []articleChange {
	out := make([]articleChange, 0, len(changes))
	for _, c := range changes {
		if c.Op != storage.OpUpdate || !c.of.defers(c.TableChange) {
			out = append(out, c)
			continue
		}
		deleted, inserted := c, c
		deleted.Op, deleted.New = storage.OpDelete, nil
		inserted.Op, inserted.Old = storage.OpInsert, nil
		out = append(out, deleted, inserted)
	}
	return out
}

func (a *articleChanges) defers(c storage.TableChange) bool {
	for _, k := range a.keys {
		if before, after := k.values(c); k.met && before != after {
			return true
		}
	}
	return false
}
