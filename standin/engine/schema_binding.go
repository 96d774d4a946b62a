// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/syntax/token"
)

// IsSchemaBound tells whether the definition of a view or function has the option SCHEMABINDING.
func IsSchemaBound(o *metadata.Object) bool {
	switch o.Kind {
	case metadata.KindView, metadata.KindScalar, metadata.KindInline, metadata.KindTableFunction:
		return token.ModuleOptionsOf(o.Definition, o.QuotedIdentifier).Has("SCHEMABINDING")
	default:
		return false
	}
}

// mayBind refuses what a schema-bound view or function may not name: 1054 for *, 4512 for what is not named with its
// schema alone, 4513 for views and functions that are not bound themselves
// (docs/t-sql/statements/create-view-transact-sql.md, SCHEMABINDING).
func (s *Session) mayBind(ctx context.Context, name bind.ObjectName, kind string, st syntax.Statement) error {
	node := st.Node
	if !token.ModuleOptionsOf(st.Definition(), s.settings.options["QuotedIdentifier"]).Has("SCHEMABINDING") {
		return nil
	}
	if starred(node) {
		return sqlerr.New(1054, 6, "*")
	}
	word := "function"
	if kind == metadata.KindView {
		word = "view"
	}
	space := s.db.ID()
	sch, err := s.schema(ctx, space)
	if err != nil {
		return err
	}
	own := map[string]bool{}
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		if c, ok := n.(*ast.CommonTableExpression); ok {
			own[lower(c.ExpressionName.Value)] = true
		}
	})
	self := sch.Find(s.schemaNamed(space, name), name.Name)
	var refused *sqlerr.Error
	judge := func(ref bind.ObjectName, optional bool) {
		if refused != nil || ref.Temporary() || ref.Schema == "" && own[lower(ref.Name)] {
			return
		}
		o := sch.Find(ref.Schema, ref.Name)
		switch {
		case optional && (o == nil || ref.Database != ""):
		case ref.Schema == "" || ref.Database != "" || ref.Server != "" || o != nil && self != nil && o.ID == self.ID:
			refused = sqlerr.New(4512, 3, word, name.String(), ref.String())
		case o != nil && o.Kind != metadata.KindTable && !IsSchemaBound(o):
			refused = sqlerr.New(4513, 2, word, name.String(), ref.String())
		}
	}
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		switch n := n.(type) {
		case *ast.NamedTableReference:
			judge(bind.NameOf(n.SchemaObject), false)
		case *ast.SchemaObjectFunctionTableReference:
			judge(bind.NameOf(n.SchemaObject), true)
		case *ast.FunctionCall:
			if t, ok := n.CallTarget.(*ast.MultiPartIdentifierCallTarget); ok {
				if parts := bind.Identifiers(t.MultiPartIdentifier); len(parts) == 1 {
					judge(bind.ObjectName{Schema: parts[0], Name: n.FunctionName.Value}, true)
				}
			}
		}
	})
	if refused != nil {
		return refused
	}
	return nil
}

// starred tells whether a module has a select list with *, other than within EXISTS, where it names nothing.
func starred(node ast.Statement) bool {
	harmless, found := map[any]bool{}, false
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		switch n := n.(type) {
		case *ast.ExistsPredicate:
			if q, ok := n.Subquery.(*ast.QuerySpecification); ok {
				for _, el := range q.SelectElements {
					harmless[el] = true
				}
			}
		case *ast.SelectStarExpression:
			found = found || !harmless[n]
		}
	})
	return found
}

// BoundTo is the name of a schema-bound module that refers to an object, or to a column of it; empty for none.
func (d *SchemaChange) BoundTo(o *metadata.Object, c *metadata.Column) string {
	for _, m := range d.sch.Sorted() {
		if m.ID == o.ID || !IsSchemaBound(m) {
			continue
		}
		for _, r := range references(m) {
			if found := d.sch.Find(r.name.Schema, r.name.Name); found != nil && found.ID == o.ID &&
				(c == nil || namesColumn(m, o, r.name, c)) {
				return m.Name
			}
		}
	}
	return ""
}

// namesColumn tells whether a module's text names a column of a table: without a qualifier, or with a name of that
// table in the module.
func namesColumn(m, table *metadata.Object, as bind.ObjectName, c *metadata.Column) bool {
	_, node, err := bind.ParseModule(m)
	if err != nil {
		return false
	}
	aliases, found := map[string]bool{lower(table.Name): true}, false
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		if t, ok := n.(*ast.NamedTableReference); ok &&
			strings.EqualFold(bind.NameOf(t.SchemaObject).String(), as.String()) &&
			t.Alias != nil {
			aliases[lower(t.Alias.Value)] = true
		}
	})
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		if ref, ok := n.(*ast.ColumnReferenceExpression); ok {
			parts := bind.Identifiers(ref.MultiPartIdentifier)
			last := len(parts) - 1
			found = found || last >= 0 && strings.EqualFold(parts[last], c.Name) && (last == 0 || aliases[lower(parts[last-1])])
		}
	})
	return found
}
