// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"zombiezen.com/go/sqlite"
)

// rowApplier repeats changesets with prepared statements. It is quicker than sqlite3changeset_apply, which opens a
// savepoint for every changeset and copies every page that it touches aside.
type rowApplier struct {
	conn   *sqlite.Conn
	tables map[string]*tableApplier
}

// tableApplier has the statements of one table. They are those of the connection's cache, so nothing has to be closed.
type tableApplier struct {
	name    string
	columns []string
	key     []bool
	insert  *sqlite.Stmt
	// remove finds the row by its key and all its values.
	remove *sqlite.Stmt
	// updates are by the set of changed columns.
	updates map[string]*sqlite.Stmt
	// order is the only column of the key, -1 when it has several; waiting are new rows that are inserted in its order.
	order   int
	waiting [][]field
}

var (
	// errRowCollides is a row whose unique value another row still has: rows that exchange values collide on the way.
	errRowCollides = errors.New("a row collides with another on the way")
	// errOtherColumns is a table whose columns a changeset does not have one by one.
	errOtherColumns = errors.New("the table has other columns than the changeset")
)

func newRowApplier(conn *sqlite.Conn) *rowApplier {
	return &rowApplier{conn: conn, tables: map[string]*tableApplier{}}
}

// forget drops what is known of the tables, because the schema changed.
func (a *rowApplier) forget() { clear(a.tables) }

// apply repeats a changeset. After errRowCollides or errOtherColumns a part of it may be applied: the caller takes back
// the transaction and repeats it another way.
func (a *rowApplier) apply(changeset []byte) error {
	d := changesetDecoder{buf: changeset}
	var t *tableApplier
	var old, fresh []field
	for len(d.buf) > 0 && d.err == nil {
		b := d.byte()
		if b == 'T' {
			err := a.insertWaiting(t)
			if err == nil {
				t, err = a.table(&d)
			}
			if err != nil {
				return err
			}
			old, fresh = make([]field, len(t.columns)), make([]field, len(t.columns))
			continue
		}
		op := Op(b)
		if t == nil || (op != OpInsert && op != OpUpdate && op != OpDelete) {
			return fmt.Errorf("changeset has an unknown entry %#x", b)
		}
		d.byte()
		if op != OpInsert {
			d.fields(old)
		}
		if op != OpDelete {
			d.fields(fresh)
		}
		if d.err != nil {
			break
		}
		if op == OpInsert && t.sorted(fresh) {
			t.waiting = append(t.waiting, append([]field(nil), fresh...))
			continue
		}
		if err := a.row(t, op, old, fresh); err != nil {
			return err
		}
	}
	if d.err != nil {
		return d.err
	}
	return a.insertWaiting(t)
}

// sorted tells whether a new row waits for the others of its changeset, to be inserted in the order of the key: a
// changeset is in the order of a hash, which would split pages all over the table.
func (t *tableApplier) sorted(fresh []field) bool {
	return t.order >= 0 && fresh[t.order].kind == fieldInteger
}

func (a *rowApplier) insertWaiting(t *tableApplier) error {
	if t == nil || len(t.waiting) == 0 {
		return nil
	}
	rows := t.waiting
	t.waiting = nil
	slices.SortFunc(rows, func(x, y []field) int {
		return cmp.Compare(int64(binary.BigEndian.Uint64(x[t.order].data)), int64(binary.BigEndian.Uint64(y[t.order].data)))
	})
	for _, r := range rows {
		if err := a.row(t, OpInsert, nil, r); err != nil {
			return err
		}
	}
	return nil
}

// table reads a table's header.
func (a *rowApplier) table(d *changesetDecoder) (*tableApplier, error) {
	n := int(d.varint())
	if n <= 0 || n > len(d.buf) {
		return nil, fmt.Errorf("changeset's table has %d columns", n)
	}
	key := make([]bool, n)
	for i := range key {
		key[i] = d.byte() != 0
	}
	name := d.cstring()
	if d.err != nil {
		return nil, d.err
	}
	if t := a.tables[name]; t != nil {
		return t, nil
	}
	columns, err := tableColumns(a.conn, name)
	if err != nil {
		return nil, err
	}
	if len(columns) != n {
		return nil, fmt.Errorf("apply changes to %s: %w", name, errOtherColumns)
	}
	t := &tableApplier{
		name:    name,
		columns: columns,
		key:     key,
		updates: map[string]*sqlite.Stmt{},
		order:   slices.Index(key, true),
	}
	if slices.Contains(key[t.order+1:], true) {
		t.order = -1
	}
	a.tables[name] = t
	return t, nil
}

func (a *rowApplier) row(t *tableApplier, op Op, old, fresh []field) error {
	var stmt *sqlite.Stmt
	var err error
	switch op {
	case OpInsert:
		stmt, err = a.bindInsert(t, fresh)
	case OpDelete:
		stmt, err = a.bindDelete(t, old)
	default:
		stmt, err = a.bindUpdate(t, old, fresh)
	}
	if err != nil {
		return fmt.Errorf("apply changes to %s: %w", t.name, err)
	}
	_, err = stmt.Step()
	if e := stmt.Reset(); err == nil {
		err = e
	}
	switch {
	case err != nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultConstraint:
		return fmt.Errorf("apply changes to %s: %w", t.name, errRowCollides)
	case err != nil:
		return fmt.Errorf("apply changes to %s: %w", t.name, err)
	case a.conn.Changes() != 1:
		return fmt.Errorf("apply changes to %s: the row does not match the log", t.name)
	}
	return nil
}

func (a *rowApplier) bindInsert(t *tableApplier, fresh []field) (*sqlite.Stmt, error) {
	if t.insert == nil {
		sql := []byte("INSERT INTO main." + quote(t.name) + " VALUES (?")
		for range len(t.columns) - 1 {
			sql = append(sql, ",?"...)
		}
		stmt, err := a.conn.Prepare(string(append(sql, ')')))
		if err != nil {
			return nil, err
		}
		t.insert = stmt
	}
	for i := range fresh {
		fresh[i].bind(t.insert, i+1)
	}
	return t.insert, nil
}

func (a *rowApplier) bindDelete(t *tableApplier, old []field) (*sqlite.Stmt, error) {
	if t.remove == nil {
		sql := "DELETE FROM main." + quote(t.name) + " WHERE "
		for i, c := range t.columns {
			if i > 0 {
				sql += " AND "
			}
			sql += quote(c) + " IS ?"
		}
		stmt, err := a.conn.Prepare(sql)
		if err != nil {
			return nil, err
		}
		t.remove = stmt
	}
	for i := range old {
		old[i].bind(t.remove, i+1)
	}
	return t.remove, nil
}

// bindUpdate sets the columns that have a new value, where the row has the key and the old values of those columns.
func (a *rowApplier) bindUpdate(t *tableApplier, old, fresh []field) (*sqlite.Stmt, error) {
	set := make([]byte, len(fresh))
	for i := range fresh {
		if fresh[i].kind != fieldUndefined {
			set[i] = 1
		}
	}
	stmt := t.updates[string(set)]
	if stmt == nil {
		assign, where := "", ""
		for i, c := range t.columns {
			if set[i] == 1 {
				if assign != "" {
					assign += ", "
				}
				assign += quote(c) + " = ?"
			}
			if t.key[i] || set[i] == 1 {
				if where != "" {
					where += " AND "
				}
				where += quote(c) + " IS ?"
			}
		}
		var err error
		if stmt, err = a.conn.Prepare("UPDATE main." + quote(t.name) + " SET " + assign + " WHERE " + where); err != nil {
			return nil, err
		}
		t.updates[string(set)] = stmt
	}
	n := 1
	for i := range fresh {
		if set[i] == 1 {
			fresh[i].bind(stmt, n)
			n++
		}
	}
	for i := range old {
		if t.key[i] || set[i] == 1 {
			old[i].bind(stmt, n)
			n++
		}
	}
	return stmt, nil
}

// field is a value of a changeset as it stands there.
type field struct {
	kind byte
	data []byte
}

// The kinds of values in a changeset.
const (
	fieldUndefined = 0
	fieldInteger   = 1
	fieldFloat     = 2
	fieldText      = 3
	fieldBlob      = 4
	fieldNull      = 5
)

// fields reads a record without copying its values.
func (d *changesetDecoder) fields(into []field) {
	for i := range into {
		kind := d.byte()
		into[i] = field{kind: kind}
		switch kind {
		case fieldUndefined, fieldNull:
		case fieldInteger, fieldFloat:
			into[i].data = d.take(8)
		case fieldText, fieldBlob:
			into[i].data = d.take(int(d.varint()))
		default:
			d.err = fmt.Errorf("changeset has a value of unknown type %d", kind)
		}
		if d.err != nil {
			return
		}
	}
}

func (f field) bind(stmt *sqlite.Stmt, i int) {
	switch f.kind {
	case fieldInteger:
		stmt.BindInt64(i, int64(binary.BigEndian.Uint64(f.data)))
	case fieldFloat:
		stmt.BindFloat(i, math.Float64frombits(binary.BigEndian.Uint64(f.data)))
	case fieldText:
		stmt.BindText(i, string(f.data))
	case fieldBlob:
		if len(f.data) == 0 {
			stmt.BindZeroBlob(i, 0)
			return
		}
		stmt.BindBytes(i, f.data)
	default:
		stmt.BindNull(i)
	}
}
