// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"

	"geosql.dev/standin/repl/stored"
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
		stored.RunInProgress,
		message,
		d.started,
		d.last,
		d.delivered.transactions,
		d.delivered.commands,
	)
}
