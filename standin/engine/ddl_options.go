// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// setTableOptions is ALTER TABLE ... SET (...): LOCK_ESCALATION is recorded, there are no locks to escalate
// (docs/t-sql/statements/alter-table-transact-sql.md, LOCK_ESCALATION).
func (s *Session) setTableOptions(ctx context.Context, n *ast.AlterTableSetStatement, _ tds.Writer) error {
	name := bind.NameOf(n.SchemaObjectName)
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		o, err := d.TableToChange(name, 4902)
		if err != nil {
			return err
		}
		for _, opt := range n.Options {
			escalation, ok := opt.(*ast.LockEscalationTableOption)
			if !ok {
				return unsupported(
					fmt.Sprintf("The table option %s", strings.ToUpper(strings.TrimSuffix(bind.NodeName(opt), " Table Option"))),
				)
			}
			known := false
			for i, word := range metadata.LockEscalations {
				if strings.EqualFold(word, escalation.Value) {
					o.Table.LockEscalation, known = i, true
				}
			}
			if !known {
				return sqlerr.New(102, 1, escalation.Value)
			}
		}
		return d.Modify(o)
	})
}
