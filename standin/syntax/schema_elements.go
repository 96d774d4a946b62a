// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/sqlc-dev/teesql/ast"

// schemaElements gives CREATE SCHEMA what follows it without a semicolon: teesql ends it at the first element that is
// one of this package's statements (docs/t-sql/statements/create-schema-transact-sql.md, schema_element). It returns
// the statements that are left.
func (f *finisher) schemaElements(list []ast.Statement) []ast.Statement {
	if len(list) == 0 {
		return list
	}
	n, ok := list[0].(*ast.CreateSchemaStatement)
	if !ok || n.StatementList == nil {
		return list
	}
	rest := list[1:]
	for len(rest) > 0 && f.isElement(rest[0]) && !f.tokens[f.tokenOf(rest[0])-1].Is(";") {
		n.StatementList.Statements = append(n.StatementList.Statements, rest[0])
		span := fragment(n)
		span.SetSpan(span.StartOffset, fragment(rest[0]).EndOffset()-span.StartOffset, span.StartLine, span.StartColumn)
		rest = rest[1:]
	}
	return append(list[:1:1], rest...)
}

func (f *finisher) isElement(st ast.Statement) bool {
	switch n := st.(type) {
	case *ast.CreateTableStatement, *ast.CreateViewStatement:
		return true
	case *ast.RevertStatement:
		_, ok := f.nodes[f.batch.offsets.original(n.StartOffset)].(*PermissionStatement)
		return ok
	}
	return false
}
