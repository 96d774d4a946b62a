// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// ALTER TABLE of a published table goes to the subscribers in the order of commits
// (docs/relational-databases/replication/publish/make-schema-changes-on-publication-databases.md): a mark in the log,
// where the table changed, carries the statement for each article. What an article was before is kept, for the log
// reader may have older transactions still to read.

// alteration is a schema change on its way.
type alteration struct {
	e *Extension
	s *engine.Session
	engine.TableAlteration
	// position is the newest commit before the change.
	position storage.LSN
	articles []*article.Article
	// replicates tells by pubid whether the publication's subscribers get the change.
	replicates map[int64]bool
	// now is the table after the change, and what differs.
	now                     *metadata.Object
	added, dropped, altered []*metadata.Column
}

// columnPublication is the context key for the publication that sp_repladdcolumn adds a column to; all for every one.
type columnPublication struct{}

// alterPublished carries out ALTER TABLE of a published table: all of it, or nothing.
func (e *Extension) alterPublished(
	ctx context.Context,
	s *engine.Session,
	statement engine.TableAlteration,
	alter func() error,
) error {
	c := &alteration{e: e, s: s, TableAlteration: statement}
	var published bool
	if err := s.AsSystem(func() (err error) {
		published,
			err = tables.Exists(ctx, s, c.table("sysarticles"))
		return err
	}); err != nil {
		return err
	}
	if !published {
		return alter() // a copy of a published database that is itself not published
	}
	return s.Atomically(ctx, func() error {
		if err := s.AsSystem(func() error { return c.before(ctx) }); err != nil {
			return err
		}
		if err := s.Write(ctx, c.Database, func(tx *storage.Tx) error { return tx.Quietly(alter) }); err != nil {
			return err
		}
		return s.AsSystem(func() error { return c.after(ctx) })
	})
}

// table is the name of a table of dbo in the publication database.
func (c *alteration) table(name string) string { return bracket(c.Database.Name()) + ".dbo." + name }

// before takes the write lock, so that nothing commits until the change does, and reads the articles.
func (c *alteration) before(ctx context.Context) error {
	if err := c.s.Write(ctx, c.Database, func(*storage.Tx) error { return nil }); err != nil {
		return err
	}
	c.position, _ = c.Database.Storage().Applied()
	r, err := c.s.Query(ctx, "SELECT pubid, name, replicate_ddl FROM "+c.table("syspublications"))
	if err != nil {
		return err
	}
	only, _ := ctx.Value(columnPublication{}).(string)
	c.replicates = map[int64]bool{}
	for i := range r.Len() {
		c.replicates[r.Int(i, "pubid")] = only == "" && r.Int(i, "replicate_ddl") == 1 || strings.EqualFold(only, "all") ||
			only != "" && strings.EqualFold(only, r.String(i, "name"))
	}
	c.articles, err = c.e.articles(ctx, c.s, c.Database, "a.objid = @p1", int64(c.Table.ID))
	return err
}

// after refuses what cannot be replicated, and writes the change into the log for each article.
func (c *alteration) after(ctx context.Context) error {
	var err error
	if c.now, err = c.s.Object(ctx, c.Database, c.Table.ID); err != nil {
		return err
	}
	c.compare()
	if err := c.refuse(ctx); err != nil {
		return err
	}
	if err := tables.MakePublication(ctx, c.s, c.Database.Name()); err != nil {
		return err
	}
	changes := make([]article.SchemaChange, len(c.articles))
	for i, a := range c.articles {
		if changes[i], err = c.keep(ctx, a); err != nil {
			return err
		}
	}
	list, err := c.e.articles(ctx, c.s, c.Database, "a.objid = @p1", int64(c.Table.ID))
	if err != nil {
		return err
	}
	scripts := make([]string, len(list))
	for i, a := range list {
		if err := c.remakeView(ctx, a); err != nil {
			return err
		}
		if scripts[i], err = c.afterwards(ctx, c.articles[i], a); err != nil {
			return err
		}
	}
	return c.s.Write(ctx, c.Database, func(tx *storage.Tx) error {
		for i, a := range list {
			if err := c.mark(tx, c.articles[i], a, changes[i], scripts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// compare finds the columns that differ.
func (c *alteration) compare() {
	for _, n := range c.now.Table.Columns {
		o := c.Table.Table.ColumnByID(n.ID)
		if o == nil {
			c.added = append(c.added, n)
		} else if o.Type != n.Type || o.Nullable != n.Nullable || o.Collation != n.Collation || o.UserType != n.UserType ||
			o.RowGUID != n.RowGUID {
			c.altered = append(c.altered, n)
		}
	}
	for _, o := range c.Table.Table.Columns {
		if c.now.Table.ColumnByID(o.ID) == nil {
			c.dropped = append(c.dropped, o)
		}
	}
}

// refuse refuses changes that the page rules out, and those that would leave an article without what it is made of.
func (c *alteration) refuse(ctx context.Context) error {
	before, now := c.Table.Table.PrimaryKey(), c.now.Table.PrimaryKey()
	logged := false
	for _, a := range c.articles {
		logged = logged || !a.SnapshotOnly
	}
	if logged && before != nil && (now == nil || now.ID != before.ID || now.Constraint != before.Constraint) {
		return raise(4929, 1, "table", c.Table.Name)
	}
	for _, a := range c.articles {
		if err := c.refuseFor(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (c *alteration) refuseFor(ctx context.Context, a *article.Article) error {
	if a.SnapshotOnly {
		return c.checkFilter(ctx, a) // the next snapshot has the table as it is
	}
	if !c.replicates[a.Publication] {
		for _, column := range append(append([]*metadata.Column(nil), c.dropped...), c.altered...) {
			if a.Publishes(column.ID) {
				return raise(4928, 1, column.Name, "REPLICATED")
			}
		}
		return c.checkFilter(ctx, a)
	}
	for _, column := range c.added {
		switch {
		case column.Identity != nil && !column.Identity.NotForReplication:
			return raise(21810, 1)
		case column.Identity != nil:
			return raise(21023, 1, "Adding an identity column to a published table")
		case column.Type.Kind == sqltype.RowVersion:
			return raise(21380, 1)
		case column.Type.Kind == sqltype.SQLVariant:
			return raise(21023, 1, "A sql_variant column (["+column.Name+"])")
		}
	}
	for _, column := range c.altered {
		if before := c.Table.Table.ColumnByID(column.ID); column.Type.Kind == sqltype.XML &&
			before.Type.Kind != sqltype.XML &&
			a.Publishes(column.ID) {
			return raise(4928, 1, column.Name, "REPLICATED")
		}
	}
	if n := c.published(a, c.dropped); n > 0 && n < len(c.dropped) {
		return raise(21546, 1)
	}
	return c.checkFilter(ctx, a)
}

// CheckFilter is 14090 when the article's filter cannot be evaluated any more.
func (c *alteration) checkFilter(ctx context.Context, a *article.Article) error {
	if a.Filter == "" || len(c.dropped)+len(c.altered) == 0 {
		return nil
	}
	if _, err := c.s.Query(ctx, "SELECT TOP (0) 1 AS n FROM "+bracket(c.Database.Name())+"."+stored.TwoPart(a.Schema,
		a.Table.Name)+" WHERE ("+a.Filter+")"); err != nil {
		return raise(14090, 1, a.Name)
	}
	return nil
}

// published counts the columns that subscribers have: those of the article, and computed ones that came by a change.
func (c *alteration) published(a *article.Article, columns []*metadata.Column) int {
	n := 0
	for _, column := range columns {
		if column.Computed != "" || a.Publishes(column.ID) {
			n++
		}
	}
	return n
}

// concerns tells whether the article's subscribers run the statement.
func (c *alteration) concerns(a *article.Article) bool {
	return c.replicates[a.Publication] && c.published(a, c.dropped) == len(c.dropped) &&
		(len(c.altered) == 0 || c.published(a, c.altered) > 0)
}

// keep keeps what the article was, and changes its columns.
func (c *alteration) keep(ctx context.Context, a *article.Article) (article.SchemaChange, error) {
	change := article.SchemaChange{Article: a.ID}
	if !a.SnapshotOnly {
		old, err := json.Marshal(article.Definition{Columns: columnIDs(a.Columns), Table: a.Table})
		if err != nil {
			return change, err
		}
		r, err := c.s.Query(
			ctx,
			"INSERT INTO "+c.table(
				"MSreplarticleversions",
			)+" (artid, xact_seqno, definition) VALUES (@p1, @p2, @p3); SELECT MAX(id) AS id FROM "+c.table(
				"MSreplarticleversions",
			),
			a.ID,
			c.position[:],
			string(old),
		)
		if err != nil {
			return change, err
		}
		change.Version = r.Int(0, "id")
	}
	for _, column := range c.dropped {
		if err := c.s.Exec(ctx, "DELETE FROM "+c.table("sysarticlecolumns")+" WHERE artid = @p1 AND colid = @p2", a.ID,
			int64(column.ID)); err != nil {
			return change, err
		}
	}
	for _, column := range c.added {
		if !c.replicates[a.Publication] || column.Computed != "" {
			continue
		}
		if err := c.s.Exec(ctx, "INSERT INTO "+c.table("sysarticlecolumns")+" VALUES (@p1, @p2, 0, @p3, @p4)", a.ID,
			int64(column.ID),
			column.Type.Kind == sqltype.XML, column.Type.Length == sqltype.MaxLength); err != nil {
			return change, err
		}
	}
	return change, nil
}

// remakeView gives the view that sp_articleview made of the article its new columns.
func (c *alteration) remakeView(ctx context.Context, a *article.Article) error {
	r, err := c.s.Query(
		ctx,
		"SELECT sync_objid FROM "+c.table("sysarticles")+" WHERE artid = @p1 AND sync_objid <> objid",
		a.ID,
	)
	if err != nil || r.Len() == 0 || len(c.added)+len(c.dropped) == 0 {
		return err
	}
	o, err := c.s.Object(ctx, c.Database, int32(r.Int(0, "sync_objid")))
	if err != nil || o == nil {
		return err
	}
	schema, err := c.s.SchemaNameOf(ctx, c.Database, o)
	if err != nil {
		return err
	}
	text := "ALTER VIEW " + stored.TwoPart(schema, o.Name) + " AS " + a.Selection()
	return tables.In(ctx, c.s, c.Database.Name(), text)
}

// mark writes the change for one article, which was before and is now, and what its subscribers run after it.
func (c *alteration) mark(
	tx *storage.Tx, before, now *article.Article, change article.SchemaChange, afterwards string,
) error {
	if before.SnapshotOnly {
		return nil
	}
	if c.concerns(before) {
		change.Script = c.Head + now.Destination() + c.Tail + "\nGO\n" + afterwards
	}
	payload, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return tx.MarkHere(article.SchemaMark, payload)
}
