// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"errors"
	"fmt"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// Server cursors as drivers open them by remote procedure call
// (docs/relational-databases/system-stored-procedures/sp-cursoropen-transact-sql.md and its neighbours). Each is static or
// forward-only and read-only, whatever was asked for: the rows are those of the moment of its opening.

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
	// first is the first row of the fetch buffer, from 1; 0 before the rows, len(rows)+1 behind them. size is how many rows it has.
	first, size int
	held        int
}

// rowStatus is the hidden last column of a cursor's rows, which some clients leave out by its name; fetchSucceeded its value.
var rowStatus = Column{Name: "ROWSTAT", Type: intType, Hidden: true}

const fetchSucceeded = int64(1)

func (c *conn) cursorCall(r *request, name string, call Call, w *response) error {
	switch name {
	case "sp_cursoropen":
		return c.openCursor(r, call, w)
	case "sp_cursorprepare":
		return c.prepareCursor(call, w)
	case "sp_cursorexecute":
		return c.executeCursor(r, call, w)
	case "sp_cursorprepexec":
		return c.prepareAndOpenCursor(r, call, w)
	case "sp_cursorunprepare":
		return c.unprepare(call)
	}
	if len(call.Params) == 0 {
		return sqlerr.New(201, 10, name, "@cursor")
	}
	handle, _ := handleOf(call.Params[0])
	cursor := c.cursors[handle]
	if cursor == nil {
		return sqlerr.New(16909, 1, name, handle)
	}
	switch name {
	case "sp_cursorfetch":
		return c.fetchCursor(handle, cursor, call, w)
	case "sp_cursor":
		return cursor.operate(call, w)
	case "sp_cursoroption":
		return cursor.option(call, w)
	case "sp_cursorclose":
		c.closeCursor(handle)
		return w.ReturnStatus(cursorDone)
	}
	return sqlerr.New(2812, 62, name)
}

// opening is what the three procedures that open a cursor have in common: the statement and its parameters, and the
// places of scrollopt, ccopt and rowcount among the call's parameters.
type opening struct {
	procedure string
	prepared
	params                     []Param
	cursor, scroll, cc, rowNum int
	// handle is the prepared handle that goes before the rest; 0 for none.
	handle int32
}

func (c *conn) openCursor(r *request, call Call, w *response) error {
	o := opening{procedure: "sp_cursoropen", cursor: 0, scroll: 2, cc: 3, rowNum: 4}
	if len(call.Params) < 2 {
		return sqlerr.New(201, 10, o.procedure, "@stmt")
	}
	var err error
	if o.text, err = textOf(call.Params[1], o.procedure, "@stmt"); err != nil {
		return err
	}
	if len(call.Params) > 5 {
		if number(call, o.scroll, 0)&scrollParameterized == 0 {
			return sqlerr.New(16914, 1, o.procedure)
		}
		if o.declaration, err = textOf(call.Params[5], o.procedure, "@paramdef"); err != nil {
			return err
		}
		o.params = call.Params[6:]
	}
	return c.open(r, call, o, w)
}

func (c *conn) prepareCursor(call Call, w *response) error {
	_, _, p, err := definition("sp_cursorprepare", call, "@handle", "@params", "@stmt")
	if err != nil {
		return err
	}
	if !c.session.IsQuery(p.text) && number(call, 5, 0)&concurAllowDirect == 0 {
		return sqlerr.New(16937, 1)
	}
	handle, err := c.keep(p)
	if err != nil {
		return err
	}
	outputs(call, w, map[int]int64{0: int64(handle), 4: granted(number(call, 4, scrollStatic)), 5: concurReadOnly})
	return nil
}

func (c *conn) executeCursor(r *request, call Call, w *response) error {
	o := opening{procedure: "sp_cursorexecute", cursor: 1, scroll: 2, cc: 3, rowNum: 4}
	if len(call.Params) < 2 {
		return sqlerr.New(201, 10, o.procedure, "@cursor")
	}
	handle, ok := handleOf(call.Params[0])
	p, known := c.prepared[handle]
	if !ok || !known {
		return sqlerr.New(8179, 2, handle)
	}
	o.prepared, o.params = p, call.Params[min(5, len(call.Params)):]
	return c.open(r, call, o, w)
}

func (c *conn) prepareAndOpenCursor(r *request, call Call, w *response) error {
	// Its document has a parameter before scrollopt, options, which neither ODBC nor JDBC sends.
	o := opening{procedure: "sp_cursorprepexec", cursor: 1, scroll: 4, cc: 5, rowNum: 6}
	if len(call.Params) < 4 {
		return sqlerr.New(201, 10, o.procedure, "@stmt")
	}
	var err error
	if o.declaration, err = textOf(call.Params[2], o.procedure, "@params"); err != nil {
		return err
	}
	if o.text, err = textOf(call.Params[3], o.procedure, "@stmt"); err != nil {
		return err
	}
	if old, ok := call.Params[0].Value.(int64); ok {
		delete(c.prepared, int32(old))
	}
	if o.handle, err = c.keep(o.prepared); err != nil {
		return err
	}
	o.params = call.Params[min(7, len(call.Params)):]
	return c.open(r, call, o, w)
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
func (c *conn) open(r *request, call Call, o opening, w *response) error {
	scroll, cc := number(call, o.scroll, 0), number(call, o.cc, concurReadOnly)
	kind := granted(scroll)
	acceptable := map[int64]int64{scrollStatic: scrollStaticOK, scrollForward: scrollForwardOK, scrollFastForward: scrollFastForwardOK}[kind]
	if scroll&scrollCheck != 0 && scroll&acceptable == 0 || cc&concurCheck != 0 && cc&concurReadOnlyOK == 0 {
		return sqlerr.New(16955, 2)
	}
	if len(c.cursors) >= maxCursors {
		return sqlerr.New(16960, 1)
	}
	given := map[int]int64{o.cursor: 0, o.scroll: kind, o.cc: concurReadOnly, o.rowNum: -1}
	if o.handle != 0 {
		given[0] = int64(o.handle)
	}
	if !c.session.IsQuery(o.text) {
		if cc&concurAllowDirect == 0 {
			return sqlerr.New(16937, 1)
		}
		// Clients know by this message that what follows is no cursor.
		w.Message(informational(16954, "Executing SQL directly; no cursor."))
		err := c.session.Execute(r.ctx, o.text, o.declaration, o.params, w)
		prepend(call, w, given)
		return err
	}
	take := &cursorWriter{response: w}
	err := c.session.Execute(r.ctx, o.text, o.declaration, o.params, take)
	if err != nil || take.failed || r.attention.Load() {
		c.srv.release(take.held)
		return errors.Join(err, w.ReturnStatus(cursorFailed))
	}
	if take.sets != 1 {
		c.srv.release(take.held)
		return sqlerr.New(16937, 2)
	}
	if asked := scroll & scrollKinds; asked == scrollKeyset || asked == scrollDynamic || cc&concurKinds > concurReadOnly {
		w.Message(informational(16956, "The created cursor is not of the requested type."))
	}
	cursor := &serverCursor{columns: append(take.columns, rowStatus), rows: take.rows, options: kind | scroll&scrollAutoClose, held: take.held}
	c.nextCursor++
	handle := c.nextCursor
	c.cursors[handle] = cursor
	given[o.cursor] = int64(handle)
	if kind == scrollStatic {
		given[o.rowNum] = int64(len(cursor.rows))
	}
	status := int32(cursorDone)
	_ = w.Columns(cursor.columns)
	if scroll&scrollAutoFetch != 0 && kind == scrollFastForward {
		n := number(call, o.rowNum, defaultFetch)
		status = cursor.send(c.move(handle, cursor, fetchNext, 0, int(max(1, min(n, int64(len(cursor.rows)+1))))), w)
		given[o.rowNum] = int64(cursor.size)
	} else {
		w.Done(0)
	}
	prepend(call, w, given)
	return w.ReturnStatus(status)
}

// closeCursor forgets a cursor and its rows.
func (c *conn) closeCursor(handle int32) {
	if cursor := c.cursors[handle]; cursor != nil {
		c.srv.release(cursor.held)
		delete(c.cursors, handle)
	}
}

// closeCursors is the end of the session, or its reset.
func (c *conn) closeCursors() {
	for handle := range c.cursors {
		c.closeCursor(handle)
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

// outputs gives integers for the parameters of a call that ask for one, in their order.
func outputs(call Call, w *response, given map[int]int64) {
	for at, p := range call.Params {
		if n, ok := given[at]; ok && p.Output {
			_ = w.ReturnValue(p.Name, intType, n)
		}
	}
}

// prepend is outputs for those that go before what the statement itself gave.
func prepend(call Call, w *response, given map[int]int64) {
	own := w.values
	w.values = nil
	outputs(call, w, given)
	w.values = append(w.values, own...)
}

// cursorWriter keeps the rows of the statement of a cursor; messages and output parameters go to the client.
type cursorWriter struct {
	*response
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
	if !w.c.srv.hold(size) {
		w.failed = true
		return w.response.Message(&sqlerr.Error{Number: 701, Class: 17, State: 123,
			Message: fmt.Sprintf("There is insufficient memory to hold the %d rows of a cursor that were read so far.", len(w.rows))})
	}
	w.held += size
	w.rows = append(w.rows, append([]any{}, values...))
	return nil
}

// Done ends a statement of which the client is not told.
func (w *cursorWriter) Done(int64) error { return nil }

// Message tells the client.
func (w *cursorWriter) Message(e *sqlerr.Error) error {
	w.failed = w.failed || e.Class > 10
	return w.response.Message(e)
}

// ReturnStatus is that of a procedure that the cursor is opened on; the call has its own.
func (w *cursorWriter) ReturnStatus(int32) error { return nil }

// ReturnValue gives an output parameter of the statement.
func (w *cursorWriter) ReturnValue(name string, t sqltype.Type, value any) error {
	return w.response.ReturnValue(name, t, value)
}
