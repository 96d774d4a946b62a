// SPDX-License-Identifier: Apache-2.0

package sqltype

// Arithmetic is the type of a decimal operation "+", "-", "*", "/" or "%" on two exact types
// (docs/t-sql/data-types/precision-scale-and-length-transact-sql.md).
func Arithmetic(op byte, a, b Type) Type {
	p1, s1 := precisionOf(a)
	p2, s2 := precisionOf(b)
	var p, s int
	switch op {
	case '*':
		p, s = p1+p2+1, s1+s2
	case '/':
		s = max(6, s1+p2+1)
		p = p1 - s1 + s2 + s
	case '%':
		s = max(s1, s2)
		p = min(p1-s1, p2-s2) + s
	default:
		s = max(s1, s2)
		p = s + max(p1-s1, p2-s2) + 1
	}
	return limitDecimal(op, p, s)
}

func limitDecimal(op byte, p, s int) Type {
	if p <= 38 {
		return DecimalOf(uint8(p), uint8(s))
	}
	if op == '+' || op == '-' {
		integral := p - 1 - s
		return DecimalOf(38, uint8(max(min(38-integral, s), 0)))
	}
	integral := p - s
	switch {
	case integral < 32:
		s = min(s, 38-integral)
	case s > 6:
		s = 6
	}
	return DecimalOf(38, uint8(s))
}

func precisionOf(t Type) (p, s int) {
	switch t.Kind {
	case Bit:
		return 1, 0
	case TinyInt:
		return 3, 0
	case SmallInt:
		return 5, 0
	case Int:
		// A literal knows how many digits it has.
		if t.Precision > 0 {
			return int(t.Precision), 0
		}
		return 10, 0
	case BigInt:
		return 19, 0
	case SmallMoney:
		return 10, 4
	case Money:
		return 19, 4
	case Decimal:
		return int(t.Precision), int(t.Scale)
	}
	return 38, 0
}

// Union is the type of a column that holds values of both types (CASE, COALESCE, UNION): the one of higher precedence,
// wide enough for both.
func Union(a, b Type) Type {
	if a.Kind == Unknown {
		return b
	}
	if b.Kind == Unknown {
		return a
	}
	hi, lo := a, b
	if precedence(b) > precedence(a) {
		hi, lo = b, a
	}
	switch {
	case hi.Kind == Decimal && (lo.Kind.IsInteger() || lo.Kind == Bit || lo.Kind.IsExact()):
		return unionDecimal(hi, lo)
	case hi.Kind.IsCharacter() && lo.Kind.IsCharacter(), hi.Kind.IsBinary() && lo.Kind.IsBinary():
		return unionLength(hi, lo)
	case hi.Kind == lo.Kind && lo.Scale > hi.Scale:
		hi.Scale = lo.Scale
	}
	return hi
}

func unionDecimal(a, b Type) Type {
	p1, s1 := precisionOf(a)
	p2, s2 := precisionOf(b)
	s := max(s1, s2)
	p := max(p1-s1, p2-s2) + s
	if p > 38 {
		s = max(0, s-(p-38))
		p = 38
	}
	return DecimalOf(uint8(p), uint8(s))
}

func unionLength(hi, lo Type) Type {
	if hi.Kind.IsUnicode() {
		hi.Page = 0
	} else if hi.Page == 0 && !lo.Kind.IsUnicode() {
		// A constant or variable gives way to a column.
		hi.Page = lo.Page
	}
	if lo.Length == MaxLength || hi.Length == MaxLength {
		switch hi.Kind {
		case Char:
			hi.Kind = VarChar
		case NChar:
			hi.Kind = NVarChar
		case Binary:
			hi.Kind = VarBinary
		}
		hi.Length = MaxLength
		return hi
	}
	if lo.Kind != hi.Kind && (lo.Kind == VarChar || lo.Kind == NVarChar) && hi.Kind == NChar {
		hi.Kind = NVarChar
	}
	hi.Length = max(hi.Length, lo.Length)
	if hi.Kind.IsUnicode() {
		// What is longer is cut (docs/t-sql/data-types/nchar-and-nvarchar-transact-sql.md: n is 4000 at most).
		hi.Length = min(hi.Length, 4000)
	}
	return hi
}

// precedence follows docs/t-sql/data-types/data-type-precedence-transact-sql.md, higher wins.
func precedence(t Type) int {
	order := [...]Kind{
		Binary,
		VarBinary,
		Image,
		Char,
		VarChar,
		NChar,
		NVarChar,
		Text,
		NText,
		UniqueIdentifier,
		RowVersion,
		Bit,
		TinyInt,
		SmallInt,
		Int,
		BigInt,
		SmallMoney,
		Money,
		Decimal,
		Real,
		Float,
		Time,
		Date,
		SmallDateTime,
		DateTime,
		DateTime2,
		DateTimeOffset,
		XML,
		SQLVariant,
	}
	for i, k := range order {
		if k == t.Kind {
			return i
		}
	}
	return -1
}

// Precedes tells whether a has the higher data type precedence.
func Precedes(a, b Type) bool { return precedence(a) > precedence(b) }
