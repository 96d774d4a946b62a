// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// Plan is a bound statement, ready to be prepared on a connection.
type Plan struct {
	SQL    string
	Params []Parameter
	Needs  []VirtualTable
	Home   int32
	// Columns are the result's, Collations what theirs are called; Variables are the targets of SELECT @x = ....
	Columns    []tds.Column
	Collations []string
	Variables  []Assignment
	// Versions are those of the metadata that the plan was made of.
	Versions map[int32]int64
	// Constant is set for an expression that is a literal.
	Constant bool
	Value    any
	// Locks tells that a reader joins the transaction of the session.
	Locks bool
	// Modification is set for a statement that changes rows.
	Modification *Modification
	// Permissions are asked for again at each execution.
	Permissions []Access
	// Unlevelled are the databases whose tables it touches without a hint that says at which isolation level.
	Unlevelled map[int32]bool
}

// Plan turns what the binder has gathered into a plan.
func (b *Binder) Plan(sql string) *Plan {
	p := &Plan{
		SQL:         b.withClause() + sql,
		Params:      b.Params,
		Needs:       b.Needs,
		Home:        b.Home,
		Versions:    map[int32]int64{},
		Locks:       b.locks,
		Permissions: b.permissions,
	}
	for space, sch := range b.Spaces {
		p.Versions[space] = sch.Version
	}
	return p
}

// Better is the space where the statement should be executed, given what it reads.
func (b *Binder) Better() int32 {
	if b.Used[b.Home] {
		return b.Home
	}
	if len(b.Used) == 1 {
		for space := range b.Used {
			return space
		}
	}
	if len(b.Used) == 0 {
		return TempSpace
	}
	return b.Home
}

// Expression binds a SELECT of one expression, converted to t, or as it is for nil.
func (b *Binder) Expression(node ast.ScalarExpression, t *sqltype.Type) *Plan {
	e := b.Scalar(&Scope{}, node)
	if t != nil {
		e = b.Convert(e, *t, sqltype.Implicit, 0, false)
	} else if e.Null {
		e = literal(sqltype.IntType, nil)
	}
	p := b.Plan("SELECT " + e.SQL)
	p.Columns = []tds.Column{{Type: e.Type}}
	p.Constant, p.Value = e.HasLiteral, e.Literal
	return p
}

// Select binds SELECT.
func (b *Binder) Select(n *ast.SelectStatement) *Plan {
	b.options(n.OptimizerHints)
	b.With(n.WithCtesAndXmlNamespaces)
	q := b.Query(&Scope{}, n.QueryExpression, QueryOptions{assign: true})
	p := b.Plan(q.sql)
	p.Variables = q.variables
	for _, o := range q.Outputs {
		p.Columns, p.Collations = append(p.Columns, ResultColumn(o)), append(p.Collations, o.expr.collationShown())
	}
	return p
}
