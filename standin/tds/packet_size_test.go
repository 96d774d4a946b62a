// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// sizes reads a message and gives the lengths of its packets.
func (c *rawConn) sizes(t *testing.T) []int {
	t.Helper()
	g := NewWithT(t)
	g.Expect(c.SetReadDeadline(time.Now().Add(30 * time.Second))).To(Succeed())
	var out []int
	for {
		var h [8]byte
		_, err := io.ReadFull(c, h[:])
		g.Expect(err).NotTo(HaveOccurred())
		n := int(binary.BigEndian.Uint16(h[2:]))
		out = append(out, n)
		_, err = io.CopyN(io.Discard, c, int64(n-8))
		g.Expect(err).NotTo(HaveOccurred())
		if h[1]&1 != 0 {
			return out
		}
	}
}

// The size that LOGIN7 asks for, brought into 512 to 32767, is told to the client and is the length of all packets of a
// response but the last ([MS-TDS] 2.2.3.1.4, 2.2.6.4).
func TestPacketsHaveTheSizeOfTheLogin(t *testing.T) {
	_, address := serve(t)
	for asked, want := range map[uint32]int{0: 4096, 1: 512, 512: 512, 513: 513, 4096: 4096, 16383: 16383, 32767: 32767,
		32768: 32767, 1 << 31: 32767} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			g := NewWithT(t)
			c := dial(t, address)
			c.send(t, packetPreLogin, preLoginWithout)
			c.reply(t)
			login := loginMessage("sa", "Passw0rd!é")
			binary.LittleEndian.PutUint32(login[8:], asked)
			c.send(t, packetLogin, login)
			text := fmt.Sprint(want)
			g.Expect(bytes.Contains(c.reply(t), append([]byte{4, byte(len(text))}, utf16Bytes(text)...))).
				To(BeTrue(), "ENVCHANGE tells the size")
			c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("rows 20000")...))
			got := c.sizes(t)
			g.Expect(len(got)).To(BeNumerically(">", 2))
			g.Expect(got[:len(got)-1]).To(HaveEach(want))
			g.Expect(got[len(got)-1]).To(And(BeNumerically(">", 8), BeNumerically("<=", want)))
		})
	}
}

// A bulk load that the client gives up, by the status of its last packet, ends as failed wherever it is: nothing is
// counted and the connection goes on ([MS-TDS] 2.2.3.1.2, "ignore this event").
func TestABulkLoadThatIsGivenUpFails(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	head := []byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4, 1, 'n', 0}
	row := []byte{0xD1, 4, 9, 0, 0, 0}
	for i := range 200 {
		c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("INSERT BULK t ([n] int)")...))
		c.reply(t)
		body := append(bytes.Clone(head), row...)
		if i%2 == 0 {
			body = append(body, row[:3]...)
		}
		_, err := c.Write(
			append(
				append(header(packetBulk, 0, len(head)), head...),
				append(header(packetBulk, 3, len(body)-len(head)), body[len(head):]...)...),
		)
		g.Expect(err).NotTo(HaveOccurred())
		reply := c.reply(t)
		g.Expect(reply[len(reply)-12]&0x10).To(BeZero(), "no rows are counted")
	}
	g.Expect(backend.session(0).loads.Load()).To(BeZero())
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("count 1")...))
	g.Expect(c.reply(t)[0]).To(Equal(byte(0xFD)), "the connection goes on")
}

// A text column of a bulk load that is declared without a length takes texts of any.
func TestABulkLoadOfTextsWithoutLength(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("INSERT BULK t ([n] nvarchar(30))")...))
	c.reply(t)
	c.send(
		t,
		packetBulk,
		[]byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0xE7, 0, 0, 9, 4, 0xD0, 0, 0x34, 1, 'n', 0, 0xD1, 4, 0, 'o', 0, 'k', 0},
	)
	c.reply(t)
	g.Expect(backend.session(0).rows).To(Equal([][]any{{"ok"}}))
}

// A request that the client gives up, by the status of its last packet, is not executed: one DONE with DONE_ERROR
// answers it, without a message ([MS-TDS] 2.2.1.7).
func TestARequestThatIsGivenUpIsNotExecuted(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	body := append(allHeaders(0), utf16Bytes("count 1")...)
	_, err := c.Write(append(header(packetBatch, 3, len(body)), body...))
	g.Expect(err).NotTo(HaveOccurred())
	reply := c.reply(t)
	g.Expect(reply).To(HaveLen(13))
	g.Expect(reply[:3]).To(Equal([]byte{0xFD, 2, 0}), "DONE, failed, and no acknowledgement of an attention")
	g.Expect(backend.session(0).executed.Load()).To(BeZero())
	c.send(t, packetBatch, body)
	g.Expect(c.reply(t)[1]&2).To(BeZero(), "the connection goes on")
}

// Transactions of the transaction manager's requests have the names that their client gives ([MS-TDS] 2.2.6.9):
// TM_BEGIN_XACT, and TM_COMMIT_XACT and TM_ROLLBACK_XACT that begin another.
func TestNamesOfTransactions(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	named := func(kind byte, fields ...byte) []byte { return append(append(allHeaders(0), kind, 0), fields...) }
	c.send(t, packetTransaction, named(5, 0, 2, 'a', 0))
	c.reply(t)
	g.Expect(backend.session(0).name).To(Equal("a"))
	c.send(t, packetTransaction, named(7, 0, 1, 0, 2, 'b', 0))
	c.reply(t)
	g.Expect(backend.session(0).name).To(Equal("b"))
	c.send(t, packetTransaction, named(8, 0, 1, 0, 0))
	c.reply(t)
	g.Expect(backend.session(0).name).To(BeEmpty())
	g.Expect(backend.session(0).InTransaction()).To(BeEquivalentTo(3))
}
