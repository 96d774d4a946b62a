// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// identityInto is the IDENTITY function of a SELECT ... INTO (docs/t-sql/functions/identity-function-transact-sql.md):
// the column of that name counts.
type identityInto struct {
	column   string
	identity *metadata.Identity
	// at is the column's place in the rows.
	at int
}

func (c *identityInto) names(column string) bool {
	return c != nil && strings.EqualFold(c.column, column)
}

// value is that of the row after so many.
func (c *identityInto) value(rows int, t sqltype.Type) any {
	return bind.CountedValue(t, c.identity.Seed+int64(rows)*c.identity.Increment)
}

// identityFunction finds the function in the select list, and puts a value of its type in its place; nil without one.
// Errors: 8109 for two of them, 2749 for a type that cannot count.
func (s *Session) identityFunction(ctx context.Context, n *ast.SelectStatement) (*identityInto, error) {
	q, ok := n.QueryExpression.(*ast.QuerySpecification)
	if !ok {
		return nil, nil
	}
	var found *identityInto
	copied := *q
	copied.SelectElements = append([]ast.SelectElement(nil), q.SelectElements...)
	for i, el := range q.SelectElements {
		scalar, ok := el.(*ast.SelectScalarExpression)
		if !ok {
			continue
		}
		call, ok := scalar.Expression.(*ast.IdentityFunctionCall)
		if !ok {
			continue
		}
		if found != nil {
			return nil, sqlerr.New(8109, 1, bind.NameOf(n.Into).Name)
		}
		var err error
		if found, err = s.identityInto(ctx, call, bind.PlainName(scalar.ColumnName)); err != nil {
			return nil, err
		}
		placed := *scalar
		placed.Expression = &ast.CastCall{DataType: call.DataType, Parameter: bind.IntegerNode("0")}
		copied.SelectElements[i] = &placed
	}
	if found != nil {
		n.QueryExpression = &copied
	}
	return found, nil
}

func (s *Session) identityInto(
	ctx context.Context,
	call *ast.IdentityFunctionCall,
	column string,
) (*identityInto, error) {
	t, e := bind.DataTypeOf(call.DataType, true)
	if e != nil {
		return nil, e
	}
	if !t.Kind.IsInteger() && t.Kind != sqltype.Decimal || t.Kind == sqltype.Bit || t.Scale > 0 {
		return nil, sqlerr.New(2749, 2, column)
	}
	c := &identityInto{column: column, identity: &metadata.Identity{Seed: 1, Increment: 1}}
	for node, to := range map[ast.ScalarExpression]*int64{call.Seed: &c.identity.Seed,
		call.Increment: &c.identity.Increment} {
		if node == nil {
			continue
		}
		n, err := s.evaluateInt(ctx, node)
		if err != nil {
			return nil, err
		}
		*to = n
	}
	return c, nil
}
