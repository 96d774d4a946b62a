// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Page is the code page that the values of a char, varchar or text have. Its collation says which
// (docs/relational-databases/collations/ collation-and-unicode-support.md). The numbers are stored: new ones go to the
// end. The zero value is 1252, the page of the server's collation.
type Page uint8

// The code pages.
const (
	Page1252 Page = iota
	Page1250
	Page1251
	Page1253
	Page1254
	Page1255
	Page1256
	Page1257
	Page1258
	Page874
	Page932
	Page936
	Page949
	Page950
	Page437
	Page850
	PageUTF8
)

// pages have what is known of each: its number, and how its bytes become characters.
var pages = [...]struct {
	number   int
	single   *charmap.Charmap
	multiple encoding.Encoding
}{
	Page1252: {
		number: 1252,
		single: charmap.Windows1252,
	}, Page1250: {number: 1250, single: charmap.Windows1250}, Page1251: {number: 1251, single: charmap.Windows1251},
	Page1253: {
		number: 1253,
		single: charmap.Windows1253,
	}, Page1254: {number: 1254, single: charmap.Windows1254}, Page1255: {number: 1255, single: charmap.Windows1255},
	Page1256: {
		number: 1256,
		single: charmap.Windows1256,
	}, Page1257: {number: 1257, single: charmap.Windows1257}, Page1258: {number: 1258, single: charmap.Windows1258},
	Page874: {
		number: 874,
		single: charmap.Windows874,
	}, Page437: {number: 437, single: charmap.CodePage437}, Page850: {number: 850, single: charmap.CodePage850},
	Page932: {
		number:   932,
		multiple: japanese.ShiftJIS,
	}, Page936: {number: 936, multiple: simplifiedchinese.GBK}, Page949: {number: 949, multiple: korean.EUCKR},
	Page950: {number: 950, multiple: traditionalchinese.Big5}, PageUTF8: {number: 65001},
}

// pageByNumber is the page of a number, ok false for one that no collation has.
func pageByNumber(n int) (p Page, ok bool) {
	for p := range pages {
		if pages[p].number == n {
			return Page(p), true
		}
	}
	return 0, false
}

// Number is the number of the page, as COLLATIONPROPERTY tells it.
func (p Page) Number() int { return pages[p].number }

// multiByte tells whether a character may have several bytes: lengths of types count these.
func (p Page) multiByte() bool { return pages[p].single == nil }

// maxUnit is the last character that is one UTF-16 code unit. Of the pages but UTF-8 none has others, which become a ?
// for each unit.
const maxUnit = 0xFFFF

// firstBig5 and lastBig5 are the first bytes of characters in code page 950, which lacks Hong Kong's supplementary ones
// around them.
const firstBig5, lastBig5 = 0xA1, 0xF9

// Encode are the bytes of a text, with ? for each character that the page lacks.
func (p Page) Encode(s string) []byte {
	switch {
	case isASCII(s) || p == PageUTF8:
		return []byte(s)
	case p == Page1252:
		return encode1252(s)
	}
	out := make([]byte, 0, len(s))
	one := pages[p].multiple
	var encoder *encoding.Encoder
	if one != nil {
		encoder = one.NewEncoder()
	}
	for i, r := range s {
		size := utf8.RuneLen(r)
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > maxUnit:
			out = append(out, "??"...)
		case encoder == nil:
			c, ok := pages[p].single.EncodeRune(r)
			if !ok {
				c = '?'
			}
			out = append(out, c)
		case size < 1:
			out = append(out, '?')
		default:
			raw, err := encoder.Bytes([]byte(s[i : i+size]))
			if err != nil || p == Page950 && (raw[0] < firstBig5 || raw[0] > lastBig5) {
				raw = []byte{'?'}
			}
			out = append(out, raw...)
		}
	}
	return out
}

func encode1252(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, CP1252(r))
		if r > maxUnit {
			out = append(out, '?')
		}
	}
	return out
}

// Decode is the text of bytes. What is no character of the page is U+FFFD.
func (p Page) Decode(raw []byte) string {
	var out strings.Builder
	switch page := pages[p]; {
	case p == PageUTF8:
		return string(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	case p == Page1252:
		for _, c := range raw {
			out.WriteRune(FromCP1252(c))
		}
	case page.single != nil:
		for _, c := range raw {
			out.WriteRune(page.single.DecodeByte(c))
		}
	default:
		text, err := page.multiple.NewDecoder().Bytes(raw)
		if err != nil {
			return strings.Repeat("\uFFFD", len(raw))
		}
		return string(text)
	}
	return out.String()
}

// Kept is what is left of a text in the page.
func (p Page) Kept(s string) string {
	if isASCII(s) || p == PageUTF8 {
		return s
	}
	return p.Decode(p.Encode(s))
}

// Units is the length of a text as the type counts it: bytes where characters of its code page may have several, UTF-16
// code units elsewhere.
func (t Type) Units(s string) int {
	if !t.Kind.IsUnicode() && t.Page.multiByte() && !isASCII(s) {
		return len(t.Page.Encode(s))
	}
	return Length(s)
}

// CutTo is the begin of a text that n units of the type have room for, without a part of a character.
func (t Type) CutTo(s string, n int) string {
	if t.Kind.IsUnicode() || !t.Page.multiByte() || isASCII(s) {
		return Cut(s, n)
	}
	used := 0
	for i, r := range s {
		if used += len(t.Page.Encode(string(r))); used > n {
			return s[:i]
		}
	}
	return s
}

// In is the type with the code page of a collation, which types other than char, varchar and text have no use for.
func (t Type) In(collation string) Type {
	t.Page = 0
	if t.Kind == Char || t.Kind == VarChar || t.Kind == Text {
		t.Page = PageOf(collation)
	}
	return t
}
