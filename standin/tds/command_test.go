// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"encoding/binary"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

// TestDoneTokensCarryTheCommand: CurCmd is that of the statement, a trigger's statements end with DONEINPROC, a call
// with DONEPROC and EXECUTE ([MS-TDS] 2.2.7.6 to 2.2.7.8, 4.9).
func TestDoneTokensCarryTheCommand(t *testing.T) {
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	for _, batch := range []struct {
		text string
		want []doneToken
	}{
		{"count 3", []doneToken{{0xFD, 0x10, tds.CommandUpdate, 3}}},
		{"fire 3", []doneToken{{0xFF, 0x11, tds.CommandDelete, 3}, {0xFD, 0x10, tds.CommandInsert, 1}}},
		{"fire 0", []doneToken{{0xFF, 0x11, tds.CommandDelete, 0}, {0xFF, 0x03, tds.CommandDelete, 0},
			{0xFD, 0x02, tds.CommandNone, 0}}},
		{"begin", []doneToken{{0xFD, 0, tds.CommandNone, 0}}},
	} {
		c.send(t, packetBatch, append(allHeaders(0), utf16Bytes(batch.text)...))
		NewWithT(t).Expect(donesOf(c.reply(t))).To(Equal(batch.want), batch.text)
	}
}

type doneToken struct {
	token   byte
	status  uint16
	command tds.Command
	count   uint64
}

// donesOf reads the DONE tokens of a response that has no others but ENVCHANGE and ERROR.
func donesOf(b []byte) (all []doneToken) {
	for len(b) > 0 {
		if b[0] == 0xE3 || b[0] == 0xAA {
			b = b[3+binary.LittleEndian.Uint16(b[1:]):]
			continue
		}
		all = append(
			all,
			doneToken{
				b[0],
				binary.LittleEndian.Uint16(b[1:]),
				tds.Command(binary.LittleEndian.Uint16(b[3:])),
				binary.LittleEndian.Uint64(b[5:]),
			},
		)
		b = b[13:]
	}
	return all
}
