// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"fmt"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// done is a DONE token whose status waits for the next token, because only the last one lacks DONE_MORE.
type done struct {
	token   byte
	status  uint16
	command Command
	count   int64
}

// returned is a RETURNVALUE that waits for the end of its call.
type returned struct {
	name  string
	typ   sqltype.Type
	value any
}

// response is the Writer of one request. It is used by one goroutine at a time.
type response struct {
	c   *conn
	req *request
	// inCall is set while a remote procedure call is served: statements then end with DONEINPROC.
	inCall  bool
	call    *Call
	last    *done
	types   []wireType
	rows    bool
	failed  bool
	fatal   bool
	status  *int32
	values  []returned
	scratch []byte
	err     error
	// outside is a request that was cancelled before it was its turn: it has nothing to do with the session.
	outside bool
}

var _ Writer = (*response)(nil)

// put sends tokens, after the DONE that waited for them.
func (r *response) put(b []byte) error {
	if r.err != nil {
		return r.err
	}
	if r.last != nil {
		d := r.last
		r.last = nil
		head := r.c.version.appendDone(make([]byte, 0, 16), d.token, d.status|doneMore, d.command, d.count)
		if _, r.err = r.c.out.Write(head); r.err != nil {
			return r.err
		}
	}
	_, r.err = r.c.out.Write(b)
	return r.err
}

// cancelled tells whether the client no longer wants the response.
func (r *response) cancelled() bool { return r.req.attention.Load() }

// Columns begins a result set.
func (r *response) Columns(cols []Column) error {
	if r.err != nil || r.cancelled() {
		return r.err
	}
	if len(cols) == 0 || len(cols) > 4096 {
		return r.misfit(fmt.Errorf("a result set of %d columns is outside 1 to 4096", len(cols)))
	}
	b, types, err := r.c.version.appendColumns(nil, r.c.told(cols))
	if err != nil {
		return r.misfit(err)
	}
	r.types, r.rows = types, true
	return r.put(b)
}

// misfit refuses columns, rows and output parameters that cannot be sent. Nothing of them is on its way yet: the
// statement fails, and the connection stays.
func (r *response) misfit(err error) *sqlerr.Error {
	err = fmt.Errorf("send result: %w", err)
	r.c.logf("session %d: %v", r.c.spid.Load(), err)
	return sqlerr.Internal(err)
}

// Row sends a row of the current result set.
func (r *response) Row(values []any) error {
	if r.err != nil || r.cancelled() {
		return r.err
	}
	if !r.rows || len(values) != len(r.types) {
		return r.misfit(fmt.Errorf("a row of %d values in a result set of %d columns", len(values), len(r.types)))
	}
	b := append(r.scratch[:0], tokenRow)
	var err error
	for i, w := range r.types {
		if b, err = w.appendValue(b, values[i]); err != nil {
			return r.misfit(fmt.Errorf("column %d: %w", i+1, err))
		}
	}
	r.scratch = b
	return r.put(b)
}

// Done ends a statement.
func (r *response) Done(end Completion) error {
	if r.err != nil {
		return r.err
	}
	r.transaction()
	if r.cancelled() {
		r.rows, r.failed = false, false
		return r.err
	}
	d := &done{token: tokenDone, command: end.Command}
	if r.inCall || end.InTrigger {
		d.token = tokenDoneInProc
	}
	if end.Count >= 0 {
		d.status, d.count = doneCount, end.Count
	}
	if r.failed {
		d.status |= doneError
	}
	r.rows, r.failed = false, false
	r.put(nil)
	r.last = d
	return r.err
}

// Message sends an error or an informational message.
func (r *response) Message(e *sqlerr.Error) error {
	if r.err != nil || r.cancelled() {
		return r.err
	}
	if e.Class > 10 {
		r.failed = true
	}
	if e.Class >= 20 {
		r.fatal = true
	}
	return r.put(r.c.version.appendMessage(nil, e, r.c.srv.cfg.Backend.ServerName()))
}

// ReturnStatus ends a procedure. Of a remote procedure call it is kept for the call's end.
func (r *response) ReturnStatus(status int32) error {
	if r.inCall {
		r.status = &status
		return r.err
	}
	if r.err != nil || r.cancelled() {
		return r.err
	}
	r.put([]byte{tokenReturnStatus, byte(status), byte(status >> 8), byte(status >> 16), byte(status >> 24)})
	if r.err == nil {
		r.last = &done{token: tokenDoneProc, command: CommandExecute}
	}
	return r.err
}

// ReturnValue gives an output parameter of a remote procedure call. A batch has no output parameters: there it is
// dropped.
func (r *response) ReturnValue(name string, t sqltype.Type, value any) error {
	if r.inCall {
		r.values = append(r.values, returned{name, t, value})
	}
	return r.err
}

// Database tells of a changed database context.
func (r *response) Database(name, old string) error {
	if r.err != nil {
		return r.err
	}
	b := r.collationChange(appendEnvText(nil, envDatabase, name, old))
	return r.put(r.c.version.appendMessage(b, sqlerr.New(5701, 1, name), r.c.srv.cfg.Backend.ServerName()))
}

// collationChange tells the client when its database has another collation than it was last told.
func (r *response) collationChange(b []byte) []byte {
	now := r.c.session.Collation()
	if now == *r.c.collation || !r.c.version.atLeast(version71) {
		return b
	}
	*r.c.collation = now
	return appendCollationChange(b, now)
}

// Language tells of a changed language.
func (r *response) Language(name, old string) error {
	if r.err != nil {
		return r.err
	}
	b := appendEnvText(nil, envLanguage, name, old)
	return r.put(r.c.version.appendMessage(b, sqlerr.New(5703, 1, name), r.c.srv.cfg.Backend.ServerName()))
}

// Flush sends what was written so far, so that a client sees progress of a statement that still runs.
func (r *response) Flush() error {
	if r.err == nil {
		r.err = r.c.out.flush()
	}
	return r.err
}

// transaction tells the client when its transaction began or ended since it was last told.
func (r *response) transaction() {
	if b := r.transactionChange(); b != nil {
		r.put(b)
	}
}

// transactionChange is what the client has to be told of its transaction; nil when there is nothing.
func (r *response) transactionChange() []byte {
	if r.c.session == nil || r.outside {
		return nil
	}
	now := r.c.session.InTransaction()
	if now == *r.c.descriptor {
		return nil
	}
	if !r.c.version.atLeast(version72) {
		*r.c.descriptor = now
		return nil
	}
	var b []byte
	if *r.c.descriptor != 0 {
		kind := envCommit
		if r.failed || r.last != nil && r.last.status&doneError != 0 {
			kind = envRollback
		}
		b = appendTransaction(b, kind, *r.c.descriptor)
	}
	if now != 0 {
		b = appendTransaction(b, envBegin, now)
	}
	*r.c.descriptor = now
	return b
}

// endCall ends one remote procedure call: return status, output parameters, DONEPROC.
func (r *response) endCall() {
	r.transaction()
	if !r.cancelled() && r.err == nil {
		if r.rows {
			r.Done(Rows(-1))
		}
		status := int32(0)
		if r.status != nil {
			status = *r.status
		}
		values, err := r.returnValues()
		if err != nil {
			r.Message(r.misfit(err))
		}
		b := append(
			[]byte{tokenReturnStatus, byte(status), byte(status >> 8), byte(status >> 16), byte(status >> 24)},
			values...)
		d := &done{token: tokenDoneProc, command: CommandExecute}
		if r.failed {
			d.status |= doneError
		}
		r.put(b)
		r.last = d
	}
	r.failed, r.rows, r.status, r.values, r.inCall, r.call = false, false, nil, nil, false, nil
}

// skipCall ends a call that is not executed.
func (r *response) skipCall(more bool) {
	if r.cancelled() || r.err != nil {
		return
	}
	r.put(nil)
	r.last = &done{token: tokenDoneProc, command: CommandExecute}
	r.followed(more)
}

// followed tells the client at the end of a call whether another of the same message follows.
func (r *response) followed(more bool) {
	if more && r.last != nil && r.last.token == tokenDoneProc {
		r.last.status |= doneInBatch
	}
}

// returnValues are the tokens of a call's output parameters: all of them, or none where one cannot be sent, which fails
// the call.
func (r *response) returnValues() (b []byte, err error) {
	for i, v := range r.values {
		ordinal, name := r.output(i, v.name)
		if b, err = r.c.version.appendReturnValue(b, ordinal, name, r.c.toldType(v.typ), v.value); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// output finds the parameter of the call that an output value belongs to, by name or, among parameters given by
// position, by order: the client knows it by the name and ordinal it used itself.
func (r *response) output(i int, name string) (int, string) {
	if r.call == nil {
		return i, name
	}
	seen := 0
	for at, p := range r.call.Params {
		if p.Name != "" && equalFold(p.Name, name) {
			return at, p.Name
		}
	}
	for at, p := range r.call.Params {
		if !p.Output {
			continue
		}
		if seen == i {
			if p.Name == "" {
				return at, name
			}
			return at, p.Name
		}
		seen++
	}
	return i, name
}

// finish ends the response: the last DONE without DONE_MORE, and the acknowledgement of an ATTENTION.
func (r *response) finish() error {
	if b := r.transactionChange(); b != nil && r.err == nil {
		// Before the DONE that waits: a driver that returns at an error's DONE (go-mssqldb) would send its next request with
		// the descriptor of a transaction that has ended.
		_, r.err = r.c.out.Write(b)
	}
	attention := r.req.finish()
	if last := r.last; last != nil && last.token == tokenDoneInProc {
		// The statement of a trigger that ended the batch: DONEINPROC is no end of a response ([MS-TDS] 2.2.7.7).
		r.put(nil)
		r.last = &done{token: tokenDone, status: last.status & doneError}
	}
	if r.err != nil {
		return r.err
	}
	last := r.last
	r.last = nil
	if last == nil {
		last = &done{token: tokenDone}
		switch {
		case r.req.typ == packetAttention:
			last.status, attention = doneAttention, false
		case attention:
			// Microsoft's ODBC driver takes a lone acknowledgement for a statement that succeeded.
			last.status = doneError
		}
	}
	if r.failed {
		last.status |= doneError
	}
	if r.fatal {
		last.status |= doneServerError
	}
	_, r.err = r.c.out.Write(r.c.version.appendDone(nil, last.token, last.status, last.command, last.count))
	if r.err == nil {
		r.err = r.c.out.end()
	}
	if attention && r.err == nil {
		// The acknowledgement is a message of its own: drivers (tedious, JDBC) read the cancelled response to its end first.
		if _, r.err = r.c.out.Write(r.c.version.appendDone(nil, tokenDone, doneAttention, CommandNone, 0)); r.err == nil {
			r.err = r.c.out.end()
		}
	}
	return r.err
}
