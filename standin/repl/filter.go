// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// rowFilter decides by T-SQL which rows belong to an article. The clause sees the row's own columns under the names of
// the published table.
type rowFilter struct {
	session *engine.Session
	text    string
	columns []*metadata.Column
}

func newFilter(s *engine.Session, a *article) *rowFilter {
	if a.filter == "" {
		return nil
	}
	f := &rowFilter{session: s}
	var parts []string
	for _, c := range a.table.Table.Columns {
		if c.Computed != "" {
			continue
		}
		f.columns = append(f.columns, c)
		parts = append(parts, "CAST(@p"+strconv.Itoa(len(f.columns))+" AS "+typeName(c)+") AS "+bracket(c.Name))
	}
	f.text = "SELECT 1 AS n FROM (SELECT " + strings.Join(
		parts,
		", ",
	) + ") AS " + bracket(
		a.table.Name,
	) + " WHERE (" + a.filter + ")"
	return f
}

// passes tells whether a row, as it lies in storage, belongs to the article. A nil filter passes all.
func (f *rowFilter) passes(ctx context.Context, at map[string]int, row []any) (bool, error) {
	if f == nil {
		return true, nil
	}
	values := make([]any, len(f.columns))
	for i, c := range f.columns {
		n, ok := at[c.StorageName()]
		if !ok || n >= len(row) {
			continue
		}
		v, err := sqltype.Decode(c.Type, row[n])
		if err != nil {
			return false, err
		}
		if v == nil && c.Type.Kind.IsBinary() {
			v = []byte(nil)
		}
		values[i] = v
	}
	r, err := f.session.Query(ctx, f.text, values...)
	return r.Len() > 0, err
}

// checkFilter is 21745 for a clause that gives no valid query on the table.
func checkFilter(ctx context.Context, s *engine.Session, a *article, clause string) error {
	if clause == "" {
		return nil
	}
	text := "SELECT TOP (0) 1 AS n FROM " + stored.TwoPart(a.schema, a.table.Name) + " WHERE (" + clause + ")"
	if !oneStatement(text) {
		return raise(21745, 1)
	}
	if _, err := s.Query(ctx, text); err != nil {
		return raise(21745, 1)
	}
	return nil
}

// oneStatement tells whether a text that was made of what a caller gave is one statement: what goes on after the clause
// that it was to be would run as the system does.
func oneStatement(text string) bool {
	batch, err := syntax.Parse(text)
	return err == nil && len(batch.Statements) == 1
}

// changedArticle is called before an article's content is changed: 20607 and 20608 when the caller did not agree to a
// new snapshot and to initializing subscriptions again. Those then wait for the next snapshot of the article.
func (e *Extension) changedArticle(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	a *article,
) error {
	if err := e.mayChangeArticles(ctx, call.Session, pub, call); err != nil {
		return err
	}
	return e.reinitArticle(ctx, call, p, pub, a)
}

// reinitArticle is 20608 when there are subscriptions to an article and the caller did not agree to initialize them
// again.
func (e *Extension) reinitArticle(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	a *article,
) error {
	s := call.Session
	r, err := s.Query(ctx, "SELECT COUNT(*) AS n FROM dbo.syssubscriptions WHERE artid = @p1 AND status = 2", a.id)
	if err != nil {
		return err
	}
	if r.Int(0, "n") > 0 && !call.Bool("@force_reinit_subscription") {
		return raise(20608, 1)
	}
	if _, err := e.inDistributionOf(ctx, s, p,
		"EXEC sp_MSinvalidate_article @publisher = ?, @publisher_db = ?, @publication = ?, @article_id = ?", p.server,
		p.db.Name(), pub.name, a.id); err != nil {
		return err
	}
	return s.Exec(ctx, "UPDATE dbo.syssubscriptions SET status = 1 WHERE artid = @p1 AND sync_type = 1", a.id)
}

// invalidateArticle is the distributor's half of changedArticle.
func (e *Extension) invalidateArticle(ctx context.Context, call *engine.ProcCall) error {
	p, err := distributedPublication(
		ctx,
		call.Session,
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
	)
	if err != nil {
		return err
	}
	return call.Session.Exec(
		ctx,
		"UPDATE dbo.MSsubscriptions SET status = 1, snapshot_seqno_flag = 0 WHERE publication_id = @p1 AND article_id = "+
			"@p2 AND sync_type = 1",
		p.id,
		call.Int("@article_id"),
	)
}

// publishedTable is publishedArticle for procedures that take an article with rows.
func (e *Extension) publishedTable(
	ctx context.Context,
	call *engine.ProcCall,
) (publisher, publication, *article, error) {
	p, pub, a, err := e.publishedArticle(ctx, call)
	if err == nil {
		err = a.tablesOnly()
	}
	return p, pub, a, err
}

func (e *Extension) articleFilter(ctx context.Context, call *engine.ProcCall) error {
	p, pub, a, err := e.publishedTable(ctx, call)
	if err != nil {
		return err
	}
	clause := strings.TrimSpace(call.String("@filter_clause"))
	if err := checkFilter(ctx, call.Session, a, clause); err != nil {
		return err
	}
	if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
		return err
	}
	return call.Session.Exec(ctx, "UPDATE dbo.sysarticles SET filter_clause = @p2 WHERE artid = @p1", a.id, orNull(clause))
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// articleView is sp_articleview: it makes the view of the article's columns and rows.
func (e *Extension) articleView(ctx context.Context, call *engine.ProcCall) error {
	p, pub, a, err := e.publishedTable(ctx, call)
	if err != nil {
		return err
	}
	s, clause := call.Session, strings.TrimSpace(call.String("@filter_clause"))
	if clause == "" {
		clause = a.filter
	}
	if err := checkFilter(ctx, s, a, clause); err != nil {
		return err
	}
	if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
		return err
	}
	name := call.String("@view_name")
	if name == "" {
		name = stored.Clip("syncobj_"+a.name, 120)
	}
	view := stored.TwoPart("dbo", name)
	a.filter = clause
	text := "CREATE VIEW " + view + " AS " + a.selection()
	if err := s.Exec(ctx, "DROP VIEW IF EXISTS "+view); err != nil {
		return err
	}
	if err := s.Exec(ctx, text); err != nil {
		return err
	}
	r, err := s.Query(ctx, "SELECT OBJECT_ID(@p1) AS id", view)
	if err != nil {
		return err
	}
	if err := s.ChangeObject(ctx, p.db, int32(r.Int(0, "id")), func(o *metadata.Object) { o.Shipped = true }); err != nil {
		return err
	}
	return s.Exec(
		ctx,
		"UPDATE dbo.sysarticles SET sync_objid = @p2, filter_clause = @p3 WHERE artid = @p1",
		a.id,
		r.Int(0, "id"),
		orNull(clause),
	)
}

// selection is the query of the article's columns and rows.
func (a *article) selection() string {
	text := "SELECT " + a.names(a.columns) + " FROM " + stored.TwoPart(a.schema, a.table.Name)
	if a.filter != "" {
		text += " WHERE (" + a.filter + ")"
	}
	return text
}

// dropArticleView drops the view that sp_articleview made.
func (e *Extension) dropArticleView(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	id, object int64,
) error {
	if id == object || id == 0 {
		return nil
	}
	o, err := s.Object(ctx, db, int32(id))
	if err != nil || o == nil || o.Kind != "V" {
		return err
	}
	schema, err := s.SchemaNameOf(ctx, db, o)
	if err != nil {
		return err
	}
	return s.Exec(ctx, "DROP VIEW IF EXISTS "+stored.TwoPart(schema, o.Name))
}
