// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
)

// changedArticle is called before an article's content is changed: 20607 and 20608 when the caller did not agree to a
// new snapshot and to initializing subscriptions again. Those then wait for the next snapshot of the article.
func (e *Extension) changedArticle(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	a *article.Article,
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
	a *article.Article,
) error {
	s := call.Session
	r, err := s.Query(ctx, "SELECT COUNT(*) AS n FROM dbo.syssubscriptions WHERE artid = @p1 AND status = 2", a.ID)
	if err != nil {
		return err
	}
	if r.Int(0, "n") > 0 && !call.Bool("@force_reinit_subscription") {
		return raise(20608, 1)
	}
	if _, err := e.inDistributionOf(ctx, s, p,
		"EXEC sp_MSinvalidate_article @publisher = ?, @publisher_db = ?, @publication = ?, @article_id = ?", p.server,
		p.db.Name(), pub.name, a.ID); err != nil {
		return err
	}
	return s.Exec(ctx, "UPDATE dbo.syssubscriptions SET status = 1 WHERE artid = @p1 AND sync_type = 1", a.ID)
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
) (publisher, publication, *article.Article, error) {
	p, pub, a, err := e.publishedArticle(ctx, call)
	if err == nil {
		err = a.TablesOnly()
	}
	return p, pub, a, err
}

func (e *Extension) articleFilter(ctx context.Context, call *engine.ProcCall) error {
	p, pub, a, err := e.publishedTable(ctx, call)
	if err != nil {
		return err
	}
	clause := strings.TrimSpace(call.String("@filter_clause"))
	if err := article.CheckFilter(ctx, call.Session, a, clause); err != nil {
		return err
	}
	if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
		return err
	}
	return call.Session.Exec(ctx, "UPDATE dbo.sysarticles SET filter_clause = @p2 WHERE artid = @p1", a.ID, orNull(clause))
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
		clause = a.Filter
	}
	if err := article.CheckFilter(ctx, s, a, clause); err != nil {
		return err
	}
	if err := e.changedArticle(ctx, call, p, pub, a); err != nil {
		return err
	}
	name := call.String("@view_name")
	if name == "" {
		name = stored.Clip("syncobj_"+a.Name, 120)
	}
	view := stored.TwoPart("dbo", name)
	a.Filter = clause
	text := "CREATE VIEW " + view + " AS " + a.Selection()
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
		a.ID,
		r.Int(0, "id"),
		orNull(clause),
	)
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
