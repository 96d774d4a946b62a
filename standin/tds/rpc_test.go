// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// expectNumber checks the number of a server's error.
func expectNumber(g Gomega, err error, number int32) {
	var e mssql.Error
	g.ExpectWithOffset(1, errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.ExpectWithOffset(1, e.Number).To(Equal(number), e.Message)
}

func TestPrepareFamilyByName(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c, err := open(t, address, "encrypt=false").Conn(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	defer c.Close()
	ctx := context.Background()
	var first, second int64
	_, err = c.ExecContext(
		ctx,
		"sp_prepare",
		sql.Named("handle", sql.Out{Dest: &first}),
		sql.Named("params", "@a int"),
		sql.Named("stmt", "echo"),
	)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.ExecContext(
		ctx,
		"[sys].[sp_prepare]",
		sql.Named("handle", sql.Out{Dest: &second}),
		sql.Named("params", "@a int"),
		sql.Named("stmt", "echo"),
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first).To(BeNumerically(">", 0))
	g.Expect(second).NotTo(Equal(first))
	var got int
	g.Expect(c.QueryRowContext(ctx, "sp_execute", sql.Named("handle", first), sql.Named("a", 7)).Scan(&got)).To(Succeed())
	g.Expect(got).To(Equal(7))
	_, err = c.ExecContext(ctx, "sp_unprepare", sql.Named("handle", first))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.ExecContext(ctx, "sp_execute", sql.Named("handle", first), sql.Named("a", 7))
	expectNumber(g, err, 8179)
	_, err = c.ExecContext(ctx, "sp_unprepare", sql.Named("handle", first))
	expectNumber(g, err, 8179)
	g.Expect(c.QueryRowContext(ctx, "sp_execute", sql.Named("handle", second), sql.Named("a", 8)).Scan(&got)).To(Succeed())
	g.Expect(got).To(Equal(8))
	// Handles end with the use of the connection.
	g.Expect(c.Close()).To(Succeed())
}

func TestPreparedStatementsEndWithAReset(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	db := open(t, address, "encrypt=false")
	var handle int64
	_, err := db.Exec(
		"sp_prepare",
		sql.Named("handle", sql.Out{Dest: &handle}),
		sql.Named("params", ""),
		sql.Named("stmt", "count 1"),
	)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = db.Exec("sp_execute", sql.Named("handle", handle))
	expectNumber(g, err, 8179)
}

func TestExecuteSQLWithoutAStatement(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	db := open(t, address, "encrypt=false")
	_, err := db.Exec("sp_executesql", sql.Named("stmt", int64(5)))
	expectNumber(g, err, 214)
}

// parameter encodes an int or a Unicode text.
func parameter(name string, status byte, value any) []byte {
	b := append([]byte{byte(len(name))}, utf16Bytes(name)...)
	b = append(b, status)
	switch v := value.(type) {
	case nil:
		return append(b, 0x26, 4, 0)
	case int32:
		b = append(b, 0x26, 4, 4)
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	case string:
		raw := utf16Bytes(v)
		b = append(b, 0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(raw)))
		return append(b, raw...)
	}
	panic("no such parameter")
}

func call(id byte, parameters ...[]byte) []byte {
	return append([]byte{0xFF, 0xFF, id, 0, 0, 0}, bytes.Join(parameters, nil)...)
}

// TestCallsByNumber is what ODBC and JDBC do: positions instead of names, several calls in one message.
func TestCallsByNumber(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	prepexec := call(
		13,
		parameter("", 1, nil),
		parameter("", 0, "@P0 int"),
		parameter("", 0, "echo"),
		parameter("", 0, int32(77)),
	)
	c.send(t, packetRPC, append(allHeaders(0), prepexec...))
	reply := c.reply(t)
	g.Expect(reply[0]).To(Equal(byte(0x81)), "a result set")
	handle := []byte{0x26, 4, 4, 1, 0, 0, 0}
	g.Expect(bytes.Contains(reply, append([]byte{0xAC, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, handle...))).
		To(BeTrue(), "the handle as parameter 0 without a name: %x", reply)
	last := reply[len(reply)-13:]
	g.Expect(last[:3]).To(Equal([]byte{0xFE, 0, 0}), "DONEPROC ends the call")

	named := call(13, parameter("@handle", 1, int32(1)), parameter("@params", 0, ""), parameter("@stmt", 0, "count 3"))
	c.send(t, packetRPC, append(allHeaders(0), named...))
	reply = c.reply(t)
	g.Expect(bytes.Contains(reply, append([]byte{0xAC, 0, 0, 7}, utf16Bytes("@handle")...))).
		To(BeTrue(), "the name that the client gave: %x", reply)

	both := append(call(12, parameter("", 0, int32(1))), 0xFF)
	both = append(both, call(12, parameter("", 0, int32(2)))...)
	c.send(t, packetRPC, append(allHeaders(0), both...))
	reply = c.reply(t)
	g.Expect(reply[0]).To(Equal(byte(0xAA)), "handle 1 was replaced: %x", reply)
	g.Expect(bytes.Count(reply, []byte{0xFE, 0x83, 0})+bytes.Count(reply, []byte{0xFE, 0, 0})).
		To(Equal(2), "two calls end: %x", reply)
}

func TestKill(t *testing.T) {
	g := NewWithT(t)
	backend, server, address := serveServer(t)
	c := dial(t, address)
	c.login(t)
	g.Expect(server.Connections()).To(Equal(1))
	g.Expect(server.Kill(9999)).To(BeFalse())
	g.Expect(server.Kill(backend.session(0).spid)).To(BeTrue())
	g.Expect(c.ended(10e9)).To(Succeed())
	g.Eventually(server.Connections, "60s").Should(BeZero())
}

// lateClosing is a listener whose connections close when they have written once more, or shortly after: what a server
// says between the end of a statement and that of its connection is heard.
type lateClosing struct{ net.Listener }

func (l lateClosing) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lateConn{Conn: nc, written: make(chan struct{}, 1)}, nil
}

type lateConn struct {
	net.Conn
	written chan struct{}
	once    sync.Once
}

func (c *lateConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	select {
	case c.written <- struct{}{}:
	default:
	}
	return n, err
}

func (c *lateConn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		select {
		case <-c.written: // before
		default:
		}
		select {
		case <-c.written:
		case <-time.After(300 * time.Millisecond):
		}
		err = c.Conn.Close()
	})
	return err
}

// A statement that KILL cancels is not answered as one that succeeded, however its session ends it: who asked for a
// commit would take it for acknowledged.
func TestWhatIsKilledIsNotAnswered(t *testing.T) {
	g := NewWithT(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	backend, server := serveOn(t, lateClosing{l})
	db := open(t, l.Addr().String(), "encrypt=disable")
	answered := make(chan error, 1)
	go func() {
		_, err := db.Exec("wait quietly")
		answered <- err
	}()
	g.Eventually(func() bool { return backend.count() == 1 && backend.session(0).executed.Load() == 1 }, "60s").
		Should(BeTrue())
	g.Expect(server.Kill(backend.session(0).spid)).To(BeTrue())
	g.Expect(<-answered).To(HaveOccurred())
}

// A driver may return at the first DONE with an error and send its next request: by then it knows that its transaction
// has ended.
func TestTheEndOfATransactionIsToldBeforeTheErrorsEnd(t *testing.T) {
	g := NewWithT(t)
	_, _, address := serveServer(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("doom")...))
	reply := c.reply(t)
	rolledBack := bytes.Index(reply, []byte{0xE3, 11, 0, 10})
	g.Expect(rolledBack).To(BeNumerically(">", 0), "ENVCHANGE of a rollback: %x", reply)
	g.Expect(bytes.Contains(reply[:rolledBack], []byte{0xFD, 3, 0})).
		To(BeFalse(), "a DONE with an error before it: %x", reply)
	g.Expect(reply[len(reply)-13:][:3]).To(Equal([]byte{0xFD, 2, 0}), "the error's DONE is the last: %x", reply)
}
