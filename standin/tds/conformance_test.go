// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// token is one of DONE, DONEPROC, DONEINPROC, RETURNSTATUS and ERROR in a response, with a DONE's status or an error's number.
type token struct {
	kind   byte
	status uint32
}

// tokens reads a response that has no result sets and no output parameters ([MS-TDS] 2.2.7).
func tokens(t *testing.T, b []byte) []token {
	t.Helper()
	var out []token
	for len(b) > 0 {
		switch kind := b[0]; kind {
		case 0xFD, 0xFE, 0xFF:
			out = append(out, token{kind, uint32(binary.LittleEndian.Uint16(b[1:]))})
			b = b[13:]
		case 0x79:
			out = append(out, token{kind, binary.LittleEndian.Uint32(b[1:])})
			b = b[5:]
		case 0xAA, 0xAB, 0xE3:
			if kind == 0xAA {
				out = append(out, token{kind, binary.LittleEndian.Uint32(b[3:])})
			}
			b = b[3+int(binary.LittleEndian.Uint16(b[1:])):]
		default:
			t.Fatalf("token 0x%02X in % x", kind, b)
		}
	}
	return out
}

// execute is a call of sp_executesql by its number.
func execute(text string, parameters ...[]byte) []byte {
	return call(10, append([][]byte{parameter("", 0, text)}, parameters...)...)
}

// The DONEPROC of each call but the last says that others of its message follow ([MS-TDS] 2.2.7.8, DONE_RPCINBATCH).
func TestCallsOfOneMessage(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetRPC, bytes.Join([][]byte{allHeaders(0), execute("count 1"), {0xFF}, execute("fail 16"), {0xFF}, execute("count 3")}, nil))
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{
		{0xFF, 0x11}, {0x79, 0}, {0xFE, 0x81},
		{0xAA, 50001}, {0xFF, 0x03}, {0x79, 0}, {0xFE, 0x81},
		{0xFF, 0x11}, {0x79, 0}, {0xFE, 0},
	}))
	// A separator behind the last one is passed over.
	c.send(t, packetRPC, bytes.Join([][]byte{allHeaders(0), execute("count 1"), {0xFF}}, nil))
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xFF, 0x11}, {0x79, 0}, {0xFE, 0}}))
}

// A call that is followed by NoExecFlag is not executed ([MS-TDS] 2.2.6.6).
func TestCallThatIsNotToBeExecuted(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetRPC, bytes.Join([][]byte{allHeaders(0), execute("count 1"), {0xFE}, execute("count 3")}, nil))
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xFE, 0x81}, {0xFF, 0x11}, {0x79, 0}, {0xFE, 0}}))
	g.Expect(backend.session(0).executed.Load()).To(BeEquivalentTo(2), "one statement, which the session counts as a batch, too")
}

// A parameter's name may have 128 characters: its length is no separator of calls, which 0x80 was before TDS 7.2 ([MS-TDS] 2.2.6.6, BatchFlag).
func TestLongestNameOfAParameter(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	name := "@" + strings.Repeat("n", 127)
	c.send(t, packetRPC, append(allHeaders(0), execute("echo", parameter("@params", 0, name+" int"), parameter(name, 0, int32(5)))...))
	reply := c.reply(t)
	g.Expect(reply[0]).To(Equal(byte(0x81)), "% x", reply)
	g.Expect(backend.session(0).executed.Load()).To(BeEquivalentTo(1))
	// One more is no identifier.
	c.send(t, packetRPC, append(allHeaders(0), execute("echo", parameter("@params", 0, name+"n int"), parameter(name+"n", 0, int32(5)))...))
	g.Expect(tokens(t, c.reply(t))).To(Equal([]token{{0xAA, 8005}, {0xFD, 2}}))
}
