// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"geosql.dev/standin/repl/stored"
)

// maxParameters is below the protocol's limit of 2100 for one request.
const maxParameters = 2000

// batch is a text with its parameters: one round trip.
type batch struct {
	text   strings.Builder
	values []any
	// commits are the transactions of the subscriber that end in it.
	commits []commit
}

// commit is a transaction of the subscriber: how far it brings the subscription, and what it brings.
type commit struct {
	last                   []byte
	transactions, commands int64
	tokens                 []string
	judged                 []outcome
	skipped                []skipped
}

// value appends a parameter and its name.
func (b *batch) value(v any) {
	b.values = append(b.values, v)
	b.text.WriteString("@p" + strconv.Itoa(len(b.values)))
}

// add appends a command: "{CALL proc (?,,?)}" becomes EXEC, with DEFAULT for what is left out; a statement is taken as
// it is.
func (b *batch) add(text string, values []any) {
	if rest, call := strings.CutPrefix(text, "{CALL "); call {
		rest = strings.TrimSuffix(rest, ")}")
		at := strings.LastIndexByte(rest, '(') // a name may have one, too
		text = "EXEC " + rest[:at] + defaulted(rest[at+1:])
	}
	parts := stored.Parameterized(text)
	for i, part := range parts {
		b.text.WriteString(part)
		if i < len(parts)-1 && i < len(values) {
			b.value(values[i])
		}
	}
	b.text.WriteString(";\n")
}

// defaulted is a list of parameters as EXEC takes it.
func defaulted(list string) string {
	if !strings.Contains(list, ",,") && !strings.HasPrefix(list, ",") {
		return list
	}
	parts := strings.Split(list, ",")
	for i, p := range parts {
		if p == "" {
			parts[i] = "DEFAULT"
		}
	}
	return strings.Join(parts, ",")
}

// writer sends commands to the subscriber. A buffer is one round trip: where the transaction begins and ends goes with
// it.
type writer struct {
	d  *delivery
	to *Conn
	// position says that transactions are begun, and ended with the subscription's position in them.
	position bool
	// before is the subscription's position when the open transaction commits; nobody else may have moved it.
	before []byte
	// turn lets the transaction wait until before is the position; it ends with what is written at once.
	turn bool
	// open says that a transaction is open after all that was written so far.
	open bool
	// last is the newest transaction begun; transactions and commands count those since the last commit.
	last                   []byte
	transactions, commands int64
	total                  int64
	tokens                 []string
	// validated is what validations found since the last commit, skipped the errors that were passed over since then.
	validated []outcome
	skipped   []skipped
	// nth counts the commands of the newest transaction.
	nth int64
	// careful makes a commit of each transaction and a request of each command, so that an error tells which one it is
	// about.
	careful bool
	// begun are the transactions begun, committed those that were committed since the last line of history.
	begun, committedSince int64
	progress
}

// positionMoved is the error of an agent that finds that another one delivers.
const positionMoved = 50000

// errEnough ends an agent's delivery at -MaxDeliveredTransactions.
var errEnough = errors.New("as many transactions were delivered as the agent is to deliver")

// write writes commands; end says that there are no more for now: what is open is committed.
func (w *writer) write(ctx context.Context, commands []pending, end bool) error {
	var b batch
	for _, c := range commands {
		if string(c.seqno) != string(w.last) {
			if w.position && w.d.enough(w.begun) {
				return w.stopHere(ctx, &b)
			}
			if err := w.next(ctx, &b, c.kind); err != nil {
				return err
			}
			w.begun++
			w.nth = 0
			w.last = append([]byte{}, c.seqno...)
			w.transactions++
		}
		if c.kind == stored.CommandOwn {
			continue
		}
		w.commands++
		w.nth++
		w.total++
		if err := w.command(ctx, &b, c); err != nil {
			return err
		}
	}
	if end && w.position && w.transactions > 0 {
		if err := w.commit(ctx, &b); err != nil {
			return err
		}
	}
	return w.flush(ctx, &b)
}

// stopHere commits what is begun: the agent has delivered as much as it is to deliver.
func (w *writer) stopHere(ctx context.Context, b *batch) error {
	if w.transactions > 0 {
		if err := w.commit(ctx, b); err != nil {
			return err
		}
	}
	if err := w.flush(ctx, b); err != nil {
		return err
	}
	return errEnough
}

// command writes one command.
func (w *writer) command(ctx context.Context, b *batch, c pending) error {
	text, values, err := stored.DecodeCommand(c.raw)
	if err != nil {
		return fmt.Errorf("the command of transaction 0x%x cannot be read: %w", c.seqno, err)
	}
	switch c.kind {
	case stored.CommandToken:
		w.tokens = append(w.tokens, text)
		return nil
	case stored.CommandValidate:
		if !w.d.concerned(values) {
			return nil
		}
		if err := w.begin(ctx, b); err != nil {
			return err
		}
		if err := w.flush(ctx, b); err != nil {
			return err
		}
		return w.validate(ctx, c.article, text)
	case stored.CommandSchema, stored.CommandPosted:
		if err := w.begin(ctx, b); err != nil {
			return err
		}
		if err := w.flush(ctx, b); err != nil {
			return err
		}
		if c.kind == stored.CommandPosted {
			return w.runPosted(ctx, text, len(values) > 0)
		}
		return w.alter(ctx, text)
	}
	if err := w.d.stream(values); err != nil {
		return err
	}
	if len(b.values)+len(values) > maxParameters {
		if err := w.flush(ctx, b); err != nil {
			return err
		}
	}
	if err := w.begin(ctx, b); err != nil {
		return err
	}
	b.add(text, values)
	if w.skips() || w.careful {
		// Errors to skip fail one command only.
		return w.flush(ctx, b)
	}
	return nil
}

// alter runs the script of a schema change. Its batches are requests of their own: CREATE PROCEDURE stands alone.
func (w *writer) alter(ctx context.Context, script string) error {
	err := runScript(ctx, w.to, script)
	if w.skip(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("apply the schema change of transaction 0x%x: %w", w.last, err)
	}
	return nil
}

func (w *writer) skips() bool { return len(w.d.skip) > 0 }

// skip tells whether an error is one to pass over, and notes it.
func (w *writer) skip(err error) bool {
	n := NumberOf(err)
	if err == nil || n == 0 || !w.d.skip[n] {
		return false
	}
	w.d.runner.inst.Log().Warn("replication: an error was skipped", "agent", w.d.name, "error", err.Error())
	w.skipped = append(w.skipped, skipped{number: n, message: err.Error(), failedCommand: failedCommand{w.last, w.nth}})
	return true
}

// next is called between two transactions of the publisher: it commits when enough is done for that, and before one
// that begins with a posted script, which may end the subscriber's.
func (w *writer) next(ctx context.Context, b *batch, kind int64) error {
	if !w.position || w.transactions == 0 {
		return nil
	}
	enough := w.careful || w.transactions >= int64(w.d.args.num("-CommitBatchSize", 100)) ||
		w.commands >= int64(w.d.args.num("-CommitBatchThreshold", 1000))
	if kind != stored.CommandPosted && (w.turn || !enough) {
		return nil
	}
	return w.commit(ctx, b)
}

// begin opens the subscriber's transaction.
func (w *writer) begin(ctx context.Context, b *batch) error {
	if w.open || !w.position {
		return nil
	}
	w.open = true
	if w.turn {
		b.text.WriteString(
			"EXEC sp_MSawait_position " + w.d.subscription(
				"@publisher = %s, @publisher_db = %s, @publication = %s",
			) + ", @position = ",
		)
		b.value(w.before)
		b.text.WriteString(";\n")
	}
	b.text.WriteString("BEGIN TRANSACTION;\n")
	if w.skips() {
		return w.flush(ctx, b)
	}
	return nil
}

// commit ends the subscriber's transaction together with the position in it. An agent that was taken for dead, and
// whose request arrives now, finds that the position has moved on, and takes back what it did.
func (w *writer) commit(ctx context.Context, b *batch) error {
	if err := w.begin(ctx, b); err != nil {
		return err
	}
	if len(b.values)+2 > maxParameters {
		if err := w.flush(ctx, b); err != nil {
			return err
		}
	}
	b.text.WriteString("UPDATE dbo.MSreplication_subscriptions SET transaction_timestamp = ")
	b.value(w.last)
	b.text.WriteString(
		", time = GETDATE() WHERE " + w.d.subscription(
			"publisher = %s AND publisher_db = %s AND publication = %s",
		) + " AND transaction_timestamp = ",
	)
	b.value(w.before)
	b.text.WriteString(
		";\nIF @@ROWCOUNT = 0 THROW " + strconv.Itoa(
			positionMoved,
		) + ", N'The position of the subscription was moved by somebody else.', 1;\nCOMMIT TRANSACTION;\n",
	)
	b.commits = append(b.commits, commit{w.last, w.transactions, w.commands, w.tokens, w.validated, w.skipped})
	// What the distributor is to be told of a commit is known only with its answer: not when what follows in the request
	// fails.
	alone := w.skips() || w.careful || len(w.tokens)+len(w.validated) > 0
	w.open, w.before = false, w.last
	w.transactions, w.commands, w.tokens, w.validated, w.skipped = 0, 0, nil, nil, nil
	if alone {
		return w.flush(ctx, b)
	}
	return nil
}

// flush makes the round trip. A failure within it ends the transaction, so that nothing after it is committed: CATCH
// does that, and where an error passes TRY (207, 208), the writer's own rollback.
func (w *writer) flush(ctx context.Context, b *batch) error {
	if b.text.Len() == 0 {
		return nil
	}
	text := b.text.String()
	if w.position && !w.skips() {
		text = "BEGIN TRY\n" + text + "END TRY\nBEGIN CATCH\nIF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;\nTHROW;\nEND CATCH"
	}
	err := w.to.exec(ctx, "SET NOCOUNT ON;\n"+text, b.values...)
	done := b.commits
	*b = batch{}
	if w.skip(err) {
		err = w.stillOpen(ctx)
	}
	if err != nil {
		return fmt.Errorf("apply transaction 0x%x: %w", w.last, err)
	}
	for _, c := range done {
		w.committed(c)
	}
	return nil
}

// stillOpen is an error where the transaction ended with an error that was to be passed over, and what was in it is
// lost.
func (w *writer) stillOpen(ctx context.Context) error {
	if !w.open {
		return nil
	}
	state, err := w.to.Query(ctx, "SELECT CAST(@@TRANCOUNT AS bigint) AS open_transactions")
	if err == nil && state.num(0, "open_transactions") == 0 {
		err = errors.New("the error that was to be passed over rolled back the transaction")
	}
	return err
}

// committed notes what the subscriber has now.
func (w *writer) committed(c commit) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	if string(c.last) > string(w.d.last) {
		w.d.last = c.last
	}
	w.d.delivered.transactions += c.transactions
	w.d.delivered.commands += c.commands
	w.committedSince += c.transactions
	w.newest = c.last
	w.progress.tokens, w.judged = append(w.progress.tokens, c.tokens...), append(w.judged, c.judged...)
	w.passed = append(w.passed, c.skipped...)
}

// rollback gives up the subscriber's transaction, where the writer began it.
func (w *writer) rollback(ctx context.Context) {
	if w.position {
		w.to.rollback(ctx)
	}
}

// rollback ends the open transaction, if there is one; when the server cannot be told, the connection's end does it.
func (c *Conn) rollback(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = c.exec(bounded, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
}
