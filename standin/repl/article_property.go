// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
)

// changeArticle is sp_changearticle: which properties ask for a new snapshot (20607), and which for subscriptions to be
// initialized again (20608), is what its page says
// (docs/relational-databases/system-stored-procedures/sp-changearticle-transact-sql.md, Remarks).
func (e *Extension) changeArticle(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, a, err := e.publishedArticle(ctx, call)
	if err != nil {
		return err
	}
	n, err := e.newProperty(ctx, call, p, pub, a)
	if err != nil {
		return err
	}
	if n.Snapshot {
		if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
			return err
		}
	}
	switch {
	case n.Subscriptions || n.Snapshot && call.Bool("@force_reinit_subscription"):
		err = e.reinitArticle(ctx, call, p, pub, a)
	case n.Snapshot:
		err = e.invalidateSnapshot(ctx, s, p, pub, a.ID)
	}
	if err != nil {
		return err
	}
	if n.Column == "dest_table" || n.Column == "dest_owner" {
		column := map[string]string{"dest_table": "destination_object", "dest_owner": "destination_owner"}[n.Column]
		if _, err := e.inDistributionOf(ctx, s, p,
			"UPDATE dbo.MSarticles SET "+column+" = ? WHERE publisher_id = (SELECT srvid FROM dbo.MSreplservers "+
				"WHERE srvname = ?) AND publisher_db = ? AND article_id = ?",
			n.Value, p.server, p.db.Name(), a.ID); err != nil {
			return err
		}
	}
	return s.Exec(ctx, "UPDATE dbo.sysarticles SET "+n.Column+" = @p2 WHERE artid = @p1", a.ID, n.Value)
}

// Property reads @property and @value.
func (e *Extension) newProperty(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	a *article.Article,
) (article.Property, error) {
	property, value := strings.ToLower(call.String("@property")), call.String("@value")
	switch property {
	case "description":
		return article.Property{Column: property, Value: value}, nil
	case "pre_creation_cmd":
		n, err := a.PreCreationOf(value)
		return article.Property{Column: property, Value: n, Snapshot: true}, err
	case "schema_option":
		options, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(value), "0x"), 16, 64)
		if err != nil {
			return article.Property{}, raise(20014, 1)
		}
		if a.IsModule() {
			err = a.KindOfModule().CheckOptions(options)
		} else {
			err = e.checkTable(ctx, call.Session, p.db, pub, a.Table, options)
		}
		return article.Property{Column: property, Value: binary.BigEndian.AppendUint64(nil, options), Snapshot: true}, err
	case "dest_table", "dest_object", "destination_owner":
		if value == "" {
			return article.Property{}, raise(14043, 1, "@value", "sp_changearticle")
		}
		column := "dest_table"
		if property == "destination_owner" {
			column = "dest_owner"
		}
		return article.Property{Column: column, Value: value, Snapshot: true, Subscriptions: true}, nil
	}
	if a.IsModule() {
		return article.Property{}, raise(21224, 1, property)
	}
	return a.NewTableProperty(call, property, value)
}
