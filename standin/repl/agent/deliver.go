// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"geosql.dev/standin/repl/stored"
)

// pending is a whole command on its way to the subscriber.
type pending struct {
	seqno         []byte
	kind, article int64
	raw           []byte
}

// bufferBytes is the size of a command buffer. There are two: the reader fills one while the writer sends the other.
const bufferBytes = 40 << 10

// buffer is a full command buffer; end is true when it is the stream's last.
type buffer struct {
	commands []pending
	err      error
	end      bool
}

// deliver reads all that is new and applies it: transactions whole and in order, several in one transaction of the
// subscriber (CommitBatchSize, CommitBatchThreshold), together with the position. Where several streams failed, what is
// left is tried again in one (docs/relational-databases/replication/agents/replication-distribution-agent.md,
// -SubscriptionStreams).
func (d *delivery) deliver(ctx context.Context) (int64, error) {
	streams := d.args.num("-SubscriptionStreams", 1)
	if streams > 1 && len(d.skip) == 0 && d.most() == 0 {
		n, err := d.deliverInStreams(ctx, streams)
		if err == nil || ctx.Err() != nil {
			return n, err
		}
		d.runner.inst.Log().
			Warn("replication: what one of several streams could not apply is tried again in one", "agent", d.name, "error",
				err.Error())
		if err := d.readPosition(ctx); err != nil {
			return n, err
		}
	}
	n, err := d.apply(ctx, d.last, nil, d.appliedList(), true)
	if number := NumberOf(err); err == nil || ctx.Err() != nil || number == 0 || number == positionMoved {
		return n, err
	}
	return d.pinpoint(ctx, err)
}

// reading starts the reader; stop it before the distributor's connection is used for anything else.
func (d *delivery) reading(ctx context.Context, from, upto []byte, articles string) (buffers chan buffer, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	buffers = make(chan buffer)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		d.read(ctx, from, upto, articles, buffers)
	}()
	return buffers, func() { cancel(); <-finished }
}

// apply is deliver in one stream. Without position it adds to a transaction that is open, and leaves that open.
func (d *delivery) apply(ctx context.Context, from, upto []byte, articles string, position bool) (int64, error) {
	buffers, stop := d.reading(ctx, from, upto, articles)
	defer stop()
	w := &writer{
		d:        d,
		to:       d.subscriber,
		position: position,
		before:   from,
		begun:    d.delivered.transactions,
		careful:  d.careful && position,
	}
	for b := range buffers {
		err := b.err
		if err == nil {
			err = w.write(ctx, b.commands, b.end)
		}
		if errors.Is(err, errEnough) {
			break
		}
		if every := int64(d.args.num("-TransactionsPerHistory", 100)); err == nil && every > 0 &&
			(w.committedSince > every || w.committedSince > 0 && d.silent()) &&
			d.aside.progress(
				ctx,
				line{status: stored.RunInProgress, comments: d.deliveredText(), seqno: w.newest, delivered: d.delivered},
			) {
			w.committedSince = 0
		}
		if err != nil {
			w.rollback(ctx)
			stop()
			d.aside.wait()
			if w.careful && b.err == nil {
				d.failed = &failedCommand{w.last, w.nth}
			}
			return 0, d.tellBefore(ctx, w.progress, err)
		}
		if b.end {
			break
		}
	}
	if ctx.Err() != nil {
		w.rollback(ctx)
		return 0, ctx.Err()
	}
	stop()
	d.aside.wait()
	return w.total, d.tell(ctx, w.progress)
}

// read is the reader: one result set of the distributor, cut into buffers.
func (d *delivery) read(ctx context.Context, from, upto []byte, articles string, out chan<- buffer) {
	defer close(out)
	send := func(b buffer) bool {
		select {
		case out <- b:
			return true
		case <-ctx.Done():
			return false
		}
	}
	rows, err := d.distConn.c.QueryContext(
		ctx,
		"EXEC sp_MSget_repl_commands @agent_id = @p1, @last_xact_seqno = @p2, @upto = @p3, @articles = @p4",
		d.agentID,
		from,
		upto,
		articles,
	)
	if err != nil {
		send(buffer{err: d.distConn.explain(err)})
		return
	}
	defer rows.Close()
	var b buffer
	size := 0
	var whole []byte
	for rows.Next() {
		var p pending
		var partial bool
		var part []byte
		if err := rows.Scan(&p.seqno, &p.kind, &p.article, &partial, &part); err != nil {
			send(buffer{err: d.distConn.explain(err)})
			return
		}
		whole = append(whole, part...)
		if partial {
			continue
		}
		p.raw, whole = whole, nil
		b.commands = append(b.commands, p)
		if size += len(p.raw); size >= bufferBytes {
			if !send(b) {
				return
			}
			b, size = buffer{}, 0
		}
	}
	b.err, b.end = d.distConn.explain(rows.Err()), true
	send(b)
}

// progress is what was committed at the subscriber and the distributor does not know yet.
type progress struct {
	newest []byte
	tokens []string
	judged []outcome
	// passed are errors that were passed over (-SkipErrors).
	passed []skipped
	// stop says that a validation asked the agent to end.
	stop bool
}

// add takes in what another stream applied.
func (p *progress) add(other progress) {
	if string(other.newest) > string(p.newest) {
		p.newest = other.newest
	}
	p.passed = append(p.passed, other.passed...)
	p.tokens, p.judged, p.stop = append(p.tokens, other.tokens...), append(p.judged, other.judged...), p.stop || other.stop
}

// tell tells the distributor what arrived: history, and the tracer tokens.
func (d *delivery) tell(ctx context.Context, p progress) error {
	for _, t := range p.tokens {
		if err := d.distConn.exec(ctx, "EXEC sp_MSadd_tracer_history @tracer_id = @p1, @agent_id = @p2", t,
			d.agentID); err != nil {
			return err
		}
	}
	if err := d.noteValidations(ctx, p.judged); err != nil {
		return err
	}
	if err := d.noteSkipped(ctx, p.passed); err != nil {
		return err
	}
	d.ended = d.ended || p.stop
	if p.newest == nil {
		return nil
	}
	d.seqno = p.newest
	d.note(ctx, stored.RunInProgress, d.deliveredText())
	return nil
}

// tellBefore tells the distributor what arrived before an error, and returns that: the next run begins after it and
// says nothing of it any more. The distributor has ten seconds to take it, as for a line of history.
func (d *delivery) tellBefore(ctx context.Context, p progress, err error) error {
	if ctx.Err() != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if e := d.tell(bounded, p); e != nil {
		d.runner.inst.Log().
			Warn("replication: what arrived before an error could not be told to the distributor", "agent", d.name, "error",
				e.Error())
	}
	return err
}

func (d *delivery) deliveredText() string {
	return fmt.Sprintf(
		"%d transaction(s) with %d command(s) were delivered.",
		d.delivered.transactions,
		d.delivered.commands,
	)
}

// most is how many transactions this run of the agent is to deliver; 0 is no bound.
func (d *delivery) most() int64 { return int64(d.args.num("-MaxDeliveredTransactions", 0)) }

// enough tells that so many transactions are what this run is to deliver.
func (d *delivery) enough(n int64) bool { return d.most() > 0 && n >= d.most() }
