// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"
	"sync"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// FindIn finds an object in the schema that its name says, else in the first of schemas that has it; nil when there is
// none.
func FindIn(s *metadata.Catalog, schemas []string, name ObjectName) *metadata.Object {
	if name.Schema != "" {
		return s.Find(name.Schema, name.Name)
	}
	for _, in := range schemas {
		if o := s.Find(in, name.Name); o != nil {
			return o
		}
	}
	return nil
}

// Catalog is what is in a space, as it was when the statement first asked.
func (b *Binder) Catalog(space int32) *metadata.Catalog {
	if sch := b.Spaces[space]; sch != nil {
		return sch
	}
	sch, err := b.session.Catalog(b.ctx, space)
	if err != nil {
		panic(bindError{err})
	}
	b.Spaces[space] = sch
	return sch
}

// space is the space of a name's database: the current one when it names none.
func (b *Binder) space(name ObjectName) int32 {
	if name.Temporary() || strings.HasPrefix(name.Name, "@") {
		return TempSpace
	}
	if name.Database == "" {
		return b.session.DatabaseID()
	}
	space, ok := b.session.DatabaseNamed(name.Database)
	if !ok {
		b.Fail(911, name.Database)
	}
	if err := b.session.Enter(b.ctx, space); err != nil {
		panic(bindError{err})
	}
	return space
}

// Resolve finds a user object by name; the object is nil when there is none.
func (b *Binder) Resolve(name ObjectName) (int32, *metadata.Catalog, *metadata.Object) {
	if name.Database != "" && !name.Temporary() {
		if _, ok := b.session.DatabaseNamed(name.Database); !ok {
			return 0, nil, nil
		}
	}
	space := b.space(name)
	sch := b.Catalog(space)
	if space == TempSpace {
		return space, sch, sch.Named(1, name.Name)
	}
	return space, sch, FindIn(sch, b.session.Schemas(space, sch), name)
}

// Require asks for a permission on an object of a database.
func (b *Binder) Require(permission string, space int32, sch *metadata.Catalog, obj *metadata.Object) {
	if space == TempSpace || b.session.Chained(permission, space, sch, obj) {
		return
	}
	a := Access{
		Permission: permission,
		Space:      space,
		Schema:     sch.SchemaName(obj),
		Object:     obj.Name,
		ObjectID:   obj.ID,
	}
	b.permissions = append(b.permissions, a)
	if err := b.session.Require(b.ctx, a); err != nil {
		panic(bindError{err})
	}
}

// InDatabase makes another database the current one while a module, a default or a computed column of it is bound.
func (b *Binder) InDatabase(space int32) func() { return b.session.InDatabase(space) }

// SplitName reads a name of up to four parts, with brackets or quotes.
func SplitName(text string) ObjectName {
	parts := syntax.SplitName(text)
	var o ObjectName
	outs := []*string{&o.Name, &o.Schema, &o.Database, &o.Server}
	for i := 0; i < len(parts) && i < 4; i++ {
		*outs[i] = strings.TrimSpace(parts[len(parts)-1-i])
	}
	return o
}

var parsedExpressions sync.Map

// ParseExpression parses the text of a default, check or computed column; nil when it is no expression.
func ParseExpression(text string) ast.ScalarExpression {
	if n, ok := parsedExpressions.Load(text); ok {
		return n.(ast.ScalarExpression)
	}
	batch, err := syntax.ParseStored("SELECT " + text)
	if err != nil || len(batch.Statements) != 1 {
		return nil
	}
	sel, ok := batch.Statements[0].Node.(*ast.SelectStatement)
	if !ok {
		return nil
	}
	q, ok := sel.QueryExpression.(*ast.QuerySpecification)
	if !ok || len(q.SelectElements) != 1 {
		return nil
	}
	el, ok := q.SelectElements[0].(*ast.SelectScalarExpression)
	if !ok {
		return nil
	}
	parsedExpressions.Store(text, el.Expression)
	return el.Expression
}

var parsedModules sync.Map

// ParseModule parses a module's CREATE statement.
func ParseModule(o *metadata.Object) (*syntax.Batch, ast.Statement, *sqlerr.Error) {
	type module struct {
		batch *syntax.Batch
		node  ast.Statement
	}
	type text struct {
		definition       string
		quotedIdentifier bool
	}
	key := text{o.Definition, o.QuotedIdentifier}
	if m, ok := parsedModules.Load(key); ok {
		return m.(module).batch, m.(module).node, nil
	}
	batch, err := syntax.ParseQuoted(o.Definition, o.QuotedIdentifier)
	if err != nil {
		return nil, nil, err
	}
	if len(batch.Statements) != 1 {
		return nil, nil, sqlerr.New(4413, 1, o.Name)
	}
	parsedModules.Store(key, module{batch, batch.Statements[0].Node})
	return batch, batch.Statements[0].Node, nil
}

// ViewDefinition is the query of a view, with the names that its columns have been given; nil for no view.
func ViewDefinition(o *metadata.Object) (*ast.SelectStatement, []*ast.Identifier) {
	_, node, err := ParseModule(o)
	if err != nil {
		return nil, nil
	}
	switch n := node.(type) {
	case *ast.CreateViewStatement:
		return n.SelectStatement, n.Columns
	case *ast.CreateOrAlterViewStatement:
		return n.SelectStatement, n.Columns
	case *ast.AlterViewStatement:
		return n.SelectStatement, n.Columns
	}
	return nil, nil
}

// tableVariable binds FROM @t.
func (b *Binder) tableVariable(sc *Scope, n *ast.VariableTableReference) string {
	v := b.session.Variable(n.Variable.Name)
	if v == nil || v.Table == nil {
		b.Fail(1087, n.Variable.Name)
	}
	obj := b.session.Local(v.Table)
	alias := AliasOf(n.Alias)
	if alias == "" {
		alias = n.Variable.Name
	}
	return b.BaseTable(sc, TempSpace, b.Catalog(TempSpace), obj, alias, ObjectName{Name: n.Variable.Name})
}
