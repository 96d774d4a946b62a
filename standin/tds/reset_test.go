// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"encoding/binary"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/sqltype"
)

// TestAResetTellsOfTheCollation: the database of the login comes back with a session's reset, and the client is told of
// its collation where that is another one ([MS-TDS] 2.2.7.9, types 7 and 18).
func TestAResetTellsOfTheCollation(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	batch := func(text string, status byte) map[byte][]byte {
		body := append(allHeaders(0), utf16Bytes(text)...)
		_, err := c.Write(append(header(packetBatch, 1|status, len(body)), body...))
		g.Expect(err).NotTo(HaveOccurred())
		return changesOf(c.reply(t))
	}
	czech, first := sqltype.WireCollation("Czech_CI_AS"), sqltype.WireCollation("")
	g.Expect(batch("use czech", 0)).To(HaveKeyWithValue(byte(7), czech[:]))
	g.Expect(batch("count 1", 0)).To(BeEmpty())
	g.Expect(batch("count 1", 0x08)).To(And(HaveKeyWithValue(byte(7), first[:]), HaveKey(byte(18))))
	g.Expect(batch("count 1", 0x08)).To(And(Not(HaveKey(byte(7))), HaveKey(byte(18))), "nothing has changed")
}

// changesOf gives the new values of the ENVCHANGE tokens that a response begins with.
func changesOf(b []byte) map[byte][]byte {
	all := map[byte][]byte{}
	for len(b) > 0 && b[0] == 0xE3 {
		all[b[3]] = b[5 : 5+int(b[4])]
		b = b[3+int(binary.LittleEndian.Uint16(b[1:])):]
	}
	return all
}
