// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/binary"
	"maps"
	"strings"
	"sync"
)

// Bits of a COLLATION's first four bytes, above the LCID's 20 ([MS-TDS] 2.2.5.1.2, Collation Rule Definition).
const (
	wireIgnoreCase   = 1 << 20
	wireIgnoreAccent = 1 << 21
	wireIgnoreWidth  = 1 << 22
	wireIgnoreKana   = 1 << 23
	wireBinary       = 1 << 24
	wireBinary2      = 1 << 25
	wireUTF8         = 1 << 26
	wireVersion      = 28
	wireIgnoreAll    = wireIgnoreCase | wireIgnoreAccent | wireIgnoreWidth | wireIgnoreKana
)

// wireCollations keeps WireCollation's answers.
var wireCollations sync.Map

// WireCollation is a collation as types have it on the wire.
func WireCollation(name string) [5]byte {
	if name == "" {
		name = DefaultCollation
	}
	if known, ok := wireCollations.Load(name); ok {
		return known.([5]byte)
	}
	designator, style, sql := languageOf(name)
	if designator == "" {
		return WireCollation(DefaultCollation)
	}
	bits := localeOf(name).lcid | wireIgnoreAll
	for _, part := range strings.Split(style, "_") {
		switch part {
		case "CS":
			bits &^= wireIgnoreCase
		case "AS":
			bits &^= wireIgnoreAccent
		case "WS":
			bits &^= wireIgnoreWidth
		case "KS":
			bits &^= wireIgnoreKana
		case "BIN":
			bits = bits&^wireIgnoreAll | wireBinary
		case "BIN2":
			bits = bits&^wireIgnoreAll | wireBinary2
		case "UTF8":
			bits |= wireUTF8
		case "90":
			bits |= 1 << wireVersion
		case "100":
			bits |= 2 << wireVersion
		case "140", "160":
			bits |= 3 << wireVersion
		}
	}
	var out [5]byte
	binary.LittleEndian.PutUint32(out[:], bits)
	if sql {
		out[4] = sortOrders[designator+style]
	}
	wireCollations.Store(name, out)
	return out
}

// pageCollations are collations of each page but 1252, for texts that have no collation of their own to tell of, such
// as variables.
var pageCollations = map[Page]string{
	Page1250: "Czech_CI_AS",
	Page1251: "Cyrillic_General_CI_AS",
	Page1253: "Greek_CI_AS",
	Page1254: "Turkish_CI_AS",
	Page1255: "Hebrew_CI_AS",
	Page1256: "Arabic_CI_AS",
	Page1257: "Lithuanian_CI_AS",
	Page1258: "Vietnamese_CI_AS",
	Page874:  "Thai_CI_AS",
	Page932:  "Japanese_CI_AS",
	Page936:  "Chinese_PRC_CI_AS",
	Page949:  "Korean_Wansung_CI_AS",
	Page950:  "Chinese_Taiwan_Stroke_CI_AS",
	Page437:  "SQL_Latin1_General_CP437_CI_AS",
	Page850:  "SQL_Latin1_General_CP850_CI_AS",
	PageUTF8: "Latin1_General_100_CI_AS_SC_UTF8",
}

// WireCollation is the collation of a column on the wire, by which its client decodes the values. Where the name and
// the type's code page do not go together, the page decides.
func (t Type) WireCollation(name string) [5]byte {
	if t.Kind == Char || t.Kind == VarChar || t.Kind == Text {
		if PageOf(name) != t.Page {
			name = pageCollations[t.Page]
		}
	}
	return WireCollation(name)
}

// otherCountries are LCIDs that no collation has, where the code page is not that of the language's first country
// ([MS-LCID] 2.2).
var otherCountries = map[uint32]Page{
	0x0402: Page1251,
	0x0423: Page1251,
	0x0440: Page1251,
	0x0450: Page1251,
	0x0843: Page1251,
	0x1004: Page936,
}

// wirePages are the code pages of LCIDs and of sort orders.
var wirePages = func() (all struct {
	byLCID map[uint32]Page
	bySort map[byte]Page
}) {
	all.byLCID, all.bySort = maps.Clone(otherCountries), map[byte]Page{}
	for _, l := range locales {
		all.byLCID[l.lcid&0xFFFF], _ = pageByNumber(l.number)
	}
	for name, id := range sortOrders {
		if name != "-" {
			all.bySort[id] = PageOf("SQL_" + name)
		}
	}
	return all
}()

// WirePage is the code page of texts that come with a collation. LCIDs of other countries have the code page of their
// language.
func WirePage(c [5]byte) Page {
	bits := binary.LittleEndian.Uint32(c[:])
	if bits&wireUTF8 != 0 {
		return PageUTF8
	}
	if c[4] != 0 {
		return wirePages.bySort[c[4]]
	}
	if p, ok := wirePages.byLCID[bits&0xFFFF]; ok {
		return p
	}
	return wirePages.byLCID[bits&0xFF|0x0400]
}

// comparison is COLLATIONPROPERTY's ComparisonStyle: 1 ignores case, 2 accents, 65536 kana, 131072 width
// (docs/t-sql/functions/ collation-functions-collationproperty-transact-sql.md); binary collations ignore nothing.
func comparison(bits uint32) int64 {
	style := int64(0)
	for bit, n := range map[uint32]int64{wireIgnoreCase: 1, wireIgnoreAccent: 2, wireIgnoreKana: 65536,
		wireIgnoreWidth: 131072} {
		if bits&bit != 0 {
			style |= n
		}
	}
	return style
}

// Property is a property of the collation by its name in lower case, as COLLATIONPROPERTY tells it; nil for one that it
// does not have.
func (c Collation) Property(name string) any {
	wire := WireCollation(c.Name)
	bits := binary.LittleEndian.Uint32(wire[:])
	switch name {
	case "codepage":
		return int64(max(0, localeOf(c.Name).number))
	case "lcid":
		return int64(bits & 0xFFFFF)
	case "comparisonstyle":
		return comparison(bits)
	case "version":
		return int64(bits >> wireVersion)
	}
	return nil
}
