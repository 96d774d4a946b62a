// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

func (e *Extension) installScripts(r *engine.Registry) {
	e.procedure(
		r,
		"sp_addscriptexec",
		owners,
		[]engine.Parameter{
			{Name: "@publication", Type: sqltype.Sysname, Required: true},
			{Name: "@scriptfile", Type: sqltype.NVarCharOf(4000), Required: true},
			{Name: "@skiperror", Type: sqltype.BitType},
			{Name: "@publisher", Type: sqltype.Sysname},
		},
		e.postScript,
	)
}

// postScript reads a file at the publisher and posts it to all subscribers
// (docs/relational-databases/system-stored-procedures/sp-addscriptexec-transact-sql.md).
func (e *Extension) postScript(ctx context.Context, call *engine.ProcCall) error {
	if publisher := call.String("@publisher"); publisher != "" && !agent.SameServer(publisher, e.serverName()) {
		return raise(21023, 1, "@publisher = N'"+publisher+"'")
	}
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if pub.snapshotOnly {
		return raise(21515, 1, pub.name)
	}
	content, err := e.agents.ReadScript(call.String("@scriptfile"))
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		"SELECT MIN(artid) AS artid FROM dbo.sysarticles WHERE pubid = @p1 AND type & 1 = 1",
		pub.id,
	)
	if err != nil {
		return err
	}
	if r.Value(0, "artid") == nil {
		return raise(14124, 1)
	}
	payload, err := json.Marshal(
		article.PostedScript{Article: r.Int(0, "artid"), Script: content, Skip: call.Bool("@skiperror")},
	)
	if err != nil {
		return err
	}
	return call.Session.Write(ctx, p.db, func(tx *storage.Tx) error { tx.Mark(article.ScriptMark, payload); return nil })
}
