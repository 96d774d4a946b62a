// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"geosql.dev/standin/sqltype"
)

// RoundTripDecimal encodes and decodes a decimal.
func RoundTripDecimal(d decimal.Decimal, precision, scale byte) (decimal.Decimal, error) {
	v, err := roundTrip(sqltype.Type{Kind: sqltype.Decimal, Precision: precision, Scale: scale}, d)
	if err != nil {
		return decimal.Decimal{}, err
	}
	return v.(decimal.Decimal), nil
}

func roundTrip(t sqltype.Type, v any) (any, error) {
	w, err := wireTypeOf(t)
	if err != nil {
		return nil, err
	}
	b, err := w.appendValue(w.appendTypeInfo(nil), v)
	if err != nil {
		return nil, err
	}
	d := &decoder{buf: b}
	read := d.typeInfo()
	got := d.bulkValue(read)
	if d.err == nil && d.left() > 0 {
		return nil, fmt.Errorf("%d bytes are left", d.left())
	}
	if d.err == nil && read.sqlType() != t {
		return nil, fmt.Errorf("type %v became %v", t, read.sqlType())
	}
	return got, d.err
}

func textOfBytes(limit int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0xFFFD })).Draw(t, "text")
		return cutUTF16(s, limit)
	})
}

// drawValue draws a type and a value that fits it.
func drawValue(t *rapid.T) (sqltype.Type, any) {
	kind := sqltype.Kind(rapid.IntRange(int(sqltype.Binary), int(sqltype.XML)).Draw(t, "kind"))
	typ := sqltype.Type{Kind: kind}
	switch kind {
	case sqltype.Binary, sqltype.VarBinary, sqltype.Image, sqltype.RowVersion:
		raw := rapid.SliceOfN(rapid.Byte(), 1, 600).Draw(t, "raw")
		switch kind {
		case sqltype.RowVersion:
			return sqltype.Type{Kind: sqltype.Binary, Length: 8}, make([]byte, 8)
		case sqltype.VarBinary:
			typ.Length = rapid.SampledFrom([]int{sqltype.MaxLength, len(raw), 8000}).Draw(t, "length")
		case sqltype.Binary:
			typ.Length = len(raw)
		}
		return typ, raw
	case sqltype.Char, sqltype.VarChar, sqltype.Text:
		if kind != sqltype.Text {
			typ.Length = 1000
		}
		return typ, rapid.StringMatching(`[a-zàéîõü€ ]{0,300}`).Draw(t, "text")
	case sqltype.XML:
		return typ, strings.TrimLeft(textOfBytes(4000).Draw(t, "text"), "\ufeff") // TestMarkOfAnXMLTextIsNotRead
	case sqltype.NChar, sqltype.NVarChar, sqltype.NText:
		if kind == sqltype.NVarChar || kind == sqltype.NChar {
			typ.Length = 4000
		}
		return typ, textOfBytes(4000).Draw(t, "text")
	case sqltype.UniqueIdentifier:
		var id uuid.UUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		return typ, id
	case sqltype.Bit:
		return typ, rapid.Bool().Draw(t, "bit")
	case sqltype.TinyInt:
		return typ, int64(rapid.Byte().Draw(t, "n"))
	case sqltype.SmallInt:
		return typ, int64(rapid.Int16().Draw(t, "n"))
	case sqltype.Int:
		return typ, int64(rapid.Int32().Draw(t, "n"))
	case sqltype.BigInt:
		return typ, rapid.Int64().Draw(t, "n")
	case sqltype.SmallMoney:
		return typ, decimal.New(int64(rapid.Int32().Draw(t, "n")), -4)
	case sqltype.Money:
		return typ, decimal.New(rapid.Int64().Draw(t, "n"), -4)
	case sqltype.Decimal:
		typ.Precision = byte(rapid.IntRange(19, 38).Draw(t, "precision"))
		typ.Scale = byte(rapid.IntRange(0, int(typ.Precision)).Draw(t, "decimals"))
		return typ, decimal.New(rapid.Int64().Draw(t, "n"), -int32(typ.Scale))
	case sqltype.Real:
		return typ, float64(rapid.Float32().Draw(t, "real"))
	case sqltype.Float:
		return typ, rapid.Float64().Draw(t, "float")
	}
	return drawTime(t, typ)
}

// drawTime draws a value of a date or time type.
func drawTime(t *rapid.T, typ sqltype.Type) (sqltype.Type, any) {
	scale := byte(rapid.IntRange(0, 7).Draw(t, "scale"))
	day := time.Unix(rapid.Int64Range(-62135596800/86400, 253402300799/86400).Draw(t, "day")*86400, 0).UTC()
	ofDay := time.Duration(rapid.Int64Range(0, 86400e9-1).Draw(t, "nanoseconds"))
	switch typ.Kind {
	case sqltype.Time:
		typ.Scale = scale
		return typ, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Add(ofDay.Truncate(time.Duration(nanosecondsPer(scale))))
	case sqltype.Date:
		return typ, day
	case sqltype.SmallDateTime:
		return typ, time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).
			AddDate(0, 0, rapid.IntRange(0, 65535).Draw(t, "days")).
			Add(ofDay.Truncate(time.Minute))
	case sqltype.DateTime:
		milliseconds := ofDay.Truncate(10 * time.Millisecond)
		return typ, time.Date(1753, 1, 1, 0, 0, 0, 0, time.UTC).
			AddDate(0, 0, rapid.IntRange(0, 3012153).Draw(t, "days")).
			Add(milliseconds)
	case sqltype.DateTime2:
		typ.Scale = scale
		return typ, day.Add(ofDay.Truncate(time.Duration(nanosecondsPer(scale))))
	default:
		typ.Kind, typ.Scale = sqltype.DateTimeOffset, scale
		if day.Year() < 2 || day.Year() > 9998 {
			day = day.AddDate(map[bool]int{true: 2, false: -2}[day.Year() < 2], 0, 0)
		}
		zone := time.FixedZone("", 60*rapid.IntRange(-840, 840).Draw(t, "offset"))
		return typ, day.Add(ofDay.Truncate(time.Duration(nanosecondsPer(scale)))).In(zone)
	}
}

// A byte order mark at the begin of an entity is its signature and no character of it (XML 1.0, 4.3.3), so that no
// instance of xml has one there.
func TestMarkOfAnXMLTextIsNotRead(t *testing.T) {
	g := NewWithT(t)
	g.Expect(roundTrip(sqltype.Type{Kind: sqltype.XML}, "\ufeff<a>\ufeff</a>")).To(Equal("<a>\ufeff</a>"))
	g.Expect(roundTrip(sqltype.Type{Kind: sqltype.NVarChar, Length: 10}, "\ufeffa")).To(Equal("\ufeffa"))
}

func TestEveryTypeIsReadAsItIsWritten(t *testing.T) {
	g := NewWithT(t)
	rapid.Check(t, func(rt *rapid.T) {
		typ, v := drawValue(rt)
		got, err := roundTrip(typ, v)
		if err != nil {
			rt.Fatalf("%v %v: %v", typ, v, err)
		}
		switch want := v.(type) {
		case time.Time:
			if !want.Equal(got.(time.Time)) {
				rt.Fatalf("%v: %v became %v", typ, v, got)
			}
		case decimal.Decimal:
			if !want.Equal(got.(decimal.Decimal)) {
				rt.Fatalf("%v: %v became %v", typ, v, got)
			}
		default:
			g.Expect(got).To(Equal(v))
		}
		got, err = roundTrip(typ, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(BeNil())
	})
}

// A character that is not ASCII is found wherever it is in a text of a code page.
func TestTextOfACodePageIsReadAsItIsWritten(t *testing.T) {
	g := NewWithT(t)
	for n := range 20 {
		text := strings.Repeat("a", n) + "é" + strings.Repeat("b", 19-n)
		g.Expect(roundTrip(sqltype.Type{Kind: sqltype.VarChar, Length: 20}, text)).To(Equal(text))
	}
}

// A column of numeric has NUMERICNTYPE, one of decimal DECIMALNTYPE ([MS-TDS] 2.2.5.4.2).
func TestNumericHasATokenOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	for numeric, token := range map[bool]byte{false: typeDecimalN, true: typeNumericN} {
		told, types, err := version74.appendColumns(
			nil,
			[]Column{{Name: "n", Type: sqltype.DecimalOf(9, 2), Nullable: true, Numeric: numeric}},
		)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(told).To(ContainElement(token))
		value, err := types[0].appendValue(nil, decimal.New(-225, -2))
		g.Expect(err).NotTo(HaveOccurred())
		d := &decoder{buf: value}
		g.Expect(d.bulkValue(types[0])).
			To(Satisfy(func(v any) bool { return v.(decimal.Decimal).Equal(decimal.New(-225, -2)) }))
	}
}

func TestVariantsAreReadAsTheyAreWritten(t *testing.T) {
	g := NewWithT(t)
	moment := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	typed := func(k sqltype.Kind, v any) sqltype.Variant {
		return sqltype.Variant{Type: sqltype.Type{Kind: k}, Value: v}
	}
	sized := func(k sqltype.Kind, n int, v any) sqltype.Variant {
		return sqltype.Variant{Type: sqltype.Type{Kind: k, Length: n}, Value: v}
	}
	scaled := func(k sqltype.Kind, scale uint8, v any) sqltype.Variant {
		return sqltype.Variant{Type: sqltype.Type{Kind: k, Scale: scale}, Value: v}
	}
	for _, v := range []any{true, int64(-5), int64(1) << 40, 1.5, "ü😀", "", []byte{1, 2}, uuid.New(),
		decimal.New(-12345, -2), time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC),
		typed(sqltype.TinyInt, int64(200)), typed(sqltype.SmallInt, int64(-2)), typed(sqltype.BigInt, int64(1)),
		typed(sqltype.Real, 1.5), typed(sqltype.SmallMoney, decimal.New(15, -1)),
		typed(sqltype.Money, decimal.New(15, -1)), typed(sqltype.DateTime, moment), typed(sqltype.SmallDateTime, moment),
		typed(sqltype.Date, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)),
		scaled(sqltype.Time, 3, time.Date(1, 1, 1, 3, 4, 0, 0, time.UTC)), scaled(sqltype.DateTime2, 0, moment),
		scaled(sqltype.DateTimeOffset, 7, moment.In(time.FixedZone("", 7200))),
		sized(sqltype.Char, 3, "abc"), sized(sqltype.VarChar, 10, "ab"), sized(sqltype.NChar, 2, "é "),
		sized(sqltype.NVarChar, 7, "é"), sized(sqltype.Binary, 2, []byte{1, 0}), sized(sqltype.VarBinary, 8, []byte{1}),
		sqltype.Variant{Type: sqltype.DecimalOf(10, 3), Value: decimal.New(1250, -3)}} {
		got, err := roundTrip(sqltype.Type{Kind: sqltype.SQLVariant}, v)
		g.Expect(err).NotTo(HaveOccurred(), "%v", v)
		g.Expect(sqltype.TypeOf(got).Kind).To(Equal(sqltype.TypeOf(v).Kind), "%v", v)
		if want, ok := v.(sqltype.Variant); ok {
			g.Expect(got.(sqltype.Variant).Type).To(Equal(want.Type))
		}
		switch want := sqltype.Bare(v).(type) {
		case decimal.Decimal:
			g.Expect(sqltype.Bare(got).(decimal.Decimal).Equal(want)).To(BeTrue())
		case time.Time:
			g.Expect(sqltype.Bare(got).(time.Time).Equal(want)).To(BeTrue(), "%v %v", got, want)
		default:
			g.Expect(sqltype.Bare(got)).To(Equal(want))
		}
	}
}

func TestValuesThatDoNotFitTheirTypeAreRefused(t *testing.T) {
	g := NewWithT(t)
	for typ, v := range map[sqltype.Type]any{
		{Kind: sqltype.TinyInt}:                              int64(256),
		{Kind: sqltype.SmallInt}:                             int64(-32769),
		{Kind: sqltype.Int}:                                  int64(1) << 31,
		{Kind: sqltype.BigInt}:                               "1",
		{Kind: sqltype.Bit}:                                  int64(1),
		{Kind: sqltype.Decimal, Precision: 5, Scale: 2}:      decimal.New(1, 15),
		{Kind: sqltype.SmallMoney}:                           decimal.New(1, 6),
		{Kind: sqltype.DateTime}:                             time.Date(1752, 12, 31, 0, 0, 0, 0, time.UTC),
		{Kind: sqltype.SmallDateTime}:                        time.Date(2079, 6, 7, 0, 0, 0, 0, time.UTC),
		{Kind: sqltype.DateTime2, Scale: 7}:                  time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		{Kind: sqltype.NVarChar, Length: 2}:                  "abc",
		{Kind: sqltype.VarBinary, Length: 1}:                 []byte{1, 2},
		{Kind: sqltype.UniqueIdentifier}:                     "not one",
		{Kind: sqltype.SQLVariant}:                           struct{}{},
		{Kind: sqltype.Decimal, Precision: 39, Scale: 0}:     decimal.New(1, 0),
		{Kind: sqltype.DateTimeOffset, Scale: 8}:             time.Now(),
		{Kind: sqltype.Unknown}:                              int64(1),
		{Kind: sqltype.Char, Length: 8001}:                   "x",
		{Kind: sqltype.DateTimeOffset, Scale: 7, Length: 99}: 5.0,
	} {
		_, err := roundTrip(typ, v)
		g.Expect(err).To(HaveOccurred(), "%v in %v", v, typ)
	}
}

func FuzzCall(f *testing.F) {
	f.Add([]byte{0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34, 2, 0, 'x', 0})
	f.Add([]byte{1, 0, 'p', 0, 0, 0, 2, '@', 0, 'a', 0, 1, 0x26, 4, 4, 1, 0, 0, 0, 0x80, 0xFF, 0xFF, 15, 0, 0, 0})
	f.Add([]byte{0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0xA5, 0xFF, 0xFF, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0})
	f.Add([]byte{0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0x6A, 17, 38, 10, 5, 1, 1, 0, 0, 0})
	f.Add([]byte{0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0x62, 0x49, 0x1F, 0, 0, 6, 0, 0, 0, 0x38, 0, 1, 0, 0, 0})
	f.Add([]byte{0xFF, 0xFF, 10, 0, 0, 0, 0, 0, 0x2B, 7, 10, 0, 0, 0, 0, 0, 1, 0, 0, 60, 0})
	f.Add(
		[]byte{
			0xFF,
			0xFF,
			10,
			0,
			0,
			0,
			0,
			0,
			0xF1,
			0,
			0xFE,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			2,
			0,
			0,
			0,
			'x',
			0,
			0,
			0,
			0,
			0,
		},
	)
	f.Add([]byte{1, 0, 'p', 0, 0, 0, 0, 0, 0xA7, 10, 0, 2, 0, 'x', 'y', 0x80, 1, 0, 'p', 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &decoder{buf: b}
		if len(b)%2 == 1 {
			d.version = version70
		}
		for {
			call, more, err := readCall(d, 0)
			if err != nil {
				return
			}
			for _, p := range call.Params {
				w, err := wireTypeOf(p.Type)
				if err != nil {
					t.Fatalf("a parameter of type %v cannot be given back: %v", p.Type, err)
				}
				if p.Value == nil {
					continue
				}
				if _, err := w.appendValue(nil, p.Value); err != nil && p.Type.Kind != sqltype.SQLVariant {
					t.Logf("%v %v: %v", p.Type, p.Value, err)
				}
			}
			if !more {
				return
			}
		}
	})
}

func FuzzLogin(f *testing.F) {
	valid := make([]byte, 100)
	valid[0], valid[27], valid[56], valid[58], valid[94] = 100, 0x10, 94, 4, 98
	valid[98], valid[99] = 0xFF, 0
	f.Add(valid)
	f.Add(make([]byte, 94))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := parseLogin(b); err == nil && (l.packetSize < minPacketSize || l.packetSize > maxPacketSize) {
			t.Fatalf("packet size %d", l.packetSize)
		}
		parsePreLogin(b)
	})
}

// FuzzBulk reads rows of a bulk load that arrive in pieces.
func FuzzBulk(f *testing.F) {
	f.Add([]byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4, 1, 'n', 0, 0xD1, 4, 1, 0, 0, 0, 0xD2, 1, 0xFD}, uint8(3))
	f.Add(
		[]byte{
			0x81,
			1,
			0,
			0,
			0,
			0,
			0,
			1,
			0,
			0x23,
			0xFF,
			0xFF,
			0xFF,
			0x7F,
			9,
			4,
			0xD0,
			0,
			0x34,
			1,
			1,
			0,
			't',
			0,
			1,
			'n',
			0,
			0xD1,
			0,
			0xFD,
		},
		uint8(1),
	)
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		d := &decoder{limit: 1 << 16}
		d.more = func() ([]byte, error) {
			if len(b) == 0 {
				return nil, errStreamEnded
			}
			n := min(len(b), int(piece)+1)
			chunk := b[:n]
			b = b[n:]
			return chunk, nil
		}
		columns, err := readBulkColumns(d)
		for err == nil {
			_, err = nextBulkRow(t.Context(), d, columns)
		}
	})
}
