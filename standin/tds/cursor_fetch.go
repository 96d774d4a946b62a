// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"fmt"

	"geosql.dev/standin/sqlerr"
)

// Values of fetchtype (docs/relational-databases/system-stored-procedures/sp-cursorfetch-transact-sql.md).
const (
	fetchFirst        = 0x1
	fetchNext         = 0x2
	fetchPrevious     = 0x4
	fetchLast         = 0x8
	fetchAbsolute     = 0x10
	fetchRelative     = 0x20
	fetchRefresh      = 0x80
	fetchInfo         = 0x100
	fetchPreviousOnly = 0x200
	fetchSkipUpdate   = 0x400
)

// forwardRefused are the names of the fetch types that a forward-only cursor has not.
var forwardRefused = map[int64]string{
	fetchPrevious:     "prev",
	fetchPreviousOnly: "prev",
	fetchLast:         "last",
	fetchAbsolute:     "absolute",
	fetchRelative:     "relative",
}

func (q *cursorRequest) fetchCursor(handle int32, cursor *serverCursor) error {
	const procedure = "sp_cursorfetch"
	call, w := q.call, q.w
	kind, row, n := number(call, 1, fetchNext)&^fetchSkipUpdate, number(call, 2, 0), number(call, 3, defaultFetch)
	if kind == fetchInfo {
		at := cursor.first
		if at > len(cursor.rows) {
			at = -1
		}
		q.given = map[int]int64{2: int64(at), 3: cursor.count()}
		return w.ReturnStatus(cursorDone)
	}
	if name := forwardRefused[kind]; name != "" && cursor.options&scrollStatic == 0 {
		return sqlerr.New(16911, 1, procedure, name)
	}
	switch kind {
	case fetchFirst, fetchLast, fetchRefresh:
	case fetchNext, fetchPrevious, fetchPreviousOnly, fetchAbsolute, fetchRelative:
		if n == 0 {
			return sqlerr.New(16902, 1, procedure, "nrows")
		}
	default:
		return sqlerr.New(16902, 2, procedure, "fetchtype")
	}
	if n < 0 {
		return sqlerr.New(16902, 3, procedure, "nrows")
	}
	if r, ok := w.(*response); ok && call.noMetadata {
		_ = r.columnsUntold(cursor.columns)
	} else {
		_ = w.Columns(cursor.columns)
	}
	// Numbers beyond the rows mean what the nearest one beyond means, and cannot overflow.
	beyond := int64(2*len(cursor.rows) + 2)
	status := q.move(handle, cursor, kind, int(max(-beyond, min(row, beyond))), int(min(n, beyond)))
	return w.ReturnStatus(cursor.send(status, w))
}

// move places the fetch buffer: its first row and size. Nothing is fetched beyond the rows, where the cursor then is.
func (c *Cursors) move(handle int32, cursor *serverCursor, kind int64, row, n int) int32 {
	last, first, status := len(cursor.rows), cursor.first, int32(cursorDone)
	switch kind {
	case fetchFirst:
		first = min(1, n)
	case fetchNext:
		first += max(cursor.size, 1)
		if cursor.first == 0 {
			first = 1
		}
	case fetchPrevious, fetchPreviousOnly:
		first -= n
		switch {
		case cursor.first <= 1:
			first = 0
		case first < 1 && kind == fetchPrevious:
			first, status = 1, cursorAdjusted
		case first < 1:
			first, n = 1, cursor.first-1
		}
	case fetchLast:
		first = max(1, last-n+1)
		if n == 0 {
			first = last + 1
		}
	case fetchAbsolute:
		first = row
		if row < 0 {
			first, status = adjusted(last+1+row, row, n)
		}
	case fetchRelative:
		first += row
		if cursor.first > 1 {
			first, status = adjusted(first, row, n)
		}
	case fetchRefresh:
		n = cursor.size
	}
	cursor.first = max(0, min(first, last+1))
	cursor.size = 0
	if cursor.first > 0 {
		cursor.size = max(0, min(n, last-cursor.first+1))
	}
	if cursor.size < n && cursor.options&scrollAutoClose != 0 && cursor.options&scrollFastForward != 0 {
		c.close(handle)
		return cursorClosed
	}
	return status
}

// adjusted moves a fetch buffer that would begin before the first row to that row when it is not farther away than the
// buffer is long (docs/odbc/reference/syntax/sqlfetchscroll-function.md, Cursor Positioning Rules).
func adjusted(first, offset, n int) (int, int32) {
	if first < 1 && offset < 0 && -offset <= n {
		return 1, cursorAdjusted
	}
	return first, cursorDone
}

// send gives the rows of the fetch buffer and ends the result set.
func (cursor *serverCursor) send(status int32, w Writer) int32 {
	for i := range cursor.size {
		_ = w.Row(append(append(make([]any, 0, len(cursor.columns)), cursor.rows[cursor.first-1+i]...), fetchSucceeded))
	}
	_ = w.Done(Rows(int64(cursor.size)))
	return status
}

// columnsUntold begins a result set of columns that the client knows and does not want to be told again
// ([MS-TDS] 2.2.7.4, NoMetaData).
func (r *response) columnsUntold(cols []Column) error {
	if r.err != nil || r.cancelled() {
		return r.err
	}
	_, types, err := r.c.version.appendColumns(nil, r.c.told(cols))
	if err != nil {
		return r.misfit(fmt.Errorf("columns of a cursor: %w", err))
	}
	r.types, r.rows = types, true
	return r.put([]byte{tokenColumns, 0xFF, 0xFF})
}

// Values of sp_cursor's optype (docs/relational-databases/system-stored-procedures/sp-cursor-transact-sql.md).
const (
	operationRefresh     = 0x8
	operationSetPosition = 0x20
)

// operate is sp_cursor: rows of the fetch buffer are given again, which is how ODBC reads a row's values after a fetch.
// Everything that changes rows is refused, as it is for static cursors.
func (cursor *serverCursor) operate(call Call, w Writer) error {
	switch number(call, 1, 0) {
	case operationSetPosition:
		return w.ReturnStatus(cursorDone)
	case operationRefresh, operationRefresh | operationSetPosition:
	default:
		return sqlerr.New(16929, 1)
	}
	if cursor.size == 0 {
		return sqlerr.New(16931, 1)
	}
	row := number(call, 2, 0)
	if row < 0 || row > int64(cursor.size) {
		return sqlerr.New(16930, 1)
	}
	one := *cursor
	if row > 0 {
		one.first, one.size = cursor.first+int(row)-1, 1
	}
	_ = w.Columns(one.columns)
	return w.ReturnStatus(one.send(cursorDone, w))
}

// option is sp_cursoroption (docs/relational-databases/system-stored-procedures/sp-cursoroption-transact-sql.md). A
// name is of no consequence, since WHERE CURRENT OF finds none of these cursors, and texts are always sent whole.
func (q *cursorRequest) option(cursor *serverCursor) error {
	call, w := q.call, q.w
	switch number(call, 1, 0) {
	case 1, 2, 3:
	case 4:
		q.given = map[int]int64{2: cursor.options & scrollKinds}
	case 5:
		q.given = map[int]int64{2: concurReadOnly}
	case 6:
		q.given = map[int]int64{2: cursor.count()}
	default:
		return sqlerr.New(16902, 4, "sp_cursoroption", "code")
	}
	return w.ReturnStatus(cursorDone)
}

// count is the number of rows, -1 for a cursor that goes forward only and does not know it.
func (cursor *serverCursor) count() int64 {
	if cursor.options&scrollStatic == 0 {
		return -1
	}
	return int64(len(cursor.rows))
}
