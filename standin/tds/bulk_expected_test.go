// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
)

// TestBulkDataExpected: a request in the place of the rows of an INSERT BULK is error 4022 and not executed; the one
// after it is, and so is one after an ATTENTION.
func TestBulkDataExpected(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.login(t)
	batch := func(text string) []byte {
		c.send(t, packetBatch, append(allHeaders(0), utf16Bytes(text)...))
		return c.reply(t)
	}
	number := []byte{0xB6, 0x0F, 0, 0}
	g.Expect(batch("INSERT BULK t ([n] int)")[0]).To(Equal(byte(0xFD)))
	refused := batch("count 1")
	g.Expect(refused[0]).To(Equal(byte(0xAA)))
	g.Expect(refused[3:7]).To(Equal(number))
	g.Expect(bytes.Contains(batch("count 1"), number)).To(BeFalse())
	g.Expect(batch("INSERT BULK t ([n] int)")[0]).To(Equal(byte(0xFD)))
	c.send(t, packetAttention, nil)
	c.reply(t)
	g.Expect(batch("count 1")[0]).To(Equal(byte(0xFD)))
}
