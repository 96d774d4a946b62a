// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
)

func (e *Extension) installHistory(r *engine.Registry) {
	parameters := []engine.Parameter{
		number("@agent_id"),
		number("@runstatus"),
		text("@comments"),
		text("@start_time"),
		binary1("@xact_seqno"),
		number("@transactions"),
		number("@commands"),
		number("@latency"),
		number("@total"),
		number("@verbose"),
	}
	e.procedure(r, "sp_MSadd_distribution_history", agentLogins, parameters, e.addDistributionHistory)
	e.procedure(r, "sp_MSadd_validation_history", agentLogins, parameters, e.addValidationHistory)
	e.procedure(r, "sp_MSadd_logreader_history", distributionOwners, parameters, e.addLogReaderHistory)
	e.procedure(r, "sp_MSadd_snapshot_history", distributionOwners, parameters, e.addSnapshotHistory)
	e.change(
		r,
		"sp_MSadd_repl_error",
		agentLogins,
		[]engine.Parameter{
			text("@source"),
			text("@code"),
			text("@message"),
			text("@history"),
			number("@agent_id"),
			binary1("@xact_seqno"),
			number("@nth"),
		},
		e.addError,
	)
	e.procedure(
		r,
		"sp_MShistory_cleanup",
		distributionOwners,
		[]engine.Parameter{number("@history_retention")},
		e.cleanHistory,
	)
}

// addDistributionHistory adds a row, or brings the newest one up to date when it says the same of the same run.
func (e *Extension) addDistributionHistory(ctx context.Context, call *engine.ProcCall) error {
	args := historyArguments(call)
	if call.Int("@runstatus") == stored.RunInProgress && call.Bytes("@xact_seqno") != nil {
		// The latency of a delivery is from the transaction's arrival here until now.
		r, err := call.Session.Query(
			ctx,
			`SELECT DATEDIFF(millisecond, t.entry_time, GETDATE()) AS latency FROM dbo.MSdistribution_agents AS a
			JOIN dbo.MSrepl_transactions AS t ON t.publisher_database_id = a.publisher_database_id AND t.xact_seqno = @p2 WHERE a.id = @p1`,
			call.Int("@agent_id"),
			call.Bytes("@xact_seqno"),
		)
		if err != nil {
			return err
		}
		args[7] = max(r.Int(0, "latency"), 0)
	}
	return call.Session.Exec(ctx, `DECLARE @d int = DATEDIFF(second, CAST(@p4 AS datetime), GETDATE());
		UPDATE dbo.MSdistribution_history SET time = GETDATE(), duration = @d, comments = @p3, xact_seqno = ISNULL(@p5, xact_seqno), current_delivery_latency = ISNULL(@p8, current_delivery_latency),
		delivered_transactions = ISNULL(@p6, delivered_transactions), delivered_commands = ISNULL(@p7, delivered_commands),
		delivery_rate = CASE WHEN @d > 0 THEN CAST(ISNULL(@p7, delivered_commands) AS float) / @d ELSE 0 END, delivery_latency = ISNULL(@p8, delivery_latency), total_delivered_commands = ISNULL(@p9, total_delivered_commands)
		WHERE agent_id = @p1 AND runstatus = @p2 AND start_time = CAST(@p4 AS datetime) AND runstatus IN (3, 4) AND updateable_row = 1 AND @p10 = 1
		AND timestamp = (SELECT MAX(x.timestamp) FROM dbo.MSdistribution_history AS x WHERE x.agent_id = @p1);
		IF @@ROWCOUNT = 0 INSERT INTO dbo.MSdistribution_history (agent_id, runstatus, start_time, time, duration, comments, xact_seqno, current_delivery_rate,
		current_delivery_latency, delivered_transactions, delivered_commands, average_commands, delivery_rate, delivery_latency, total_delivered_commands, error_id, updateable_row)
		VALUES (@p1, @p2, CAST(@p4 AS datetime), GETDATE(), @d, @p3, @p5, 0, ISNULL(@p8, 0), ISNULL(@p6, 0), ISNULL(@p7, 0), 0, 0, ISNULL(@p8, 0), ISNULL(@p9, 0), 0, 1)`, append(args, replaces(call))...)
}

// addValidationHistory adds a row that later ones do not replace.
func (e *Extension) addValidationHistory(ctx context.Context, call *engine.ProcCall) error {
	return call.Session.Exec(
		ctx,
		`INSERT INTO dbo.MSdistribution_history (agent_id, runstatus, start_time, time, duration, comments, xact_seqno, current_delivery_rate,
		current_delivery_latency, delivered_transactions, delivered_commands, average_commands, delivery_rate, delivery_latency, total_delivered_commands, error_id, updateable_row)
		VALUES (@p1, @p2, CAST(@p4 AS datetime), GETDATE(), DATEDIFF(second, CAST(@p4 AS datetime), GETDATE()), @p3, @p5, 0, @p8, @p6, @p7, 0, 0, @p8, @p9, 0, 0)`,
		historyArguments(call)...)
}

// replaces tells whether a message takes the place of the newest one that says the same of the same run: always with
// -HistoryVerboseLevel 1, with 2 only when the agent idles, with 3 never
// (docs/relational-databases/replication/agents/replication-distribution-agent.md).
func replaces(call *engine.ProcCall) bool {
	switch call.Int("@verbose") {
	case 3:
		return false
	case 2:
		return call.Int("@runstatus") == stored.RunIdle
	}
	return true
}

// historyArguments are the values of a line; figures that are NULL are those of the line whose place it takes.
func historyArguments(call *engine.ProcCall) []any {
	return []any{
		call.Int("@agent_id"),
		call.Int("@runstatus"),
		stored.Clip(call.String("@comments"), 4000),
		call.String("@start_time"),
		call.Bytes("@xact_seqno"),
		call.Value("@transactions"),
		call.Value("@commands"),
		call.Value("@latency"),
		call.Value("@total"),
	}
}

func (e *Extension) addLogReaderHistory(ctx context.Context, call *engine.ProcCall) error {
	return call.Session.Exec(ctx, `DECLARE @d int = DATEDIFF(second, CAST(@p4 AS datetime), GETDATE());
		UPDATE dbo.MSlogreader_history SET time = GETDATE(), duration = @d, comments = @p3, xact_seqno = ISNULL(@p5, xact_seqno),
		delivered_transactions = ISNULL(@p6, delivered_transactions), delivered_commands = ISNULL(@p7, delivered_commands), delivery_latency = ISNULL(@p8, delivery_latency)
		WHERE agent_id = @p1 AND runstatus = @p2 AND start_time = CAST(@p4 AS datetime) AND runstatus IN (3, 4) AND @p9 = 1
		AND timestamp = (SELECT MAX(x.timestamp) FROM dbo.MSlogreader_history AS x WHERE x.agent_id = @p1);
		IF @@ROWCOUNT = 0 INSERT INTO dbo.MSlogreader_history (agent_id, runstatus, start_time, time, duration, comments, xact_seqno, delivery_time, delivered_transactions,
		delivered_commands, average_commands, delivery_rate, delivery_latency, error_id, updateable_row)
		VALUES (@p1, @p2, CAST(@p4 AS datetime), GETDATE(), @d, @p3, @p5, 0, ISNULL(@p6, 0), ISNULL(@p7, 0), 0, 0, ISNULL(@p8, 0), 0, 1)`, append(historyArguments(call)[:8], replaces(call))...)
}

func (e *Extension) addSnapshotHistory(ctx context.Context, call *engine.ProcCall) error {
	return call.Session.Exec(
		ctx,
		`INSERT INTO dbo.MSsnapshot_history (agent_id, runstatus, start_time, time, duration, comments, delivered_transactions, delivered_commands, delivery_rate, error_id)
		VALUES (@p1, @p2, CAST(@p4 AS datetime), GETDATE(), DATEDIFF(second, CAST(@p4 AS datetime), GETDATE()), @p3, @p5, @p6, 0, 0)`,
		call.Int(
			"@agent_id",
		),
		call.Int("@runstatus"),
		stored.Clip(call.String("@comments"), 1000),
		call.String("@start_time"),
		call.Int("@transactions"),
		call.Int("@commands"),
	)
}

// retention is the hours that a clean-up is called with, else those of the distribution database.
func retention(call *engine.ProcCall, parameter string, otherwise int64) int64 {
	if call.IsNull(parameter) {
		return otherwise
	}
	return call.Int(parameter)
}

func (e *Extension) cleanHistory(ctx context.Context, call *engine.ProcCall) error {
	r, err := call.Session.Query(ctx, "SELECT history_retention FROM msdb.dbo.MSdistributiondbs WHERE name = DB_NAME()")
	if err != nil {
		return err
	}
	before := stored.HoursAgo(retention(call, "@history_retention", r.Int(0, "history_retention")))
	for _, t := range []string{"MSdistribution_history", "MSlogreader_history", "MSsnapshot_history"} {
		// The newest row of each agent stays: it is where the agent is.
		err := call.Session.Exec(
			ctx,
			fmt.Sprintf(
				`DELETE FROM dbo.%[1]s WHERE time < CAST(@p1 AS datetime) AND timestamp NOT IN (SELECT MAX(x.timestamp) FROM dbo.%[1]s AS x GROUP BY x.agent_id)`,
				t,
			),
			before,
		)
		if err != nil {
			return err
		}
	}
	return call.Session.Exec(ctx, "DELETE FROM dbo.MSrepl_errors WHERE time < CAST(@p1 AS datetime)", before)
}

// cleanCommands is the distribution clean-up: it removes transactions that all agents have delivered and that are older
// than the minimum retention, and all that are older than the maximum. The newest transaction of a publisher stays: the
// log reader goes on from it.
func (e *Extension) cleanCommands(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	r, err := s.Query(
		ctx,
		"SELECT min_distretention, max_distretention FROM msdb.dbo.MSdistributiondbs WHERE name = DB_NAME()",
	)
	if err != nil {
		return err
	}
	if err := tables.MakeDistribution(ctx, s, call.Database.Name()); err != nil {
		return err
	}
	if err := e.removeFolders(ctx, s); err != nil {
		return err
	}
	young := stored.HoursAgo(retention(call, "@min_distretention", r.Int(0, "min_distretention")))
	old := stored.HoursAgo(retention(call, "@max_distretention", r.Int(0, "max_distretention")))
	if err := deactivate(ctx, s, old); err != nil {
		return err
	}
	databases, err := s.Query(ctx, "SELECT id FROM dbo.MSpublisher_databases")
	if err != nil {
		return err
	}
	for i := range databases.Len() {
		id := databases.Int(i, "id")
		needed, err := e.neededFrom(ctx, s, id)
		if err != nil {
			return err
		}
		if keeps, err := keepsAll(ctx, s, id); err != nil {
			return err
		} else if keeps {
			needed = []byte{}
		}
		// Who begins with a backup from here on must know that older transactions are gone.
		err = s.Exec(
			ctx,
			`DECLARE @gone varbinary(16) = (SELECT MAX(xact_seqno) FROM dbo.MSrepl_transactions WHERE publisher_database_id = @p1 AND DATALENGTH(xact_seqno) = 10
			AND (entry_time < CAST(@p3 AS datetime) OR entry_time < CAST(@p2 AS datetime) AND xact_seqno <= @p4));
			IF @gone IS NOT NULL BEGIN
				UPDATE dbo.MSrepl_cleaned SET xact_seqno = @gone WHERE publisher_database_id = @p1;
				IF @@ROWCOUNT = 0 INSERT INTO dbo.MSrepl_cleaned VALUES (@p1, @gone)
			END`,
			id,
			young,
			old,
			needed,
		)
		if err != nil {
			return err
		}
		// A snapshot's commands lie at its own transaction, which subscriptions name as long as they may need it.
		err = s.Exec(ctx, `BEGIN TRANSACTION;
			DELETE FROM dbo.MSrepl_transactions WHERE publisher_database_id = @p1 AND (entry_time < CAST(@p3 AS datetime) OR entry_time < CAST(@p2 AS datetime) AND xact_seqno <= @p4)
			AND xact_seqno <> (SELECT TOP (1) x.xact_seqno FROM dbo.MSrepl_transactions AS x WHERE x.publisher_database_id = @p1 AND DATALENGTH(x.xact_seqno) = 10 ORDER BY x.xact_seqno DESC)
			AND xact_seqno NOT IN (SELECT m.subscription_seqno FROM dbo.MSsubscriptions AS m WHERE m.publisher_database_id = @p1);
			DELETE FROM dbo.MSrepl_commands WHERE publisher_database_id = @p1 AND NOT EXISTS (SELECT 1 FROM dbo.MSrepl_transactions AS t
			WHERE t.publisher_database_id = @p1 AND t.xact_seqno = dbo.MSrepl_commands.xact_seqno);
			COMMIT TRANSACTION`, id, young, old, needed)
		if err != nil {
			return err
		}
	}
	return nil
}

// neededFrom is the newest transaction of a publisher database that nobody needs any more. Virtual subscriptions need
// everything since their snapshot.
func (e *Extension) neededFrom(ctx context.Context, s *engine.Session, database int64) ([]byte, error) {
	r, err := s.Query(
		ctx,
		`SELECT m.agent_id, MIN(m.subscription_seqno) AS seqno, (SELECT MAX(h.xact_seqno) FROM dbo.MSdistribution_history AS h WHERE h.agent_id = m.agent_id) AS delivered
		FROM dbo.MSsubscriptions AS m WHERE m.publisher_database_id = @p1 AND m.status = 2
		AND m.publication_id NOT IN (SELECT p.publication_id FROM dbo.MSpublications AS p WHERE p.publication_type = 1) GROUP BY m.agent_id`,
		database,
	)
	if err != nil {
		return nil, err
	}
	needed := []byte{0xff}
	for i := range r.Len() {
		at := r.Bytes(i, "delivered")
		if at == nil || r.Int(i, "agent_id") < 0 {
			at = r.Bytes(i, "seqno")
		}
		if string(at) < string(needed) {
			needed = at
		}
	}
	return needed, nil
}
