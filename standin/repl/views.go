// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// installViews registers the views of the publisher's article cache. It is the log reader's, so the views have rows of
// databases that a log reader reads now. The addresses are those of a cache that is not there: NULL. Tables' versions
// and transactions are not cached either: sys.dm_repl_schemas, dm_repl_tranhash and dm_repl_traninfo are empty
// (docs/relational-databases/system-dynamic-management-views/sys-dm-repl-articles-transact-sql.md and its neighbours).
func (e *Extension) installViews(r *engine.Registry) {
	for _, name := range []string{"dm_repl_articles", "dm_repl_schemas", "dm_repl_tranhash", "dm_repl_traninfo"} {
		info, ok := catalog.View("sys." + name)
		if !ok {
			panic("repl: the catalog has no view sys." + name)
		}
		r.View(engine.View{Schema: "sys", Name: name, Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
			if err := s.Require(ctx, engine.Permission{Name: "VIEW SERVER PERFORMANCE STATE"}); err != nil ||
				info.Name != "sys.dm_repl_articles" {
				return nil, err
			}
			return e.cachedArticles(ctx, s, info)
		}})
	}
	// It is refused by its name: an unknown procedure would be 2812.
	e.procedure(
		r,
		"sp_attachsubscription",
		anyone,
		[]engine.Parameter{{Name: "@dbname", Type: sqltype.NVarCharMax}, {Name: "@filename", Type: sqltype.NVarCharMax}},
		func(context.Context, *engine.ProcCall) error {
			return raise(21023, 1, "sp_attachsubscription")
		},
	)
}

// cachedArticles are the active articles of the databases whose log is being read.
func (e *Extension) cachedArticles(ctx context.Context, s *engine.Session, info *catalog.ViewInfo) ([][]any, error) {
	e.mu.Lock()
	reading := map[int32]bool{}
	for id := range e.readers {
		reading[id] = true
	}
	e.mu.Unlock()
	var out [][]any
	for _, db := range e.publishedDatabases() {
		if !reading[db.ID()] {
			continue
		}
		var found *engine.Result
		err := s.AsSystem(func() (err error) {
			found, err = s.Query(
				ctx,
				"SELECT artid, objid, pubid, status, type, dest_table, dest_owner, ins_cmd, del_cmd, upd_cmd, (SELECT "+
					"COUNT(*) FROM "+bracket(
					db.Name(),
				)+
					".sys.columns AS c WHERE c.object_id = a.objid) AS numcol FROM "+bracket(
					db.Name(),
				)+".dbo.sysarticles AS a WHERE status & 1 = 1 AND type & 1 = 1",
			)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := range found.Len() {
			row := map[string]any{
				"artid":     found.Int(i, "artid"),
				"artobjid":  found.Int(i, "objid"),
				"artpubid":  found.Int(i, "pubid"),
				"artstatus": found.Int(i, "status") & 0xff,
				"arttype": found.Int(
					i,
					"type",
				),
				"wszArtdesttable":      found.Value(i, "dest_table"),
				"wszArtdesttableowner": found.Value(i, "dest_owner"),
				"wszArtinscmd": found.Value(
					i,
					"ins_cmd",
				),
				"wszArtdelcmd": found.Value(i, "del_cmd"),
				"wszArtupdcmd": found.Value(i, "upd_cmd"),
				"numcol":       found.Int(i, "numcol"),
			}
			line := make([]any, len(info.Columns))
			for j := range info.Columns {
				line[j] = row[info.Columns[j].Name]
			}
			out = append(out, line)
		}
	}
	return out, nil
}
