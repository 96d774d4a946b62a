// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// textLiteral is a constant of text. One that is not national has the characters of the database's code page alone,
// whatever it is for (docs/t-sql/data-types/constants-transact-sql.md, Unicode strings).
func (b *Binder) textLiteral(s string, national bool) Expr {
	if national {
		return nationalLiteral(s)
	}
	t := b.session.InCodePage(sqltype.Type{Kind: sqltype.VarChar})
	s = t.Page.Kept(s)
	if t.Length = max(t.Units(s), 1); t.Length > 8000 {
		t.Length = sqltype.MaxLength
	}
	return literal(t, s)
}

func (b *Binder) integerLiteral(s string) Expr {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > 2147483647 {
		return b.numericLiteral(s)
	}
	return literal(sqltype.IntType, n)
}

func (b *Binder) numericLiteral(s string) Expr {
	d, err := decimal.NewFromString(s)
	if err != nil {
		b.Fail(102, s)
	}
	whole, frac, _ := strings.Cut(s, ".")
	whole = strings.TrimLeft(whole, "0")
	p := len(whole) + len(frac)
	if p > 38 {
		b.Fail(1007, "number", s)
	}
	return literal(sqltype.DecimalOf(uint8(max(p, 1)), uint8(len(frac))), d)
}

// continuedLines are taken out of constants: a backslash at the end of a line goes on in the next one
// (docs/t-sql/language-elements/sql-server-utilities-statements-backslash.md).
var continuedLines = strings.NewReplacer("\\\r\n", "", "\\\n", "")

// nationalLiteral is a constant of nvarchar.
func nationalLiteral(s string) Expr {
	t := sqltype.NVarCharOf(max(sqltype.Length(s), 1))
	if t.Length > 4000 {
		t.Length = sqltype.MaxLength
	}
	return literal(t, s)
}

func (b *Binder) binaryLiteral(s string) Expr {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		b.Fail(102, s)
	}
	t := sqltype.VarBinaryOf(max(1, len(raw)))
	if len(raw) > 8000 {
		t.Length = sqltype.MaxLength
	}
	return literal(t, raw)
}

func (b *Binder) odbcLiteral(n *ast.OdbcLiteral) Expr {
	to := sqltype.DateTimeType
	if lower(n.OdbcLiteralType) == "guid" {
		to = sqltype.GUIDType
	}
	return b.Convert(b.textLiteral(n.Value, n.IsNational), to, sqltype.Explicit, 0, false)
}
