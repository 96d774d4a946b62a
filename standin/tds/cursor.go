// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"context"
	"errors"
	"fmt"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Server cursors as drivers open them by remote procedure call
// (docs/relational-databases/system-stored-procedures/sp-cursoropen-transact-sql.md and its neighbours). Each is static
// or forward-only and read-only, whatever was asked for: the rows are those of the moment of its opening.

// Values of scrollopt.
const (
	scrollKeyset        = 0x1
	scrollDynamic       = 0x2
	scrollForward       = 0x4
	scrollStatic        = 0x8
	scrollFastForward   = 0x10
	scrollKinds         = 0x1F
	scrollParameterized = 0x1000
	scrollAutoFetch     = 0x2000
	scrollAutoClose     = 0x4000
	scrollCheck         = 0x8000
	scrollForwardOK     = 0x40000
	scrollStaticOK      = 0x80000
	scrollFastForwardOK = 0x100000
)

// Values of ccopt.
const (
	concurReadOnly    = 0x1
	concurKinds       = 0xF
	concurAllowDirect = 0x2000
	concurCheck       = 0x8000
	concurReadOnlyOK  = 0x10000
)

// Return codes of the cursor procedures.
const (
	cursorDone     = 0
	cursorFailed   = 1
	cursorAdjusted = 2
	cursorClosed   = 16
)

// defaultFetch is the number of rows of a fetch that names none.
const defaultFetch = 20

// firstCursor is where the handles of cursors begin, so that none is taken for a prepared statement's.
const firstCursor int32 = 180150000

// maxCursors bounds the cursors of a connection.
const maxCursors = 1000

// serverCursor has its rows in memory; they count as the server's memory for requests.
type serverCursor struct {
	columns []Column
	rows    [][]any
	// options are what scrollopt says of the kind: static, forward-only or fast-forward.
	options int64
	// first is the first row of the fetch buffer, from 1; 0 before the rows, len(rows)+1 behind them. size is how many
	// rows it has.
	first, size int
	held        int
}

// rowStatus is the hidden last column of a cursor's rows, which some clients leave out by its name; fetchSucceeded its
// value.
var rowStatus = Column{Name: "ROWSTAT", Type: intType, Hidden: true}

const fetchSucceeded = int64(1)

// Cursors are the server cursors of a connection, by their handles, which begin apart from those of prepared
// statements.
type Cursors struct {
	all      map[int32]*serverCursor
	last     int32
	prepared *PreparedStatements
	// hold and release count the memory of rows.
	hold    func(int) bool
	release func(int)
}

// NewCursors are those of a session without a connection.
func NewCursors(prepared *PreparedStatements) *Cursors {
	return &Cursors{
		all:      map[int32]*serverCursor{},
		last:     firstCursor,
		prepared: prepared,
		hold:     func(int) bool { return true },
		release:  func(int) {},
	}
}

// CursorHost executes the statements of cursors.
type CursorHost interface {
	// IsQuery and Execute are those of Session.
	IsQuery(text string) bool
	Execute(ctx context.Context, text, decl string, params []Param, w Writer) error
}

// cursorRequest is one call of a cursor procedure.
type cursorRequest struct {
	*Cursors
	ctx  context.Context
	host CursorHost
	call Call
	w    Writer
	// given are the values of output parameters, by their place.
	given map[int]int64
}

// Call executes one of the cursor procedures and gives the values of its output parameters by their place; those of the
// statement come through the writer.
func (c *Cursors) Call(
	ctx context.Context,
	host CursorHost,
	name string,
	call Call,
	w Writer,
) (given map[int]int64, err error) {
	q := &cursorRequest{Cursors: c, ctx: ctx, host: host, call: call, w: w}
	err = q.run(name)
	return q.given, err
}

func (c *conn) cursorCall(r *request, name string, call Call, w *response) error {
	given, err := c.cursors.Call(r.ctx, c.session, name, call, w)
	own := w.values
	w.values = nil
	for at, p := range call.Params {
		if n, ok := given[at]; ok && p.Output {
			_ = w.ReturnValue(p.Name, intType, n)
		}
	}
	w.values = append(w.values, own...)
	return err
}

func (q *cursorRequest) run(name string) error {
	switch name {
	case "sp_cursoropen":
		return q.openCursor()
	case "sp_cursorprepare":
		return q.prepareCursor()
	case "sp_cursorexecute":
		return q.executeCursor()
	case "sp_cursorprepexec":
		return q.prepareAndOpenCursor()
	case "sp_cursorunprepare":
		return q.prepared.unprepare(q.call)
	}
	if len(q.call.Params) == 0 {
		return sqlerr.New(201, 10, name, "@cursor")
	}
	handle, _ := handleOf(q.call.Params[0])
	cursor := q.all[handle]
	if cursor == nil {
		return sqlerr.New(16909, 1, name, handle)
	}
	switch name {
	case "sp_cursorfetch":
		return q.fetchCursor(handle, cursor)
	case "sp_cursor":
		return cursor.operate(q.call, q.w)
	case "sp_cursoroption":
		return q.option(cursor)
	case "sp_cursorclose":
		q.close(handle)
		return q.w.ReturnStatus(cursorDone)
	}
	return sqlerr.New(2812, 62, name)
}

// opening is what the three procedures that open a cursor have in common: the statement and its parameters, and the
// places of scrollopt, ccopt and rowcount among the call's parameters.
type opening struct {
	procedure string
	Prepared
	params                     []Param
	cursor, scroll, cc, rowNum int
	// handle is the prepared handle that goes before the rest; 0 for none.
	handle int32
}

func (q *cursorRequest) openCursor() error {
	o, call := opening{procedure: "sp_cursoropen", cursor: 0, scroll: 2, cc: 3, rowNum: 4}, q.call
	if len(call.Params) < 2 {
		return sqlerr.New(201, 10, o.procedure, "@stmt")
	}
	var err error
	if o.Text, err = textOf(call.Params[1], o.procedure, "@stmt"); err != nil {
		return err
	}
	if len(call.Params) > 5 {
		if number(call, o.scroll, 0)&scrollParameterized == 0 {
			return sqlerr.New(16914, 1, o.procedure)
		}
		if o.Declaration, err = textOf(call.Params[5], o.procedure, "@paramdef"); err != nil {
			return err
		}
		o.params = call.Params[6:]
	}
	return q.open(o)
}

func (q *cursorRequest) prepareCursor() error {
	_, _, p, err := definition("sp_cursorprepare", q.call, "@handle", "@params", "@stmt")
	if err != nil {
		return err
	}
	if !q.host.IsQuery(p.Text) && number(q.call, 5, 0)&concurAllowDirect == 0 {
		return sqlerr.New(16937, 1)
	}
	handle, err := q.prepared.Keep(p)
	if err != nil {
		return err
	}
	q.given = map[int]int64{0: int64(handle), 4: granted(number(q.call, 4, scrollStatic)), 5: concurReadOnly}
	return nil
}

func (q *cursorRequest) executeCursor() error {
	o, call := opening{procedure: "sp_cursorexecute", cursor: 1, scroll: 2, cc: 3, rowNum: 4}, q.call
	if len(call.Params) < 2 {
		return sqlerr.New(201, 10, o.procedure, "@cursor")
	}
	p, err := q.prepared.as(call.Params[0])
	if err != nil {
		return err
	}
	o.Prepared, o.params = p, call.Params[min(5, len(call.Params)):]
	return q.open(o)
}

func (q *cursorRequest) prepareAndOpenCursor() error {
	// Its document has a parameter before scrollopt, options, which neither ODBC nor JDBC sends.
	o, call := opening{procedure: "sp_cursorprepexec", cursor: 1, scroll: 4, cc: 5, rowNum: 6}, q.call
	if len(call.Params) < 4 {
		return sqlerr.New(201, 10, o.procedure, "@stmt")
	}
	var err error
	if o.Declaration, err = textOf(call.Params[2], o.procedure, "@params"); err != nil {
		return err
	}
	if o.Text, err = textOf(call.Params[3], o.procedure, "@stmt"); err != nil {
		return err
	}
	if old, ok := call.Params[0].Value.(int64); ok {
		q.prepared.Drop(int32(old))
	}
	if o.handle, err = q.prepared.Keep(o.Prepared); err != nil {
		return err
	}
	o.params = call.Params[min(7, len(call.Params)):]
	return q.open(o)
}

// granted is the kind of cursor that is made where another is asked for.
func granted(asked int64) int64 {
	switch {
	case asked&scrollFastForward != 0:
		return scrollFastForward
	case asked&scrollForward != 0:
		return scrollForward
	}
	return scrollStatic
}

// open executes the statement, keeps its rows and tells the client what it got.
func (q *cursorRequest) open(o opening) error {
	scroll, cc := number(q.call, o.scroll, 0), number(q.call, o.cc, concurReadOnly)
	kind := granted(scroll)
	acceptable := map[int64]int64{scrollStatic: scrollStaticOK, scrollForward: scrollForwardOK,
		scrollFastForward: scrollFastForwardOK}[kind]
	if scroll&scrollCheck != 0 && scroll&acceptable == 0 || cc&concurCheck != 0 && cc&concurReadOnlyOK == 0 {
		return sqlerr.New(16955, 2)
	}
	if len(q.all) >= maxCursors {
		return sqlerr.New(16960, 1)
	}
	given := map[int]int64{o.cursor: 0, o.scroll: kind, o.cc: concurReadOnly, o.rowNum: -1}
	if o.handle != 0 {
		given[0] = int64(o.handle)
	}
	if !q.host.IsQuery(o.Text) {
		if cc&concurAllowDirect == 0 {
			return sqlerr.New(16937, 1)
		}
		// Clients know by this message that what follows is no cursor.
		_ = q.w.Message(informational(16954, "Executing SQL directly; no cursor."))
		q.given = given
		return q.host.Execute(q.ctx, o.Text, o.Declaration, o.params, q.w)
	}
	take := &cursorWriter{Writer: q.w, hold: q.hold}
	err := q.host.Execute(q.ctx, o.Text, o.Declaration, o.params, take)
	if err != nil || take.failed || q.cancelled() {
		q.release(take.held)
		return errors.Join(err, q.w.ReturnStatus(cursorFailed))
	}
	if take.sets != 1 {
		q.release(take.held)
		return sqlerr.New(16937, 2)
	}
	if asked := scroll & scrollKinds; asked == scrollKeyset || asked == scrollDynamic || cc&concurKinds > concurReadOnly {
		_ = q.w.Message(informational(16956, "The created cursor is not of the requested type."))
	}
	cursor := &serverCursor{
		columns: append(take.columns, rowStatus),
		rows:    take.rows,
		options: kind | scroll&scrollAutoClose,
		held:    take.held,
	}
	q.last++
	handle := q.last
	q.all[handle] = cursor
	given[o.cursor] = int64(handle)
	if kind == scrollStatic {
		given[o.rowNum] = int64(len(cursor.rows))
	}
	status := int32(cursorDone)
	_ = q.w.Columns(cursor.columns)
	if scroll&scrollAutoFetch != 0 && kind == scrollFastForward {
		n := number(q.call, o.rowNum, defaultFetch)
		status = cursor.send(q.move(handle, cursor, fetchNext, 0, int(max(1, min(n, int64(len(cursor.rows)+1))))), q.w)
		given[o.rowNum] = int64(cursor.size)
	} else {
		_ = q.w.Done(Rows(0))
	}
	q.given = given
	return q.w.ReturnStatus(status)
}

// cancelled tells whether the client has given the request up.
func (q *cursorRequest) cancelled() bool {
	if r, ok := q.w.(*response); ok {
		return r.cancelled()
	}
	return q.ctx.Err() != nil
}

// close forgets a cursor and its rows.
func (c *Cursors) close(handle int32) {
	if cursor := c.all[handle]; cursor != nil {
		c.release(cursor.held)
		delete(c.all, handle)
	}
}

// Clear is the end of the session, or its reset.
func (c *Cursors) Clear() {
	for handle := range c.all {
		c.close(handle)
	}
}

func informational(number int32, text string) *sqlerr.Error {
	return &sqlerr.Error{Number: number, Class: 10, State: 1, Message: text}
}

// number is an integer parameter of a call; NULL and one that is not given are the default.
func number(call Call, at int, otherwise int64) int64 {
	if at < len(call.Params) {
		if n, ok := call.Params[at].Value.(int64); ok {
			return n
		}
	}
	return otherwise
}

// cursorWriter keeps the rows of the statement of a cursor; messages and output parameters go to the client.
type cursorWriter struct {
	Writer
	hold    func(int) bool
	sets    int
	columns []Column
	rows    [][]any
	held    int
	failed  bool
}

var _ Writer = (*cursorWriter)(nil)

// Columns begins a result set; those after the first one are not kept.
func (w *cursorWriter) Columns(cols []Column) error {
	if w.sets++; w.sets == 1 {
		w.columns = append([]Column{}, cols...)
	}
	return nil
}

// Row keeps a row while the server has memory for it (error 701).
func (w *cursorWriter) Row(values []any) error {
	if w.sets != 1 || w.failed {
		return nil
	}
	size := 24 + 16*len(values)
	for _, v := range values {
		switch x := v.(type) {
		case string:
			size += len(x)
		case []byte:
			size += len(x)
		}
	}
	if !w.hold(size) {
		w.failed = true
		return w.Writer.Message(&sqlerr.Error{Number: 701, Class: 17, State: 123,
			Message: fmt.Sprintf(
				"There is insufficient memory to hold the %d rows of a cursor that were read so far.",
				len(w.rows),
			)})
	}
	w.held += size
	w.rows = append(w.rows, append([]any{}, values...))
	return nil
}

// Done ends a statement of which the client is not told.
func (w *cursorWriter) Done(Completion) error { return nil }

// Message tells the client.
func (w *cursorWriter) Message(e *sqlerr.Error) error {
	w.failed = w.failed || e.Class > 10
	return w.Writer.Message(e)
}

// ReturnStatus is that of a procedure that the cursor is opened on; the call has its own.
func (w *cursorWriter) ReturnStatus(int32) error { return nil }

// ReturnValue gives an output parameter of the statement.
func (w *cursorWriter) ReturnValue(name string, t sqltype.Type, value any) error {
	return w.Writer.ReturnValue(name, t, value)
}
