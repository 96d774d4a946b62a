// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/storage"
)

// Articles of views, procedures and functions bring their definitions: CREATE with the snapshot, ALTER in the order of
// commits (docs/relational-databases/replication/publish/publish-data-and-database-objects.md).

// alterModule carries out ALTER of a published view, procedure or function, and writes it into the log for each article
// whose publication replicates changes of the schema: all of it, or nothing.
func (e *Extension) alterModule(
	ctx context.Context,
	s *engine.Session,
	statement engine.ModuleAlteration,
	alter func() error,
) error {
	db := statement.Database
	var list []*article.Article
	replicates := map[int64]bool{}
	read := func() error {
		prefix := bracket(db.Name()) + ".dbo."
		if published, err := tables.Exists(ctx, s, prefix+"sysarticles"); err != nil || !published {
			return err // a copy of a published database that is itself not published
		}
		r, err := s.Query(ctx, "SELECT pubid FROM "+prefix+"syspublications WHERE replicate_ddl = 1 AND repl_freq = 0")
		if err != nil {
			return err
		}
		for i := range r.Len() {
			replicates[r.Int(i, "pubid")] = true
		}
		list, err = e.articles(ctx, s, db, "a.objid = @p1", int64(statement.Module.ID))
		for _, a := range list {
			if err == nil && a.IsExecution() {
				err = article.Repeatable(a.Table)
			}
		}
		return err
	}
	return s.Atomically(ctx, func() error {
		if err := alter(); err != nil {
			return err
		}
		if err := s.AsSystem(read); err != nil {
			return err
		}
		return s.Write(ctx, db, func(tx *storage.Tx) error {
			for _, a := range list {
				if !replicates[a.Publication] {
					continue
				}
				payload, err := json.Marshal(
					article.SchemaChange{Article: a.ID, Script: statement.Head + a.Destination() + statement.Tail + "\nGO\n"},
				)
				if err != nil {
					return err
				}
				if err := tx.MarkHere(article.SchemaMark, payload); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// moduleEvent refuses to drop or rename a view, procedure or function that is published.
func moduleEvent(o *metadata.Object, word string) error {
	kind := "function"
	for _, k := range article.ModuleKinds {
		if strings.Contains(k.Objects, " "+o.Kind+" ") {
			kind = k.Word
		}
	}
	switch word {
	case "DROP":
		return raise(3724, 1, "drop", kind, o.Name)
	case "RENAME":
		return raise(3724, 2, "rename", kind, o.Name)
	}
	return nil
}
