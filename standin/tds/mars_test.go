// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Packets of the Session Multiplex Protocol ([MC-SMP] 2.2.1.1).
const (
	smpSYN  = 1
	smpACK  = 2
	smpFIN  = 4
	smpDATA = 8
)

// smpPacket is one packet of the Session Multiplex Protocol.
type smpPacket struct {
	kind             byte
	id               uint16
	sequence, window uint32
	data             []byte
}

// marsConn is a client with several requests at a time. It keeps what came for sessions that nobody reads.
type marsConn struct {
	*rawConn
	sent     map[uint16]uint32
	received map[uint16]uint32
	kept     map[uint16][]smpPacket
	opened   map[uint16]uint32
}

// dialMARS logs in with MARS, and has no session yet.
func dialMARS(t *testing.T, address string) *marsConn {
	t.Helper()
	g := NewWithT(t)
	c := dial(t, address)
	// VERSION, ENCRYPTION = not supported, MARS = on.
	c.send(t, packetPreLogin, []byte{0, 0, 16, 0, 6, 1, 0, 22, 0, 1, 4, 0, 23, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 2, 1})
	g.Expect(preLoginOption(c.reply(t), 4)).To(Equal([]byte{1}), "MARS is offered")
	c.send(t, packetLogin, loginMessage("sa", "Passw0rd!é"))
	g.Expect(c.reply(t)[0]).To(Equal(byte(0xE3)), "login succeeds")
	return &marsConn{c, map[uint16]uint32{}, map[uint16]uint32{}, map[uint16][]smpPacket{}, map[uint16]uint32{}}
}

func (c *marsConn) write(t *testing.T, p smpPacket) {
	t.Helper()
	_, err := c.Write(p.bytes())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// bytes are the packet as the wire has it ([MC-SMP] 2.2.1).
func (p smpPacket) bytes() []byte {
	b := []byte{0x53, p.kind}
	b = binary.LittleEndian.AppendUint16(b, p.id)
	b = binary.LittleEndian.AppendUint32(b, uint32(16+len(p.data)))
	b = binary.LittleEndian.AppendUint32(b, p.sequence)
	b = binary.LittleEndian.AppendUint32(b, p.window)
	return append(b, p.data...)
}

// open begins a session whose answers may have window packets before they are acknowledged.
func (c *marsConn) open(t *testing.T, id uint16, window uint32) {
	t.Helper()
	c.opened[id] = window
	c.write(t, smpPacket{smpSYN, id, 0, window, nil})
}

// request sends one TDS packet in a session.
func (c *marsConn) request(t *testing.T, id uint16, typ byte, body []byte) {
	t.Helper()
	c.sent[id]++
	c.write(
		t,
		smpPacket{smpDATA, id, c.sent[id], c.received[id] + c.opened[id], append(header(typ, 1, len(body)), body...)},
	)
}

func (c *marsConn) batch(t *testing.T, id uint16, text string) {
	t.Helper()
	c.request(t, id, packetBatch, append(allHeaders(0), utf16Bytes(text)...))
}

// next reads one packet from the wire.
func (c *marsConn) next(timeout time.Duration) (smpPacket, error) {
	c.SetReadDeadline(time.Now().Add(timeout))
	var h [16]byte
	if _, err := io.ReadFull(c, h[:]); err != nil {
		return smpPacket{}, err
	}
	p := smpPacket{
		h[1],
		binary.LittleEndian.Uint16(h[2:]),
		binary.LittleEndian.Uint32(h[8:]),
		binary.LittleEndian.Uint32(h[12:]),
		nil,
	}
	if h[0] != 0x53 {
		return p, errors.New("not a packet of SMP")
	}
	p.data = make([]byte, binary.LittleEndian.Uint32(h[4:])-16)
	_, err := io.ReadFull(c, p.data)
	return p, err
}

// packet is the next one of a session; those of others are kept.
func (c *marsConn) packet(t *testing.T, id uint16) smpPacket {
	t.Helper()
	if kept := c.kept[id]; len(kept) > 0 {
		c.kept[id] = kept[1:]
		return kept[0]
	}
	for {
		p, err := c.next(5 * time.Second)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if p.id == id {
			return p
		}
		c.kept[p.id] = append(c.kept[p.id], p)
	}
}

// answer reads a TDS message of a session and acknowledges each packet.
func (c *marsConn) answer(t *testing.T, id uint16) []byte {
	t.Helper()
	g := NewWithT(t)
	var body []byte
	for {
		p := c.packet(t, id)
		if p.kind == smpACK {
			continue
		}
		g.Expect(p.kind).To(BeEquivalentTo(smpDATA))
		g.Expect(p.sequence).To(Equal(c.received[id]+1), "sequence of session %d", id)
		g.Expect(int(binary.BigEndian.Uint16(p.data[2:]))).To(Equal(len(p.data)), "one TDS packet in each packet of SMP")
		c.received[id]++
		c.write(t, smpPacket{smpACK, id, c.sent[id], c.received[id] + c.opened[id], nil})
		body = append(body, p.data[8:]...)
		if p.data[1]&1 != 0 {
			return body
		}
	}
}

// With MARS one result may be read while another is not. The one that is not stops at its window; its statement comes
// to its end all the same, as another waits for it ([MC-SMP] 3.1.5.2, [MS-TDS] 2.2.6.5 MARS).
func TestMARSResultsAreReadInAnyOrder(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dialMARS(t, address)
	c.open(t, 0, 4)
	c.open(t, 7, 4)
	c.batch(t, 0, "rows 20000")
	g.Eventually(backend.session(0).executed.Load, 5*time.Second).Should(BeEquivalentTo(1))
	c.batch(t, 7, "select other")
	g.Expect(bytes.Contains(c.answer(t, 7), utf16Bytes("other"))).To(BeTrue())
	g.Expect(len(c.kept[0])).To(BeNumerically("<=", 5), "four packets of the result, and an acknowledgement at most")
	g.Expect(len(c.answer(t, 0))).To(BeNumerically(">", 20000*200))
	c.batch(t, 0, "select again")
	g.Expect(bytes.Contains(c.answer(t, 0), utf16Bytes("again"))).To(BeTrue())
}

// An ATTENTION cancels the request of its session, one that waits for its turn as well, and no other ([MS-TDS]
// 2.2.1.7).
func TestMARSCancelsOneRequest(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dialMARS(t, address)
	for _, id := range []uint16{1, 2, 3} {
		c.open(t, id, 4)
	}
	c.batch(t, 1, "wait")
	g.Eventually(backend.session(0).executed.Load, 5*time.Second).Should(BeEquivalentTo(1))
	c.batch(t, 2, "select never")
	c.request(t, 2, packetAttention, nil)
	g.Expect(c.answer(t, 2)).To(Equal([]byte{0xFD, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "the request ends")
	g.Expect(c.answer(t, 2)[1]).To(Equal(byte(0x20)), "the ATTENTION is acknowledged")
	g.Expect(backend.session(0).executed.Load()).To(BeEquivalentTo(1))
	c.batch(t, 3, "select later")
	c.request(t, 1, packetAttention, nil)
	c.answer(t, 1)
	g.Expect(c.answer(t, 1)[1]).To(Equal(byte(0x20)), "the ATTENTION is acknowledged")
	g.Expect(bytes.Contains(c.answer(t, 3), utf16Bytes("later"))).To(BeTrue())
}

// A FIN ends one session, with its request, and is answered with one; its number may be used again ([MC-SMP] 3.1.4.4).
func TestMARSSessionEndsAlone(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dialMARS(t, address)
	c.open(t, 1, 4)
	c.open(t, 2, 4)
	c.batch(t, 1, "wait")
	g.Eventually(backend.session(0).executed.Load, 5*time.Second).Should(BeEquivalentTo(1))
	c.write(t, smpPacket{smpFIN, 1, c.sent[1], 4, nil})
	g.Expect(c.packet(t, 1).kind).To(BeEquivalentTo(smpFIN))
	c.batch(t, 2, "select alive")
	g.Expect(bytes.Contains(c.answer(t, 2), utf16Bytes("alive"))).To(BeTrue())
	delete(c.sent, 1)
	delete(c.received, 1)
	c.open(t, 1, 4)
	c.batch(t, 1, "select anew")
	g.Expect(bytes.Contains(c.answer(t, 1), utf16Bytes("anew"))).To(BeTrue())
	g.Expect(backend.session(0).closed.Load()).To(BeFalse())
	c.Close()
	g.Eventually(backend.session(0).closed.Load, 5*time.Second).Should(BeTrue())
}

// A transaction that a batch began and left open is rolled back at its end; one of a transaction manager request stays
// (docs/t-sql/language-elements/transactions-transact-sql.md, batch-scoped transactions).
func TestMARSTransactionsOfBatchesEndWithThem(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dialMARS(t, address)
	c.open(t, 0, 4)
	c.batch(t, 0, "begin")
	answer := c.answer(t, 0)
	number := bytes.IndexByte(answer, 0xAA)
	g.Expect(number).To(BeNumerically(">=", 0), "an error in % x", answer)
	g.Expect(binary.LittleEndian.Uint32(answer[number+3:])).To(BeEquivalentTo(3997))
	g.Expect(backend.session(0).InTransaction()).To(BeZero())
	c.request(t, 0, packetTransaction, append(allHeaders(0), 5, 0, 0, 0))
	c.answer(t, 0)
	c.batch(t, 0, "select within")
	g.Expect(bytes.Contains(c.answer(t, 0), utf16Bytes("within"))).To(BeTrue())
	g.Expect(backend.session(0).InTransaction()).To(BeEquivalentTo(2))
}

// A message of several packets waits for no window that nobody opens: each packet that was read is acknowledged in time
// ([MC-SMP] 3.1.5.2.3).
func TestMARSLongRequest(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dialMARS(t, address)
	c.open(t, 0, 4)
	body := append(allHeaders(0), utf16Bytes("count 7"+strings.Repeat(" ", 30000))...)
	window := uint32(4)
	for len(body) > 0 {
		n := min(len(body), 4088)
		status := byte(0)
		if n == len(body) {
			status = 1
		}
		for c.sent[0] == window {
			window = c.packet(t, 0).window
		}
		c.sent[0]++
		c.write(t, smpPacket{smpDATA, 0, c.sent[0], 4, append(header(packetBatch, status, n), body[:n]...)})
		body = body[n:]
	}
	answer := c.answer(t, 0)
	g.Expect(answer[0]).To(Equal(byte(0xFD)))
	g.Expect(answer[5]).To(Equal(byte(7)), "rows of the batch")
}

// What breaks the rules of the protocol ends the connection ([MC-SMP] 3.1.5.1, 3.1.7), and its session. The server may
// end it before the last packet of a row is written, so what a write says there is no matter.
func TestMARSMalformed(t *testing.T) {
	batch := append(header(packetBatch, 1, 22), allHeaders(0)...)
	wait := append(allHeaders(0), utf16Bytes("wait")...)
	wait = append(header(packetBatch, 1, len(wait)), wait...)
	var beyond []smpPacket
	for n := range uint32(7) {
		beyond = append(beyond, smpPacket{smpDATA, 0, n + 1, 4, wait})
	}
	for name, bad := range map[string][]smpPacket{
		"a session that is not open": {{smpDATA, 5, 1, 4, batch}},
		"a session opened twice":     {{smpSYN, 0, 0, 4, nil}},
		"two kinds at once":          {{smpACK | smpFIN, 0, 0, 4, nil}},
		"an acknowledgement of data": {{smpACK, 0, 1, 4, nil}},
		"a number left out":          {{smpDATA, 0, 2, 4, batch}},
		"data behind its end":        {{smpFIN, 0, 0, 4, nil}, {smpDATA, 0, 1, 4, batch}},
		"data in an acknowledgement": {{smpACK, 0, 0, 4, []byte{1}}},
		"a packet that is too long":  {{smpDATA, 0, 1, 4, make([]byte, 40000)}},
		"more than the window":       beyond,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			backend, address := serve(t)
			c := dialMARS(t, address)
			c.open(t, 0, 4)
			for _, p := range bad {
				_, _ = c.Write(p.bytes())
			}
			g.Eventually(backend.session(0).closed.Load, 5*time.Second).Should(BeTrue())
		})
	}
}
