// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"context"
	"database/sql"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

// cursorClient calls the cursor procedures over one connection.
type cursorClient struct {
	Gomega
	c *sql.Conn
}

func newCursorClient(t *testing.T, change ...func(*tds.Config)) cursorClient {
	g := NewWithT(t)
	_, address := serve(t, change...)
	c, err := open(t, address, "encrypt=false").Conn(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { c.Close() })
	return cursorClient{g, c}
}

// opened is what sp_cursoropen says.
type opened struct{ cursor, scroll, cc, rows int64 }

func (c cursorClient) open(text string, scroll, cc int64) (opened, error) {
	o := opened{scroll: scroll, cc: cc}
	_, err := c.c.ExecContext(
		context.Background(),
		"sp_cursoropen",
		sql.Named("cursor", sql.Out{Dest: &o.cursor}),
		sql.Named("stmt", text),
		sql.Named(
			"scrollopt",
			sql.Out{Dest: &o.scroll, In: true},
		),
		sql.Named("ccopt", sql.Out{Dest: &o.cc, In: true}),
		sql.Named("rowcount", sql.Out{Dest: &o.rows}),
	)
	return o, err
}

// fetch gives the first column of the rows, and the return code.
func (c cursorClient) fetch(cursor int64, kind, row, n int) ([]int, int, error) {
	var status mssql.ReturnStatus
	rows, err := c.c.QueryContext(
		context.Background(),
		"sp_cursorfetch",
		sql.Named("cursor", cursor),
		sql.Named("fetchtype", kind),
		sql.Named("rownum", row),
		sql.Named("nrows", n),
		&status,
	)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	c.Expect(err).NotTo(HaveOccurred())
	// The R2DBC driver leaves the column out of its rows by this name, in capitals.
	c.Expect(names[len(names)-1]).To(Equal("ROWSTAT"))
	seen := []int{}
	for rows.Next() {
		var n, ok int
		var filler string
		c.Expect(rows.Scan(&n, &filler, &ok)).To(Succeed())
		c.Expect(ok).To(Equal(1), "rowstat")
		seen = append(seen, n)
	}
	c.Expect(rows.Close()).To(Succeed())
	return seen, int(status), rows.Err()
}

// TestStaticCursor goes through the fetch types
// (docs/relational-databases/system-stored-procedures/sp-cursorfetch-transact-sql.md).
func TestStaticCursor(t *testing.T) {
	c := newCursorClient(t)
	o, err := c.open("rows 10", 8, 1)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(o).To(Equal(opened{o.cursor, 8, 1, 10}))
	const first, next, prev, last, absolute, relative, refresh, info, noAdjust = 1, 2, 4, 8, 0x10, 0x20, 0x80, 0x100, 0x200
	for _, step := range []struct {
		kind, row, n int
		want         []int
		status       int
	}{
		{kind: next, n: 3, want: []int{0, 1, 2}},
		{kind: next, n: 3, want: []int{3, 4, 5}},
		{kind: refresh, n: 9, want: []int{3, 4, 5}},
		{kind: prev, n: 2, want: []int{1, 2}},
		{kind: prev, n: 5, want: []int{0, 1, 2, 3, 4}, status: 2},
		{kind: prev, n: 1, want: []int{}},
		{kind: next, n: 1, want: []int{0}},
		{kind: last, n: 3, want: []int{7, 8, 9}},
		{kind: next, n: 1, want: []int{}},
		{kind: prev, n: 1, want: []int{9}},
		{kind: absolute, row: 4, n: 2, want: []int{3, 4}},
		{kind: relative, row: -2, n: 2, want: []int{1, 2}},
		{kind: noAdjust, n: 5, want: []int{0}},
		{kind: absolute, row: -2, n: 5, want: []int{8, 9}},
		{kind: absolute, row: 11, n: 1, want: []int{}},
		{kind: absolute, row: 2147483647, n: 2147483647, want: []int{}},
		{kind: absolute, row: -11, n: 1, want: []int{}},
		{kind: absolute, row: -11, n: 11, want: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, status: 2},
		{kind: absolute, row: 3, n: 1, want: []int{2}},
		{kind: relative, row: -4, n: 3, want: []int{}},
		{kind: absolute, row: 3, n: 1, want: []int{2}},
		{kind: relative, row: -4, n: 4, want: []int{0, 1, 2, 3}, status: 2},
		{kind: relative, row: -1, n: 4, want: []int{}},
		{kind: first, n: 1, want: []int{0}},
		{kind: last, n: 0, want: []int{}},
		{kind: prev, n: 2, want: []int{8, 9}},
		{kind: 0x400 | next, n: 1, want: []int{}},
		{kind: first, n: 2, want: []int{0, 1}},
	} {
		got, status, err := c.fetch(o.cursor, step.kind, step.row, step.n)
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(got).To(Equal(step.want), "%+v", step)
		c.Expect(status).To(Equal(step.status), "%+v", step)
	}
	row, n := int64(0), int64(0)
	_, err = c.c.ExecContext(
		context.Background(),
		"sp_cursorfetch",
		sql.Named("cursor", o.cursor),
		sql.Named("fetchtype", info),
		sql.Named("rownum", sql.Out{Dest: &row, In: true}),
		sql.Named("nrows", sql.Out{Dest: &n, In: true}),
	)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect([]int64{row, n}).To(Equal([]int64{1, 10}))
	for _, wrong := range [][3]int{{0x40, 1, 1}, {next, 0, 0}, {next, 0, -1}, {3, 0, 1}} {
		_, _, err := c.fetch(o.cursor, wrong[0], wrong[1], wrong[2])
		expectNumber(c, err, 16902)
	}
}

func TestForwardCursor(t *testing.T) {
	c := newCursorClient(t)
	o, err := c.open("rows 3", 4, 1)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(o).To(Equal(opened{o.cursor, 4, 1, -1}))
	got, _, err := c.fetch(o.cursor, 2, 0, 5)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(got).To(Equal([]int{0, 1, 2}))
	for _, kind := range []int{4, 8, 0x10, 0x20, 0x200} {
		_, _, err := c.fetch(o.cursor, kind, 1, 1)
		expectNumber(c, err, 16911)
	}
	// A fast-forward cursor with AUTO_CLOSE is gone after its last row.
	o, err = c.open("rows 3", 0x10|0x4000, 1)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(o.scroll).To(Equal(int64(0x10)))
	got, status, err := c.fetch(o.cursor, 2, 0, 2)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect([]any{got, status}).To(Equal([]any{[]int{0, 1}, 0}))
	got, status, err = c.fetch(o.cursor, 2, 0, 2)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect([]any{got, status}).To(Equal([]any{[]int{2}, 16}))
	_, _, err = c.fetch(o.cursor, 2, 0, 2)
	expectNumber(c, err, 16909)
}

func TestCursorsThatAreNotMade(t *testing.T) {
	c := newCursorClient(t)
	_, err := c.open("insert x", 8, 1)
	expectNumber(c, err, 16937)
	_, err = c.open("twice", 8, 1)
	expectNumber(c, err, 16937)
	_, err = c.open("fail 16", 8, 1)
	expectNumber(c, err, 50001)
	_, err = c.open("rows 1", 1|0x8000|0x10000, 1)
	expectNumber(c, err, 16955)
	_, err = c.open("rows 1", 8, 4|0x8000|0x40000)
	expectNumber(c, err, 16955)
	_, _, err = c.fetch(5, 2, 0, 1)
	expectNumber(c, err, 16909)
	// With ALLOW_DIRECT the statement is executed, and no cursor made.
	o, err := c.open("begin", 8, 1|0x2000)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(o.cursor).To(BeZero())
	c.Expect(c.c.PingContext(context.Background())).To(Succeed())
}

// TestCursorsEnd closes cursors one by one, and all with the use of the connection.
func TestCursorsEnd(t *testing.T) {
	c := newCursorClient(t)
	o, err := c.open("rows 3", 1, 4)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(o).To(Equal(opened{o.cursor, 8, 1, 3}), "static and read-only instead of what was asked for")
	_, err = c.c.ExecContext(context.Background(), "sp_cursorclose", sql.Named("cursor", o.cursor))
	c.Expect(err).NotTo(HaveOccurred())
	_, _, err = c.fetch(o.cursor, 2, 0, 1)
	expectNumber(c, err, 16909)
	o, err = c.open("rows 3", 8, 1)
	c.Expect(err).NotTo(HaveOccurred())
	_, err = c.c.ExecContext(context.Background(), "sp_reset_connection")
	c.Expect(err).NotTo(HaveOccurred())
	_, _, err = c.fetch(o.cursor, 2, 0, 1)
	expectNumber(c, err, 16909)
}

// TestCursorsAreHeldToTheMemoryForRequests: a result that is too long gives an error, and its memory back.
func TestCursorsAreHeldToTheMemoryForRequests(t *testing.T) {
	c := newCursorClient(t, func(cfg *tds.Config) { cfg.MaxRequests = 100 << 10 })
	_, err := c.open("rows 1000", 8, 1)
	expectNumber(c, err, 701)
	for range 5 {
		o, err := c.open("rows 400", 8, 1)
		c.Expect(err).NotTo(HaveOccurred())
		_, err = c.c.ExecContext(context.Background(), "sp_cursorclose", sql.Named("cursor", o.cursor))
		c.Expect(err).NotTo(HaveOccurred())
	}
}

// TestPreparedCursorsByNumber is JDBC's and ODBC's way: sp_cursorprepexec, sp_cursorfetch without metadata, sp_cursor
// to read the row again, sp_cursoroption, sp_cursorexecute, sp_cursorunprepare.
func TestPreparedCursorsByNumber(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	send := func(message []byte) []byte {
		c.send(t, packetRPC, append(allHeaders(0), message...))
		return c.reply(t)
	}
	number := func(n int32) []byte { return parameter("", 0, n) }
	out := func(value any) []byte { return parameter("", 1, value) }
	returned := func(ordinal byte, n byte) []byte {
		return []byte{0xAC, ordinal, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0x26, 4, 4, n}
	}
	reply := send(
		call(
			5,
			out(nil),
			out(nil),
			parameter("", 0, ""),
			parameter("", 0, "rows 3"),
			out(int32(8)),
			out(int32(1)),
			out(int32(0)),
		),
	)
	g.Expect(reply[:3]).To(Equal([]byte{0x81, 3, 0}), "the columns and rowstat: %x", reply)
	g.Expect(reply).NotTo(ContainElement(byte(0xD1)), "no row")
	for ordinal, n := range map[byte]byte{0: 1, 4: 8, 5: 1, 6: 3} {
		g.Expect(bytes.Contains(reply, returned(ordinal, n))).To(BeTrue(), "output %d of %x", ordinal, reply)
	}
	at := bytes.Index(reply, []byte{0xAC, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0x26, 4, 4})
	g.Expect(at).To(BeNumerically(">", 0))
	handle := number(
		int32(uint32(reply[at+14]) | uint32(reply[at+15])<<8 | uint32(reply[at+16])<<16 | uint32(reply[at+17])<<24),
	)

	fetch := call(7, handle, number(2), number(0), number(2))
	fetch[4] = 2 // without metadata
	reply = send(fetch)
	g.Expect(reply[:4]).To(Equal([]byte{0x81, 0xFF, 0xFF, 0xD1}))
	g.Expect(bytes.Count(reply, []byte{1, 0, 0, 0, 0xD1})).To(Equal(1), "rowstat ends the first of two rows")

	reply = send(call(1, handle, number(0x28), number(2)))
	g.Expect(reply[:3]).To(Equal([]byte{0x81, 3, 0}))
	g.Expect(send(call(1, handle, number(0x28), number(3)))).
		To(ContainElement(byte(0xAA)), "a row that is not in the buffer")
	g.Expect(send(call(1, handle, number(1), number(1)))).To(ContainElement(byte(0xAA)), "no updates")
	g.Expect(bytes.Contains(send(call(8, handle, number(6), out(int32(0)))), returned(2, 3))).
		To(BeTrue(), "the number of rows")

	reply = send(call(4, number(1), out(nil), out(int32(8)), out(int32(1)), out(int32(0))))
	g.Expect(bytes.Contains(reply, returned(4, 3))).To(BeTrue(), "opened again: %x", reply)
	reply = send(call(6, number(1)))
	g.Expect(reply[:5]).To(Equal([]byte{0x79, 0, 0, 0, 0}))
	g.Expect(send(call(4, number(1), out(nil)))[0]).To(Equal(byte(0xAA)))
}
