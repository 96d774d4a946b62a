// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
)

// IsQuery serves tds.Session: one SELECT that gives rows, or the execution of one procedure other than a system
// procedure: of those SQL Server's have several SELECT statements
// (docs/relational-databases/system-stored-procedures/sp-cursoropen-transact-sql.md, stmt). What does not parse counts
// as one: executing it says what is wrong.
func (s *Session) IsQuery(text string) bool {
	batch, err := s.batches.parse(text, "cursor", s.settings.options["QuotedIdentifier"])
	if err != nil {
		return true
	}
	if len(batch.Statements) != 1 {
		return false
	}
	switch n := batch.Statements[0].Node.(type) {
	case *ast.SelectStatement:
		return n.Into == nil && !assigns(n)
	case *ast.ExecuteStatement:
		return !s.executesSystemProcedure(n)
	}
	return false
}

func (s *Session) executesSystemProcedure(n *ast.ExecuteStatement) bool {
	e, ok := n.ExecuteSpecification.ExecutableEntity.(*ast.ExecutableProcedureReference)
	if !ok || e.ProcedureReference == nil || e.ProcedureReference.ProcedureReference == nil ||
		e.ProcedureReference.ProcedureReference.Name == nil {
		return false
	}
	p, _ := s.findProcedure(bind.NameOf(e.ProcedureReference.ProcedureReference.Name))
	return p != nil
}

// assigns tells whether a SELECT gives its values to variables.
func assigns(n *ast.SelectStatement) bool {
	q, ok := n.QueryExpression.(*ast.QuerySpecification)
	if !ok {
		return false
	}
	for _, el := range q.SelectElements {
		if _, ok := el.(*ast.SelectSetVariable); ok {
			return true
		}
	}
	return false
}
