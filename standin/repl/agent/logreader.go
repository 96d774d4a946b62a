// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
)

// runLogReader is the Log Reader Agent: it moves committed transactions from the publication database's log into the
// distribution database.
func (a *Runner) runLogReader(ctx context.Context, commandLine string) (string, error) {
	r, end, err := a.beginAgent("logread", "Log Reader", commandLine)
	if err != nil {
		return "", err
	}
	defer end()
	return r.finish(ctx, r.logReader(ctx))
}

func (r *agentRun) logReader(ctx context.Context) error {
	if err := r.connectDistributor(ctx); err != nil {
		return err
	}
	state, err := r.distConn.Query(
		ctx,
		"EXEC sp_MSget_last_transaction @publisher = @p1, @publisher_db = @p2",
		r.args.str("-Publisher"),
		r.args.str("-PublisherDB"),
	)
	if err != nil {
		return err
	}
	r.history, r.agentID = "sp_MSadd_logreader_history", state.num(0, "agent_id")
	if err := r.readProfile(ctx, stored.LogReaderAgent, state.num(0, "profile_id")); err != nil {
		return err
	}
	if err := r.useStored("Publisher", state, "publisher"); err != nil {
		return err
	}
	r.note(ctx, stored.RunStarted, "Starting agent.")
	publisher, err := r.connectPublisher(ctx)
	if err != nil {
		return err
	}
	defer publisher.Close()
	waits := aside{run: r}
	defer waits.close()
	defer r.keepAlive(ctx, publisher, &waits)()
	if last := state.raw(0, "last"); len(last) >= 10 {
		if err := publisher.exec(ctx,
			"EXEC sp_repldone @xactid = @p1, @xact_seqno = @p1, @numtrans = 0, @time = 0, @reset = 0", last[:10]); err != nil {
			return err
		}
	}
	for {
		n, err := r.moveTransactions(ctx, publisher, state.num(0, "id"))
		if err != nil {
			return err
		}
		if n > 0 {
			r.said = ""
			continue
		}
		if !r.args.given("-Continuous") {
			return nil
		}
		r.idle(ctx, "No replicated transactions are available.")
		if !Pause(ctx, r.polling()) {
			return ctx.Err()
		}
	}
}

// moveTransactions delivers one batch: first the distributor has it, then the publisher is told. 0 when there was none.
func (r *agentRun) moveTransactions(ctx context.Context, publisher *Conn, database int64) (int, error) {
	batch, err := publisher.Query(
		ctx,
		"EXEC sp_replcmds @maxtrans = @p1, @maxcmds = @p2",
		r.args.num("-ReadBatchSize", 500),
		r.args.num("-ReadBatchThreshold", 0),
	)
	if err != nil {
		return 0, err
	}
	if len(batch) == 0 {
		return 0, sqlerr.Raise(18757, 2)
	}
	var data []byte
	var last []byte
	var committed time.Time
	transactions, commands := 0, 0
	parts := r.parts(batch)
	for i := range len(batch) - 1 {
		seqno := batch.raw(i, "xact_seqno")
		if len(seqno) != 10 || len(batch.raw(i, "xact_id")) != 10 {
			return 0, fmt.Errorf("the Publisher gave a log sequence number of %d bytes", len(seqno))
		}
		if string(seqno) != string(last) {
			transactions++
			last = seqno
		}
		commands++
		committed, _ = batch[i]["commit_time"].(time.Time)
		if i > 0 && parts[i] != parts[i-1] && string(seqno) == string(batch.raw(i-1, "xact_seqno")) {
			transactions++
		}
		data = appendPacked(
			data,
			stored.Packed{
				Seqno:   seqno,
				Part:    parts[i],
				Begin:   batch.raw(i, "xact_id"),
				Kind:    int32(batch.num(i, "type")),
				Article: int32(batch.num(i, "article_id")),
				Publication: int32(
					batch.num(i, "publication_id"),
				),
				Command: batch.raw(i, "command"),
				From: stored.Origin{
					Server: batch.Str(i, "originator_srvname"), Database: batch.Str(i, "originator_db"),
				},
			},
		)
	}
	scanned := batch.raw(len(batch)-1, "xact_seqno")
	if commands > 0 {
		if err := r.distConn.exec(ctx, "EXEC sp_MSadd_replcmds27hp @publisher_database_id = @p1, @data = @p2", database,
			data); err != nil {
			return 0, err
		}
		r.delivered.transactions += int64(transactions)
		r.delivered.commands += int64(commands)
		r.seqno, r.latency = last, max(time.Since(committed).Milliseconds(), 0)
	}
	if len(scanned) == 10 && string(scanned) != string(make([]byte, 10)) {
		if err := publisher.exec(ctx,
			"EXEC sp_repldone @xactid = @p1, @xact_seqno = @p1, @numtrans = @p2, @time = 0, @reset = 0", scanned,
			max(transactions, 1)); err != nil {
			return 0, err
		}
	}
	if commands > 0 {
		r.note(
			ctx,
			stored.RunInProgress,
			fmt.Sprintf("%d transaction(s) with %d command(s) were delivered.", r.delivered.transactions, r.delivered.commands),
		)
	}
	return commands, nil
}

// parts numbers the smaller transactions that -MaxCmdsInTran makes of large ones, for each command of a batch: from 1
// on, and 0 for the last one, which has the number of the transaction's commit
// (docs/relational-databases/replication/agents/replication-log-reader-agent.md, -MaxCmdsInTran).
func (r *agentRun) parts(batch Rows) []int32 {
	out := make([]int32, len(batch))
	most := r.args.num("-MaxCmdsInTran", 0)
	if most <= 0 {
		return out
	}
	for from := 0; from < len(batch)-1; {
		end := from + 1
		for end < len(batch)-1 && string(batch.raw(end, "xact_seqno")) == string(batch.raw(from, "xact_seqno")) {
			end++
		}
		for i := from; i < end; i++ {
			if (i-from)/most < (end-1-from)/most {
				out[i] = int32((i-from)/most) + 1
			}
		}
		from = end
	}
	return out
}
