// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/tables"
)

func columnIDs(columns []*metadata.Column) []int32 {
	out := make([]int32, len(columns))
	for i, c := range columns {
		out[i] = c.ID
	}
	return out
}

func (e *Extension) logArticles(ctx context.Context, s *engine.Session, db *engine.Database) (*article.Log, error) {
	list, err := e.articles(ctx, s, db, "a.status & 1 = 1 AND p.repl_freq = 0")
	if err != nil {
		return nil, err
	}
	l := &article.Log{
		ByTable:  map[string][]article.Filtered{},
		Modules:  map[int64]*article.Article{},
		Versions: map[int64][]article.Version{},
	}
	byID := map[int64]*article.Article{}
	for _, a := range list {
		if a.IsModule() {
			l.Modules[a.ID] = a
			continue
		}
		byID[a.ID] = a
		name := a.Table.StorageName()
		l.ByTable[name] = append(l.ByTable[name], article.Filtered{Article: a, Rows: article.NewFilter(s, a)})
	}
	versions := bracket(db.Name()) + ".dbo.MSreplarticleversions"
	if ok, err := tables.Exists(ctx, s, versions); err != nil || !ok {
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
		v := article.Version{ID: r.Int(i, "id")}
		copy(v.Until[:], r.Bytes(i, "xact_seqno"))
		former, err := a.As(r.String(i, "definition"))
		if err != nil {
			return nil, err
		}
		v.Filtered = article.Filtered{Article: former, Rows: article.NewFilter(s, former)}
		l.Versions[a.ID] = append(l.Versions[a.ID], v)
	}
	return l, nil
}
