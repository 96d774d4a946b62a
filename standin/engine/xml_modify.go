// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// modifyVariable is SET @variable.modify(...).
func (s *Session) modifyVariable(ctx context.Context, n *ast.SetVariableStatement) error {
	v := s.variable(n.Variable.Name)
	if v == nil {
		return sqlerr.New(137, 1, n.Variable.Name)
	}
	p, err := s.compile(ctx, n, func(b *bind.Binder) *bind.Plan {
		name := n.Variable.Name
		e := b.Modified(&bind.Scope{}, b.Receiver(b.Variable(name)), name, n.Identifier.Value, n.Parameters)
		p := b.Plan("SELECT " + e.SQL)
		p.Columns = []tds.Column{{Type: e.Type}}
		return p
	})
	if err != nil {
		return err
	}
	value, err := s.planValue(ctx, p)
	if err != nil {
		return err
	}
	v.value = value
	s.rowCount = 1
	return nil
}
