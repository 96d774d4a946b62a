// SPDX-License-Identifier: Apache-2.0

package repl

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

func TestArguments(t *testing.T) {
	const required = "-Publisher [PUB] -PublisherDB [shop] -Subscriber SUB -SubscriberDB \"a b\" "
	for line, problem := range map[string]string{
		required: "",
		required + "-Continuous -CommitBatchSize 500":      "",
		required + "-SubscriberPassword [p]]w d]":          "",
		required + "-Unknown 1":                            `"-Unknown" is not one`,
		required + "-CommitBatchSize 20000":                "-CommitBatchSize must be max 10000",
		required + "-SubscriptionStreams 65":               "must be 1..64",
		required + "-SubscriptionType 7":                   "-SubscriptionType must not be",
		required + "-EncryptionLevel 9":                    "-EncryptionLevel must",
		required + "-CommitBatchSize":                      "needs a value",
		required + "-Continuous -Continuous":               "given twice",
		required + "-SubscriberPassword [open":             "does not end",
		"-Publisher [PUB] -PublisherDB [shop] -Continuous": "is required",
	} {
		g := NewWithT(t)
		a, err := parseArguments("distrib", line)
		if problem == "" {
			g.Expect(err).NotTo(HaveOccurred(), line)
			g.Expect(a.str("-SubscriberDB")).To(Equal("a b"))
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring(problem)), line)
	}
	a, err := parseArguments("distrib", required+"-SubscriberPassword [p]]w d] -CommitBatchSize 7")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.str("-SubscriberPassword")).To(Equal("p]w d"))
	g.Expect(a.profile("CommitBatchSize", "100")).To(Succeed())
	g.Expect(a.profile("PollingInterval", "3")).To(Succeed())
	g.Expect([]int{a.num("-CommitBatchSize", 0), a.num("-PollingInterval", 0)}).
		To(Equal([]int{7, 3}), "the command line goes before the profile")
}

// A command comes back as it was made, whatever its values.
func TestCommandsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		text := rapid.StringN(0, 50, -1).Draw(t, "text")
		var buf []byte
		var want []any
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			typ, stored, value := sqltype.IntType, any(nil), any(nil)
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				n := rapid.Int64().Draw(t, "int")
				typ, stored, value = sqltype.BigIntType, n, n
			case 1:
				s := rapid.String().Draw(t, "string")
				typ, stored, value = sqltype.NVarCharMax, s, s
			case 2:
				b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
				typ, stored, value = sqltype.VarBinaryMax, append([]byte{}, b...), append([]byte{}, b...)
			case 3:
				typ, value = sqltype.VarBinaryMax, []byte(nil)
			}
			var err error
			buf, err = appendValue(buf, typ, stored)
			g.Expect(err).NotTo(HaveOccurred())
			want = append(want, value)
		}
		got, values, err := decodeCommand(encodeCommand(text, buf))
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
		stored, err := sqltype.Encode(c.t, c.v)
		g.Expect(err).NotTo(HaveOccurred())
		buf, err := appendValue(nil, c.t, stored)
		g.Expect(err).NotTo(HaveOccurred())
		v, rest, err := readValue(buf)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rest).To(BeEmpty())
		g.Expect(v).To(Equal(c.want))
	}
}

func TestAddressesOfServers(t *testing.T) {
	t.Parallel()
	for source, address := range map[string]string{
		"tukpub-0,1433":        "tukpub-0:1433",
		"tcp:10.0.0.7, 31433":  "10.0.0.7:31433",
		"listener.example.com": "listener.example.com:1433",
		"fd00::7,1433":         "[fd00::7]:1433",
	} {
		if got := addressOfSource(source); got != address {
			t.Errorf("%s is at %s, not at %s", source, got, address)
		}
		if got := addressOfSource(sourceOfAddress(address)); got != address {
			t.Errorf("%s becomes %s", address, got)
		}
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
		buf, err := appendDecoded(nil, c.t, c.v)
		g.Expect(err).NotTo(HaveOccurred())
		v, rest, err := readValue(buf)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rest).To(BeEmpty())
		g.Expect(v).To(Equal(c.want))
		g.Expect(literalOf(v)).To(Equal(c.literal))
	}
}
