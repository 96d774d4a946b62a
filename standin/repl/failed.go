// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// failedCommand is a command that the subscriber refused: the nth of its transaction's commands for the subscription.
type failedCommand struct {
	seqno []byte
	nth   int64
}

// skipped is an error that was passed over.
type skipped struct {
	number  int32
	message string
	failedCommand
}

// pinpoint tries again, one transaction after another, what failed among many: all before the one that fails arrives,
// and MSrepl_errors says which that is, for sp_setsubscriptionxactseqno to pass over
// (docs/relational-databases/system-stored-procedures/sp-setsubscriptionxactseqno-transact-sql.md, Remarks).
func (d *delivery) pinpoint(ctx context.Context, before error) (int64, error) {
	if err := d.readPosition(ctx); err != nil {
		return 0, before // the connection is gone
	}
	d.careful = true
	defer func() { d.careful = false }()
	return d.apply(ctx, d.last, nil, d.appliedList(), true)
}

// addError puts an error into MSrepl_errors, and into the newest line of the agent's history.
func (r *agentRun) addError(ctx context.Context, number int32, message string, c *failedCommand) error {
	if c == nil {
		c = &failedCommand{}
	}
	return r.distConn.exec(
		ctx,
		"EXEC sp_MSadd_repl_error @source = @p1, @code = @p2, @message = @p3, @history = @p4, @agent_id = @p5, "+
			"@xact_seqno = @p6, @nth = @p7",
		r.name,
		fmt.Sprint(number),
		message,
		r.history,
		r.agentID,
		c.seqno,
		c.nth,
	)
}

// noteSkipped tells the distributor of errors that were passed over: a line of history each, which no later one
// replaces.
func (d *delivery) noteSkipped(ctx context.Context, list []skipped) error {
	for _, s := range list {
		if err := d.noteLasting(ctx, fmt.Sprintf("%s (0x%x, %d)", sqlerr.Text(20595), s.seqno, s.number)); err != nil {
			return err
		}
		if err := d.addError(ctx, s.number, s.message, &s.failedCommand); err != nil {
			return err
		}
	}
	return nil
}

// noteLasting writes a line of history that no later one replaces.
func (d *delivery) noteLasting(ctx context.Context, message string) error {
	return d.distConn.exec(
		ctx,
		"EXEC sp_MSadd_validation_history @agent_id = @p1, @runstatus = @p2, @comments = @p3, @start_time = @p4, "+
			"@xact_seqno = @p5, @transactions = @p6, @commands = @p7, @latency = 0, @total = @p7",
		d.agentID,
		runProgress,
		message,
		d.started,
		d.last,
		d.delivered.transactions,
		d.delivered.commands,
	)
}

// addError is sp_MSadd_repl_error. An error that is in MSrepl_errors is in the history of its agent, too.
func (e *Extension) addError(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	var command any
	seqno := call.Bytes("@xact_seqno")
	if len(seqno) > 0 {
		found, err := s.Query(
			ctx,
			`SELECT c.command_id FROM dbo.MSrepl_commands AS c JOIN dbo.MSsubscriptions AS m ON m.publisher_database_id = c.publisher_database_id AND m.article_id = c.article_id
			WHERE m.agent_id = @p1 AND c.xact_seqno = @p2 AND c.partial_command = 0 ORDER BY c.command_id OFFSET @p3 ROWS FETCH NEXT 1 ROWS ONLY`,
			call.Int("@agent_id"),
			seqno,
			max(call.Int("@nth")-1, 0),
		)
		if err != nil {
			return err
		}
		command = found.Value(0, "command_id")
	}
	id, err := writeError(ctx, s, call, seqno, command)
	if err != nil {
		return err
	}
	table := map[string]string{"sp_MSadd_distribution_history": "MSdistribution_history",
		"sp_MSadd_logreader_history": "MSlogreader_history",
		"sp_MSadd_snapshot_history":  "MSsnapshot_history"}[call.String("@history")]
	if table == "" {
		return nil
	}
	// It is what the newest row tells of.
	return s.Exec(
		ctx,
		fmt.Sprintf(
			"UPDATE dbo.%[1]s SET error_id = @p2 WHERE agent_id = @p1 AND timestamp = (SELECT MAX(x.timestamp) FROM "+
				"dbo.%[1]s AS x WHERE x.agent_id = @p1)",
			table,
		),
		call.Int("@agent_id"),
		id,
	)
}
