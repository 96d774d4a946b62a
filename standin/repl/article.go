// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/sqltype"
)

func (e *Extension) installArticles(r *engine.Registry) {
	e.change(r, "sp_addarticle", owners, nil, e.addArticle)
	e.change(r, "sp_droparticle", owners, nil, e.dropArticle)
	e.change(r, "sp_articlecolumn", owners, nil, e.articleColumn)
	e.change(r, "sp_articleview", owners, nil, e.articleView)
	e.change(r, "sp_articlefilter", owners, nil, e.articleFilter)
	e.change(r, "sp_changearticle", owners, nil, e.changeArticle)
	e.change(
		r,
		"sp_repladdcolumn",
		owners,
		replColumnParameters(engine.Parameter{Name: "@typetext", Type: sqltype.NVarCharOf(3000), Required: true},
			engine.Parameter{Name: "@publication_to_add", Type: sqltype.NVarCharMax, Default: "all"}),
		e.replAddColumn,
	)
	e.change(r, "sp_repldropcolumn", owners, replColumnParameters(), e.replDropColumn)
	e.procedure(r, "sp_helparticle", owners, nil, e.helpArticle)
	e.procedure(r, "sp_helparticlecolumns", owners, nil, e.helpArticleColumns)
}

// articles reads the articles of a publication database that satisfy a condition on a.
func (e *Extension) articles(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	where string,
	args ...any,
) ([]*article.Article, error) {
	prefix := bracket(db.Name()) + ".dbo."
	r, err := s.Query(
		ctx,
		"SELECT a.*, p.repl_freq FROM "+prefix+"sysarticles AS a JOIN "+prefix+"syspublications AS p ON p.pubid = "+
			"a.pubid WHERE "+where+" ORDER BY a.artid",
		args...)
	if err != nil {
		return nil, err
	}
	c, err := s.Query(ctx, "SELECT artid, colid FROM "+prefix+"sysarticlecolumns ORDER BY artid, colid")
	if err != nil {
		return nil, err
	}
	published := map[int64][]int32{}
	for i := range c.Len() {
		id := c.Int(i, "artid")
		published[id] = append(published[id], int32(c.Int(i, "colid")))
	}
	var out []*article.Article
	for i := range r.Len() {
		a := &article.Article{
			ID:          r.Int(i, "artid"),
			Kind:        r.Int(i, "type"),
			Publication: r.Int(i, "pubid"),
			Name:        r.String(i, "name"),
			Object:      int32(r.Int(i, "objid")),
			DestOwner: r.String(
				i,
				"dest_owner",
			),
			DestTable: r.String(i, "dest_table"),
			Insert:    r.String(i, "ins_cmd"),
			Update:    r.String(i, "upd_cmd"),
			Delete: r.String(
				i,
				"del_cmd",
			),
			Filter:       r.String(i, "filter_clause"),
			PreCreation:  r.Int(i, "pre_creation_cmd"),
			Status:       r.Int(i, "status"),
			Active:       r.Int(i, "status")&1 != 0,
			SnapshotOnly: r.Int(i, "repl_freq") == 1,
		}
		if b := r.Bytes(i, "schema_option"); len(b) == 8 {
			a.Options = binary.BigEndian.Uint64(b)
		}
		if err := a.Resolve(ctx, s, db, published[a.ID]); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// findArticle is 20027 when the publication has none of that name.
func (e *Extension) findArticle(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	pub publication,
	name string,
) (*article.Article, error) {
	list, err := e.articles(ctx, s, db, "a.pubid = @p1 AND a.name = @p2", pub.id, name)
	if err == nil && len(list) == 0 {
		err = raise(20027, 1, name)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// mayChangeArticles is 20607 when a snapshot exists that the change would make useless and the caller did not agree.
func (e *Extension) mayChangeArticles(
	ctx context.Context,
	s *engine.Session,
	pub publication,
	call *engine.ProcCall,
) error {
	r, err := s.Query(ctx, "SELECT immediate_sync_ready FROM dbo.syspublications WHERE pubid = @p1", pub.id)
	if err != nil {
		return err
	}
	if r.Int(0, "immediate_sync_ready") == 0 {
		return nil
	}
	if !call.Bool("@force_invalidate_snapshot") {
		return raise(20607, 1)
	}
	return s.Exec(ctx, "UPDATE dbo.syspublications SET immediate_sync_ready = 0 WHERE pubid = @p1", pub.id)
}

func (e *Extension) dropArticle(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	where, args := "a.pubid = @p1 AND a.name = @p2", []any{pub.id, call.String("@article")}
	if strings.EqualFold(call.String("@article"), "all") {
		where, args = "a.pubid = @p1", args[:1]
	}
	list, err := e.articles(ctx, s, p.db, where, args...)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return raise(20027, 1, call.String("@article"))
	}
	for _, a := range list {
		r, err := s.Query(ctx, "SELECT TOP (1) srvname FROM dbo.syssubscriptions WHERE artid = @p1", a.ID)
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return raise(14046, 1)
		}
	}
	if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
		return err
	}
	for _, a := range list {
		if err := e.dropOneArticle(ctx, s, p, pub, a.Name, call.Bool("@ignore_distributor")); err != nil {
			return err
		}
	}
	return nil
}

// dropOneArticle drops an article here and, unless that is to be ignored, at the distributor.
func (e *Extension) dropOneArticle(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	pub publication,
	name string,
	ignoreDistributor bool,
) error {
	prefix := bracket(p.db.Name()) + ".dbo."
	r, err := s.Query(
		ctx,
		"SELECT artid, objid, sync_objid FROM "+prefix+"sysarticles WHERE pubid = @p1 AND name = @p2",
		pub.id,
		name,
	)
	if err != nil {
		return err
	}
	id, object := r.Int(0, "artid"), r.Int(0, "objid")
	if !ignoreDistributor {
		if _, err := e.inDistributionOf(ctx, s, p,
			"EXEC sp_MSdrop_article @publisher = ?, @publisher_db = ?, @article_id = ?", p.server, p.db.Name(), id); err != nil {
			return err
		}
	}
	if err := e.dropArticleView(ctx, s, p.db, r.Int(0, "sync_objid"), object); err != nil {
		return err
	}
	err = s.Exec(
		ctx,
		"DELETE FROM "+prefix+"sysarticlecolumns WHERE artid = @p1; DELETE FROM "+prefix+"sysarticles WHERE artid = @p1",
		id,
	)
	if err != nil {
		return err
	}
	if o, err := s.Object(ctx, p.db, int32(object)); err != nil {
		return err
	} else if o != nil {
		if err := noteArticles(ctx, s, p.db, int32(object)); err != nil {
			return err
		}
	}
	return e.refreshImages(ctx, s, p.db)
}
