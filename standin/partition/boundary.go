// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// boundaryValue is a boundary value as a statement gives it, in its own type; the value of NULL is nil.
type boundaryValue struct {
	value any
	typ   sqltype.Type
}

func valueOf(ctx context.Context, s *engine.Session, node ast.ScalarExpression) (v boundaryValue, err error) {
	v.value, v.typ, err = s.EvaluateTyped(ctx, node)
	return v, err
}

// boundaryText is a boundary value as a column stores it, in SQLite's text. Its place in the list is for the messages,
// style is how the session reads dates: not those of datetime and smalldatetime, which are us_english
// (docs/t-sql/statements/create-partition-function-transact-sql.md, boundary_value).
func boundaryText(f *metadata.PartitionFunction, v boundaryValue, ordinal, style int) (string, error) {
	if v.value == nil {
		return "NULL", nil
	}
	if sqltype.Convertible(v.typ, f.Type, sqltype.Implicit) != nil {
		return "", sqlerr.New(7705, 1, ordinal)
	}
	if f.Type.Kind == sqltype.DateTime || f.Type.Kind == sqltype.SmallDateTime {
		style = 0
	}
	out, e := sqltype.Convert(v.value, v.typ, f.Type, style, sqltype.Implicit)
	if e != nil {
		return "", sqlerr.New(7705, 2, ordinal)
	}
	if cut(v.value, out, f.Type) {
		return "", sqlerr.New(7720, 1, ordinal)
	}
	return stored(out, f.Type)
}

// stored is a value in SQLite's text, as a column of the type stores it.
func stored(v any, t sqltype.Type) (string, error) {
	raw, err := sqltype.Encode(t, v)
	if err != nil {
		return "", err
	}
	return sqltype.StoredLiteral(raw), nil
}

// cut tells whether a value is longer than a type, or has lost digits as one of it.
func cut(v, converted any, t sqltype.Type) bool {
	switch x := v.(type) {
	case string:
		return t.Kind.IsCharacter() && len(utf16.Encode([]rune(strings.TrimRight(x, " ")))) > t.Length
	case []byte:
		return (t.Kind == sqltype.Binary || t.Kind == sqltype.VarBinary) && len(x) > t.Length
	case decimal.Decimal:
		switch y := converted.(type) {
		case int64:
			return !x.Equal(decimal.NewFromInt(y))
		case decimal.Decimal:
			return !x.Equal(y)
		}
	case float64:
		y, integer := converted.(int64)
		return integer && x != float64(y)
	}
	return false
}

// orderBounds puts boundary values in order and tells how they were written: the place of each in the list. 7708: two
// are equal.
func orderBounds(
	conn *sqlite.Conn,
	f *metadata.PartitionFunction,
	values []string,
) (ordered []string, places []int, err error) {
	if len(values) == 0 {
		return nil, nil, nil
	}
	var rows strings.Builder
	for i, v := range values {
		if i > 0 {
			rows.WriteByte(',')
		}
		fmt.Fprintf(&rows, "(%d,%s)", i+1, v)
	}
	by := f.Compared("v")
	twice := [2]int{}
	err = sqlitex.ExecuteTransient(
		conn,
		"WITH b(n, v) AS (VALUES "+rows.String()+") SELECT n, lag(n) OVER w, "+by+" IS lag("+by+") OVER w FROM b WINDOW w "+
			"AS (ORDER BY "+by+", n) ORDER BY "+by+", n",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			n := stmt.ColumnInt(0)
			if stmt.ColumnType(1) != sqlite.TypeNull && stmt.ColumnInt(2) == 1 && twice[0] == 0 {
				twice = [2]int{stmt.ColumnInt(1), n}
			}
			ordered, places = append(ordered, values[n-1]), append(places, n)
			return nil
		}},
	)
	if err == nil && twice[0] != 0 {
		err = sqlerr.New(7708, 1, twice[0], twice[1])
	}
	return ordered, places, err
}

// boundaryAt finds where a boundary value is in a function's, or would be: its place from 0, and whether it is there.
func boundaryAt(d *engine.SchemaChange, f *metadata.PartitionFunction, value string) (int, bool, error) {
	ordered, places, err := orderBounds(d.Conn(), f, append(slices.Clone(f.Values), value))
	var twice *sqlerr.Error
	if err != nil && (!errors.As(err, &twice) || twice.Number != 7708) {
		return 0, false, err
	}
	at := slices.Index(places, len(ordered))
	if twice != nil { // it is behind its equal
		return at - 1, true, nil
	}
	return at, false, nil
}
