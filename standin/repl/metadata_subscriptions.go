// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/profile"
	"geosql.dev/standin/repl/stored"
)

func (e *Extension) addSubscriptionRow(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	publisher, db, name := call.String("@publisher"), call.String("@publisher_db"), call.String("@publication")
	p, err := distributedPublication(ctx, s, publisher, db, name)
	if err != nil {
		return err
	}
	if err := e.subscriberLogin(ctx, s, publisher, call.String("@subscriber")); err != nil {
		return err
	}
	if err := e.ensureServer(ctx, s, call.String("@subscriber"), "sub"); err != nil {
		return err
	}
	if err := noteServer(ctx, s, call.Database.Name(), call.String("@subscriber")); err != nil {
		return err
	}
	subscriber, err := serverID(ctx, s, call.String("@subscriber"))
	if err != nil {
		return err
	}
	if err := s.Exec(ctx,
		`IF NOT EXISTS (SELECT 1 FROM dbo.MSsubscriber_info WHERE publisher = @p1 AND subscriber = @p2) INSERT INTO dbo.MSsubscriber_info VALUES (@p1, @p2, 0, NULL, NULL, NULL, 1)`, publisher, call.String("@subscriber")); err != nil {
		return err
	}
	kind := int(call.Int("@subscription_type"))
	agent, err := e.ensureDistributionAgent(
		ctx,
		s,
		p,
		publisher,
		db,
		name,
		subscriber,
		call.String("@subscriber"),
		call.String("@subscriber_db"),
		kind,
	)
	if err != nil {
		return err
	}
	if kind == stored.PushType {
		if err := e.jobOfSubscription(ctx, call, agent); err != nil {
			return err
		}
	}
	row := subscriptionRow{
		p:           p,
		publisherDB: db,
		article:     call.Int("@article_id"),
		subscriber:  subscriber,
		database:    call.String("@subscriber_db"),
		kind:        kind,
		sync:        int(call.Int("@sync_type")),
		status:      stored.Subscribed,
		agent:       agent,
		loopback:    call.Bool("@loopback_detection"),
	}
	if row.sync != syncAutomatic {
		row.seqno = inlineSeqno(call.Bytes("@seqno"), agent, row.article)
		if err := e.noteSetUp(ctx, s, p, call, row.seqno); err != nil {
			return err
		}
		row.status, row.snapshot = stored.Activated, true
	}
	if err := e.writeSubscription(ctx, s, row); err != nil {
		return err
	}
	if err := takeSnapshot(ctx, s, p, agent, row.article, []byte{0}); err != nil {
		return err
	}
	return call.Exec(
		ctx,
		"SELECT CAST(status AS int) AS status, agent_id FROM dbo.MSsubscriptions WHERE agent_id = @p1 AND article_id = @p2",
		agent,
		row.article,
	)
}

// takeSnapshot makes a subscription that waits for a snapshot active with the one that is there, unless it is the one
// that it had. A snapshot that is finished at the same moment finds the subscription waiting and does so itself, or was
// finished before this statement, which then sees it: to look first and write what was seen would miss one in between,
// and the subscription would wait for the next.
func takeSnapshot(ctx context.Context, s *engine.Session, p publicationRow, agent, article int64, had []byte) error {
	return s.Exec(
		ctx,
		`UPDATE dbo.MSsubscriptions SET status = 2, snapshot_seqno_flag = 1, subscription_seqno = (SELECT v.subscription_seqno FROM dbo.MSsubscriptions AS v
			WHERE v.agent_id = @p1 AND v.article_id = @p3 AND v.status = 2)
		WHERE agent_id = @p2 AND article_id = @p3 AND status = 1 AND sync_type = 1 AND EXISTS (SELECT 1 FROM dbo.MSsubscriptions AS v
			WHERE v.agent_id = @p1 AND v.article_id = @p3 AND v.status = 2 AND v.subscription_seqno <> @p4)`,
		-p.id,
		agent,
		article,
		had,
	)
}

// inlineSeqno is the number of the script of a subscription that has its rows already: it comes right after the
// position of which the subscriber has the rows.
func inlineSeqno(position []byte, agent, article int64) []byte {
	seqno := append(append([]byte{}, position...), 0, 2)
	seqno = binary.BigEndian.AppendUint16(seqno, uint16(agent))
	return binary.BigEndian.AppendUint16(seqno, uint16(article))
}

// addInlineScript stores the script of a subscription that has its rows already, as a snapshot without files.
func addInlineScript(
	ctx context.Context,
	s *engine.Session,
	database, article int64,
	seqno []byte,
	script string,
) error {
	err := s.Exec(
		ctx,
		`DELETE FROM dbo.MSrepl_commands WHERE publisher_database_id = @p1 AND xact_seqno = @p2; DELETE FROM dbo.MSrepl_transactions WHERE publisher_database_id = @p1 AND xact_seqno = @p2;
		INSERT INTO dbo.MSrepl_transactions VALUES (@p1, @p2, @p2, GETDATE())`,
		database,
		seqno,
	)
	if err != nil {
		return err
	}
	commands := insertCommands(database)
	if _, err := commands.add(ctx, s, seqno, stored.CommandInline, article, 0, stored.EncodeCommand(script, nil),
		nil); err != nil {
		return err
	}
	return commands.flush(ctx, s)
}

func (e *Extension) ensureDistributionAgent(
	ctx context.Context,
	s *engine.Session,
	p publicationRow,
	publisher, db, name string,
	subscriber int64,
	subscriberName, subscriberDB string,
	kind int,
) (int64, error) {
	find := "SELECT id, subscription_type FROM dbo.MSdistribution_agents WHERE publisher_id = @p1 AND publisher_db = " +
		"@p2 AND publication = @p3 AND subscriber_id = @p4 AND subscriber_db = @p5"
	args := []any{p.publisher, db, name, subscriber, subscriberDB}
	r, err := s.Query(ctx, find, args...)
	if err != nil {
		return 0, err
	}
	if r.Len() > 0 {
		id := r.Int(0, "id")
		return id, s.Exec(ctx, "UPDATE dbo.MSdistribution_agents SET subscription_type = @p2 WHERE id = @p1", id, kind)
	}
	profileID, err := profile.Default(ctx, s, stored.DistributionAgent)
	if err != nil {
		return 0, err
	}
	label := fmt.Sprintf("%s-%s-%s-%s", publisher, db, name, subscriberName)
	err = s.Exec(
		ctx,
		`INSERT INTO dbo.MSdistribution_agents (name, publisher_database_id, publisher_id, publisher_db, publication, subscriber_id, subscriber_db, subscription_type,
		local_job, subscription_guid, profile_id, subscriber_name, creation_date, queue_status, offload_enabled, dts_package_location, sid, reset_partial_snapshot_progress, subscriptionstreams)
		VALUES (@p6, @p7, @p1, @p2, @p3, @p4, @p5, @p8, 0, CAST(NEWID() AS binary(16)), @p9, @p10, GETDATE(), 0, 0, 0, 0x01, 0, 1)`,
		append(args, stored.Clip(label, 90), p.database, kind, profileID, subscriberName)...)
	if err != nil {
		return 0, err
	}
	if r, err = s.Query(ctx, find, args...); err != nil {
		return 0, err
	}
	id := r.Int(0, "id")
	return id, s.Exec(
		ctx,
		"UPDATE dbo.MSdistribution_agents SET name = @p2 WHERE id = @p1",
		id,
		fmt.Sprintf("%s-%d", stored.Clip(label, 90), id),
	)
}

// agentOf is the distribution agent of a subscription: 0 when there is none.
func agentOf(ctx context.Context, s *engine.Session, call *engine.ProcCall) (int64, error) {
	r, err := s.Query(
		ctx,
		`SELECT a.id FROM dbo.MSdistribution_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id JOIN dbo.MSreplservers AS w ON w.srvid = a.subscriber_id
		WHERE v.srvname = @p1 AND a.publisher_db = @p2 AND a.publication = @p3 AND w.srvname = @p4 AND a.subscriber_db = @p5`,
		call.String(
			"@publisher",
		),
		call.String("@publisher_db"),
		call.String("@publication"),
		call.String("@subscriber"),
		call.String("@subscriber_db"),
	)
	return r.Int(0, "id"), err
}

func (e *Extension) dropSubscriptionRow(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	agent, err := agentOf(ctx, s, call)
	if err != nil || agent == 0 {
		return err
	}
	if err := s.Exec(ctx, forgetSetUps+"DELETE FROM dbo.MSsubscriptions WHERE agent_id = @p1 AND article_id = @p2", agent,
		call.Int("@article_id")); err != nil {
		return err
	}
	r, err := s.Query(ctx, "SELECT COUNT(*) AS n FROM dbo.MSsubscriptions WHERE agent_id = @p1", agent)
	if err != nil || r.Int(0, "n") > 0 {
		return err
	}
	return e.dropAgentJobs(ctx, s, "MSdistribution_agents", "id = @p1", agent)
}

func (e *Extension) reinitSubscriptionRow(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	agent, err := agentOf(ctx, s, call)
	if err != nil {
		return err
	}
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
	if call.Int("@invalidate") == 1 {
		if err := s.Exec(ctx, "UPDATE dbo.MSsubscriptions SET status = 1, snapshot_seqno_flag = 0 WHERE agent_id = @p1",
			-p.id); err != nil {
			return err
		}
	}
	had, err := s.Query(
		ctx,
		"SELECT subscription_seqno FROM dbo.MSsubscriptions WHERE agent_id = @p1 AND article_id = @p2",
		agent,
		call.Int("@article_id"),
	)
	if err != nil {
		return err
	}
	if had.Len() == 0 {
		return call.Exec(ctx, "SELECT 1 AS status") // a distributor that was lost does not know it
	}
	if err := s.Exec(ctx,
		"UPDATE dbo.MSsubscriptions SET status = 1, subscription_seqno = 0x00, snapshot_seqno_flag = 0 WHERE agent_id = "+
			"@p1 AND article_id = @p2", agent, call.Int("@article_id")); err != nil {
		return err
	}
	// A snapshot that is there already, and was not applied by this subscription, serves.
	if err := takeSnapshot(ctx, s, p, agent, call.Int("@article_id"), had.Bytes(0, "subscription_seqno")); err != nil {
		return err
	}
	return call.Exec(
		ctx,
		"SELECT CAST(status AS int) AS status FROM dbo.MSsubscriptions WHERE agent_id = @p1 AND article_id = @p2",
		agent,
		call.Int("@article_id"),
	)
}
