// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// A subscription that was not synchronized for longer than the maximum distribution retention is made inactive, because
// the transactions that it needs are gone: it has to be reinitialized. One that was not for longer than its
// publication's retention has expired, and is dropped
// (docs/relational-databases/replication/subscription-expiration-and-deactivation.md).

func (e *Extension) installExpiry(r *engine.Registry) {
	e.procedure(
		r,
		"sp_expired_subscription_cleanup",
		sysadmins,
		[]engine.Parameter{{Name: "@publisher", Type: sqltype.NVarCharOf(128)}},
		e.dropExpired,
	)
}

// lastSynchronized is when the agent a of a subscription last found it in order, or when it was added.
const lastSynchronized = `ISNULL((SELECT MAX(h.time) FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id AND h.runstatus IN (2, 3, 4)),
	(SELECT MIN(n.subscription_time) FROM dbo.MSsubscriptions AS n WHERE n.agent_id = a.id))`

// deactivate makes subscriptions inactive that were not synchronized since a time.
func deactivate(ctx context.Context, s *engine.Session, since string) error {
	return s.Exec(ctx, `UPDATE dbo.MSsubscriptions SET status = 0 WHERE agent_id > 0 AND status <> 0
		AND agent_id IN (SELECT a.id FROM dbo.MSdistribution_agents AS a WHERE `+lastSynchronized+` < CAST(@p1 AS datetime))`, since)
}

// dropExpired drops the expired subscriptions of all databases that this server publishes.
func (e *Extension) dropExpired(ctx context.Context, call *engine.ProcCall) error {
	if p := call.String("@publisher"); p != "" && !agent.SameServer(p, e.serverName()) {
		return raise(21023, 1, "@publisher")
	}
	s := call.Session
	for _, db := range e.publishedDatabases() {
		p, err := e.publisherAt(ctx, s, db)
		if err != nil {
			return err
		}
		publications, err := s.Query(ctx, "SELECT name FROM "+bracket(db.Name())+".dbo.syspublications WHERE retention > 0")
		if err != nil {
			return err
		}
		for i := range publications.Len() {
			if err := e.dropExpiredOf(ctx, call, p, publications.String(i, "name")); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Extension) dropExpiredOf(ctx context.Context, call *engine.ProcCall, p publisher, publication string) error {
	s := call.Session
	expired, err := e.inDistributionOf(
		ctx,
		s,
		p,
		`SELECT a.subscriber_name, a.subscriber_db FROM dbo.MSdistribution_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id
		JOIN dbo.MSpublications AS p ON p.publisher_id = a.publisher_id AND p.publisher_db = a.publisher_db AND p.publication = a.publication
		WHERE v.srvname = ? AND a.publisher_db = ? AND a.publication = ? AND p.retention > 0 AND a.subscriber_name IS NOT NULL AND `+lastSynchronized+` < DATEADD(hour, -p.retention, GETDATE())`,
		p.server,
		p.db.Name(),
		publication,
	)
	if err != nil {
		return err
	}
	for i := range expired.Len() {
		subscriber := expired.String(i, "subscriber_name")
		if err := s.Exec(ctx,
			"EXEC "+bracket(p.db.Name())+".sys.sp_dropsubscription @publication = @p1, @article = N'all', @subscriber = @p2, "+
				"@destination_db = @p3",
			publication, subscriber, expired.String(i, "subscriber_db")); err != nil {
			return err
		}
		if err := call.Writer.Message(sqlerr.New(14157, 1, subscriber, publication)); err != nil {
			return err
		}
	}
	return nil
}

// expiryJob is the job that calls sp_expired_subscription_cleanup every night.
const expiryJob = "Expired subscription clean up"

// ensureExpiryJob makes the job at the publisher: all of it or, when it is cut off, nothing, since what is there is
// left as it is.
func ensureExpiryJob(ctx context.Context, s *engine.Session) error {
	return s.Atomically(ctx, func() error { return makeExpiryJob(ctx, s) })
}

func makeExpiryJob(ctx context.Context, s *engine.Session) error {
	return s.Exec(ctx, `IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs WHERE name = @p1) BEGIN
			EXEC msdb.dbo.sp_add_job @job_name = @p1, @category_name = N'REPL-Subscription Cleanup';
			EXEC msdb.dbo.sp_add_jobstep @job_name = @p1, @step_name = N'Run agent.', @database_name = N'master', @command = N'EXEC sys.sp_expired_subscription_cleanup';
			EXEC msdb.dbo.sp_add_jobschedule @job_name = @p1, @name = N'Replication agent schedule.', @freq_type = 4, @freq_interval = 1, @active_start_time = 10000;
			EXEC msdb.dbo.sp_add_jobserver @job_name = @p1
		END`, expiryJob)
}
