// SPDX-License-Identifier: Apache-2.0

package article

import (
	"encoding/json"
	"fmt"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// Definition is what MSreplarticleversions keeps of an article: its table, and which columns are published.
type Definition struct {
	Columns []int32          `json:"columns"`
	Table   *metadata.Object `json:"table"`
}

// Version is an article as it was for the transactions up to a commit.
type Version struct {
	ID    int64
	Until storage.LSN
	Filtered
}

// Log are the articles of a publication database for reading its log.
type Log struct {
	ByTable map[string][]Filtered
	// modules are the articles that are definitions.
	Modules map[int64]*Article
	// versions are the former ones of articles, oldest first.
	Versions map[int64][]Version
}

// As is the article with a former definition.
func (a *Article) As(definition string) (*Article, error) {
	var d Definition
	if err := json.Unmarshal([]byte(definition), &d); err != nil || d.Table == nil || d.Table.Table == nil ||
		d.Table.Table.PrimaryKey() == nil {
		return nil, fmt.Errorf("read a former definition of article %s: %w", a.Name, err)
	}
	former := *a
	former.Table, former.Columns, former.Keys = d.Table, nil, nil
	for _, id := range d.Columns {
		if c := d.Table.Table.ColumnByID(id); c != nil {
			former.Columns = append(former.Columns, c)
		}
	}
	for _, k := range d.Table.Table.PrimaryKey().Keys {
		former.Keys = append(former.Keys, d.Table.Table.ColumnByID(k.Column))
	}
	return &former, nil
}

// at is an article as it was for changes of a transaction; later are the schema changes that come after them in it.
func (l *Log) at(a Filtered, commit storage.LSN, later []SchemaChange) Filtered {
	versions := l.Versions[a.ID]
	for _, c := range later {
		if c.Article != a.ID {
			continue
		}
		for _, v := range versions {
			if v.ID == c.Version {
				return v.Filtered
			}
		}
	}
	for _, v := range versions {
		if !v.Until.Less(commit) {
			return v.Filtered
		}
	}
	return a
}

// has tells whether an article is among them, and gives its publication.
func (l *Log) has(id int64) (publication int64, ok bool) {
	for _, list := range l.ByTable {
		for _, a := range list {
			if a.ID == id {
				return a.Publication, true
			}
		}
	}
	if a := l.Modules[id]; a != nil {
		return a.Publication, true
	}
	return 0, false
}
