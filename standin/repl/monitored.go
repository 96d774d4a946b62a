// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"sort"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqltype"
)

// Metrics of MSpublicationthresholds, and bits of the warning that they give.
const (
	expirationMetric = 1
	latencyMetric    = 2

	expirationWarning = 1
	latencyWarning    = 2
)

// monitored is a subscription as Replication Monitor sees it
// (docs/relational-databases/system-stored-procedures/sp-replmonitorhelpsubscription-transact-sql.md).
type monitored struct {
	publisher, publisherDB, publication string
	status, warning, ranking            int64
	row                                 []any
}

// monitored are the subscriptions that @publisher, @publisher_db and @publication describe, where the call has these.
// Their latency is that of the newest delivery; lines of history about anything else say nothing of it.
func (e *Extension) monitored(ctx context.Context, call *engine.ProcCall) ([]monitored, error) {
	if err := tables.Make(ctx, call.Session, call.Database.Name(), tables.Distribution); err != nil {
		return nil, err
	}
	name := func(parameter string) string {
		if !call.Given(parameter) {
			return "%"
		}
		return pattern(call.String(parameter))
	}
	r, err := call.Session.Query(
		ctx,
		`SELECT v.srvname AS publisher, a.publisher_db, a.publication, a.subscriber_name, a.subscriber_db, a.subscription_type, a.name, a.job_id, a.id, a.profile_id,
		p.publication_type, p.retention, `+monitorStatus+` AS status,
		(SELECT TOP (1) h.delivery_latency FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id AND h.runstatus = 3 AND h.updateable_row = 1 AND h.xact_seqno IS NOT NULL
			ORDER BY h.timestamp DESC) AS distribution,
		(SELECT TOP (1) h.delivery_latency FROM dbo.MSlogreader_history AS h JOIN dbo.MSlogreader_agents AS g ON g.id = h.agent_id
			WHERE g.publisher_id = a.publisher_id AND g.publisher_db = a.publisher_db AND h.runstatus = 3 ORDER BY h.timestamp DESC) AS logreader,
		(SELECT MAX(h.time) FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id) AS ran,
		DATEDIFF(hour, (SELECT MAX(h.time) FROM dbo.MSdistribution_history AS h WHERE h.agent_id = a.id), GETDATE()) AS idle,
		DATEDIFF(hour, `+lastSynchronized+`, GETDATE()) AS behind,
		(SELECT COUNT(*) FROM dbo.MSsubscriptions AS m WHERE m.agent_id = a.id AND m.status = 1) AS waiting,
		(SELECT t.value FROM dbo.MSpublicationthresholds AS t WHERE t.publication_id = p.publication_id AND t.isenabled = 1 AND t.metric_id = 1) AS expiration,
		(SELECT t.value FROM dbo.MSpublicationthresholds AS t WHERE t.publication_id = p.publication_id AND t.isenabled = 1 AND t.metric_id = 2) AS latency
		FROM dbo.MSdistribution_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id
		JOIN dbo.MSpublications AS p ON p.publisher_id = a.publisher_id AND p.publisher_db = a.publisher_db AND p.publication = a.publication
		WHERE v.srvname LIKE @p1 AND a.publisher_db LIKE @p2 AND a.publication LIKE @p3`,
		name("@publisher"),
		name("@publisher_db"),
		name("@publication"),
	)
	if err != nil {
		return nil, err
	}
	out := make([]monitored, r.Len())
	for i := range out {
		out[i] = monitoredRow(r, i)
	}
	return out, nil
}

// monitoredRow is one subscription.
func monitoredRow(r *engine.Result, i int) monitored {
	m := monitored{
		publisher:   r.String(i, "publisher"),
		publisherDB: r.String(i, "publisher_db"),
		publication: r.String(i, "publication"),
		status:      r.Int(i, "status"),
	}
	latency := max(r.Int(i, "distribution"), r.Int(i, "logreader")) / 1000
	retention, behind := r.Int(i, "retention"), r.Int(i, "behind")
	var expires, expirationThreshold, notRunning any
	if retention > 0 {
		expires = max(retention-behind, 0)
	}
	if percent := r.Value(i, "expiration"); percent != nil && retention > 0 {
		expirationThreshold = retention * (100 - r.Int(i, "expiration")) / 100
		if behind*100 >= retention*r.Int(i, "expiration") {
			m.warning |= expirationWarning
		}
	}
	if r.Value(i, "latency") != nil && latency > r.Int(i, "latency") {
		m.warning |= latencyWarning
	}
	notRunning = int64(0)
	if m.status == stored.RunSucceeded || m.status == stored.RunFailed {
		notRunning = r.Value(i, "idle")
	}
	m.ranking = ranking(m, r.Int(i, "waiting") > 0)
	m.row = []any{
		m.status,
		m.warning,
		r.Value(i, "subscriber_name"),
		r.Value(i, "subscriber_db"),
		m.publisherDB,
		m.publication,
		r.Value(i, "publication_type"),
		r.Value(i, "subscription_type"),
		latency,
		r.Value(i, "latency"),
		notRunning,
		nil,
		expires,
		expirationThreshold,
		r.Value(i, "ran"),
		r.Value(i, "name"),
		nil,
		nil,
		nil,
		nil,
		nil,
		nil,
		nil,
		m.ranking,
		r.Value(i, "job_id"),
		nil,
		r.Value(i, "id"),
		r.Value(i, "profile_id"),
		nil,
		nil,
	}
	return m
}

// ranking is monitorranking for a transactional publication.
func ranking(m monitored, uninitialized bool) int64 {
	switch {
	case m.status == stored.RunFailed:
		return 60
	case m.warning&latencyWarning != 0:
		return 56
	case m.warning&expirationWarning != 0:
		return 52
	case uninitialized:
		return 50
	case m.status == stored.RunRetrying:
		return 40
	case m.status == stored.RunSucceeded:
		return 30
	}
	return 20
}

// warningOf is what the subscriptions of a publication or publisher warn of, together.
func warningOf(list []monitored, of func(monitored) bool) int64 {
	warning := int64(0)
	for _, m := range list {
		if of(m) {
			warning |= m.warning
		}
	}
	return warning
}

func (e *Extension) monitorSubscription(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_replmonitorhelpsubscription"); err != nil {
		return err
	}
	list, err := e.monitored(ctx, call)
	if err != nil {
		return err
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].ranking > list[j].ranking })
	most := int(call.Int("@topnum"))
	if mode := call.Int("@mode"); mode == 4 || mode == 5 {
		if n := map[int64]int{4: 25, 5: 50}[mode]; most == 0 || n < most {
			most = n
		}
	}
	var out [][]any
	for _, m := range list {
		if t := call.Value("@publication_type"); t != nil && t != m.row[6] || !m.inMode(call.Int("@mode")) {
			continue
		}
		if most > 0 && len(out) == most {
			break
		}
		out = append(out, m.row)
	}
	return call.ResultSet(
		columns(
			"status",
			sqltype.IntType,
			"warning",
			sqltype.IntType,
			"subscriber",
			sqltype.NVarCharOf(128),
			"subscriber_db",
			sqltype.NVarCharOf(128),
			"publisher_db",
			sqltype.NVarCharOf(128),
			"publication",
			sqltype.NVarCharOf(128),
			"publication_type",
			sqltype.IntType,
			"subtype",
			sqltype.IntType,
			"latency",
			sqltype.IntType,
			"latencythreshold",
			sqltype.IntType,
			"agentnotrunning",
			sqltype.IntType,
			"agentnotrunningthreshold",
			sqltype.IntType,
			"timetoexpiration",
			sqltype.IntType,
			"expirationthreshold",
			sqltype.IntType,
			"last_distsync",
			sqltype.DateTimeType,
			"distribution_agentname",
			sqltype.NVarCharOf(128),
			"mergeagentname",
			sqltype.NVarCharOf(128),
			"mergesubscriptionfriendlyname",
			sqltype.NVarCharOf(128),
			"mergeagentlocation",
			sqltype.NVarCharOf(128),
			"mergeconnectiontype",
			sqltype.IntType,
			"mergePerformance",
			sqltype.IntType,
			"mergerunspeed",
			sqltype.FloatType,
			"mergerunduration",
			sqltype.IntType,
			"monitorranking",
			sqltype.IntType,
			"distributionagentjobid",
			sqltype.BinaryOf(16),
			"mergeagentjobid",
			sqltype.BinaryOf(16),
			"distributionagentid",
			sqltype.IntType,
			"distributionagentprofileid",
			sqltype.IntType,
			"mergeagentid",
			sqltype.IntType,
			"mergeagentprofileid",
			sqltype.IntType,
		),
		out,
	)
}

// inMode tells whether @mode shows a subscription: 1 errors, 2 warnings, 3 both, 6 being synchronized, 7 not.
func (m monitored) inMode(mode int64) bool {
	failed, warns := m.status == stored.RunFailed, m.warning != 0
	runs := m.status == stored.RunStarted || m.status == stored.RunInProgress
	switch mode {
	case 1:
		return failed
	case 2:
		return warns
	case 3:
		return failed || warns
	case 6:
		return runs
	case 7:
		return !runs
	}
	return true
}
