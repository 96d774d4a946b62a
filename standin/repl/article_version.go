// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// articleDefinition is what MSreplarticleversions keeps of an article: its table, and which columns are published.
type articleDefinition struct {
	Columns []int32          `json:"columns"`
	Table   *metadata.Object `json:"table"`
}

func columnIDs(columns []*metadata.Column) []int32 {
	out := make([]int32, len(columns))
	for i, c := range columns {
		out[i] = c.ID
	}
	return out
}

// articleVersion is an article as it was for the transactions up to a commit.
type articleVersion struct {
	id    int64
	until storage.LSN
	filtered
}

// logArticles are the articles of a publication database for reading its log.
type logArticles struct {
	byTable map[string][]filtered
	// modules are the articles that are definitions.
	modules map[int64]*article
	// versions are the former ones of articles, oldest first.
	versions map[int64][]articleVersion
}

func (e *Extension) logArticles(ctx context.Context, s *engine.Session, db *engine.Database) (*logArticles, error) {
	list, err := e.articles(ctx, s, db, "a.status & 1 = 1 AND p.repl_freq = 0")
	if err != nil {
		return nil, err
	}
	l := &logArticles{
		byTable:  map[string][]filtered{},
		modules:  map[int64]*article{},
		versions: map[int64][]articleVersion{},
	}
	byID := map[int64]*article{}
	for _, a := range list {
		if a.isModule() {
			l.modules[a.id] = a
			continue
		}
		byID[a.id] = a
		l.byTable[a.table.StorageName()] = append(l.byTable[a.table.StorageName()], filtered{a, newFilter(s, a)})
	}
	versions := bracket(db.Name()) + ".dbo.MSreplarticleversions"
	if ok, err := exists(ctx, s, versions); err != nil || !ok {
		return l, err
	}
	r, err := s.Query(ctx, "SELECT id, artid, xact_seqno, definition FROM "+versions+" ORDER BY id")
	if err != nil {
		return nil, err
	}
	for i := range r.Len() {
		a := byID[r.Int(i, "artid")]
		if a == nil {
			continue
		}
		v := articleVersion{id: r.Int(i, "id")}
		copy(v.until[:], r.Bytes(i, "xact_seqno"))
		former, err := a.as(r.String(i, "definition"))
		if err != nil {
			return nil, err
		}
		v.filtered = filtered{former, newFilter(s, former)}
		l.versions[a.id] = append(l.versions[a.id], v)
	}
	return l, nil
}

// as is the article with a former definition.
func (a *article) as(definition string) (*article, error) {
	var d articleDefinition
	if err := json.Unmarshal([]byte(definition), &d); err != nil || d.Table == nil || d.Table.Table == nil ||
		d.Table.Table.PrimaryKey() == nil {
		return nil, fmt.Errorf("read a former definition of article %s: %w", a.name, err)
	}
	former := *a
	former.table, former.columns, former.keys = d.Table, nil, nil
	for _, id := range d.Columns {
		if c := d.Table.Table.ColumnByID(id); c != nil {
			former.columns = append(former.columns, c)
		}
	}
	for _, k := range d.Table.Table.PrimaryKey().Keys {
		former.keys = append(former.keys, d.Table.Table.ColumnByID(k.Column))
	}
	return &former, nil
}

// at is an article as it was for changes of a transaction; later are the schema changes that come after them in it.
func (l *logArticles) at(a filtered, commit storage.LSN, later []schemaChange) filtered {
	versions := l.versions[a.id]
	for _, c := range later {
		if c.Article != a.id {
			continue
		}
		for _, v := range versions {
			if v.id == c.Version {
				return v.filtered
			}
		}
	}
	for _, v := range versions {
		if !v.until.Less(commit) {
			return v.filtered
		}
	}
	return a
}

// has tells whether an article is among them, and gives its publication.
func (l *logArticles) has(id int64) (publication int64, ok bool) {
	for _, list := range l.byTable {
		for _, a := range list {
			if a.id == id {
				return a.publication, true
			}
		}
	}
	if a := l.modules[id]; a != nil {
		return a.publication, true
	}
	return 0, false
}
