// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/xmldata"
)

// xmlConvertible is Convertible where one of the types is xml: text and bytes become xml, and xml becomes them when
// CAST or CONVERT say so.
func xmlConvertible(f, t Kind, mode Mode) *sqlerr.Error {
	switch {
	case t == XML && (f.IsCharacter() || f.IsBinary() && f != RowVersion):
		return nil
	case f == XML && (t.IsCharacter() && t != Text && t != NText || t.IsBinary() && t != Image && t != RowVersion):
		if mode != Explicit {
			return sqlerr.New(257, 3, f, t)
		}
		return nil
	}
	return explicitClash(f, t, mode)
}

// Styles of CONVERT to xml (docs/t-sql/functions/cast-and-convert-transact-sql.md, xml styles): the first bit keeps
// white space, the second one allows a DTD.
const (
	keepsSpace = 1
	allowsDTD  = 2
)

// toXML parses text or bytes; the value is as xmldata.Instance.String writes it. Errors: those of xmldata.Parse, 6358
// for a style.
func toXML(v any, from Type, style int) (any, *sqlerr.Error) {
	if style < 0 || style > keepsSpace|allowsDTD {
		return nil, sqlerr.New(6358, 1, style)
	}
	if style&allowsDTD != 0 {
		return nil, sqlerr.Unsupported("CONVERT to xml with a style that allows a DTD")
	}
	options := xmldata.Options{Preserve: style&keepsSpace != 0, Wide: from.Kind.IsUnicode()}
	s, isText := v.(string)
	if !isText {
		b, _ := v.([]byte)
		s, options.Decoded = decodeXML(b), true
	}
	d, err := xmldata.Parse(s, options)
	if err != nil {
		return nil, err
	}
	return d.String(), nil
}

// decodeXML is the text of bytes, in the encoding of their byte order mark or of their declaration, else in UTF-8.
func decodeXML(b []byte) string {
	switch {
	case len(b) >= 2 && (b[0] == 0xff && b[1] == 0xfe || b[0] == '<' && b[1] == 0):
		return decodeUTF16(b, binary.LittleEndian)
	case len(b) >= 2 && (b[0] == 0xfe && b[1] == 0xff || b[0] == 0 && b[1] == '<'):
		return decodeUTF16(b, binary.BigEndian)
	}
	s := string(b)
	head, _, declared := strings.Cut(s, "?>")
	if declared && strings.HasPrefix(s, "<?xml") {
		lower := strings.ToLower(head)
		for _, name := range []string{"iso-8859-1", "windows-1252", "latin1"} {
			if strings.Contains(lower, `"`+name+`"`) || strings.Contains(lower, "'"+name+"'") {
				return CharacterString(b, VarCharMax)
			}
		}
	}
	return s
}

func decodeUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// xmlBytes is xml as bytes: in UTF-16 behind a byte order mark.
func xmlBytes(v any, to Type) (any, *sqlerr.Error) {
	s, _ := v.(string)
	out := append([]byte{0xff, 0xfe}, CharacterBytes(s, NVarCharMax)...)
	if to.Length != MaxLength && len(out) > to.Length {
		return nil, sqlerr.New(6354, 10)
	}
	for to.Kind == Binary && len(out) < to.Length {
		out = append(out, 0)
	}
	return out, nil
}
