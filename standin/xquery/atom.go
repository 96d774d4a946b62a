// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/xmldata"
)

// Atom is an atomic value. The fields that count follow from Kind: Number for exact numbers, Real for xs:float and
// xs:double, Flag for xs:boolean, When and Text for dates and times, Text for all others.
type Atom struct {
	Kind   Kind
	Text   string
	Number decimal.Decimal
	Real   float64
	Flag   bool
	When   time.Time
}

// item is one item of a sequence: a node or an atomic value.
type item struct {
	node *xmldata.Node
	atom *Atom
}

type sequence []item

func textAtom(k Kind, s string) *Atom  { return &Atom{Kind: k, Text: s} }
func boolAtom(b bool) *Atom            { return &Atom{Kind: Boolean, Flag: b} }
func wholeAtom(n int) *Atom            { return &Atom{Kind: Integer, Number: decimal.NewFromInt(int64(n))} }
func realAtom(k Kind, f float64) *Atom { return &Atom{Kind: k, Real: f} }
func oneAtom(a *Atom) sequence         { return sequence{{atom: a}} }
func ofNode(n *xmldata.Node) *Atom     { return textAtom(nodeKind(n).atomKind(), n.Text()) }
func (k Kind) atomKind() Kind          { return Type{Kind: k}.atomized().Kind }
func nodeKind(n *xmldata.Node) Kind    { return nodeDocument + nodeKinds[n.Kind] }
func isNode(s sequence) bool           { return len(s) > 0 && s[0].node != nil }
func nodesOf(s sequence) []*xmldata.Node {
	out := make([]*xmldata.Node, 0, len(s))
	for _, i := range s {
		if i.node != nil {
			out = append(out, i.node)
		}
	}
	return out
}

var nodeKinds = map[xmldata.Kind]Kind{
	xmldata.Document:    0,
	xmldata.Element:     nodeElement - nodeDocument,
	xmldata.Attribute:   nodeAttribute - nodeDocument,
	xmldata.Text:        nodeText - nodeDocument,
	xmldata.Comment:     nodeComment - nodeDocument,
	xmldata.Instruction: nodeInstruction - nodeDocument,
}

// String is the value as xs:string has it.
func (a *Atom) String() string {
	switch {
	case a.Kind.isExact():
		return a.Number.String()
	case a.Kind == Double:
		return realText(a.Real, 15)
	case a.Kind == Float:
		return realText(a.Real, 7)
	case a.Kind == Boolean:
		return strconv.FormatBool(a.Flag)
	}
	return a.Text
}

// realText writes a number of xs:double or xs:float: plainly from 1E-6 on and below 1E6, else with an exponent.
func realText(f float64, digits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	case f == 0 && math.Signbit(f):
		return "-0.0E0"
	case f == 0:
		return "0.0E0"
	}
	s := strconv.FormatFloat(f, 'e', digits-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	mantissa = strings.TrimRight(mantissa, "0")
	if strings.HasSuffix(mantissa, ".") {
		mantissa += "0"
	}
	n, _ := strconv.Atoi(exponent)
	if n >= 6 || n < -6 {
		return mantissa + "E" + strconv.Itoa(n)
	}
	rounded, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Exact numbers have 38 digits, ten of them behind the point.
const exactScale = 10

var exactLimit = decimal.New(1, 28)

// exact is a number of an exact type, nil when it is out of range.
func exact(k Kind, d decimal.Decimal) *Atom {
	if k.isInteger() {
		d = d.Truncate(0)
		if r, bounded := integerRanges[k]; bounded && (d.LessThan(r[0]) || d.GreaterThan(r[1])) ||
			d.Abs().GreaterThanOrEqual(exactLimit) {
			return nil
		}
		return &Atom{Kind: k, Number: d}
	}
	d = d.Round(exactScale)
	if d.Abs().GreaterThanOrEqual(exactLimit) {
		return nil
	}
	return &Atom{Kind: k, Number: d}
}

var integerRanges = map[Kind][2]decimal.Decimal{
	Long: {
		decimal.NewFromInt(math.MinInt64),
		decimal.NewFromInt(math.MaxInt64),
	}, Int: {decimal.NewFromInt(math.MinInt32), decimal.NewFromInt(math.MaxInt32)},
	Short: {
		decimal.NewFromInt(math.MinInt16),
		decimal.NewFromInt(math.MaxInt16),
	}, Byte: {decimal.NewFromInt(math.MinInt8), decimal.NewFromInt(math.MaxInt8)},
	UnsignedByte: {decimal.NewFromInt(0), decimal.NewFromInt(math.MaxUint8)},
}

// cast makes a value of another type, nil when it cannot.
func (a *Atom) cast(to Kind) *Atom {
	switch {
	case a.Kind == to:
		return a
	case to == Base64Binary || to == HexBinary:
		return a.toBinary(to)
	case to == String || to == UntypedAtomic:
		return textAtom(to, a.String())
	case to == Boolean:
		return a.toBoolean()
	case to.isExact():
		return a.toExact(to)
	case to.isFloating():
		return a.toReal(to)
	case to == DateTime || to == Date || to == Time:
		return a.toTime(to)
	}
	return nil
}

// toBinary reads a text that is in the form of the type, and writes the bytes of the other binary type
// (docs/xquery/type-casting-rules-in-xquery.md).
func (a *Atom) toBinary(to Kind) *Atom {
	var raw []byte
	var err error
	text := strings.Join(strings.Fields(a.Text), "")
	form := to
	if a.Kind == Base64Binary || a.Kind == HexBinary {
		form = a.Kind
	} else if a.Kind != String && a.Kind != UntypedAtomic {
		return nil
	}
	if form == HexBinary {
		raw, err = hex.DecodeString(text)
	} else {
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	switch {
	case err != nil:
		return nil
	case to == HexBinary:
		return textAtom(to, strings.ToUpper(hex.EncodeToString(raw)))
	}
	return textAtom(to, base64.StdEncoding.EncodeToString(raw))
}

func (a *Atom) toBoolean() *Atom {
	switch {
	case a.Kind.isExact():
		return boolAtom(!a.Number.IsZero())
	case a.Kind.isFloating():
		return boolAtom(a.Real != 0 && !math.IsNaN(a.Real))
	}
	switch strings.Trim(a.Text, blanks) {
	case "true", "1":
		return boolAtom(true)
	case "false", "0":
		return boolAtom(false)
	}
	return nil
}

const blanks = " \t\r\n"

// maxDigits is how long the text of a number may be.
const maxDigits = 64

func (a *Atom) toExact(to Kind) *Atom {
	switch {
	case a.Kind.isExact():
		return exact(to, a.Number)
	case a.Kind.isFloating():
		if math.IsNaN(a.Real) || math.Abs(a.Real) >= 1e28 {
			return nil
		}
		return exact(to, decimal.NewFromFloat(a.Real))
	case a.Kind == Boolean:
		n := 0
		if a.Flag {
			n = 1
		}
		return exact(to, decimal.NewFromInt(int64(n)))
	case a.Kind != String && a.Kind != UntypedAtomic:
		return nil
	}
	s := strings.Trim(a.Text, blanks)
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" || digits == "." || len(digits) > maxDigits ||
		strings.Trim(digits, "0123456789.") != "" ||
		to.isInteger() && strings.Contains(digits, ".") {
		return nil
	}
	d, err := decimal.NewFromString(strings.TrimPrefix(s, "+"))
	if err != nil {
		return nil
	}
	return exact(to, d)
}

func (a *Atom) toReal(to Kind) *Atom {
	f, bits := 0.0, 64
	if to == Float {
		bits = 32
	}
	switch {
	case a.Kind.isExact():
		f = a.Number.InexactFloat64()
	case a.Kind.isFloating():
		f = a.Real
	case a.Kind == Boolean:
		if a.Flag {
			f = 1
		}
	case a.Kind == String || a.Kind == UntypedAtomic:
		s := strings.Trim(a.Text, blanks)
		switch {
		case s == "INF":
			return realAtom(to, math.Inf(1))
		case s == "-INF":
			return realAtom(to, math.Inf(-1))
		case s == "" || strings.Trim(s, "0123456789.+-eE") != "":
			return nil
		}
		parsed, err := strconv.ParseFloat(s, bits)
		if err != nil {
			return nil
		}
		f = parsed
	default:
		return nil
	}
	if to == Float {
		f = float64(float32(f))
	}
	return realAtom(to, f)
}

// layouts are those that dates and times are read by.
var layouts = map[Kind][]string{
	DateTime: {"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999"},
	Date:     {"2006-01-02Z07:00", "2006-01-02"},
	Time:     {"15:04:05.999999999Z07:00", "15:04:05.999999999"},
}

func (a *Atom) toTime(to Kind) *Atom {
	if a.Kind == DateTime && to != DateTime {
		return &Atom{Kind: to, When: a.When, Text: a.When.Format(layouts[to][1])}
	}
	if a.Kind == Date && to == DateTime {
		return &Atom{Kind: to, When: a.When, Text: a.When.Format(layouts[to][1])}
	}
	if a.Kind != String && a.Kind != UntypedAtomic {
		return nil
	}
	s := strings.Trim(a.Text, blanks)
	for i, layout := range layouts[to] {
		if when, err := time.Parse(layout, s); err == nil {
			return &Atom{Kind: to, When: when, Text: when.Format(layouts[to][i])}
		}
	}
	return nil
}
