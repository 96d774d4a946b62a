// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
)

// The distributor's half of the procedures that are called at the publisher. They run in the distribution database and
// can be repeated: a publisher that was interrupted between the two halves does the whole again.
func (e *Extension) installMetadata(r *engine.Registry) {
	subscriptionKey := []engine.Parameter{
		text("@publisher"),
		text("@publisher_db"),
		text("@publication"),
		number("@article_id"),
		text("@subscriber"),
		text("@subscriber_db"),
	}
	with := func(more ...engine.Parameter) []engine.Parameter {
		return append(append([]engine.Parameter(nil), subscriptionKey...), more...)
	}
	job := []engine.Parameter{
		number("@mode"),
		text("@login"),
		text("@password"),
		text("@job_name"),
		number("@freq_type"),
		number("@freq_interval"),
		number("@freq_subday"),
		number(
			"@freq_subday_interval",
		),
		number("@freq_relative"),
		number("@freq_recurrence"),
		number("@start_date"),
		number("@end_date"),
		number("@start_time"),
		number("@end_time"),
	}
	e.change(
		r,
		"sp_MSadd_article",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication"), text("@article"),
			number(
				"@article_id",
			), text("@destination_object"), text("@source_owner"), text("@source_object"), text("@destination_owner")},
		e.addArticleRow,
	)
	e.change(
		r,
		"sp_MSdrop_article",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), number("@article_id")},
		e.dropArticleRow,
	)
	e.procedure(
		r,
		"sp_MSdrop_publication",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication")},
		afterAgents(e.stopPublication, e.dropPublicationRow),
	)
	e.change(
		r,
		"sp_MSadd_subscription",
		distributionOwners,
		with(
			number("@subscription_type"),
			number("@sync_type"),
			binary1("@seqno"),
			text("@script"),
			number("@loopback_detection"),
		),
		e.addSubscriptionRow,
	)
	e.procedure(
		r,
		"sp_MSdrop_subscription",
		distributionOwners,
		with(),
		afterAgents(e.stopSubscription, e.dropSubscriptionRow),
	)
	e.change(r, "sp_MSreinit_subscription", distributionOwners, with(number("@invalidate")), e.reinitSubscriptionRow)
	e.change(
		r,
		"sp_MSinvalidate_article",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication"), number("@article_id")},
		e.invalidateArticle,
	)
	e.change(
		r,
		"sp_MSchange_immediate_sync",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication"), number("@on")},
		e.changeImmediateSyncRows,
	)
	e.change(
		r,
		"sp_MSensure_logreader_agent",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@job_name")},
		e.ensureLogReaderRow,
	)
	e.procedure(
		r,
		"sp_MSdrop_logreader_agent",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db")},
		afterAgents(e.stopLogReader, e.dropLogReaderRow),
	)
	e.change(
		r,
		"sp_MSadd_logreader_agent",
		distributionOwners,
		[]engine.Parameter{
			text("@publisher"),
			text("@publisher_db"),
			number("@mode"),
			text("@login"),
			text("@password"),
			text("@job_name"),
		},
		e.addLogReaderRow,
	)
	e.change(
		r,
		"sp_MSchange_logreader_agent",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), number("@mode"), text("@login"), text("@password")},
		e.changeLogReaderRow,
	)
	e.change(
		r,
		"sp_MSadd_snapshot_agent",
		distributionOwners,
		append([]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication")}, job...),
		e.addSnapshotRow,
	)
	e.procedure(
		r,
		"sp_MSstart_snapshot_agent",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication")},
		e.startSnapshot,
	)
	e.change(
		r,
		"sp_MSadd_push_agent",
		distributionOwners,
		append(
			[]engine.Parameter{
				text("@publisher"),
				text("@publisher_db"),
				text("@publication"),
				text("@subscriber"),
				text("@subscriber_db"),
			},
			job...),
		e.addPushRow,
	)
}

// serverID is a server's id in sys.servers: 14080 when there is none.
func serverID(ctx context.Context, s *engine.Session, name string) (int64, error) {
	r, err := s.Query(ctx, "SELECT server_id FROM sys.servers WHERE name = @p1", name)
	if err == nil && r.Len() == 0 {
		err = raise(14080, 1, name)
	}
	return r.Int(0, "server_id"), err
}

// publicationRow is a row of MSpublications: its id, whether it is immediate_sync, and the publisher's id.
type publicationRow struct {
	id, publisher, database int64
	immediateSync           bool
	snapshotOnly            bool
}

func distributedPublication(
	ctx context.Context,
	s *engine.Session,
	publisher, db, name string,
) (publicationRow, error) {
	r, err := s.Query(
		ctx,
		`SELECT p.publication_id, p.publisher_id, p.publication_type, p.immediate_sync, d.id FROM dbo.MSpublications AS p JOIN sys.servers AS v ON v.server_id = p.publisher_id
		JOIN dbo.MSpublisher_databases AS d ON d.publisher_id = p.publisher_id AND d.publisher_db = p.publisher_db WHERE v.name = @p1 AND p.publisher_db = @p2 AND p.publication = @p3`,
		publisher,
		db,
		name,
	)
	if err == nil && r.Len() == 0 {
		err = raise(20026, 2, name)
	}
	return publicationRow{
		id:            r.Int(0, "publication_id"),
		publisher:     r.Int(0, "publisher_id"),
		database:      r.Int(0, "id"),
		immediateSync: r.Int(0, "immediate_sync") == 1,
		snapshotOnly:  r.Int(0, "publication_type") == 1,
	}, err
}

func (e *Extension) addArticleRow(ctx context.Context, call *engine.ProcCall) error {
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
	// An article of that name and another number is one that its publisher rolled back after it was told here: names are
	// the publication's own, and its virtual subscription would wait for a snapshot for ever.
	err = s.Exec(
		ctx,
		`DELETE FROM dbo.MSsubscriptions WHERE publisher_id = @p1 AND publisher_db = @p2 AND publication_id = @p3 AND article_id IN
			(SELECT article_id FROM dbo.MSarticles WHERE publisher_id = @p1 AND publisher_db = @p2 AND publication_id = @p3 AND article = @p5 AND article_id <> @p4);
		DELETE FROM dbo.MSarticles WHERE publisher_id = @p1 AND publisher_db = @p2 AND (article_id = @p4 OR publication_id = @p3 AND article = @p5);
		INSERT INTO dbo.MSarticles (publisher_id, publisher_db, publication_id, article_id, article, destination_object, source_owner, source_object, destination_owner)
		VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8, @p9)`,
		p.publisher,
		call.String("@publisher_db"),
		p.id,
		call.Int("@article_id"),
		call.String("@article"),
		call.String(
			"@destination_object",
		),
		call.String("@source_owner"),
		call.String("@source_object"),
		call.String("@destination_owner"),
	)
	if err != nil || !p.immediateSync {
		return err
	}
	return e.writeSubscription(ctx, s, virtualSubscription(p, call.String("@publisher_db"), call.Int("@article_id")))
}

// virtualSubscription stands for subscribers to come: it keeps the snapshot of an article for them.
func virtualSubscription(p publicationRow, publisherDB string, article int64) subscriptionRow {
	return subscriptionRow{
		p:           p,
		publisherDB: publisherDB,
		article:     article,
		subscriber:  virtualSubscriber,
		database:    "virtual",
		kind:        pushType,
		sync:        syncAutomatic,
		status:      subscribed,
		agent:       -p.id,
	}
}

// virtualSubscriber is the subscriber_id of virtual subscriptions; their agent_id is -publication_id.
const virtualSubscriber = -1

type subscriptionRow struct {
	p                     publicationRow
	publisherDB, database string
	article, subscriber   int64
	kind, sync, status    int
	agent                 int64
	seqno                 []byte
	snapshot, loopback    bool
}

func (e *Extension) writeSubscription(ctx context.Context, s *engine.Session, row subscriptionRow) error {
	if row.seqno == nil {
		row.seqno = []byte{0}
	}
	return s.Exec(
		ctx,
		`DELETE FROM dbo.MSsubscriptions WHERE agent_id = @p12 AND article_id = @p5;
		INSERT INTO dbo.MSsubscriptions (publisher_database_id, publisher_id, publisher_db, publication_id, article_id, subscriber_id, subscriber_db, subscription_type,
		sync_type, status, subscription_seqno, snapshot_seqno_flag, independent_agent, subscription_time, loopback_detection, agent_id, update_mode, publisher_seqno, ss_cplt_seqno, nosync_type)
		VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8, @p9, @p10, @p11, @p13, 1, GETDATE(), @p15, @p12, 0, @p11, @p11, @p14)`,
		row.p.database,
		row.p.publisher,
		row.publisherDB,
		row.p.id,
		row.article,
		row.subscriber,
		row.database,
		row.kind,
		row.sync,
		row.status,
		row.seqno,
		row.agent,
		row.snapshot,
		row.sync-1,
		row.loopback,
	)
}

func (e *Extension) dropArticleRow(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	id, err := serverID(ctx, s, call.String("@publisher"))
	if err != nil {
		return err
	}
	return s.Exec(
		ctx,
		`DELETE FROM dbo.MSsubscriptions WHERE publisher_id = @p1 AND publisher_db = @p2 AND article_id = @p3;
		DELETE FROM dbo.MSarticles WHERE publisher_id = @p1 AND publisher_db = @p2 AND article_id = @p3`,
		id,
		call.String("@publisher_db"),
		call.Int("@article_id"),
	)
}

func (e *Extension) dropPublicationRow(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.String("@publisher_db")
	id, err := serverID(ctx, s, call.String("@publisher"))
	if err != nil {
		return err
	}
	r, err := s.Query(
		ctx,
		"SELECT publication_id FROM dbo.MSpublications WHERE publisher_id = @p1 AND publisher_db = @p2 AND publication = @p3",
		id,
		db,
		call.String("@publication"),
	)
	if err != nil || r.Len() == 0 {
		return err
	}
	if err := e.dropAgentJobs(ctx, s, "MSsnapshot_agents",
		"publisher_id = @p1 AND publisher_db = @p2 AND publication = @p3", id, db, call.String("@publication")); err != nil {
		return err
	}
	if err := s.Exec(ctx, `DELETE FROM dbo.MSsubscriptions WHERE publication_id = @p1; DELETE FROM dbo.MSarticles WHERE publication_id = @p1;
		DELETE FROM dbo.MSpublication_access WHERE publication_id = @p1; DELETE FROM dbo.MStracer_tokens WHERE publication_id = @p1;
		DELETE FROM dbo.MSpublications WHERE publication_id = @p1`, r.Int(0, "publication_id")); err != nil {
		return err
	}
	return e.dropAgentJobs(ctx, s, "MSlogreader_agents", idleLogReader, id, db, "")
}

// dropLogReaderRow drops the Log Reader Agent of a database that is published no more.
func (e *Extension) dropLogReaderRow(ctx context.Context, call *engine.ProcCall) error {
	id, err := serverID(ctx, call.Session, call.String("@publisher"))
	if err != nil {
		return err
	}
	return e.dropAgentJobs(ctx, call.Session, "MSlogreader_agents", idleLogReader, id, call.String("@publisher_db"), "")
}

// dropAgentJobs deletes agents and the jobs that were made for them; jobs given by name (local_job 0) stay.
func (e *Extension) dropAgentJobs(ctx context.Context, s *engine.Session, table, where string, args ...any) error {
	r, err := s.Query(
		ctx,
		"SELECT id, local_job, CAST(job_id AS uniqueidentifier) AS job FROM dbo."+table+" WHERE "+where,
		args...)
	if err != nil {
		return err
	}
	for i := range r.Len() {
		if r.Int(i, "local_job") == 1 && r.Value(i, "job") != nil {
			if err := s.Exec(ctx,
				"IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs WHERE job_id = @p1) EXEC msdb.dbo.sp_delete_job @job_id = @p1",
				r.UUID(i, "job")); err != nil {
				return err
			}
		}
		if err := s.Exec(ctx, "DELETE FROM dbo."+table+" WHERE id = @p1", r.Int(i, "id")); err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) addSubscriptionRow(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	publisher, db, name := call.String("@publisher"), call.String("@publisher_db"), call.String("@publication")
	p, err := distributedPublication(ctx, s, publisher, db, name)
	if err != nil {
		return err
	}
	if err := e.ensureServer(ctx, s, call.String("@subscriber"), "sub"); err != nil {
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
	row := subscriptionRow{
		p:           p,
		publisherDB: db,
		article:     call.Int("@article_id"),
		subscriber:  subscriber,
		database:    call.String("@subscriber_db"),
		kind:        kind,
		sync:        int(call.Int("@sync_type")),
		status:      subscribed,
		agent:       agent,
		loopback:    call.Bool("@loopback_detection"),
	}
	if row.sync != syncAutomatic {
		if row.seqno, err = e.addInlineScript(ctx, s, p, agent, call); err != nil {
			return err
		}
		row.status, row.snapshot = activated, true
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

// addInlineScript stores the script of a subscription that has its rows already, as a snapshot without files.
func (e *Extension) addInlineScript(
	ctx context.Context,
	s *engine.Session,
	p publicationRow,
	agent int64,
	call *engine.ProcCall,
) ([]byte, error) {
	seqno := append(append([]byte{}, call.Bytes("@seqno")...), 0, 2)
	seqno = binary.BigEndian.AppendUint16(seqno, uint16(agent))
	seqno = binary.BigEndian.AppendUint16(seqno, uint16(call.Int("@article_id")))
	err := s.Exec(
		ctx,
		`DELETE FROM dbo.MSrepl_commands WHERE publisher_database_id = @p1 AND xact_seqno = @p2; DELETE FROM dbo.MSrepl_transactions WHERE publisher_database_id = @p1 AND xact_seqno = @p2;
		INSERT INTO dbo.MSrepl_transactions VALUES (@p1, @p2, @p2, GETDATE())`,
		p.database,
		seqno,
	)
	if err != nil {
		return nil, err
	}
	commands := insertCommands(p.database)
	if _, err := commands.add(ctx, s, seqno, commandInline, call.Int("@article_id"), 0,
		encodeCommand(call.String("@script"), nil), nil); err != nil {
		return nil, err
	}
	return seqno, commands.flush(ctx, s)
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
	profile, err := defaultProfile(ctx, s, agentDistribution)
	if err != nil {
		return 0, err
	}
	label := fmt.Sprintf("%s-%s-%s-%s", publisher, db, name, subscriberName)
	err = s.Exec(
		ctx,
		`INSERT INTO dbo.MSdistribution_agents (name, publisher_database_id, publisher_id, publisher_db, publication, subscriber_id, subscriber_db, subscription_type,
		local_job, subscription_guid, profile_id, subscriber_name, creation_date, queue_status, offload_enabled, dts_package_location, sid, reset_partial_snapshot_progress, subscriptionstreams)
		VALUES (@p6, @p7, @p1, @p2, @p3, @p4, @p5, @p8, 0, CAST(NEWID() AS binary(16)), @p9, @p10, GETDATE(), 0, 0, 0, 0x01, 0, 1)`,
		append(args, clip(label, 90), p.database, kind, profile, subscriberName)...)
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
		fmt.Sprintf("%s-%d", clip(label, 90), id),
	)
}

// clip shortens a name to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// agentOf is the distribution agent of a subscription: 0 when there is none.
func agentOf(ctx context.Context, s *engine.Session, call *engine.ProcCall) (int64, error) {
	r, err := s.Query(
		ctx,
		`SELECT a.id FROM dbo.MSdistribution_agents AS a JOIN sys.servers AS v ON v.server_id = a.publisher_id JOIN sys.servers AS w ON w.server_id = a.subscriber_id
		WHERE v.name = @p1 AND a.publisher_db = @p2 AND a.publication = @p3 AND w.name = @p4 AND a.subscriber_db = @p5`,
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
	if err := s.Exec(ctx, "DELETE FROM dbo.MSsubscriptions WHERE agent_id = @p1 AND article_id = @p2", agent,
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

// pattern is a name for LIKE: empty, NULL and 'all' mean every one.
func pattern(name string) string {
	if name == "" || strings.EqualFold(name, "all") {
		return "%"
	}
	return name
}
