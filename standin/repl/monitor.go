// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

func (e *Extension) installMonitor(r *engine.Registry) {
	e.procedure(r, "sp_replmonitorsubscriptionpendingcmds", distributionOwners, nil, e.pendingCommands)
	e.procedure(r, "sp_replmonitorhelpsubscription", distributionOwners, nil, e.monitorSubscription)
	e.procedure(r, "sp_replmonitorhelppublication", distributionOwners, nil, e.monitorPublication)
	e.procedure(r, "sp_replmonitorhelppublisher", distributionOwners, nil, e.monitorPublisher)
	e.procedure(r, "sp_replcounters", anyone, nil, e.replCounters)
}

// inDistributionDatabase is 21482 outside a distribution database.
func inDistributionDatabase(call *engine.ProcCall, procedure string) error {
	if !call.Database.Info().Distributor {
		return raise(21482, 1, procedure, "distribution")
	}
	return nil
}

// pendingCommands counts what was not delivered yet, and estimates the time from the last delivery rate.
func (e *Extension) pendingCommands(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorsubscriptionpendingcmds"); err != nil {
		return err
	}
	s := call.Session
	agent, err := agentOf(ctx, s, call)
	if err != nil {
		return err
	}
	r, err := s.Query(ctx, "SELECT subscription_type FROM dbo.MSdistribution_agents WHERE id = @p1", agent)
	if err != nil {
		return err
	}
	if agent == 0 || r.Int(0, "subscription_type") != call.Int("@subscription_type") {
		return raise(14055, 2)
	}
	r, err = s.Query(
		ctx,
		`SELECT (SELECT COUNT(*) FROM dbo.MSrepl_commands AS c JOIN dbo.MSsubscriptions AS m ON m.agent_id = @p1 AND m.article_id = c.article_id AND m.status = 2 AND c.xact_seqno > m.subscription_seqno
		WHERE c.publisher_database_id = m.publisher_database_id AND c.type > 0 AND c.partial_command = 0
		AND c.xact_seqno > ISNULL((SELECT MAX(h.xact_seqno) FROM dbo.MSdistribution_history AS h WHERE h.agent_id = @p1), 0x00)) AS pending,
		(SELECT TOP (1) g.delivery_rate FROM dbo.MSdistribution_history AS g WHERE g.agent_id = @p1 AND g.delivery_rate > 0 ORDER BY g.timestamp DESC) AS rate`,
		agent,
	)
	if err != nil {
		return err
	}
	pending := r.Int(0, "pending")
	rate, _ := r.Value(0, "rate").(float64)
	if rate <= 0 {
		rate = 500
	}
	return call.ResultSet(
		columns("pendingcmdcount", sqltype.IntType, "estimatedprocesstime", sqltype.IntType),
		[][]any{{pending, int64(float64(pending)/rate + 0.5)}},
	)
}

// monitorStatus is sp_replmonitorhelpsubscription's status for a runstatus: 6 failed, 5 retrying, 2 stopped, 4 idle, 3
// in progress, 1 started.
const monitorStatus = `ISNULL((SELECT TOP (1) h.runstatus FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id ORDER BY h.timestamp DESC), 2)`

func (e *Extension) monitorPublication(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorhelppublication"); err != nil {
		return err
	}
	latest := `(SELECT %s(h.delivery_latency) / 1000 FROM dbo.MSdistribution_history AS h JOIN dbo.MSdistribution_agents AS a ON a.id = h.agent_id
		WHERE a.publisher_id = p.publisher_id AND a.publisher_db = p.publisher_db AND a.publication = p.publication)`
	agents := ` FROM dbo.MSdistribution_agents AS a WHERE a.publisher_id = p.publisher_id AND a.publisher_db = p.publisher_db AND a.publication = p.publication`
	threshold := `(SELECT %s FROM dbo.MSpublicationthresholds AS t WHERE t.publication_id = p.publication_id AND t.isenabled = 1 AND t.metric_id = %d)`
	list, err := e.monitored(ctx, call)
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		`SELECT p.publisher_db, p.publication, p.publication_type, ISNULL((SELECT TOP (1) `+monitorStatus+agents+` ORDER BY 1 DESC), 2) AS status, 0 AS warning,
		`+strings.Replace(
			latest,
			"%s",
			"MAX",
			1,
		)+` AS worst_latency, `+strings.Replace(
			latest,
			"%s",
			"MIN",
			1,
		)+` AS best_latency, `+strings.Replace(
			latest,
			"%s",
			"AVG",
			1,
		)+` AS average_latency,
		(SELECT MAX(h.time) FROM dbo.MSdistribution_history AS h JOIN dbo.MSdistribution_agents AS a ON a.id = h.agent_id WHERE a.publisher_id = p.publisher_id AND a.publisher_db = p.publisher_db AND a.publication = p.publication) AS last_distsync,
		p.retention, `+fmt.Sprintf(
			threshold,
			"t.value",
			latencyMetric,
		)+` AS latencythreshold, `+fmt.Sprintf(
			threshold,
			"p.retention * (100 - t.value) / 100",
			expirationMetric,
		)+` AS expirationthreshold, CAST(NULL AS int) AS agentnotrunningthreshold,
		(SELECT COUNT(*)`+agents+`) AS subscriptioncount, (SELECT COUNT(*)`+agents+` AND `+monitorStatus+` IN (1, 3, 4)) AS runningdistagentcount,
		CAST((SELECT TOP (1) g.name FROM dbo.MSsnapshot_agents AS g WHERE g.publisher_id = p.publisher_id AND g.publisher_db = p.publisher_db AND g.publication = p.publication) AS sysname) AS snapshot_agentname,
		CAST((SELECT TOP (1) g.name FROM dbo.MSlogreader_agents AS g WHERE g.publisher_id = p.publisher_id AND g.publisher_db = p.publisher_db) AS sysname) AS logreader_agentname,
		CAST(NULL AS sysname) AS qreader_agentname, CAST(NULL AS int) AS worst_runspeedPerf, CAST(NULL AS int) AS best_runspeedPerf, CAST(NULL AS int) AS average_runspeedPerf,
		CAST(p.retention_period_unit AS int) AS retention_period_unit, v.srvname AS publisher
		FROM dbo.MSpublications AS p JOIN dbo.MSreplservers AS v ON v.srvid = p.publisher_id
		WHERE v.srvname LIKE @p1 AND p.publisher_db LIKE @p2 AND p.publication LIKE @p3`,
		pattern(call.String("@publisher")),
		pattern(call.String("@publisher_db")),
		pattern(call.String("@publication")),
	)
	if err != nil {
		return err
	}
	at := columnAt(r.Columns, "warning")
	for i, row := range r.Rows {
		row[at] = warningOf(list, func(m monitored) bool {
			return agent.SameServer(m.publisher, r.String(i, "publisher")) && m.publisherDB == r.String(i, "publisher_db") &&
				m.publication == r.String(i, "publication")
		})
	}
	return call.ResultSet(r.Columns, r.Rows)
}

func (e *Extension) monitorPublisher(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorhelppublisher"); err != nil {
		return err
	}
	list, err := e.monitored(ctx, call)
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		`SELECT d.name AS publisher, d.distribution_db, ISNULL((SELECT TOP (1) `+monitorStatus+` FROM dbo.MSdistribution_agents AS a JOIN dbo.MSreplservers AS w ON w.srvid = a.publisher_id WHERE w.srvname = d.name ORDER BY 1 DESC), 2) AS status,
		0 AS warning, (SELECT COUNT(*) FROM dbo.MSpublications AS p JOIN dbo.MSreplservers AS v ON v.srvid = p.publisher_id WHERE v.srvname = d.name) AS publicationcount
		FROM msdb.dbo.MSdistpublishers AS d WHERE d.distribution_db = DB_NAME() AND d.name LIKE @p1`,
		pattern(call.String("@publisher")),
	)
	if err != nil {
		return err
	}
	at := columnAt(r.Columns, "warning")
	for i, row := range r.Rows {
		row[at] = warningOf(list, func(m monitored) bool { return agent.SameServer(m.publisher, r.String(i, "publisher")) })
	}
	return call.ResultSet(r.Columns, r.Rows)
}

// delivered is the last commit of a database that the distributor has; zero where no log reader has come yet. The log
// reader moves it on meanwhile.
func (e *Extension) delivered(db *engine.Database) storage.LSN {
	e.mu.Lock()
	defer e.mu.Unlock()
	if sc := e.scans[db.ID()]; sc != nil {
		return sc.done
	}
	return storage.LSN{}
}

func (e *Extension) replCounters(ctx context.Context, call *engine.ProcCall) error {
	var out [][]any
	for _, db := range e.publishedDatabases() {
		if db.Storage() == nil {
			continue
		}
		done := e.delivered(db)
		list, _, err := e.readLog(ctx, call.Session, db, done, 10000, 0)
		if err != nil {
			return err
		}
		latency := 0.0
		if len(list) > 0 {
			latency = nowSince(list[0].commands[0].Time)
		}
		end := db.Storage().Log().End()
		out = append(out, []any{db.Name(), int64(len(list)), 0.0, latency, done[:], end[:]})
	}
	return call.ResultSet(
		columns(
			"Database",
			sqltype.NVarCharOf(128),
			"Replicated transactions",
			sqltype.IntType,
			"Replication rate trans/sec",
			sqltype.FloatType,
			"Replication latency",
			sqltype.FloatType,
			"Replbeginlsn",
			sqltype.BinaryOf(10),
			"Replendlsn",
			sqltype.BinaryOf(10),
		),
		out,
	)
}
