// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
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

// deliver reads all that is new in one stream and applies it: transactions whole and in order, several in one
// transaction of the subscriber (CommitBatchSize, CommitBatchThreshold), together with the position.
func (d *delivery) deliver(ctx context.Context) (int64, error) {
	return d.apply(ctx, d.last, nil, d.appliedList(), true)
}

func (d *delivery) apply(ctx context.Context, from, upto []byte, articles string, position bool) (int64, error) {
	reading, cancel := context.WithCancel(ctx)
	buffers := make(chan buffer)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		d.read(reading, from, upto, articles, buffers)
	}()
	// The reader is done with the distributor's connection before anybody else uses it.
	defer func() { cancel(); <-finished }()
	w := &writer{d: d, position: position}
	for b := range buffers {
		if b.err != nil {
			w.rollback(ctx)
			return 0, b.err
		}
		if err := w.write(ctx, b.commands); err != nil {
			w.rollback(ctx)
			return 0, err
		}
		if b.end {
			break
		}
	}
	if ctx.Err() != nil {
		w.rollback(ctx)
		return 0, ctx.Err()
	}
	if position {
		if err := w.commit(ctx); err != nil {
			return 0, err
		}
	}
	cancel()
	<-finished
	return w.total, d.delivered1(ctx, w)
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
	rows, err := d.distConn.c.QueryContext(ctx, "EXEC sp_MSget_repl_commands @agent_id = @p1, @last_xact_seqno = @p2, @upto = @p3, @articles = @p4", d.agentID, from, upto, articles)
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

// writer is the writer: it sends buffers to the subscriber, each in one round trip, and commits between transactions.
type writer struct {
	d        *delivery
	position bool
	open     bool
	// last is the newest transaction begun; transactions and commands count those since the last commit.
	last                   []byte
	transactions, commands int64
	total                  int64
	tokens, committed      []string
	newest                 []byte
	// validated is what validations found since the last commit, judged what they found before; stop says that one of
	// them asked the agent to end.
	validated, judged []outcome
	stop              bool
}

// maxParameters is below the protocol's limit of 2100 for one request.
const maxParameters = 2000

// batch is a text with its parameters.
type batch struct {
	text   strings.Builder
	values []any
}

// add appends a command: "{CALL proc (?,?)}" becomes EXEC, a statement is taken as it is.
func (b *batch) add(text string, values []any) {
	closing := ""
	if rest, call := strings.CutPrefix(text, "{CALL "); call {
		text = "EXEC " + strings.Replace(strings.TrimSuffix(rest, ")}"), "(", "", 1)
	}
	at := 0
	for _, part := range strings.SplitAfter(text, "?") {
		if before, found := strings.CutSuffix(part, "?"); found && at < len(values) {
			b.text.WriteString(before)
			b.values = append(b.values, values[at])
			b.text.WriteString("@p" + strconv.Itoa(len(b.values)))
			at++
			continue
		}
		b.text.WriteString(part)
	}
	b.text.WriteString(closing + ";\n")
}

func (w *writer) write(ctx context.Context, commands []pending) error {
	var b batch
	for _, c := range commands {
		if string(c.seqno) != string(w.last) {
			if w.due() {
				if err := w.flush(ctx, &b); err != nil {
					return err
				}
				if err := w.commit(ctx); err != nil {
					return err
				}
			}
			w.last = append([]byte{}, c.seqno...)
			w.transactions++
		}
		w.commands++
		w.total++
		text, values, err := decodeCommand(c.raw)
		if err != nil {
			return fmt.Errorf("the command of transaction 0x%x cannot be read: %w", c.seqno, err)
		}
		if c.kind == commandToken {
			w.tokens = append(w.tokens, text)
			continue
		}
		if c.kind == commandValidate {
			if err := w.flush(ctx, &b); err != nil {
				return err
			}
			if err := w.validate(ctx, c.article, text); err != nil {
				return err
			}
			continue
		}
		if len(b.values)+len(values) > maxParameters {
			if err := w.flush(ctx, &b); err != nil {
				return err
			}
		}
		b.add(text, values)
		if len(w.d.skip) > 0 {
			// Errors to skip fail one command only.
			if err := w.flush(ctx, &b); err != nil {
				return err
			}
		}
	}
	return w.flush(ctx, &b)
}

// due tells whether enough is done for a commit.
func (w *writer) due() bool {
	return w.position && w.open && (w.transactions >= int64(w.d.args.num("-CommitBatchSize", 100)) || w.commands >= int64(w.d.args.num("-CommitBatchThreshold", 1000)))
}

// begin opens the subscriber's transaction.
func (w *writer) begin(ctx context.Context) error {
	if w.open || !w.position {
		return nil
	}
	if err := w.d.subscriber.exec(ctx, "BEGIN TRANSACTION"); err != nil {
		return err
	}
	w.open = true
	return nil
}

func (w *writer) flush(ctx context.Context, b *batch) error {
	if b.text.Len() == 0 {
		return nil
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	err := w.d.subscriber.exec(ctx, "SET NOCOUNT ON;\n"+b.text.String(), b.values...)
	*b = batch{}
	if n := numberOf(err); err != nil && n != 0 && w.d.skip[n] {
		w.d.e.inst.Log().Warn("replication: an error was skipped", "agent", w.d.name, "error", err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("apply transaction 0x%x: %w", w.last, err)
	}
	return nil
}

// commit ends the subscriber's transaction together with the position in it.
func (w *writer) commit(ctx context.Context) error {
	if w.last == nil || w.transactions == 0 {
		return nil
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	if err := w.d.subscriber.exec(ctx, w.d.positionText("@p1")+"; COMMIT TRANSACTION", w.last); err != nil {
		return err
	}
	w.open, w.newest = false, w.last
	w.d.last = w.last
	w.d.delivered.transactions += w.transactions
	w.d.delivered.commands += w.commands
	w.committed, w.judged = append(w.committed, w.tokens...), append(w.judged, w.validated...)
	w.transactions, w.commands, w.tokens, w.validated = 0, 0, nil, nil
	return nil
}

// rollback gives up the subscriber's transaction; when it cannot be told, its connection's end does it.
func (w *writer) rollback(ctx context.Context) {
	if !w.open {
		return
	}
	w.open = false
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = w.d.subscriber.exec(bounded, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
}

// delivered1 tells the distributor what arrived: history, and the tracer tokens.
func (d *delivery) delivered1(ctx context.Context, w *writer) error {
	for _, t := range w.committed {
		if err := d.distConn.exec(ctx, "EXEC sp_MSadd_tracer_history @tracer_id = @p1, @agent_id = @p2", t, d.agentID); err != nil {
			return err
		}
	}
	if err := d.noteValidations(ctx, w.judged); err != nil {
		return err
	}
	d.ended = d.ended || w.stop
	if w.newest == nil {
		return nil
	}
	d.seqno = w.newest
	d.note(ctx, runProgress, fmt.Sprintf("%d transaction(s) with %d command(s) were delivered.", d.delivered.transactions, d.delivered.commands))
	return nil
}
