// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"geosql.dev/standin/sqltype"
)

// A command comes back as it was made, whatever its values.
func TestCommandsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		text := rapid.StringN(0, 50, -1).Draw(t, "text")
		var buf []byte
		var want []any
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			typ, kept, value := sqltype.IntType, any(nil), any(nil)
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				n := rapid.Int64().Draw(t, "int")
				typ, kept, value = sqltype.BigIntType, n, n
			case 1:
				s := rapid.String().Draw(t, "string")
				typ, kept, value = sqltype.NVarCharMax, s, s
			case 2:
				b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
				typ, kept, value = sqltype.VarBinaryMax, append([]byte{}, b...), append([]byte{}, b...)
			case 3:
				typ, value = sqltype.VarBinaryMax, []byte(nil)
			}
			var err error
			buf, err = AppendValue(buf, typ, kept)
			g.Expect(err).NotTo(HaveOccurred())
			want = append(want, value)
		}
		got, values, err := DecodeCommand(EncodeCommand(text, buf))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(text))
		g.Expect(values).To(Equal(want))
	})
}

func TestValuesThatTravelAsText(t *testing.T) {
	g := NewWithT(t)
	id := uuid.New()
	at := time.Date(2026, 11, 20, 10, 11, 12, 123456700, time.UTC)
	for _, c := range []struct {
		t    sqltype.Type
		v    any
		want string
	}{
		{sqltype.DecimalOf(10, 2), decimal.RequireFromString("12.50"), "12.5"},
		{sqltype.GUIDType, id, id.String()},
		{sqltype.DateTimeType, at, "2026-11-20T10:11:12.123"},
		{sqltype.Type{Kind: sqltype.DateTime2, Scale: 7}, at, "2026-11-20T10:11:12.1234567"},
		{sqltype.Type{Kind: sqltype.Date}, at, "2026-11-20"},
	} {
		kept, err := sqltype.Encode(c.t, c.v)
		g.Expect(err).NotTo(HaveOccurred())
		buf, err := AppendValue(nil, c.t, kept)
		g.Expect(err).NotTo(HaveOccurred())
		v, rest, err := ReadValue(buf)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rest).To(BeEmpty())
		g.Expect(v).To(Equal(c.want))
	}
}

// Text of varchar columns goes as varchar where each of its characters is one byte in every code page.
func TestTextOfVarChar(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 4001)
	for _, c := range []struct {
		t       sqltype.Type
		v       string
		want    any
		literal string
	}{
		{sqltype.Type{Kind: sqltype.VarChar, Length: 20}, "it's", mssql.VarChar("it's"), "'it''s'"},
		{sqltype.Type{Kind: sqltype.VarChar, Length: 20}, "Zoë", "Zoë", "N'Zoë'"},
		{sqltype.Type{Kind: sqltype.VarChar, Length: 20}, "", "", "N''"},
		{sqltype.NVarCharOf(20), "plain", "plain", "N'plain'"},
		{sqltype.VarCharMax, long, mssql.VarCharMax(long), "'" + long + "'"},
		// beside nvarchar in another row it must not become nvarchar(4000)
		{sqltype.Type{Kind: sqltype.VarChar, Length: 8000}, long, mssql.VarCharMax(long), "'" + long + "'"},
		{sqltype.VarCharMax, long[1:], mssql.VarChar(long[1:]), "'" + long[1:] + "'"},
	} {
		buf, err := AppendDecoded(nil, c.t, c.v)
		g.Expect(err).NotTo(HaveOccurred())
		v, rest, err := ReadValue(buf)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rest).To(BeEmpty())
		g.Expect(v).To(Equal(c.want))
		g.Expect(LiteralOf(v)).To(Equal(c.literal))
	}
}
