// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
	"unicode/utf16"

	. "github.com/onsi/gomega"
)

const (
	packetBatch       = 0x01
	packetRPC         = 0x03
	packetAttention   = 0x06
	packetBulk        = 0x07
	packetTransaction = 0x0E
	packetLogin       = 0x10
	packetPreLogin    = 0x12
)

// rawConn speaks TDS byte by byte.
type rawConn struct{ net.Conn }

func dial(t *testing.T, address string) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { c.Close() })
	return &rawConn{c}
}

// header makes a packet header for a body of n bytes.
func header(typ, status byte, n int) []byte {
	b := []byte{typ, status, 0, 0, 0, 0, 1, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(n+8))
	return b
}

// send sends a message in packets of 4096 bytes.
func (c *rawConn) send(t *testing.T, typ byte, body []byte) {
	t.Helper()
	for {
		n := min(len(body), 4088)
		status := byte(0)
		if n == len(body) {
			status = 1
		}
		_, err := c.Write(append(header(typ, status, n), body[:n]...))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if body = body[n:]; status == 1 {
			return
		}
	}
}

// reply reads a message.
func (c *rawConn) reply(t *testing.T) []byte {
	t.Helper()
	body, err := c.tryReply(5 * time.Second)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return body
}

func (c *rawConn) tryReply(timeout time.Duration) ([]byte, error) {
	c.SetReadDeadline(time.Now().Add(timeout))
	var body []byte
	for {
		var h [8]byte
		if _, err := io.ReadFull(c, h[:]); err != nil {
			return body, err
		}
		b := make([]byte, int(binary.BigEndian.Uint16(h[2:]))-8)
		if _, err := io.ReadFull(c, b); err != nil {
			return body, err
		}
		body = append(body, b...)
		if h[1]&1 != 0 {
			return body, nil
		}
	}
}

// ended succeeds when the server closes the connection in time.
func (c *rawConn) ended(timeout time.Duration) error {
	_, err := c.tryReply(timeout)
	for err == nil {
		_, err = c.tryReply(timeout)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("still open after %v", timeout)
	}
	return nil
}

func utf16Bytes(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// allHeaders has a transaction descriptor.
func allHeaders(descriptor uint64) []byte {
	b := []byte{22, 0, 0, 0, 18, 0, 0, 0, 2, 0}
	b = binary.LittleEndian.AppendUint64(b, descriptor)
	return append(b, 1, 0, 0, 0)
}

// preLoginWithout is a PRELOGIN of a client that has no encryption.
var preLoginWithout = []byte{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 2}

func loginMessage(user, password string) []byte {
	b := make([]byte, 94)
	binary.LittleEndian.PutUint32(b[4:], 0x74000004)
	field := func(at int, raw []byte) {
		binary.LittleEndian.PutUint16(b[at:], uint16(len(b)))
		binary.LittleEndian.PutUint16(b[at+2:], uint16(len(raw)/2))
		b = append(b, raw...)
	}
	field(40, utf16Bytes(user))
	hidden := utf16Bytes(password)
	for i, c := range hidden {
		hidden[i] = (c<<4 | c>>4) ^ 0xA5
	}
	field(44, hidden)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

func (c *rawConn) login(t *testing.T) {
	t.Helper()
	c.send(t, packetPreLogin, preLoginWithout)
	c.reply(t)
	c.send(t, packetLogin, loginMessage("sa", "Passw0rd!é"))
	reply := c.reply(t)
	NewWithT(t).Expect(reply[0]).To(Equal(byte(0xE3)), "login succeeds")
}

// brokenStarts are first bytes that are no PRELOGIN.
var brokenStarts = map[string][]byte{
	"HTTP":                     []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	"length below header":      {0x12, 1, 0, 7, 0, 0, 1, 0},
	"length above limit":       {0x12, 1, 0xFF, 0xFF, 0, 0, 1, 0},
	"empty PRELOGIN":           header(packetPreLogin, 1, 0),
	"PRELOGIN without an end":  append(header(packetPreLogin, 1, 5), 0, 0, 5, 0, 0),
	"PRELOGIN pointing out":    append(header(packetPreLogin, 1, 6), 1, 0xFF, 0xF0, 0, 9, 0xFF),
	"batch before PRELOGIN":    append(header(packetBatch, 1, 2), 'a', 0),
	"TLS garbage":              {0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5},
	"never-ending PRELOGIN":    append(header(packetPreLogin, 0, 8000), make([]byte, 8000)...),
	"TLS garbage in PRELOGIN":  append(append(header(packetPreLogin, 1, 12), 1, 0, 6, 0, 1, 0xFF, 1), make([]byte, 5)...),
	"LOGIN7 before PRELOGIN":   append(header(packetLogin, 1, 94), make([]byte, 94)...),
	"two types in one message": append(append(header(packetPreLogin, 0, 1), 0), append(header(packetLogin, 1, 1), 0)...),
}

// TestNoFeatureIsAcknowledgedWhereNoneIsAsked: a LOGIN7 whose list of extensions is empty is answered without
// FEATUREEXTACK, which tedious 6 takes for the acknowledgement of a feature that it does not know ([MS-TDS] 2.2.7.11).
func TestNoFeatureIsAcknowledgedWhereNoneIsAsked(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	for _, features := range [][]byte{{0xFF}, {0x0A, 1, 0, 0, 0, 1, 0xFF}} {
		c := dial(t, address)
		c.send(t, packetPreLogin, preLoginWithout)
		c.reply(t)
		message := loginMessage("sa", "Passw0rd!é")
		message[27] |= 0x10
		binary.LittleEndian.PutUint16(message[56:], uint16(len(message)))
		binary.LittleEndian.PutUint16(message[58:], 4)
		message = binary.LittleEndian.AppendUint32(message, uint32(len(message)+4))
		message = append(message, features...)
		binary.LittleEndian.PutUint32(message, uint32(len(message)))
		c.send(t, packetLogin, message)
		reply := c.reply(t)
		g.Expect(reply).To(ContainElement(byte(0xAD)))
		g.Expect(bytes.Contains(reply, []byte{0xAE, 0x0A, 1, 0, 0, 0, 1, 0xFF})).To(Equal(len(features) > 1))
		g.Expect(bytes.Contains(reply, []byte{0xAE, 0xFF})).To(BeFalse())
	}
}

func TestMalformedBytesEndTheConnectionOnly(t *testing.T) {
	_, address := serve(t)
	for name, raw := range brokenStarts {
		t.Run(name, func(t *testing.T) {
			c := dial(t, address)
			c.Write(raw)
			c.CloseWrite()
			NewWithT(t).Expect(c.ended(10 * time.Second)).To(Succeed())
		})
	}
	short := loginMessage("sa", "x")
	binary.LittleEndian.PutUint32(short, 1<<31)
	outside := loginMessage("sa", "x")
	binary.LittleEndian.PutUint16(outside[40:], 60000)
	features := loginMessage("sa", "Passw0rd!é")
	features[27] |= 0x10
	for name, body := range map[string][]byte{"claims too much": short, "field outside": outside, "no features": features,
		"empty": nil, "short": make([]byte, 50)} {
		t.Run("LOGIN7 "+name, func(t *testing.T) {
			c := dial(t, address)
			c.send(t, packetPreLogin, preLoginWithout)
			c.reply(t)
			c.send(t, packetLogin, body)
			NewWithT(t).Expect(c.ended(10 * time.Second)).To(Succeed())
		})
	}
	after := map[string]struct {
		typ  byte
		body []byte
	}{
		"no headers":            {packetBatch, nil},
		"headers too long":      {packetBatch, []byte{0xFF, 0xFF, 0, 0}},
		"header too short":      {packetBatch, []byte{10, 0, 0, 0, 5, 0, 0, 0, 2, 0}},
		"odd batch":             {packetBatch, append(allHeaders(0), 'a')},
		"call without name":     {packetRPC, allHeaders(0)},
		"unknown procedure":     {packetRPC, append(allHeaders(0), 0xFF, 0xFF, 99, 0, 0, 0)},
		"cut parameter":         {packetRPC, append(allHeaders(0), 0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0xE7, 0x40)},
		"value beyond its type": {packetRPC, append(allHeaders(0), 0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0xA5, 2, 0, 3, 0, 1, 2, 3)},
		"huge value": {
			packetRPC,
			append(allHeaders(0), 0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0x22, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F),
		},
		"transaction request": {packetTransaction, append(allHeaders(0), 77, 0)},
		"rows without batch":  {packetBulk, []byte{0xD1}},
		"unknown packet":      {0x42, []byte{1, 2, 3}},
	}
	for name, m := range after {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := dial(t, address)
			c.login(t)
			c.send(t, m.typ, m.body)
			reply := c.reply(t)
			g.Expect(reply).NotTo(BeEmpty())
			g.Expect(reply[0]).To(Equal(byte(0xAA)), "the client is told")
			g.Expect(c.ended(10 * time.Second)).To(Succeed())
		})
	}
	NewWithT(t).Expect(open(t, address, "encrypt=false").Ping()).To(Succeed(), "the server goes on")
}

func TestAttentionAfterTheResponseIsAcknowledged(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("count 1")...))
	g.Expect(c.reply(t)[1] & 0x20).To(BeZero())
	c.send(t, packetAttention, nil)
	reply := c.reply(t)
	g.Expect(reply).To(HaveLen(13))
	g.Expect(reply[1] & 0x20).NotTo(BeZero())
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("wait")...))
	c.send(t, packetAttention, nil)
	reply = c.reply(t)
	g.Expect(reply[len(reply)-12]&0x23).To(Equal(byte(0x02)), "the response ends by itself, as failed")
	reply = c.reply(t)
	g.Expect(reply).To(HaveLen(13), "the acknowledgement is a message of its own")
	g.Expect(reply[1] & 0x21).To(Equal(byte(0x20)))
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("count 1")...))
	g.Expect(c.reply(t)[0]).To(Equal(byte(0xFD)), "the connection goes on")
}

// An attention within a request that was not sent to its end cancels it: it is not executed, and the connection goes on
// ([MS-TDS] 2.2.1.7).
func TestAttentionWithinARequest(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	expectCancelled := func() {
		reply := c.reply(t)
		g.Expect(reply[len(reply)-12]&0x33).To(Equal(byte(0x02)), "the response ends as failed, without a count")
		reply = c.reply(t)
		g.Expect(reply).To(HaveLen(13))
		g.Expect(reply[1] & 0x21).To(Equal(byte(0x20)))
	}
	head := []byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4, 1, 'n', 0}
	for _, rows := range [][]byte{nil, {0xD1, 4, 9, 0, 0, 0}, {0xD1, 4, 9},
		bytes.Repeat([]byte{0xD1, 4, 9, 0, 0, 0}, 600)} {
		for _, text := range []string{"INSERT BULK t ([n] int)", "INSERT BULK refuse ([n] int)"} {
			c.send(t, packetBatch, append(allHeaders(0), utf16Bytes(text)...))
			c.reply(t)
			for range 3 {
				_, err := c.Write(append(append(header(packetBulk, 0, len(head)+len(rows)), head...), rows...))
				g.Expect(err).NotTo(HaveOccurred())
				if len(rows)%6 != 0 {
					break
				}
				head = nil
			}
			head = []byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4, 1, 'n', 0}
			c.send(t, packetAttention, nil)
			expectCancelled()
		}
	}
	g.Expect(backend.session(0).loads.Load()).To(BeZero())
	executed := backend.session(0).executed.Load()
	_, err := c.Write(append(header(packetBatch, 8, 22), allHeaders(0)...))
	g.Expect(err).NotTo(HaveOccurred())
	c.send(t, packetAttention, nil)
	expectCancelled()
	g.Expect(backend.session(0).executed.Load()).To(Equal(executed))
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("count 1")...))
	g.Expect(c.reply(t)[0]).To(Equal(byte(0xFD)), "the connection goes on")
}

// CloseWrite ends the client's side.
func (c *rawConn) CloseWrite() { c.Conn.(*net.TCPConn).CloseWrite() }
