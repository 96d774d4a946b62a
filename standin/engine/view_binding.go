// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
)

// ViewShape are the columns of a view or inline function, as its query gives them now; none when it can no longer be
// bound.
func (s *Session) ViewShape(ctx context.Context, o *metadata.Object) []*metadata.Column {
	def, names := bind.ViewDefinition(o)
	var call *bind.InlineCall
	if o.Kind == metadata.KindInline {
		call = bind.InlineCallOf(s.viewDatabase().ID(), o)
	}
	if call != nil {
		def = call.Query
	}
	if def == nil {
		return nil
	}
	before := s.db
	s.db = s.viewDatabase()
	defer func() { s.db = before }()
	var q bind.BoundQuery
	if bind.Safely(func() {
		b := newBinder(ctx, s, s.db.ID())
		if call != nil {
			args := make([]ast.ScalarExpression, len(call.Parameters))
			for i := range args {
				args[i] = &ast.NullLiteral{}
			}
			defer b.EnterFunction(&bind.Scope{}, call, args)()
		}
		b.With(def.WithCtesAndXmlNamespaces)
		q = b.Query(&bind.Scope{}, def.QueryExpression, bind.QueryOptions{})
	}) != nil {
		return nil
	}
	out := make([]*metadata.Column, len(q.Outputs))
	for i, o := range q.Outputs {
		told := bind.ResultColumn(o)
		out[i] = &metadata.Column{ID: int32(i + 1), Name: told.Name, Type: told.Type, Nullable: told.Nullable}
		if i < len(names) {
			out[i].Name = names[i].Value
		}
		if told.Type.Kind.IsCharacter() {
			out[i].Collation = told.Collation
		}
	}
	return out
}
