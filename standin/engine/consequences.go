// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// consequence is the message after a statement's error that says what did not happen, nil where none follows
// (docs/relational-databases/errors-events/database-engine-events-and-errors.md: those that refer to previous errors).
func consequence(node ast.Statement, e *sqlerr.Error) *sqlerr.Error {
	switch n := node.(type) {
	case *ast.CreateTableStatement, *ast.CreateTypeTableStatement, *ast.AlterTableAddTableElementStatement:
		if keepsConstraintFromBeing(e) {
			return sqlerr.New(1750, 1)
		}
	case *ast.CreateSchemaStatement:
		return sqlerr.New(2759, 0)
	case *ast.AlterTableDropTableElementStatement:
		switch e.Number {
		case 3728:
			return sqlerr.New(3727, 0)
		case 5074:
			return sqlerr.New(4922, 9, "ALTER TABLE DROP COLUMN", droppedColumn(n), "column")
		}
	case *ast.AlterTableAlterColumnStatement:
		if e.Number == 5074 && n.ColumnIdentifier != nil {
			return sqlerr.New(4922, 9, "ALTER TABLE ALTER COLUMN", n.ColumnIdentifier.Value, "column")
		}
	case *ast.AlterTableConstraintModificationStatement:
		if e.Number == 4917 {
			return sqlerr.New(4916, 0)
		}
	case *syntax.AlterDatabase:
		switch e.Number {
		case 1468, 3906, 5011, 5061, 5064, 5070:
			return sqlerr.New(5069, 1)
		}
	}
	return nil
}

// keepsConstraintFromBeing tells whether an error of CREATE TABLE or ALTER TABLE ADD is about a constraint or an index.
func keepsConstraintFromBeing(e *sqlerr.Error) bool {
	switch e.Number {
	case 1711,
		1715,
		1752,
		1753,
		1757,
		1761,
		1762,
		1763,
		1764,
		1765,
		1767,
		1769,
		1770,
		1776,
		1778,
		1779,
		1781,
		1785,
		1911,
		1919,
		1944,
		2729,
		2799,
		8111,
		8112,
		8141,
		1904:
		return true
	case 2714:
		return e.State == 5 // a constraint's name, not the table's
	}
	return false
}

// droppedColumn is the first column that ALTER TABLE DROP names.
func droppedColumn(n *ast.AlterTableDropTableElementStatement) string {
	for _, part := range n.AlterTableDropTableElements {
		if part.Name != nil && part.TableElementType != "Constraint" {
			return part.Name.Value
		}
	}
	return ""
}
