// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
)

// afterAgents makes a change as change does, once the agents that it takes away have ended: an agent writes its last
// line of history into the database that the change keeps other writers out of, and both would wait for each other.
func afterAgents(
	stop, run func(context.Context, *engine.ProcCall) error,
) func(context.Context, *engine.ProcCall) error {
	return func(ctx context.Context, call *engine.ProcCall) error {
		if err := stop(ctx, call); err != nil {
			return err
		}
		return call.Session.Atomically(ctx, func() error { return run(ctx, call) })
	}
}

// stopAgents stops the jobs that were made for agents.
func stopAgents(ctx context.Context, s *engine.Session, table, where string, args ...any) error {
	r, err := s.Query(
		ctx,
		"SELECT CAST(job_id AS uniqueidentifier) AS job FROM dbo."+table+" WHERE local_job = 1 AND job_id IS "+
			"NOT NULL AND "+where,
		args...)
	if err != nil {
		return err
	}
	for i := range r.Len() {
		// A job that does not run is an error of sp_stop_job.
		if err := s.Exec(ctx, "BEGIN TRY EXEC msdb.dbo.sp_stop_job @job_id = @p1 END TRY BEGIN CATCH END CATCH",
			r.UUID(i, "job")); err != nil {
			return err
		}
	}
	return nil
}

// stopSubscription stops the agent of a subscription whose last article is dropped.
func (e *Extension) stopSubscription(ctx context.Context, call *engine.ProcCall) error {
	agent, err := agentOf(ctx, call.Session, call)
	if err != nil || agent == 0 {
		return err
	}
	return stopAgents(
		ctx,
		call.Session,
		"MSdistribution_agents",
		"id = @p1 AND NOT EXISTS (SELECT 1 FROM dbo.MSsubscriptions AS m WHERE m.agent_id = @p1 AND m.article_id <> @p2)",
		agent,
		call.Int("@article_id"),
	)
}

// idleLogReader are the Log Reader Agents of a database of which nothing is published, but for a publication, whose log
// is read: those of snapshot publications are not
// (docs/relational-databases/replication/agents/replication-log-reader-agent.md).
const idleLogReader = `publisher_id = @p1 AND publisher_db = @p2 AND NOT EXISTS (SELECT 1 FROM dbo.MSpublications AS p
	WHERE p.publisher_id = @p1 AND p.publisher_db = @p2 AND p.publication_type = 0 AND p.publication <> @p3)`

// stopPublication stops the Snapshot Agent of a publication, and the Log Reader Agent where there is no other one for
// it.
func (e *Extension) stopPublication(ctx context.Context, call *engine.ProcCall) error {
	id, err := serverID(ctx, call.Session, call.String("@publisher"))
	if err != nil {
		return err
	}
	db, name := call.String("@publisher_db"), call.String("@publication")
	if err := stopAgents(ctx, call.Session, "MSsnapshot_agents",
		"publisher_id = @p1 AND publisher_db = @p2 AND publication = @p3", id, db, name); err != nil {
		return err
	}
	return stopAgents(ctx, call.Session, "MSlogreader_agents", idleLogReader, id, db, name)
}

// stopLogReader stops the Log Reader Agent of a database that is published no more.
func (e *Extension) stopLogReader(ctx context.Context, call *engine.ProcCall) error {
	id, err := serverID(ctx, call.Session, call.String("@publisher"))
	if err != nil {
		return err
	}
	return stopAgents(ctx, call.Session, "MSlogreader_agents", idleLogReader, id, call.String("@publisher_db"), "")
}
