// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"strconv"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

func (e *Extension) installTokens(r *engine.Registry) {
	e.procedure(r, "sp_posttracertoken", owners, nil, e.postToken)
	e.procedure(r, "sp_helptracertokens", owners, nil, e.helpTokens)
	e.procedure(r, "sp_helptracertokenhistory", owners, nil, e.helpTokenHistory)
	e.procedure(r, "sp_deletetracertokenhistory", owners, nil, e.deleteTokens)
	e.procedure(
		r,
		"sp_MSadd_tracer_history",
		agentLogins,
		[]engine.Parameter{text("@tracer_id"), number("@agent_id")},
		e.addTokenHistory,
	)
	e.procedure(
		r,
		"sp_MSprepare_subscriber",
		owners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication"), number("@subscription_type")},
		e.prepareSubscriber,
	)
	e.procedure(
		r,
		"sp_MSawait_position",
		owners,
		[]engine.Parameter{
			text("@publisher"),
			text("@publisher_db"),
			text("@publication"),
			{Name: "@position", Type: sqltype.VarBinaryMax},
		},
		e.awaitPosition,
	)
}

func (e *Extension) postToken(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if pub.snapshotOnly {
		return raise(21485, 1)
	}
	r, err := e.inDistributionOf(
		ctx,
		s,
		p,
		thePublication+`INSERT INTO dbo.MStracer_tokens (publication_id, publisher_commit) VALUES (@pub, GETDATE());
		SELECT CAST(SCOPE_IDENTITY() AS int) AS id, @pub AS publication`,
		p.server,
		p.db.Name(),
		pub.name,
	)
	if err != nil {
		return err
	}
	id, publication := r.Int(0, "id"), r.Int(0, "publication")
	payload := binary.BigEndian.AppendUint64(nil, uint64(id))
	payload = binary.BigEndian.AppendUint64(payload, uint64(publication))
	err = s.Write(ctx, p.db, func(tx *storage.Tx) error {
		tx.Mark(article.TokenMark, payload)
		return nil
	})
	if err != nil {
		return err
	}
	call.SetOutput("@tracer_token_id", id)
	return nil
}

// noteToken notes that a token came to the distributor.
func noteToken(ctx context.Context, s *engine.Session, command []byte) error {
	text, _, err := stored.DecodeCommand(command)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	return s.Exec(ctx, "UPDATE dbo.MStracer_tokens SET distributor_commit = GETDATE() WHERE tracer_id = @p1", id)
}

func (e *Extension) addTokenHistory(ctx context.Context, call *engine.ProcCall) error {
	return call.Session.Exec(
		ctx,
		`IF EXISTS (SELECT 1 FROM dbo.MStracer_tokens WHERE tracer_id = CAST(@p1 AS int)) AND NOT EXISTS (SELECT 1 FROM dbo.MStracer_history WHERE parent_tracer_id = CAST(@p1 AS int) AND agent_id = @p2)
		INSERT INTO dbo.MStracer_history VALUES (CAST(@p1 AS int), @p2, GETDATE())`,
		call.String("@tracer_id"),
		call.Int("@agent_id"),
	)
}

// tokenQuery runs a query about tokens at the distributor: from the publication database, or within the distribution
// database itself when @publisher and @publisher_db are given there.
func (e *Extension) tokenQuery(
	ctx context.Context,
	call *engine.ProcCall,
	format string,
	args ...any,
) (*engine.Result, error) {
	publication := call.String("@publication")
	if call.Database.Info().Distributor {
		publisher, db := call.String("@publisher"), call.String("@publisher_db")
		if publisher == "" || db == "" {
			return nil, raise(20686, 1, "@publisher", "distribution")
		}
		if _, err := distributedPublication(ctx, call.Session, publisher, db, publication); err != nil {
			return nil, err
		}
		return call.Session.Query(ctx, fill(format, append([]any{publisher, db, publication}, args...)...))
	}
	p, err := e.publisher(ctx, call)
	if err != nil {
		return nil, err
	}
	if _, err := findPublication(ctx, call.Session, publication); err != nil {
		return nil, err
	}
	return e.inDistributionOf(ctx, call.Session, p, format, append([]any{p.server, p.db.Name(), publication}, args...)...)
}

func (e *Extension) helpTokens(ctx context.Context, call *engine.ProcCall) error {
	r, err := e.tokenQuery(
		ctx,
		call,
		thePublication+"SELECT tracer_id, publisher_commit FROM dbo.MStracer_tokens WHERE publication_id = @pub ORDER BY "+
			"publisher_commit DESC",
	)
	if err != nil {
		return err
	}
	return call.ResultSet(r.Columns, r.Rows)
}

func (e *Extension) helpTokenHistory(ctx context.Context, call *engine.ProcCall) error {
	id := call.Int("@tracer_id")
	found, err := e.tokenQuery(
		ctx,
		call,
		thePublication+"SELECT 1 AS n FROM dbo.MStracer_tokens WHERE publication_id = @pub AND tracer_id = ?",
		id,
	)
	if err != nil {
		return err
	}
	if found.Len() == 0 {
		return raise(20688, 1, id, e.serverName(), call.Database.Name(), call.String("@publication"))
	}
	r, err := e.tokenQuery(
		ctx,
		call,
		thePublication+`SELECT CAST(DATEDIFF(second, t.publisher_commit, t.distributor_commit) AS bigint) AS distributor_latency, a.subscriber_name AS subscriber, a.subscriber_db,
		CAST(DATEDIFF(second, t.distributor_commit, h.subscriber_commit) AS bigint) AS subscriber_latency,
		CAST(DATEDIFF(second, t.publisher_commit, h.subscriber_commit) AS bigint) AS overall_latency
		FROM dbo.MStracer_tokens AS t
		JOIN dbo.MSpublications AS p ON p.publication_id = t.publication_id
		JOIN dbo.MSdistribution_agents AS a ON a.publisher_id = p.publisher_id AND a.publisher_db = p.publisher_db AND a.publication = p.publication
		LEFT JOIN dbo.MStracer_history AS h ON h.parent_tracer_id = t.tracer_id AND h.agent_id = a.id
		WHERE t.publication_id = @pub AND t.tracer_id = ?`,
		id,
	)
	if err != nil {
		return err
	}
	return call.ResultSet(r.Columns, r.Rows)
}

func (e *Extension) deleteTokens(ctx context.Context, call *engine.ProcCall) error {
	where, value := "tracer_id = ?", call.Value("@tracer_id")
	if value == nil {
		where, value = "publisher_commit < ?", call.Value("@cutoff_date")
	}
	if value == nil {
		return raise(21821, 1, "@tracer_id", "@cutoff_date")
	}
	_, err := e.tokenQuery(
		ctx,
		call,
		thePublication+`DELETE FROM dbo.MStracer_history WHERE parent_tracer_id IN (SELECT tracer_id FROM dbo.MStracer_tokens WHERE publication_id = @pub AND `+where+`);
		DELETE FROM dbo.MStracer_tokens WHERE publication_id = @pub AND `+where,
		value,
		value,
	)
	return err
}
