// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
)

// checkFileGroups is 1921 when a statement that makes a table, a constraint or an index places it anywhere but in PRIMARY, which is all
// there is (docs/t-sql/statements/create-table-transact-sql.md, ON and TEXTIMAGE_ON).
func checkFileGroups(node ast.Statement) error {
	var wrong *sqlerr.Error
	place := func(kind string, name *ast.IdentifierOrValueExpression) {
		if name == nil || wrong != nil {
			return
		}
		text := name.Value
		if name.Identifier != nil {
			text = name.Identifier.Value
		}
		if text = strings.Trim(text, `"'[]`); kind != "filegroup" || !strings.EqualFold(text, "PRIMARY") && !strings.EqualFold(text, "default") {
			wrong = sqlerr.New(1921, 1, kind, text)
		}
	}
	switch node.(type) {
	case *ast.CreateTableStatement, *ast.CreateIndexStatement, *ast.AlterTableAddTableElementStatement, *ast.DropIndexStatement:
	default:
		return nil
	}
	if n, ok := node.(*ast.CreateTableStatement); ok {
		place("filegroup", n.TextImageOn)
	}
	eachNode(reflect.ValueOf(node), func(n any) {
		if p, ok := n.(*ast.FileGroupOrPartitionScheme); ok && len(p.PartitionSchemeColumns) > 0 {
			place("partition scheme", p.Name)
		} else if ok {
			place("filegroup", p.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	return nil
}
