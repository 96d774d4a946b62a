// SPDX-License-Identifier: Apache-2.0

package sqltype

import (
	"strings"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
)

// Mode says what a conversion is for.
type Mode uint8

// The conversions' modes.
const (
	// Implicit is a conversion that nobody wrote; some pairs of types don't have one (257).
	Implicit Mode = iota
	// Explicit is CAST or CONVERT: too long strings are cut.
	Explicit
	// Assign stores into a column or parameter: too long strings are errors (the caller makes 2628 of ErrTruncated).
	Assign
)

// ErrTruncated is what Convert returns in mode Assign for a value that is too long; the caller knows table and column.
var ErrTruncated = sqlerr.New(8152, 1)

// Convert converts a value of type from to type to. style is CONVERT's style, DateOrder.Style when none is given.
// Errors: 206, 257, 529 for types that don't convert; 241, 242, 245, 248, 220, 244, 281, 8114, 8115, 8152, 8169 for
// values.
func Convert(v any, from, to Type, style int, mode Mode) (any, *sqlerr.Error) {
	if v == nil {
		return nil, nil
	}
	if from.Kind == SQLVariant {
		if to.Kind == SQLVariant {
			return v, nil
		}
		if mode != Explicit {
			return nil, sqlerr.New(257, 3, from.Kind, to.Kind)
		}
		from, v = TypeOf(v), Bare(v)
	}
	if err := Convertible(from, to, mode); err != nil {
		return nil, err
	}
	bare, language := splitStyle(style)
	if bare < 0 && !(from.Kind.IsCharacter() && to.Kind.IsTemporal()) {
		bare = 0
	}
	if style = bare; from.Kind.IsTemporal() || to.Kind.IsTemporal() {
		style = LocalStyle(bare, language.ID)
	}
	switch {
	case to.Kind == SQLVariant:
		return Variant{Type: from, Value: v}, nil
	case to.Kind == XML && from.Kind != XML:
		return toXML(v, from, style)
	case from.Kind == XML && to.Kind.IsBinary():
		return xmlBytes(v, to)
	case to.Kind == Bit:
		return toBit(v, from, to)
	case to.Kind.IsInteger():
		return toInteger(v, from, to)
	case to.Kind.IsExact():
		return toDecimal(v, from, to)
	case to.Kind.IsApproximate():
		return toFloat(v, from, to)
	case to.Kind.IsCharacter() || to.Kind == XML:
		return toCharacter(v, from, to, style, mode)
	case to.Kind.IsBinary():
		return toBinary(v, from, to, style, mode)
	case to.Kind == UniqueIdentifier:
		return toUUID(v, from, to)
	case to.Kind.IsTemporal():
		return toTemporal(v, from, to, style)
	}
	return nil, sqlerr.New(529, 1, from.Kind, to.Kind)
}

// Convertible is nil when values of from can become values of to at all
// (docs/t-sql/data-types/data-type-conversion-database-engine.md).
func Convertible(from, to Type, mode Mode) *sqlerr.Error {
	f, t := from.Kind, to.Kind
	if t == SQLVariant && f != t {
		// docs/t-sql/data-types/sql-variant-transact-sql.md, Restrictions.
		switch f {
		case Text, NText, Image, XML, RowVersion:
			return clash(f, t)
		}
		if from.Length == MaxLength {
			return clash(f, t)
		}
	}
	if f == SQLVariant && (formerLarge(t) || t == RowVersion) {
		return explicitClash(f, t, mode)
	}
	if f == t || f == Unknown || f == SQLVariant && t != XML || t == SQLVariant && f != XML {
		return nil
	}
	implicitOnly := func(need bool) *sqlerr.Error {
		if need && mode != Explicit {
			return sqlerr.New(257, 3, f, t)
		}
		return nil
	}
	switch {
	case f == XML || t == XML:
		return xmlConvertible(f, t, mode)
	case formerLarge(f) && f != Image && !t.IsCharacter(), formerLarge(t) && t != Image && !f.IsCharacter(),
		f == Image && !t.IsBinary(), t == Image && f.IsUnicode():
		return explicitClash(f, t, mode)
	case f.IsTemporal() && t.IsTemporal():
		if f == Date && t == Time || f == Time && t == Date {
			return clash(f, t)
		}
		return nil
	case f.IsTemporal() && (t.IsNumeric() || t == UniqueIdentifier), t.IsTemporal() && f == UniqueIdentifier:
		legacy := f == DateTime || f == SmallDateTime
		if !legacy || t == UniqueIdentifier {
			return explicitClash(f, t, mode)
		}
		return implicitOnly(true)
	case t.IsTemporal() && f.IsNumeric():
		if t != DateTime && t != SmallDateTime {
			return explicitClash(f, t, mode)
		}
		return nil
	case f == UniqueIdentifier && t.IsNumeric(), t == UniqueIdentifier && f.IsNumeric():
		return explicitClash(f, t, mode)
	case f.IsCharacter() && t.IsBinary():
		return implicitOnly(true)
	case f.IsBinary() && t.IsCharacter() && f != RowVersion:
		return nil
	case t.IsApproximate() && f.IsBinary():
		return explicitClash(f, t, mode)
	case f.IsTemporal() && t.IsBinary():
		return implicitOnly(true)
	}
	return nil
}

// formerLarge are the large types of before the ones with max, which convert to the types that they are the large form
// of alone.
func formerLarge(k Kind) bool { return k == Text || k == NText || k == Image }

func clash(f, t Kind) *sqlerr.Error { return sqlerr.New(206, 2, f, t) }

func explicitClash(f, t Kind, mode Mode) *sqlerr.Error {
	if mode == Explicit {
		return sqlerr.New(529, 2, f, t)
	}
	return clash(f, t)
}

func toBit(v any, from, to Type) (any, *sqlerr.Error) {
	switch x := v.(type) {
	case bool:
		return x, nil
	case int64:
		return x != 0, nil
	case float64:
		return x != 0, nil
	case decimal.Decimal:
		return !x.IsZero(), nil
	case string:
		s := strings.ToLower(strings.TrimSpace(x))
		switch s {
		case "true":
			return true, nil
		case "false", "":
			return false, nil
		}
		d, err := decimal.NewFromString(s)
		if err != nil || !d.IsInteger() {
			return nil, sqlerr.New(245, 1, from.Kind, x, to.Kind)
		}
		return !d.IsZero(), nil
	case []byte:
		for _, b := range x {
			if b != 0 {
				return true, nil
			}
		}
		return false, nil
	}
	return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
}

func toUUID(v any, from, to Type) (any, *sqlerr.Error) {
	switch x := v.(type) {
	case uuid.UUID:
		return x, nil
	case string:
		s := strings.TrimSpace(x)
		if strings.HasPrefix(s, "{") && len(s) >= 38 {
			s = s[1:37]
		}
		if len(s) > 36 {
			s = s[:36]
		}
		if len(s) != 36 {
			return nil, sqlerr.New(8169, 2)
		}
		u, err := uuid.Parse(s)
		if err != nil {
			return nil, sqlerr.New(8169, 2)
		}
		return u, nil
	case []byte:
		var b [16]byte
		copy(b[:], x)
		return FromServerOrder(b), nil
	}
	return nil, sqlerr.New(206, 2, from.Kind, to.Kind)
}

// FromServerOrder turns the 16 bytes of a GUID as SQL Server keeps them (first three groups little endian) into a UUID;
// it is its own inverse.
func FromServerOrder(b [16]byte) uuid.UUID {
	return uuid.UUID{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6],
		b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]}
}
