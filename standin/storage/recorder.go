// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// recorder gathers which rows of a database were changed, and makes a changeset of them: what it was before the first
// change compared with what is there in the end. Changes that were taken back meanwhile, by a savepoint or by a
// statement that failed, leave nothing. It does what a session of SQLite's session extension does
// (https://www.sqlite.org/sessionintro.html), which reads and compiles the same for every transaction anew. Tables
// without a primary key, and rows with NULL in it, are ignored.
type recorder struct {
	hook    *changeHook
	enabled bool
	tables  []*recordedTable
	byName  map[string]*recordedTable
	// err is the first thing that could not be recorded: there is no changeset then.
	err error
	// partOf is what all its changes are a part of (Tx.PartOf).
	partOf []byte
}

// recordedTable has the changes of one table in the order of the rows' first ones.
type recordedTable struct {
	*tableShape
	changes []recordedRow
	// byRowid is made when rows do not come in the order of their numbers any more: until then changes is in that order.
	byRowid map[int64]bool
	byKey   map[string]bool
	// now is where the row as it is comes.
	now []byte
}

// recordedRow is a row that was changed.
type recordedRow struct {
	// inserted says that there was none with its key before.
	inserted bool
	// rowid is its key where the table's shape says so.
	rowid int64
	// old is the row as it was, or, of one that was inserted and has no rowid for its key, the key: values as a changeset
	// has them.
	old []byte
}

func (h *changeHook) newRecorder() *recorder {
	r := &recorder{hook: h, enabled: true, byName: map[string]*recordedTable{}}
	h.recorders = append(h.recorders, r)
	return r
}

// table is the one with a name, nil when its changes are not recorded.
func (r *recorder) table(name string) *recordedTable {
	if t, known := r.byName[name]; known {
		return t
	}
	shape, err := r.hook.shape(name)
	if err != nil {
		r.err = fmt.Errorf("capture changes of %s: %w", name, err)
		return nil
	}
	var t *recordedTable
	if shape != nil {
		t = &recordedTable{tableShape: shape}
		r.tables = append(r.tables, t)
		name = shape.name
	} else {
		name = strings.Clone(name)
	}
	r.byName[name] = t
	return t
}

// change is called before each change of a row. rowid is that of the row before it, or, when it is inserted, after it.
func (r *recorder) change(tls *libc.TLS, t *recordedTable, inserted bool, rowid int64) {
	if n := sqlite3.Xsqlite3_preupdate_count(tls, r.hook.db); int(n) != t.total {
		r.err = fmt.Errorf("capture changes of %s: it has %d columns instead of %d", t.name, n, t.total)
		return
	}
	row := recordedRow{inserted: inserted, rowid: rowid}
	if t.rowid {
		if t.knows(rowid) {
			return
		}
	} else {
		key, null := r.key(tls, t, inserted)
		if r.err != nil || null || t.byKey[string(key)] {
			return
		}
		if t.byKey == nil {
			t.byKey = map[string]bool{}
		}
		t.byKey[string(key)] = true
		row.old = key
	}
	if !inserted {
		row.old = nil
		for _, c := range t.columns {
			row.old = r.append(tls, row.old, c.index, false)
		}
	}
	t.add(row)
}

// knows tells whether a row was changed before.
func (t *recordedTable) knows(rowid int64) bool {
	if t.byRowid != nil {
		return t.byRowid[rowid]
	}
	_, found := slices.BinarySearchFunc(
		t.changes,
		rowid,
		func(c recordedRow, rowid int64) int { return cmp.Compare(c.rowid, rowid) },
	)
	return found
}

func (t *recordedTable) add(row recordedRow) {
	n := len(t.changes)
	t.changes = append(t.changes, row)
	switch {
	case !t.rowid:
	case t.byRowid != nil:
		t.byRowid[row.rowid] = true
	case n > 0 && row.rowid < t.changes[n-1].rowid:
		t.byRowid = make(map[int64]bool, 2*len(t.changes))
		for _, c := range t.changes {
			t.byRowid[c.rowid] = true
		}
	}
}

// key is the row's primary key; null when there is a NULL in it.
func (r *recorder) key(tls *libc.TLS, t *recordedTable, inserted bool) (key []byte, null bool) {
	for _, c := range t.columns {
		if c.key == 0 {
			continue
		}
		at := len(key)
		key = r.append(tls, key, c.index, inserted)
		null = null || r.err == nil && key[at] == fieldNull
	}
	return key, null
}

// append adds a column's value before (or, of a row that is inserted, after) the change that is being made.
func (r *recorder) append(tls *libc.TLS, buf []byte, column int32, inserted bool) []byte {
	read := sqlite3.Xsqlite3_preupdate_old
	if inserted {
		read = sqlite3.Xsqlite3_preupdate_new
	}
	if rc := read(tls, r.hook.db, column, r.hook.value); rc != sqlite3.SQLITE_OK {
		r.err = fmt.Errorf("capture changes: read a value: %w", sqlite.ResultCode(rc).ToError())
		return buf
	}
	return appendSQLiteValue(tls, buf, *pointer[uintptr](r.hook.value))
}

// writeChangeset adds the changeset to out.
func (r *recorder) writeChangeset(out *bytes.Buffer) error {
	if r.err != nil {
		return r.err
	}
	buf := out.AvailableBuffer()
	for _, t := range r.tables {
		if len(t.changes) == 0 {
			continue
		}
		start := len(buf)
		buf = t.appendHeader(buf)
		head := len(buf)
		var err error
		if buf, err = t.appendChanges(r.hook.conn, buf); err != nil {
			return fmt.Errorf("read the changes of %s: %w", t.name, err)
		}
		if len(buf) == head {
			buf = buf[:start]
		}
	}
	_, err := out.Write(buf)
	return err
}

// appendChanges reads the rows that were changed and adds what became of them.
func (t *recordedTable) appendChanges(conn *sqlite.Conn, buf []byte) ([]byte, error) {
	single, err := conn.Prepare(t.query)
	if err != nil {
		return buf, err
	}
	defer single.Reset()
	for rest := t.changes; len(rest) > 0 && err == nil; {
		n := 1
		if t.rowid {
			n = consecutive(rest)
		}
		if n > 1 {
			buf, err = t.appendRun(conn, buf, rest[:n])
		} else {
			buf, err = t.appendSingle(single, buf, &rest[0])
		}
		rest = rest[n:]
	}
	return buf, err
}

// consecutive is how many of the first changes are of rows whose numbers follow one another.
func consecutive(changes []recordedRow) int {
	n := 1
	for n < len(changes) && changes[n].rowid > changes[n-1].rowid && changes[n].rowid-1 == changes[n-1].rowid {
		n++
	}
	return n
}

// appendRun adds changes of consecutive rows, which are read together.
func (t *recordedTable) appendRun(conn *sqlite.Conn, buf []byte, run []recordedRow) ([]byte, error) {
	stmt, err := conn.Prepare(t.runQuery)
	if err != nil {
		return buf, err
	}
	defer stmt.Reset()
	stmt.BindInt64(1, run[0].rowid)
	stmt.BindInt64(2, run[len(run)-1].rowid)
	more, err := stmt.Step()
	for i := 0; i < len(run) && err == nil; i++ {
		exists := more && stmt.ColumnInt64(t.keyAt) == run[i].rowid
		if buf, err = t.appendChange(buf, &run[i], stmt, exists); err == nil && exists {
			more, err = stmt.Step()
		}
	}
	return buf, err
}

func (t *recordedTable) appendSingle(stmt *sqlite.Stmt, buf []byte, c *recordedRow) ([]byte, error) {
	if err := t.bindKey(stmt, c); err != nil {
		return buf, err
	}
	exists, err := stmt.Step()
	if err != nil {
		return buf, err
	}
	buf, err = t.appendChange(buf, c, stmt, exists)
	if e := stmt.Reset(); err == nil {
		err = e
	}
	return buf, err
}

// appendChange adds what became of a row, which stmt is at when it exists.
func (t *recordedTable) appendChange(buf []byte, c *recordedRow, stmt *sqlite.Stmt, exists bool) ([]byte, error) {
	switch {
	case exists && c.inserted:
		buf = append(buf, byte(OpInsert), 0)
		for i := range t.columns {
			buf = appendColumn(buf, stmt, i)
		}
	case exists:
		t.now = t.now[:0]
		for i := range t.columns {
			t.now = appendColumn(t.now, stmt, i)
		}
		return t.appendUpdate(buf, c.old, t.now)
	case !c.inserted:
		buf = append(append(buf, byte(OpDelete), 0), c.old...)
	}
	return buf, nil
}

// appendUpdate adds what is different: the key and the values that changed, before and after. Nothing is added when
// there is no difference.
func (t *recordedTable) appendUpdate(buf, old, now []byte) ([]byte, error) {
	before, after := changesetDecoder{buf: old}, changesetDecoder{buf: now}
	start := len(buf)
	buf = append(buf, byte(OpUpdate), 0)
	var fresh []byte
	different := false
	for _, c := range t.columns {
		was, is := before.raw(), after.raw()
		changed := !bytes.Equal(was, is)
		different = different || changed
		if changed || c.key > 0 {
			buf = append(buf, was...)
		} else {
			buf = append(buf, fieldUndefined)
		}
		if changed {
			fresh = append(fresh, is...)
		} else {
			fresh = append(fresh, fieldUndefined)
		}
	}
	if err := errors.Join(before.err, after.err); err != nil {
		return buf, err
	}
	if !different {
		return buf[:start], nil
	}
	return append(buf, fresh...), nil
}

// bindKey binds the key of a changed row to the statement that reads it.
func (t *recordedTable) bindKey(stmt *sqlite.Stmt, c *recordedRow) error {
	if t.rowid {
		stmt.BindInt64(1, c.rowid)
		return nil
	}
	d := changesetDecoder{buf: c.old}
	n := 0
	for _, column := range t.columns {
		if column.key == 0 && c.inserted {
			continue
		}
		v := d.value()
		if column.key > 0 {
			n++
			BindValue(stmt, n, v)
		}
	}
	return d.err
}
