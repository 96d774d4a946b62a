// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
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
			binary1("@next"),
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
		`SELECT p.publication_id, p.publisher_id, p.publication_type, p.immediate_sync, d.id FROM dbo.MSpublications AS p JOIN dbo.MSreplservers AS v ON v.srvid = p.publisher_id
		JOIN dbo.MSpublisher_databases AS d ON d.publisher_id = p.publisher_id AND d.publisher_db = p.publisher_db WHERE v.srvname = @p1 AND p.publisher_db = @p2 AND p.publication = @p3`,
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
		kind:        stored.PushType,
		sync:        syncAutomatic,
		status:      stored.Subscribed,
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

// pattern is a name for LIKE: empty, NULL and 'all' mean every one.
func pattern(name string) string {
	if name == "" || strings.EqualFold(name, "all") {
		return "%"
	}
	return name
}
