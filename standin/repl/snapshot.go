// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strconv"
	"strings"

	"geosql.dev/standin/config"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

func (e *Extension) installSnapshot(r *engine.Registry) {
	e.procedure(r, "sp_MSget_snapshot", owners, []engine.Parameter{text("@publication"), text("@articles")}, e.getSnapshot)
	e.procedure(
		r,
		"sp_MSget_snapshot_agent",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication")},
		e.snapshotAgentState,
	)
	e.change(
		r,
		"sp_MSadd_snapshot",
		distributionOwners,
		[]engine.Parameter{
			text("@publisher"),
			text("@publisher_db"),
			text("@publication"),
			binary1("@xact_seqno"),
			text("@commands"),
		},
		e.addSnapshot,
	)
	e.procedure(
		r,
		"sp_MSskip_to_snapshot",
		agentLogins,
		[]engine.Parameter{number("@agent_id"), number("@article_id")},
		e.skipToSnapshot,
	)
	e.procedure(r, "sp_MSget_snapshot_order", agentLogins, []engine.Parameter{number("@agent_id")}, e.snapshotOrder)
	e.procedure(
		r,
		"sp_MSset_snapshot_done",
		owners,
		[]engine.Parameter{text("@publication"), text("@articles")},
		e.snapshotDone,
	)
	e.procedure(
		r,
		"sp_MSreplraiserror",
		anyone,
		[]engine.Parameter{number("@errorid"), text("@param1"), text("@param2")},
		func(_ context.Context, call *engine.ProcCall) error {
			kind, table := call.String("@param1"), call.String("@param2")
			return raise(int32(call.Int("@errorid")), 1, kind, table, "(see the command)")
		},
	)
}

// getSnapshot streams the articles' scripts and rows as they are at one position of the log: the writer is held for the
// moment in which the reading snapshot begins, so that nothing commits between the two.
func (e *Extension) getSnapshot(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.Database
	pub, err := findPublication(ctx, s, call.String("@publication"))
	if err != nil {
		return err
	}
	wanted := "," + call.String("@articles") + ","
	var list []*article.Article
	scripts := map[int64]tableScripts{}
	reader, position, err := article.SnapshotReader(ctx, db, func() (err error) {
		if list, err = e.articles(ctx, s, db, "a.pubid = @p1", pub.id); err != nil {
			return err
		}
		for _, a := range list {
			if scripts[a.ID], err = e.scripts(ctx, s, db, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer reader.Release()
	w := call.Writer
	if err := w.Columns(columns("part", sqltype.IntType, "article_id", sqltype.IntType, "data",
		sqltype.VarBinaryMax)); err != nil {
		return err
	}
	rows := int64(1)
	emit := func(part int, article int64, data []byte) error {
		rows++
		return w.Row([]any{int64(part), article, data})
	}
	if err := emit(stored.PartPosition, 0, position[:]); err != nil {
		return err
	}
	for _, a := range inNeed(list, scripts) {
		if !strings.Contains(wanted, ","+strconv.FormatInt(a.ID, 10)+",") {
			continue
		}
		if err := emit(stored.PartScript, a.ID, []byte(scripts[a.ID].table)); err != nil {
			return err
		}
		if a.IsModule() {
			continue
		}
		if err := article.StreamRows(ctx, reader, a, article.NewFilter(s, a),
			func(block []byte) error { return emit(stored.PartData, a.ID, block) }); err != nil {
			return err
		}
		if err := emit(stored.PartIndexes, a.ID, []byte(scripts[a.ID].indexes)); err != nil {
			return err
		}
	}
	return w.Done(tds.Rows(rows))
}

func (e *Extension) snapshotDone(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	pub, err := findPublication(ctx, s, call.String("@publication"))
	if err != nil {
		return err
	}
	if err := s.Exec(ctx,
		`UPDATE dbo.syssubscriptions SET status = 2 WHERE status = 1 AND CHARINDEX(N',' + CAST(artid AS nvarchar(11)) + N',', @p1) > 0`, ","+call.String("@articles")+","); err != nil {
		return err
	}
	if !pub.immediateSync {
		return nil
	}
	return s.Exec(ctx, "UPDATE dbo.syspublications SET immediate_sync_ready = 1 WHERE pubid = @p1", pub.id)
}

// snapshotAgentState tells the snapshot agent what it is and which articles wait for a snapshot.
func (e *Extension) snapshotAgentState(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	publisher, db, name := call.String("@publisher"), call.String("@publisher_db"), call.String("@publication")
	p, err := distributedPublication(ctx, s, publisher, db, name)
	if err != nil {
		return err
	}
	r, err := s.Query(
		ctx,
		"SELECT id, profile_id, publisher_security_mode, publisher_login, publisher_password FROM dbo.MSsnapshot_agents "+
			"WHERE publisher_id = @p1 AND publisher_db = @p2 AND publication = @p3",
		p.publisher,
		db,
		name,
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(21799, 1, "Snapshot", publisher, db, name)
	}
	where := "m.status = 1 AND m.sync_type = 1"
	if p.snapshotOnly && !e.inst.Answers(config.SnapshotsForMarked) {
		where = "m.status IN (1, 2)" // a snapshot publication brings all again each time
	}
	if p.immediateSync {
		where = "1 = 1"
	}
	return call.Exec(
		ctx,
		`SELECT CAST(@p1 AS int) AS agent_id, CAST(@p2 AS int) AS profile_id, CAST(@p7 AS int) AS publisher_security_mode, CAST(@p3 AS sysname) AS publisher_login, CAST(@p4 AS nvarchar(524)) AS publisher_password,
		CAST(@p5 AS int) AS publisher_database_id, a.article_id, a.article, a.destination_object FROM dbo.MSarticles AS a
		WHERE a.publication_id = @p6 AND a.article_id IN (SELECT m.article_id FROM dbo.MSsubscriptions AS m WHERE m.publication_id = @p6 AND `+where+`)
		UNION ALL SELECT CAST(@p1 AS int), CAST(@p2 AS int), CAST(@p7 AS int), CAST(@p3 AS sysname), CAST(@p4 AS nvarchar(524)), CAST(@p5 AS int), NULL, NULL, NULL`,
		r.Int(
			0,
			"id",
		),
		r.Int(0, "profile_id"),
		r.Value(0, "publisher_login"),
		r.Value(0, "publisher_password"),
		p.database,
		p.id,
		r.Value(0, "publisher_security_mode"),
	)
}

// addSnapshot stores a finished snapshot's commands and makes the subscriptions that waited for it active, at once.
// @commands has a line "article type command" for each file.
func (e *Extension) addSnapshot(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, err := distributedPublication(
		ctx,
		s,
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
	)
	if err != nil {
		return err
	}
	// Publications of one database may have a snapshot of the same commit in the same second.
	seqno := append(call.Bytes("@xact_seqno"), byte(p.id))
	if err := s.Exec(ctx, "INSERT INTO dbo.MSrepl_transactions VALUES (@p1, @p2, @p2, GETDATE())", p.database,
		seqno); err != nil {
		return err
	}
	commands := insertCommands(p.database)
	articles := map[string]bool{}
	id := int64(0)
	for _, line := range strings.Split(strings.TrimSpace(call.String("@commands")), "\n") {
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 {
			return raise(20587, 1, "@commands", "sp_MSadd_snapshot")
		}
		article, e1 := strconv.ParseInt(fields[0], 10, 32)
		kind, e2 := strconv.ParseInt(fields[1], 10, 32)
		if e1 != nil || e2 != nil {
			return raise(20587, 2, "@commands", "sp_MSadd_snapshot")
		}
		articles[fields[0]] = true
		if id, err = commands.add(ctx, s, seqno, kind, article, id, stored.EncodeCommand(fields[2], nil), nil); err != nil {
			return err
		}
	}
	if err := commands.flush(ctx, s); err != nil {
		return err
	}
	for a := range articles {
		if err := s.Exec(ctx, `UPDATE dbo.MSsubscriptions SET status = 2, subscription_seqno = @p3, snapshot_seqno_flag = 1 WHERE publication_id = @p1 AND article_id = CAST(@p2 AS int)
			AND sync_type = 1 AND (status = 1 OR agent_id < 0 OR @p4 = 1 AND status = 2)`, p.id, a, seqno,
			p.snapshotOnly && !e.inst.Answers(config.SnapshotsForMarked)); err != nil {
			return err
		}
	}
	return nil
}

// skipToSnapshot moves an article's subscription to the newest finished snapshot, which the virtual subscription has,
// and gives its number: what is older was superseded before it was applied, and need not be there any more. The agent
// asks when the subscriber does not have the article's snapshot. Changes before the number are in the snapshot.
func (e *Extension) skipToSnapshot(ctx context.Context, call *engine.ProcCall) error {
	s, agent, article := call.Session, call.Int("@agent_id"), call.Int("@article_id")
	err := s.Exec(
		ctx,
		`UPDATE dbo.MSsubscriptions SET subscription_seqno = (SELECT v.subscription_seqno FROM dbo.MSsubscriptions AS v
			WHERE v.agent_id = -dbo.MSsubscriptions.publication_id AND v.article_id = @p2 AND v.status = 2)
		WHERE agent_id = @p1 AND article_id = @p2 AND status = 2 AND snapshot_seqno_flag = 1 AND sync_type = 1 AND EXISTS (SELECT 1 FROM dbo.MSsubscriptions AS v
			WHERE v.agent_id = -dbo.MSsubscriptions.publication_id AND v.article_id = @p2 AND v.status = 2 AND v.subscription_seqno > dbo.MSsubscriptions.subscription_seqno)`,
		agent,
		article,
	)
	if err != nil {
		return err
	}
	return call.Exec(
		ctx,
		"SELECT subscription_seqno FROM dbo.MSsubscriptions WHERE agent_id = @p1 AND article_id = @p2 AND status = 2",
		agent,
		article,
	)
}
