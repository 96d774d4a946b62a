// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// capture collects a transaction's log records. Between two DDL statements a recorder gathers the net changes. One
// whose changes were taken (before DDL) is kept disabled until the transaction ends, because a rollback to an earlier
// savepoint makes it current again.
type capture struct {
	db        *Database
	conn      *sqlite.Conn
	recorders []*recorder
	taken     []record
	// schemaVersion is SQLite's, to detect DDL that went past ExecDDL.
	schemaVersion int64
	publishedNew  map[string]bool
	// buffers have what was taken.
	buffers []*bytes.Buffer
	// keeps is set once tables were copied aside for undo.
	keeps bool
	// quiet is set while rows change as part of a change of the schema (Tx.Quietly).
	quiet bool
	// partOf is what rows are changed as a part of (Tx.PartOf).
	partOf []byte
}

type captureMark struct {
	recorders, taken int
	schemaVersion    int64
}

func (c *capture) start() error {
	if c.db.opts.Logless {
		return nil
	}
	v, err := readInt(c.conn, "PRAGMA main.schema_version")
	if err != nil {
		return err
	}
	c.schemaVersion = v
	if c.db.changes == nil {
		if c.db.changes, err = newChangeHook(c.conn); err != nil {
			return err
		}
	}
	c.db.changes.begin(v)
	c.record()
	return nil
}

// record begins a recorder.
func (c *capture) record() {
	r := c.db.changes.newRecorder()
	r.partOf = c.partOf
	c.recorders = append(c.recorders, r)
}

// changesets are buffers that no transaction uses.
var changesets = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// stop ends the capture; nothing that was taken may be in use any more.
func (c *capture) stop() {
	if h := c.db.changes; len(c.recorders) > 0 {
		h.end()
		if len(c.recorders) > 1 {
			h.forget()
		}
	}
	for _, b := range c.buffers {
		if b.Cap() <= keptBuffer {
			b.Reset()
			changesets.Put(b)
		}
	}
	c.recorders, c.taken, c.buffers = nil, nil, nil
}

func (c *capture) mark() captureMark {
	return captureMark{len(c.recorders), len(c.taken), c.schemaVersion}
}

func (c *capture) rewind(m captureMark) error {
	if c.db.opts.Logless {
		return nil
	}
	if len(c.recorders) > m.recorders {
		c.recorders = c.recorders[:m.recorders]
		c.db.changes.recorders = c.recorders
		c.db.changes.forget()
	}
	c.recorders[m.recorders-1].enabled = true
	c.taken = c.taken[:m.taken]
	v, err := readInt(c.conn, "PRAGMA main.schema_version")
	c.schemaVersion = v
	if current := c.recorders[m.recorders-1]; err == nil && !bytes.Equal(current.partOf, c.partOf) {
		// What it has was changed as a part of something else than what comes now.
		return c.separate()
	}
	return err
}

func (c *capture) setPublished(p map[string]bool) { c.publishedNew = p }

func (c *capture) published() map[string]bool {
	if c.publishedNew != nil {
		return c.publishedNew
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	return c.db.published
}

// take moves the current recorder's changes into records.
func (c *capture) take() error {
	buf, _ := changesets.Get().(*bytes.Buffer)
	c.buffers = append(c.buffers, buf)
	current := c.recorders[len(c.recorders)-1]
	if err := current.writeChangeset(buf); err != nil {
		return fmt.Errorf("capture changes: %w", err)
	}
	if buf.Len() == 0 {
		return nil
	}
	if current.partOf != nil {
		c.taken = append(c.taken, record{recordMark, encodeMark(Mark{Kind: partMark, Payload: current.partOf})})
	}
	c.taken = append(c.taken, record{recordChanges, buf.Bytes()})
	published := c.published()
	if len(published) == 0 || c.quiet {
		return nil
	}
	images, err := captureImages(c.conn, buf.Bytes(), published)
	if err != nil {
		return err
	}
	if len(images) > 0 {
		c.taken = append(c.taken, record{recordImages, images})
	}
	return nil
}

// separate ends a record of changes: what is changed from here on goes into another one.
func (c *capture) separate() error {
	if err := c.take(); err != nil {
		return err
	}
	c.recorders[len(c.recorders)-1].enabled = false
	c.record()
	return nil
}

// records ends the capture.
func (c *capture) records() ([]record, error) {
	v, err := readInt(c.conn, "PRAGMA main.schema_version")
	if err != nil {
		return nil, err
	}
	if v != c.schemaVersion {
		return nil, errors.New("the schema was changed without ExecDDL, which no other copy would see")
	}
	if err := c.take(); err != nil {
		return nil, err
	}
	return c.taken, nil
}

// ExecDDL executes SQLite DDL (one or more statements without parameters) and records it for redo, with what undoes it.
// New tables must have a primary key: changes of others cannot be captured.
func (tx *Tx) ExecDDL(sql string) error {
	c := &tx.capture
	if c.db.opts.Logless {
		return executeScript(tx.conn, sql)
	}
	before, err := readSchema(tx.conn)
	if err != nil {
		return err
	}
	m := c.mark()
	if err := c.take(); err != nil {
		return err
	}
	// Redo repeats the text, rows that it moves included.
	c.recorders[len(c.recorders)-1].enabled = false
	err = tx.changeSchema(sql, before)
	if err != nil {
		return fmt.Errorf("change the schema: %w", errors.Join(err, c.rewind(m)))
	}
	return nil
}

// changeSchema executes DDL. Where tables are lost by it, and may have to come back, it is executed once to find out
// which, and again after those were copied aside.
func (tx *Tx) changeSchema(sql string, before map[string]schemaObject) (err error) {
	defer sqlitex.Save(tx.conn)(&err)
	if err := exec(tx.conn, "SAVEPOINT schema_change"); err != nil {
		return err
	}
	if err := executeScript(tx.conn, sql); err != nil {
		return err
	}
	after, err := readSchema(tx.conn)
	if err != nil {
		return err
	}
	change := schemaChange{sql: sql}
	refill := map[string]string{}
	if lost := lostTables(before, after); len(lost) > 0 && !tx.db.keepsUndo() {
		change.final = true
	} else if len(lost) > 0 {
		if err := exec(tx.conn, "ROLLBACK TO schema_change"); err != nil {
			return err
		}
		change.kept = newKept(lost)
		if err := keepTables(tx.conn, change.kept); err != nil {
			return err
		}
		for _, k := range change.kept {
			if refill[k.table], err = refillSQL(tx.conn, k); err != nil {
				return err
			}
		}
		if err := executeScript(tx.conn, sql); err != nil {
			return err
		}
		tx.capture.keeps = true
	}
	if err := exec(tx.conn, "RELEASE schema_change"); err != nil {
		return err
	}
	if !change.final {
		change.undo = undoSchema(before, after, refill)
	}
	return tx.recordDDL(change, before, after)
}

func (tx *Tx) recordDDL(change schemaChange, before, after map[string]schemaObject) error {
	c := &tx.capture
	for _, o := range after {
		if _, old := before[o.key()]; old || o.kind != "table" {
			continue
		}
		n, err := readInt(tx.conn, "SELECT count(*) FROM pragma_table_info("+literal(o.name)+") WHERE pk > 0")
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("table %s has no primary key, so its changes cannot be captured", o.name)
		}
	}
	c.taken = append(c.taken, record{recordSchema, change.encode()})
	v, err := readInt(tx.conn, "PRAGMA main.schema_version")
	if err != nil {
		return err
	}
	c.schemaVersion = v
	c.db.changes.schemaIs(v)
	c.record()
	return nil
}

// executeScript executes statements one after another and drops their rows.
func executeScript(conn *sqlite.Conn, sql string) error {
	rest := strings.TrimSpace(sql)
	for rest != "" {
		stmt, trailing, err := conn.PrepareTransient(rest)
		if err != nil {
			return err
		}
		if stmt == nil {
			return nil
		}
		for more := true; more && err == nil; {
			more, err = stmt.Step()
		}
		if e := stmt.Finalize(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
		rest = strings.TrimSpace(rest[len(rest)-trailing:])
	}
	return nil
}

func readInt(conn *sqlite.Conn, sql string) (int64, error) {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", sql, err)
	}
	defer stmt.Reset()
	if more, err := stmt.Step(); err != nil || !more {
		return 0, fmt.Errorf("%s: no answer: %w", sql, err)
	}
	return stmt.ColumnInt64(0), nil
}

// literal makes a SQLite string literal.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
