// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// earlyLogin is the LOGIN7 of a client older than TDS 7.2: its fixed part ends before the new password.
func earlyLogin(version uint32) []byte {
	b := make([]byte, 86)
	binary.LittleEndian.PutUint32(b[4:], version)
	field := func(at int, raw []byte) {
		binary.LittleEndian.PutUint16(b[at:], uint16(len(b)))
		binary.LittleEndian.PutUint16(b[at+2:], uint16(len(raw)/2))
		b = append(b, raw...)
	}
	field(40, utf16Bytes("sa"))
	hidden := utf16Bytes("Passw0rd!é")
	for i, c := range hidden {
		hidden[i] = (c<<4 | c>>4) ^ 0xA5
	}
	field(44, hidden)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

// logInAs logs in with a version, after PRELOGIN where that version has it.
func (c *rawConn) logInAs(t *testing.T, version uint32) []byte {
	t.Helper()
	if version > 0x70000000 {
		c.send(t, packetPreLogin, preLoginWithout)
		c.reply(t)
	}
	c.send(t, packetLogin, earlyLogin(version))
	return c.reply(t)
}

// Before TDS 7.2 requests have no headers, row counts are 32 bits wide and lines of errors 16; no ENVCHANGE tells of
// transactions ([MS-TDS] 2.2.5.3, 2.2.7.6, 2.2.7.10, 2.2.7.9).
func TestEarlyVersions(t *testing.T) {
	for version, acknowledged := range map[uint32][]byte{
		0x70000000: {7, 0, 0, 0}, 0x71000000: {7, 1, 0, 0}, 0x71000001: {0x71, 0, 0, 1},
	} {
		t.Run(fmt.Sprintf("%08x", version), func(t *testing.T) {
			g := NewWithT(t)
			_, address := serve(t)
			c := dial(t, address)
			reply := c.logInAs(t, version)
			g.Expect(bytes.Contains(reply, append([]byte{1}, append(acknowledged, 20, 'M', 0)...))).
				To(BeTrue(), "LOGINACK has the version")
			collated := bytes.Contains(reply, []byte{0xE3, 8, 0, 7, 5, 9, 4, 0xD0, 0, 0x34, 0})
			g.Expect(collated).To(Equal(version > 0x70000000), "a collation is told to those that know them")
			g.Expect(reply[len(reply)-9]).To(Equal(byte(0xFD)))

			c.send(t, packetBatch, utf16Bytes("count 3"))
			g.Expect(c.reply(t)).To(Equal([]byte{0xFD, 0x10, 0, 0xC5, 0, 3, 0, 0, 0}))
			c.send(t, packetBatch, utf16Bytes("begin"))
			g.Expect(c.reply(t)).To(Equal([]byte{0xFD, 0, 0, 0, 0, 0, 0, 0, 0}), "no ENVCHANGE of a transaction")
			c.send(t, packetBatch, utf16Bytes("fail 16"))
			reply = c.reply(t)
			g.Expect(reply[len(reply)-11:]).To(Equal([]byte{42, 0, 0xFD, 2, 0, 0, 0, 0, 0, 0, 0}), "the line, then DONE")
			_, err := c.Write(append(header(packetBatch, 1|8, 14), utf16Bytes("count 1")...))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.reply(t)).To(Equal([]byte{0xFD, 0x10, 0, 0xC5, 0, 1, 0, 0, 0}), "a reset is not told of")
			c.send(t, packetTransaction, []byte{5, 0, 2, 0})
			g.Expect(c.reply(t)[0]).To(Equal(byte(0xAA)), "transaction manager requests came with TDS 7.2")
		})
	}
}

// typed is a column that the description of types is asked for.
type typed struct {
	typ  sqltype.Type
	v    any
	info []byte
	raw  []byte
}

// Types that a version does not know are sent as others: see (version).wireTypeOf.
func TestTypesOfEarlyVersions(t *testing.T) {
	collation := []byte{9, 4, 0xD0, 0, 0x34}
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	moment := time.Date(2024, 2, 29, 13, 14, 15, 123e6, time.UTC)
	nvarchar := func(n int, s string, c []byte) ([]byte, []byte) {
		info := append([]byte{0xE7, byte(2 * n), byte(2 * n >> 8)}, c...)
		return info, append([]byte{byte(2 * len(s)), byte(2 * len(s) >> 8)}, utf16Bytes(s)...)
	}
	pointer := append([]byte{16}, make([]byte, 24)...)
	long := func(token byte, n int, text []byte, c []byte, table ...byte) ([]byte, []byte) {
		info := append(append([]byte{token, 0xFF, 0xFF, 0xFF, 0x7F}, c...), table...)
		return info, append(append(bytes.Clone(pointer), byte(n), 0, 0, 0), text...)
	}
	for version, c := range map[uint32][]byte{0x70000000: nil, 0x71000001: collation, 0x72090002: collation} {
		t.Run(fmt.Sprintf("%08x", version), func(t *testing.T) {
			var cases []typed
			add := func(typ sqltype.Type, v any, info, raw []byte) { cases = append(cases, typed{typ, v, info, raw}) }
			info, raw := nvarchar(10, "2024-02-29", c)
			add(sqltype.Type{Kind: sqltype.Date}, day, info, raw)
			info, raw = nvarchar(12, "13:14:15.123", c)
			add(sqltype.Type{Kind: sqltype.Time, Scale: 3}, moment, info, raw)
			info, raw = nvarchar(19, "2024-02-29 13:14:15", c)
			add(sqltype.Type{Kind: sqltype.DateTime2}, moment, info, raw)
			info, raw = nvarchar(34, "2024-02-29 13:14:15.1230000 +02:00", c)
			add(
				sqltype.Type{Kind: sqltype.DateTimeOffset, Scale: 7},
				moment.Add(-2*time.Hour).In(time.FixedZone("", 7200)),
				info,
				raw,
			)
			add(sqltype.Type{Kind: sqltype.Date}, nil, append([]byte{0xE7, 20, 0}, c...), []byte{0xFF, 0xFF})
			switch {
			case version < 0x71000000:
				add(sqltype.Type{Kind: sqltype.BigInt}, int64(-3), []byte{0x6A, 9, 19, 0}, []byte{9, 0, 3, 0, 0, 0, 0, 0, 0, 0})
				info, raw = nvarchar(4000, "1.50", nil)
				add(sqltype.Type{Kind: sqltype.SQLVariant}, decimal.RequireFromString("1.50"), info, raw)
			default:
				add(
					sqltype.Type{Kind: sqltype.BigInt},
					int64(-3),
					[]byte{0x26, 8},
					append([]byte{8, 0xFD}, bytes.Repeat([]byte{0xFF}, 7)...),
				)
			}
			if version < 0x72000000 {
				info, raw = long(0x63, 4, utf16Bytes("é€"), c, 0, 0)
				add(sqltype.Type{Kind: sqltype.NVarChar, Length: sqltype.MaxLength}, "é€", info, raw)
				add(sqltype.Type{Kind: sqltype.XML}, "é€", info, raw)
				info, raw = long(0x23, 2, []byte{0xE9, 0x80}, c, 0, 0)
				add(sqltype.Type{Kind: sqltype.VarChar, Length: sqltype.MaxLength}, "é€", info, raw)
				info, raw = long(0x22, 2, []byte{1, 2}, nil, 0, 0)
				add(sqltype.Type{Kind: sqltype.VarBinary, Length: sqltype.MaxLength}, []byte{1, 2}, info, raw)
				add(sqltype.Type{Kind: sqltype.VarBinary, Length: sqltype.MaxLength}, nil, info, []byte{0})
			}
			for _, want := range cases {
				g := NewWithT(t)
				backend, address := serve(t)
				c := dial(t, address)
				if version < 0x72000000 {
					c.logInAs(t, version)
				} else {
					c.send(t, packetPreLogin, preLoginWithout)
					c.reply(t)
					login := loginMessage("sa", "Passw0rd!é")
					binary.LittleEndian.PutUint32(login[4:], version)
					c.send(t, packetLogin, login)
					c.reply(t)
				}
				backend.session(0).answer = &tds.Param{Type: want.typ, Value: want.v}
				request, user := utf16Bytes("answer"), 2
				if version >= 0x72000000 {
					request, user = append(allHeaders(0), request...), 4
				}
				c.send(t, packetBatch, request)
				head := append(append([]byte{0x81, 1, 0}, make([]byte, user)...), 9, 0)
				g.Expect(c.reply(t)).
					To(HavePrefix(string(append(append(append(head, want.info...), 1, 'a', 0, 0xD1), want.raw...))), "%v", want.typ)
			}
		})
	}
}

// Requests of TDS 7.0 and 7.1: parameters of characters have a collation or none, calls are separated by 0x80, and an
// output parameter of (max) comes as text.
func TestCallsOfEarlyVersions(t *testing.T) {
	for version, c := range map[uint32][]byte{0x70000000: nil, 0x71000001: {9, 4, 0xD0, 0, 0x34}} {
		t.Run(fmt.Sprintf("%08x", version), func(t *testing.T) {
			g := NewWithT(t)
			backend, address := serve(t)
			raw := dial(t, address)
			raw.logInAs(t, version)
			name := append([]byte{4, 0}, utf16Bytes("echo")...)
			varchar := append(append([]byte{1, '@', 0, 1, 0xA7, 10, 0}, c...), 2, 0, 'x', 0xE9)
			call := append(append(bytes.Clone(name), 0, 0), varchar...)
			raw.send(t, packetRPC, append(append(bytes.Clone(call), 0x80), call...))
			reply := raw.reply(t)
			returned := append(append([]byte{0xAC, 0, 0, 1, '@', 0, 1, 0, 0, 1, 0, 0xA7, 10, 0}, c...), 2, 0, 'x', 0xE9)
			g.Expect(bytes.Count(reply, returned)).To(Equal(2))
			backend.session(0).answer = &tds.Param{
				Name:  "@",
				Type:  sqltype.Type{Kind: sqltype.VarChar, Length: sqltype.MaxLength},
				Value: "é",
			}
			raw.send(t, packetRPC, append(append([]byte{6, 0}, utf16Bytes("output")...), append([]byte{0, 0}, varchar...)...))
			reply = raw.reply(t)
			text := append(append([]byte{0xAC, 0, 0, 1, '@', 0, 1, 0, 0, 1, 0, 0x23, 0xFF, 0xFF, 0xFF, 0x7F}, c...), 0, 0, 16)
			g.Expect(bytes.Contains(reply, text)).To(BeTrue())
		})
	}
}

// Since TDS 7.2 a client begins with PRELOGIN; without it there is no login where traffic has to be encrypted.
func TestLoginsWithoutPreLogin(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	c := dial(t, address)
	c.send(t, packetLogin, loginMessage("sa", "Passw0rd!é"))
	g.Expect(c.ended(60 * time.Second)).To(Succeed())
	backend, address := serve(t, func(cfg *tds.Config) { cfg.Encryption = tds.EncryptionRequired })
	c = dial(t, address)
	c.send(t, packetLogin, earlyLogin(0x70000000))
	g.Expect(c.ended(60 * time.Second)).To(Succeed())
	g.Expect(backend.count()).To(BeZero())
}

// The table's name of a text column of a bulk load is one name in every version, and the user type is as wide as the
// version has it.
func TestBulkLoadsOfText(t *testing.T) {
	for version, user := range map[uint32]int{0x70000000: 2, 0x71000001: 2, 0x74000004: 4} {
		t.Run(fmt.Sprintf("%08x", version), func(t *testing.T) {
			g := NewWithT(t)
			backend, address := serve(t)
			c := dial(t, address)
			request := utf16Bytes("INSERT BULK t ([s] text)")
			if version < 0x72000000 {
				c.logInAs(t, version)
			} else {
				c.login(t)
				request = append(allHeaders(0), request...)
			}
			c.send(t, packetBatch, request)
			c.reply(t)
			body := append([]byte{0x81, 1, 0}, make([]byte, user)...)
			body = append(body, 1, 0, 0x23, 0xFF, 0xFF, 0xFF, 0x7F)
			if version > 0x70000000 {
				body = append(body, 9, 4, 0xD0, 0, 0x34)
			}
			body = append(append(body, 5, 0), utf16Bytes("dbo.t")...)
			body = append(body, 1, 's', 0, 0xD1, 16)
			body = append(append(body, make([]byte, 24)...), 2, 0, 0, 0, 'x', 0xE9)
			c.send(t, packetBulk, append(body, 0xD1, 0, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0))
			g.Expect(c.reply(t)[:6]).To(Equal([]byte{0xFD, 0x10, 0, 0xF0, 0, 2}))
			g.Expect(backend.session(0).rows).To(Equal([][]any{{"xé"}, {nil}}))
		})
	}
}

// Text of an odd number of bytes for a Unicode column is error 4895, whose severity ends the connection.
func TestBulkLoadsOfOddText(t *testing.T) {
	g := NewWithT(t)
	backend, address := serve(t)
	c := dial(t, address)
	c.login(t)
	c.send(t, packetBatch, append(allHeaders(0), utf16Bytes("INSERT BULK t ([s] nvarchar(10))")...))
	c.reply(t)
	c.send(
		t,
		packetBulk,
		[]byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0xE7, 20, 0, 9, 4, 0xD0, 0, 0x34, 1, 's', 0, 0xD1, 3, 0, 'a', 0, 'b'},
	)
	g.Expect(errorNumber(c.reply(t))).To(Equal(uint32(4895)))
	g.Expect(c.ended(60 * time.Second)).To(Succeed())
	g.Expect(backend.session(0).loads.Load()).To(BeZero())
}

// TestColumnsInTheirFixedForm: what is never NULL is sent without a length ([MS-TDS] 2.2.5.4.1, 2.2.7.4); NULL among it
// fails the statement before a client reads other columns for it.
func TestColumnsInTheirFixedForm(t *testing.T) {
	for _, tc := range []struct {
		typ   sqltype.Type
		value any
		token byte
		bytes []byte
	}{
		{sqltype.Type{Kind: sqltype.Bit}, true, 0x32, []byte{1}},
		{sqltype.Type{Kind: sqltype.TinyInt}, int64(200), 0x30, []byte{200}},
		{sqltype.Type{Kind: sqltype.SmallInt}, int64(-2), 0x34, []byte{0xFE, 0xFF}},
		{sqltype.Type{Kind: sqltype.Int}, int64(7), 0x38, []byte{7, 0, 0, 0}},
		{sqltype.Type{Kind: sqltype.BigInt}, int64(-1), 0x7F, bytes.Repeat([]byte{0xFF}, 8)},
		{sqltype.Type{Kind: sqltype.Real}, 1.5, 0x3B, []byte{0, 0, 0xC0, 0x3F}},
		{sqltype.Type{Kind: sqltype.Float}, 1.5, 0x3E, []byte{0, 0, 0, 0, 0, 0, 0xF8, 0x3F}},
		{sqltype.Type{Kind: sqltype.SmallMoney}, decimal.New(15, -1), 0x7A, []byte{0x98, 0x3A, 0, 0}},
		{sqltype.Type{Kind: sqltype.Money}, decimal.New(15, -1), 0x3C, []byte{0, 0, 0, 0, 0x98, 0x3A, 0, 0}},
		{sqltype.Type{Kind: sqltype.SmallDateTime}, time.Date(1900, 1, 2, 0, 1, 0, 0, time.UTC), 0x3A, []byte{1, 0, 1, 0}},
		{sqltype.Type{Kind: sqltype.DateTime}, time.Date(1900, 1, 2, 0, 0, 1, 0, time.UTC), 0x3D,
			[]byte{1, 0, 0, 0, 0x2C, 1, 0, 0}},
	} {
		t.Run(tc.typ.String(), func(t *testing.T) {
			g := NewWithT(t)
			backend, address := serve(t)
			c := dial(t, address)
			c.login(t)
			backend.session(0).answer = &tds.Param{Type: tc.typ, Value: tc.value}
			ask := append(allHeaders(0), utf16Bytes("never null")...)
			c.send(t, packetBatch, ask)
			columns := []byte{0x81, 1, 0, 0, 0, 0, 0, 8, 0, tc.token, 1, 'a', 0}
			want := slices.Concat(columns, []byte{0xD1}, tc.bytes, []byte{0xFD})
			g.Expect(c.reply(t)[:len(want)]).To(Equal(want))
			backend.session(0).answer = &tds.Param{Type: tc.typ}
			c.send(t, packetBatch, ask)
			refusal, told := bytes.CutPrefix(c.reply(t), columns)
			g.Expect(told).To(BeTrue())
			g.Expect(errorNumber(refusal)).To(Equal(uint32(565)))
		})
	}
}
