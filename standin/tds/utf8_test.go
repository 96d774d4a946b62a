// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/sqltype"
)

// TestUTF8Support: who takes no texts in UTF-8 gets Unicode in their place ([MS-TDS] 2.2.6.4, UTF8_SUPPORT), with the
// collation that they have.
func TestUTF8Support(t *testing.T) {
	g := NewWithT(t)
	const name = "Latin1_General_100_CI_AS_SC_UTF8"
	wire := sqltype.WireCollation(name)
	cols := []Column{
		{Name: "v", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 8000, Page: sqltype.PageUTF8}, Collation: name},
		{
			Name:      "c",
			Type:      sqltype.Type{Kind: sqltype.Char, Length: 4, Page: sqltype.PageUTF8},
			Collation: name,
		},
		{Name: "w", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 4}},
	}
	for _, c := range []struct {
		utf8   bool
		tokens []byte
		value  string
	}{{true, []byte{typeBigVarChar, typeBigChar, typeBigVarChar}, "\x02\x00\xd0\xaf"},
		{false, []byte{typeNVarChar, typeNVarChar, typeBigVarChar}, ""}} {
		text, types, err := version74.appendColumns(nil, (&conn{utf8: c.utf8}).told(cols))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Count(text, wire[:])).To(Equal(2))
		for i, token := range c.tokens {
			g.Expect(types[i].token).To(Equal(token))
		}
		if c.value != "" {
			b, err := types[0].appendValue(nil, "Я")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(b)).To(Equal(c.value))
		}
	}
	g.Expect(cols[0].Type.Page).To(Equal(sqltype.PageUTF8), "the engine's columns stay as they are")
	g.Expect(wire[3] & 0x04).To(Equal(byte(0x04)))
}

// TestWireCollations are those of [MS-TDS] 2.2.5.1.2 for names, and the code pages that clients' collations mean.
func TestWireCollations(t *testing.T) {
	g := NewWithT(t)
	for name, want := range map[string][5]byte{
		"SQL_Latin1_General_CP1_CI_AS": {0x09, 0x04, 0xD0, 0x00, 0x34},
		"Latin1_General_CI_AS":         {0x09, 0x04, 0xD0, 0x00, 0x00}, "Latin1_General_BIN2": {0x09, 0x04, 0x00, 0x02, 0x00},
		"Japanese_Bushu_Kakusu_100_CS_AS_KS_WS": {0x11, 0x04, 0x04, 0x20, 0x00},
		"SQL_Latin1_General_CP1251_CS_AS":       {0x09, 0x04, 0xC0, 0x00, 105},
	} {
		g.Expect(sqltype.WireCollation(name)).To(Equal(want), name)
		g.Expect(sqltype.WirePage(want)).To(Equal(sqltype.PageOf(name)), name)
	}
	g.Expect(sqltype.WirePage([5]byte{0x04, 0x10})).To(Equal(sqltype.Page936), "Singapore")
	g.Expect(sqltype.WirePage([5]byte{0x0A, 0x2C})).To(Equal(sqltype.Page1252), "Argentina")
}
