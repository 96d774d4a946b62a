// SPDX-License-Identifier: Apache-2.0

// Package syntax turns the text of a T-SQL batch into statements. Ordinary statements are nodes of
// github.com/sqlc-dev/teesql/ast; the statements that manage a server (availability groups, endpoints, certificates,
// principals, permissions, databases, backups) are strict nodes of this package, which satisfy ast.Statement too and so
// stand inside IF, WHILE, BEGIN...END and TRY...CATCH like any other. Text that isn't understood whole is refused.
package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax/token"
)

// Batch is a batch of statements.
type Batch struct {
	// Statements are the statements at the batch's outermost level, in order.
	Statements []Statement
	// Text is the batch as it was given.
	Text string

	offsets *offsets
	tokens  []token.Token
	alone   ast.Statement // nil in a batch of several
}

// Statement is one statement of a batch.
type Statement struct {
	// Node is a statement node of teesql's ast, or a pointer to one of this package's nodes.
	Node ast.Statement
	// Line is the line of the batch where the statement begins, from 1.
	Line int32
	// Text is the statement as written, without a terminating semicolon; Terminated tells whether it had one.
	Text       string
	Terminated bool
	// Before and After are what the batch has around the text of its only statement, empty where it has others.
	Before, After string
}

// Definition is the text of a statement that defines a module. Its last semicolon may be one that the module's last
// statement needs, as MERGE does.
func (s Statement) Definition() string {
	if s.Terminated {
		return s.Text + ";"
	}
	return s.Text
}

// Parameter is a declared parameter of sp_executesql, sp_prepare or a procedure.
type Parameter struct {
	// Name has its @.
	Name   string
	Type   sqltype.Type
	Output bool
	// TypeName is set for a type that CREATE TYPE made, whose Type is unknown; ReadOnly is what a table type needs.
	TypeName string
	ReadOnly bool
	// HasDefault tells that Default was given; Default is the literal's value as the type's Go value is documented in
	// sqltype, before conversion to Type: nil, int64, float64, string or []byte.
	HasDefault bool
	Default    any
}

// own is embedded by this package's nodes; it makes them statements of teesql's tree.
type own struct {
	ast.Statement
	ast.Fragment
}

// Frag returns the node's position.
func (o *own) Frag() *ast.Fragment { return &o.Fragment }

// IsOwn tells whether a statement is one of this package's strict nodes.
func IsOwn(node ast.Statement) bool {
	_, ok := node.(interface{ ownStatement() })
	return ok
}

func (o *own) ownStatement() {}
