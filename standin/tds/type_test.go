// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

var (
	zone = time.FixedZone("", -(14 * 3600))
	guid = mssql.UniqueIdentifier{
		0x6F,
		0x96,
		0x19,
		0xFF,
		0x8B,
		0x86,
		0xD0,
		0x11,
		0xB4,
		0x2D,
		0x00,
		0xC0,
		0x4F,
		0xC9,
		0x64,
		0xFF,
	}
	offset = mssql.DateTimeOffset(time.Date(2026, 11, 20, 9, 36, 12, 123456700, time.FixedZone("", 5*3600+1800)))

	// parameters are what the driver can send, and what it reads back.
	parameters = []struct {
		name     string
		param    any
		declared string
		want     any
	}{
		{"bigint", int64(math.MinInt64), "BIGINT", int64(math.MinInt64)},
		{"bigint high", int64(math.MaxInt64), "BIGINT", int64(math.MaxInt64)},
		{"int", int32(math.MinInt32), "INT", int64(math.MinInt32)},
		{"smallint", int16(-32768), "SMALLINT", int64(-32768)},
		{"tinyint", uint8(255), "TINYINT", int64(255)},
		{"bit", true, "BIT", true},
		{"bit off", false, "BIT", false},
		{"float", math.MaxFloat64, "FLOAT", math.MaxFloat64},
		{"float denormal", 5e-324, "FLOAT", 5e-324},
		{"real", float32(1.5), "REAL", 1.5},
		{"text", "grüße, 😀 and \x00", "NVARCHAR", "grüße, 😀 and \x00"},
		{"empty text", "", "NVARCHAR", ""},
		{"long text", strings.Repeat("ж😀", 30_000), "NVARCHAR", strings.Repeat("ж😀", 30_000)},
		{"varchar", mssql.VarChar("plain"), "VARCHAR", "plain"},
		{"varchar(max)", mssql.VarCharMax(strings.Repeat("a", 9000)), "VARCHAR", strings.Repeat("a", 9000)},
		{"nvarchar(max)", mssql.NVarCharMax("x"), "NVARCHAR", "x"},
		{"binary", []byte{0, 1, 0xFF}, "VARBINARY", []byte{0, 1, 0xFF}},
		{"empty binary", []byte{}, "VARBINARY", []byte{}},
		{
			"long binary",
			[]byte(strings.Repeat("\x00\xFE", 100_000)),
			"VARBINARY",
			[]byte(strings.Repeat("\x00\xFE", 100_000)),
		},
		{"null text", sql.NullString{}, "NVARCHAR", nil},
		{"null int", sql.NullInt64{}, "BIGINT", nil},
		{"null float", sql.NullFloat64{}, "FLOAT", nil},
		{"null bit", sql.NullBool{}, "BIT", nil},
		{"null time", sql.NullTime{}, "DATETIMEOFFSET", nil},
		{"guid", guid, "UNIQUEIDENTIFIER", guid},
		{"date", civil.Date{Year: 1, Month: 1, Day: 1}, "DATE", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"last date", civil.Date{Year: 9999, Month: 12, Day: 31}, "DATE", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)},
		{
			"time",
			civil.Time{Hour: 23, Minute: 59, Second: 59, Nanosecond: 999999900},
			"TIME",
			time.Date(1, 1, 1, 23, 59, 59, 999999900, time.UTC),
		},
		{
			"datetime2",
			civil.DateTime{
				Date: civil.Date{Year: 9999, Month: 12, Day: 31},
				Time: civil.Time{Hour: 23, Minute: 59, Second: 59, Nanosecond: 999999900},
			},
			"DATETIME2",
			time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC),
		},
		{
			"datetime",
			mssql.DateTime1(time.Date(1753, 1, 1, 0, 0, 0, 3e6, time.UTC)),
			"DATETIME",
			time.Date(1753, 1, 1, 0, 0, 0, 3e6, time.UTC),
		},
		{"datetimeoffset", offset, "DATETIMEOFFSET", time.Time(offset)},
		{
			"datetimeoffset far",
			time.Date(9999, 12, 31, 8, 0, 0, 0, zone),
			"DATETIMEOFFSET",
			time.Date(9999, 12, 31, 8, 0, 0, 0, zone),
		},
	}
)

// TestTypesThereAndBack sends parameters of every type that the driver can send and reads them from a result set.
func TestTypesThereAndBack(t *testing.T) {
	for _, encrypt := range []string{"false", "true"} {
		_, address := serve(t)
		db := open(t, address, "encrypt="+encrypt)
		for _, c := range parameters {
			t.Run(c.name+" encrypt="+encrypt, func(t *testing.T) {
				g := NewWithT(t)
				rows, err := db.Query("echo @p1", c.param)
				g.Expect(err).NotTo(HaveOccurred())
				defer rows.Close()
				types, err := rows.ColumnTypes()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(types[0].DatabaseTypeName()).To(Equal(c.declared))
				g.Expect(rows.Next()).To(BeTrue(), "%v", rows.Err())
				var got any
				if _, isGUID := c.want.(mssql.UniqueIdentifier); isGUID {
					var id mssql.UniqueIdentifier
					g.Expect(rows.Scan(&id)).To(Succeed())
					got = id
				} else {
					g.Expect(rows.Scan(&got)).To(Succeed())
				}
				if want, ok := c.want.(time.Time); ok {
					g.Expect(got).To(BeTemporally("==", want))
					_, wantOffset := want.Zone()
					_, gotOffset := got.(time.Time).Zone()
					g.Expect(gotOffset).To(Equal(wantOffset))
					return
				}
				if c.want == nil {
					g.Expect(got).To(BeNil())
					return
				}
				g.Expect(got).To(Equal(c.want))
			})
		}
	}
}

func TestTypesOfParametersReachTheSession(t *testing.T) {
	g := NewWithT(t)
	_, address := serve(t)
	db := open(t, address, "encrypt=false")
	var declared, types string
	g.Expect(db.QueryRow("types of", int32(1), "é", []byte{1}, mssql.NVarCharMax("x")).Scan(&declared, &types)).
		To(Succeed())
	g.Expect(declared).To(HavePrefix("@p1 int,@p2 nvarchar(1),@p3 varbinary(1),@p4 nvarchar(max)"))
	g.Expect(types).To(Equal(fmt.Sprint([]sqltype.Type{
		{
			Kind: sqltype.Int,
		}, {Kind: sqltype.NVarChar, Length: 1}, {Kind: sqltype.VarBinary, Length: 1},
		{Kind: sqltype.NVarChar, Length: sqltype.MaxLength},
	})))
}

func TestOutputParametersThereAndBack(t *testing.T) {
	_, address := serve(t)
	db := open(t, address, "encrypt=false")
	conn, err := db.Conn(context.Background())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(t)
		text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0xFFFD })).Draw(rt, "text")
		number, real := rapid.Int64().Draw(rt, "number"), rapid.Float64().Draw(rt, "real")
		raw := rapid.SliceOfN(rapid.Byte(), 1, 9000).Draw(rt, "raw")
		moment := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(rt, "seconds"), 0).UTC()
		gotText, gotNumber, gotReal, gotRaw, gotMoment := text, number, real, append([]byte{}, raw...), moment
		_, err := conn.ExecContext(context.Background(), "myproc",
			sql.Named("text", sql.Out{Dest: &gotText, In: true}), sql.Named("number", sql.Out{Dest: &gotNumber, In: true}),
			sql.Named("real", sql.Out{Dest: &gotReal, In: true}), sql.Named("raw", sql.Out{Dest: &gotRaw, In: true}),
			sql.Named("moment", sql.Out{Dest: &gotMoment, In: true}))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(gotText).To(Equal(text))
		g.Expect(gotNumber).To(Equal(number))
		g.Expect(gotReal).To(Equal(real))
		g.Expect(gotRaw).To(Equal(raw))
		g.Expect(gotMoment).To(BeTemporally("==", moment))
	})
}

// The driver does not send decimals, so these are encoded and decoded here.
func TestDecimalsReadAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{"0", "-1", "99999999999999999999999999999999999999",
		"-99999999999999999999999999999999999999"} {
		d, err := decimal.NewFromString(text)
		g.Expect(err).NotTo(HaveOccurred())
		for _, scale := range []byte{0, 10, 38} {
			value := d.Shift(-int32(scale))
			got, err := tds.RoundTripDecimal(value, 38, scale)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Equal(value)).To(BeTrue(), "%s is %s", got, value)
		}
	}
	_, err := tds.RoundTripDecimal(decimal.New(1, 38), 38, 0)
	g.Expect(err).To(HaveOccurred(), "39 digits")
}
