// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/sqltype"
)

func (e *Extension) installMonitor(r *engine.Registry) {
	e.procedure(r, "sp_replmonitorsubscriptionpendingcmds", distributionOwners, nil, e.pendingCommands)
	e.procedure(r, "sp_replmonitorhelpsubscription", distributionOwners, nil, e.monitorSubscription)
	e.procedure(r, "sp_replmonitorhelppublication", distributionOwners, nil, e.monitorPublication)
	e.procedure(r, "sp_replmonitorhelppublisher", distributionOwners, nil, e.monitorPublisher)
	e.procedure(r, "sp_replcounters", anyone, nil, e.replCounters)
}

// inDistributionDatabase is 21874 outside a distribution database.
func inDistributionDatabase(call *engine.ProcCall, procedure string) error {
	if !call.Database.Info().Distributor {
		return raise(21874, 1, procedure, call.Database.Name())
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
	r, err = s.Query(ctx, `SELECT (SELECT COUNT(*) FROM dbo.MSrepl_commands AS c JOIN dbo.MSsubscriptions AS m ON m.agent_id = @p1 AND m.article_id = c.article_id AND m.status = 2 AND c.xact_seqno > m.subscription_seqno
		WHERE c.publisher_database_id = m.publisher_database_id AND c.type > 0 AND c.partial_command = 0
		AND c.xact_seqno > ISNULL((SELECT MAX(h.xact_seqno) FROM dbo.MSdistribution_history AS h WHERE h.agent_id = @p1), 0x00)) AS pending,
		(SELECT TOP (1) g.delivery_rate FROM dbo.MSdistribution_history AS g WHERE g.agent_id = @p1 AND g.delivery_rate > 0 ORDER BY g.timestamp DESC) AS rate`, agent)
	if err != nil {
		return err
	}
	pending := r.Int(0, "pending")
	rate, _ := r.Value(0, "rate").(float64)
	if rate <= 0 {
		rate = 500
	}
	return call.ResultSet(columns("pendingcmdcount", sqltype.IntType, "estimatedprocesstime", sqltype.IntType), [][]any{{pending, int64(float64(pending)/rate + 0.5)}})
}

// monitorStatus is sp_replmonitorhelpsubscription's status for a runstatus: 6 failed, 5 retrying, 2 stopped, 4 idle, 3 in
// progress, 1 started.
const monitorStatus = `ISNULL((SELECT TOP (1) h.runstatus FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id ORDER BY h.timestamp DESC), 2)`

func (e *Extension) monitorSubscription(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorhelpsubscription"); err != nil {
		return err
	}
	if t := call.Value("@publication_type"); t != nil && t != int64(0) {
		return call.Exec(ctx, "SELECT TOP (0) 0 AS status")
	}
	text := `SELECT ` + monitorStatus + ` AS status, 0 AS warning, a.subscriber_name AS subscriber, a.subscriber_db, a.publisher_db, a.publication, 0 AS publication_type, a.subscription_type AS subtype,
		ISNULL((SELECT TOP (1) h.delivery_latency / 1000 FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id ORDER BY h.timestamp DESC), 0) AS latency,
		CAST(NULL AS int) AS latencythreshold, CASE WHEN ` + monitorStatus + ` IN (1, 3, 4, 5) THEN 0 ELSE 1 END AS agentnotrunning, CAST(NULL AS int) AS agentnotrunningthreshold,
		CAST(NULL AS int) AS timetoexpiration, CAST(NULL AS int) AS expirationthreshold,
		(SELECT MAX(h.time) FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id) AS last_distsync, CAST(a.name AS sysname) AS distribution_agentname,
		CAST(NULL AS sysname) AS mergeagentname, CAST(NULL AS sysname) AS mergesubscriptionfriendlyname, CAST(NULL AS sysname) AS mergeagentlocation, CAST(NULL AS int) AS mergeconnectiontype,
		CAST(NULL AS int) AS mergePerformance, CAST(NULL AS float) AS mergerunspeed, CAST(NULL AS int) AS mergerunduration, 0 AS monitorranking,
		a.job_id AS distributionagentjobid, CAST(NULL AS binary(16)) AS mergeagentjobid, a.id AS distributionagentid, a.profile_id AS distributionagentprofileid,
		CAST(NULL AS int) AS mergeagentid, CAST(NULL AS int) AS mergeagentprofileid
		FROM dbo.MSdistribution_agents AS a JOIN sys.servers AS v ON v.server_id = a.publisher_id
		WHERE v.name LIKE @p1 AND a.publisher_db LIKE @p2 AND a.publication LIKE @p3`
	r, err := call.Session.Query(ctx, text, pattern(call.String("@publisher")), pattern(call.String("@publisher_db")), pattern(call.String("@publication")))
	if err != nil {
		return err
	}
	// @mode: 0 all, 1 those with errors, 2 errors and warnings, 3 warnings only, 4 top 25, 5 top 50, 6 in progress, 7 not
	// in progress (without @mode's ranking by performance, which needs thresholds that are not supported).
	keep := func(status int64) bool {
		switch call.Int("@mode") {
		case 1, 2:
			return status == runFail
		case 3:
			return false
		case 6:
			return status == runProgress
		case 7:
			return status != runProgress
		}
		return true
	}
	var out [][]any
	for i, row := range r.Rows {
		if keep(r.Int(i, "status")) {
			out = append(out, row)
		}
	}
	if n := call.Int("@topnum"); n > 0 && int64(len(out)) > n {
		out = out[:n]
	}
	return call.ResultSet(r.Columns, out)
}

func (e *Extension) monitorPublication(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorhelppublication"); err != nil {
		return err
	}
	latest := `(SELECT %s(h.delivery_latency) / 1000 FROM dbo.MSdistribution_history AS h JOIN dbo.MSdistribution_agents AS a ON a.id = h.agent_id
		WHERE a.publisher_id = p.publisher_id AND a.publisher_db = p.publisher_db AND a.publication = p.publication)`
	agents := ` FROM dbo.MSdistribution_agents AS a WHERE a.publisher_id = p.publisher_id AND a.publisher_db = p.publisher_db AND a.publication = p.publication`
	return call.Exec(ctx, `SELECT p.publisher_db, p.publication, p.publication_type, ISNULL((SELECT MAX(`+monitorStatus+`)`+agents+`), 2) AS status, 0 AS warning,
		`+strings.Replace(latest, "%s", "MAX", 1)+` AS worst_latency, `+strings.Replace(latest, "%s", "MIN", 1)+` AS best_latency, `+strings.Replace(latest, "%s", "AVG", 1)+` AS average_latency,
		(SELECT MAX(h.time) FROM dbo.MSdistribution_history AS h JOIN dbo.MSdistribution_agents AS a ON a.id = h.agent_id WHERE a.publisher_id = p.publisher_id AND a.publisher_db = p.publisher_db AND a.publication = p.publication) AS last_distsync,
		p.retention, CAST(NULL AS int) AS latencythreshold, CAST(NULL AS int) AS expirationthreshold, CAST(NULL AS int) AS agentnotrunningthreshold,
		(SELECT COUNT(*)`+agents+`) AS subscriptioncount, (SELECT COUNT(*)`+agents+` AND `+monitorStatus+` IN (1, 3, 4)) AS runningdistagentcount,
		CAST((SELECT TOP (1) g.name FROM dbo.MSsnapshot_agents AS g WHERE g.publisher_id = p.publisher_id AND g.publisher_db = p.publisher_db AND g.publication = p.publication) AS sysname) AS snapshot_agentname,
		CAST((SELECT TOP (1) g.name FROM dbo.MSlogreader_agents AS g WHERE g.publisher_id = p.publisher_id AND g.publisher_db = p.publisher_db) AS sysname) AS logreader_agentname,
		CAST(NULL AS sysname) AS qreader_agentname, CAST(NULL AS int) AS worst_runspeedPerf, CAST(NULL AS int) AS best_runspeedPerf, CAST(NULL AS int) AS average_runspeedPerf,
		CAST(p.retention_period_unit AS int) AS retention_period_unit, v.name AS publisher
		FROM dbo.MSpublications AS p JOIN sys.servers AS v ON v.server_id = p.publisher_id
		WHERE v.name LIKE @p1 AND p.publisher_db LIKE @p2 AND p.publication LIKE @p3`, pattern(call.String("@publisher")), pattern(call.String("@publisher_db")), pattern(call.String("@publication")))
}

func (e *Extension) monitorPublisher(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorhelppublisher"); err != nil {
		return err
	}
	return call.Exec(ctx, `SELECT d.name AS publisher, d.distribution_db, ISNULL((SELECT MAX(`+monitorStatus+`) FROM dbo.MSdistribution_agents AS a JOIN sys.servers AS w ON w.server_id = a.publisher_id WHERE w.name = d.name), 2) AS status,
		0 AS warning, (SELECT COUNT(*) FROM dbo.MSpublications AS p JOIN sys.servers AS v ON v.server_id = p.publisher_id WHERE v.name = d.name) AS publicationcount
		FROM msdb.dbo.MSdistpublishers AS d WHERE d.distribution_db = DB_NAME() AND d.name LIKE @p1`, pattern(call.String("@publisher")))
}

func (e *Extension) replCounters(ctx context.Context, call *engine.ProcCall) error {
	var out [][]any
	for _, db := range e.publishedDatabases() {
		if db.Storage() == nil {
			continue
		}
		e.mu.Lock()
		sc := e.scans[db.ID()]
		e.mu.Unlock()
		if sc == nil {
			sc = &scan{}
		}
		list, _, err := e.readLog(ctx, call.Session, db, sc.done, 10000)
		if err != nil {
			return err
		}
		latency := 0.0
		if len(list) > 0 {
			latency = nowSince(list[0].commands[0].time)
		}
		end := db.Storage().Log().End()
		out = append(out, []any{db.Name(), int64(len(list)), 0.0, latency, sc.done[:], end[:]})
	}
	return call.ResultSet(columns("Database", sqltype.NVarCharOf(128), "Replicated transactions", sqltype.IntType, "Replication rate trans/sec", sqltype.FloatType,
		"Replication latency", sqltype.FloatType, "Replbeginlsn", sqltype.VarBinaryOf(10), "Replendlsn", sqltype.VarBinaryOf(10)), out)
}
