// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax/token"
)

// ParseParameters parses a parameter declaration as sp_executesql and sp_prepare take it:
// "@p1 int, @p2 nvarchar(20) = N'x' OUTPUT". An empty text declares none.
func ParseParameters(decl string) ([]Parameter, *sqlerr.Error) {
	tokens, err := token.Split(decl, true)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	var all []Parameter
	err = attempt(func() {
		seen := map[string]bool{}
		for p.peek().Kind != token.End {
			one := p.parameter()
			if seen[strings.ToLower(one.Name)] {
				p.refuseWith(134, one.Name)
			}
			seen[strings.ToLower(one.Name)] = true
			all = append(all, one)
			if p.peek().Kind == token.End {
				return
			}
			p.expect(",")
			if p.peek().Kind == token.End {
				p.refuse()
			}
		}
	})
	return all, err
}

// userTypeName reads the name of a type that CREATE TYPE made, with its schema when that is given.
func (p *parser) userTypeName() string {
	name := ""
	for {
		t := p.peek()
		if !token.IsName(t) {
			p.refuse()
		}
		p.at++
		name += "[" + strings.ReplaceAll(t.Value, "]", "]]") + "]"
		if !p.accept(".") {
			return name
		}
		name += "."
	}
}

// ParseType parses a data type as columns, variables and parameters have it: "decimal(10, 2)", "sysname",
// "nvarchar(max)".
func ParseType(text string) (sqltype.Type, *sqlerr.Error) {
	tokens, err := token.Split(text, true)
	if err != nil {
		return sqltype.Type{}, err
	}
	p := &parser{tokens: tokens}
	var t sqltype.Type
	err = attempt(func() {
		t = p.dataType()
		if p.peek().Kind != token.End {
			p.refuse()
		}
	})
	return t, err
}

func (p *parser) parameter() Parameter {
	one := Parameter{Name: p.variable()}
	p.accept("AS")
	at := p.at
	if err := attempt(func() { one.Type = p.dataType() }); err != nil {
		if err.Number != 243 && err.Number != 2715 {
			panic(refusal{err})
		}
		p.at = at
		one.TypeName = p.userTypeName()
	}
	if p.accept("=") {
		one.HasDefault = true
		one.Default = p.literal()
	}
	for {
		switch {
		case p.accept("OUTPUT"), p.accept("OUT"):
			one.Output = true
		case p.is("READONLY") && one.TypeName == "":
			p.refuseWith(346, one.Name)
		case p.accept("READONLY"):
			one.ReadOnly = true
		default:
			return one
		}
	}
}

func (p *parser) literal() any {
	minus := p.accept("-")
	t := p.next()
	switch t.Kind {
	case token.String:
		return t.Value
	case token.Integer:
		n, err := strconv.ParseInt(t.Text, 10, 64)
		if err != nil {
			p.refuseWith(1080, t.Text)
		}
		if minus {
			n = -n
		}
		return n
	case token.Number, token.Money:
		f, err := strconv.ParseFloat(strings.TrimPrefix(t.Text, "$"), 64)
		if err != nil {
			p.at--
			p.refuse()
		}
		if minus {
			f = -f
		}
		return f
	case token.Binary:
		p.at--
		return p.binary()
	}
	if t.Is("NULL") {
		return nil
	}
	if t.Kind == token.Word && !t.Reserved {
		return t.Text
	}
	p.at--
	p.refuse()
	return nil
}

// typeShape says what may stand in a type's parentheses: l a length, m also (max), p precision and scale, s a scale,
// f float's mantissa bits.
type typeShape struct {
	kind  sqltype.Kind
	shape string
	max   int64
}

var typeNames = map[string]typeShape{
	"bit": {kind: sqltype.Bit}, "tinyint": {kind: sqltype.TinyInt}, "smallint": {kind: sqltype.SmallInt},
	"int": {kind: sqltype.Int}, "integer": {kind: sqltype.Int}, "bigint": {kind: sqltype.BigInt},
	"smallmoney": {kind: sqltype.SmallMoney}, "money": {kind: sqltype.Money}, "real": {kind: sqltype.Real},
	"date": {kind: sqltype.Date}, "smalldatetime": {kind: sqltype.SmallDateTime}, "datetime": {kind: sqltype.DateTime},
	"uniqueidentifier": {kind: sqltype.UniqueIdentifier}, "xml": {kind: sqltype.XML}, "text": {kind: sqltype.Text},
	"ntext": {kind: sqltype.NText}, "image": {kind: sqltype.Image}, "sql_variant": {kind: sqltype.SQLVariant},
	"timestamp": {kind: sqltype.RowVersion}, "rowversion": {kind: sqltype.RowVersion},
	"sysname": {kind: sqltype.NVarChar, shape: "sysname"},
	"decimal": {kind: sqltype.Decimal, shape: "p"}, "numeric": {kind: sqltype.Decimal, shape: "p"},
	"dec": {kind: sqltype.Decimal, shape: "p"}, "float": {kind: sqltype.Float, shape: "f"},
	"char": {kind: sqltype.Char, shape: "l", max: 8000}, "character": {kind: sqltype.Char, shape: "l", max: 8000},
	"varchar": {kind: sqltype.VarChar, shape: "m", max: 8000}, "nchar": {kind: sqltype.NChar, shape: "l", max: 4000},
	"nvarchar": {kind: sqltype.NVarChar, shape: "m", max: 4000}, "binary": {kind: sqltype.Binary, shape: "l", max: 8000},
	"varbinary": {kind: sqltype.VarBinary, shape: "m", max: 8000}, "time": {kind: sqltype.Time, shape: "s"},
	"datetime2": {kind: sqltype.DateTime2, shape: "s"}, "datetimeoffset": {kind: sqltype.DateTimeOffset, shape: "s"},
}

func (p *parser) dataType() sqltype.Type {
	p.accept("sys", ".")
	name := p.peek()
	if name.Kind != token.Quoted && name.Kind != token.Word {
		p.refuse()
	}
	shape, ok := typeNames[strings.ToLower(name.Value)]
	if !ok {
		if name.Kind == token.Word && name.Reserved {
			p.refuse()
		}
		p.refuseWith(2715, 1, name.Value)
	}
	p.next()
	t := sqltype.Type{Kind: shape.kind}
	switch shape.shape {
	case "sysname":
		t.Length = token.MaxIdentifier
	case "l", "m":
		t.Length = p.typeLength(shape, name.Value)
	case "p":
		p.precision(&t)
	case "s":
		t.Scale = 7
		if p.accept("(") {
			t.Scale = uint8(p.integerIn(0, 7))
			p.expect(")")
		}
	case "f":
		if p.accept("(") {
			if p.integerIn(1, 53) <= 24 {
				t.Kind = sqltype.Real
			}
			p.expect(")")
		}
	}
	return t
}

func (p *parser) typeLength(shape typeShape, name string) int {
	if !p.accept("(") {
		return 1
	}
	if shape.shape == "m" && p.accept("MAX") {
		p.expect(")")
		return sqltype.MaxLength
	}
	n := p.integer()
	if n == 0 {
		p.refuseWith(1001, p.peek().Line, n)
	}
	if n > shape.max {
		p.refuseWith(131, n, "type", name, shape.max)
	}
	p.expect(")")
	return int(n)
}

func (p *parser) precision(t *sqltype.Type) {
	t.Precision = 18
	if !p.accept("(") {
		return
	}
	n := p.integer()
	if n < 1 || n > 38 {
		p.refuseWith(1001, p.peek().Line, n)
	}
	t.Precision = uint8(n)
	if p.accept(",") {
		s := p.integer()
		if s > n {
			p.refuseWith(192)
		}
		t.Scale = uint8(s)
	}
	p.expect(")")
}
