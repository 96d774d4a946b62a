// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// selectStatement executes SELECT.
func (s *Session) selectStatement(ctx context.Context, n *ast.SelectStatement, w tds.Writer) error {
	if n.Into != nil {
		return s.selectInto(ctx, n, w)
	}
	p, err := s.compile(ctx, n, func(b *bind.Binder) *bind.Plan { return b.Select(n) })
	if err != nil {
		return err
	}
	if err := s.allowRead(ctx, p); err != nil {
		return err
	}
	if len(p.Variables) > 0 {
		return s.selectVariables(ctx, p, w)
	}
	if err := w.Columns(p.Columns); err != nil {
		return err
	}
	if s.settings.fmtOnly {
		return w.Done(s.completion(0))
	}
	count := int64(0)
	limit := s.settings.rowCount
	err = s.queryPlan(ctx, p, func(values []any) error {
		if limit > 0 && count >= limit {
			return errEnough
		}
		count++
		s.limitText(p.Columns, values)
		return w.Row(values)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	s.rowCount = count
	return w.Done(s.completion(count))
}

// limitText cuts the values of large types to the bytes that TEXTSIZE allows
// (docs/t-sql/statements/set-textsize-transact-sql.md).
func (s *Session) limitText(columns []tds.Column, values []any) {
	limit := int(s.settings.textSize)
	if limit <= 0 || s.internal {
		return
	}
	for i, c := range columns {
		k := c.Type.Kind
		if c.Type.Length != sqltype.MaxLength && k != sqltype.Text && k != sqltype.NText && k != sqltype.Image {
			continue
		}
		switch v := values[i].(type) {
		case string:
			if k.IsUnicode() {
				values[i] = sqltype.Cut(v, limit/2)
			} else {
				values[i] = sqltype.Cut(v, limit)
			}
		case []byte:
			values[i] = v[:min(len(v), limit)]
		}
	}
}

// errEnough ends a query early.
var errEnough = fmt.Errorf("enough rows")

// allowRead asks the access hooks about the user databases that a plan reads.
func (s *Session) allowRead(ctx context.Context, p *bind.Plan) error {
	if len(s.inst.registry.access) == 0 || s.internal {
		return nil
	}
	for space := range p.Versions {
		if space <= 4 {
			continue
		}
		if db := s.inst.DatabaseByID(space); db != nil {
			if err := s.allow(ctx, db); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) allow(ctx context.Context, db *Database) error {
	if s.internal || db.ID() <= 4 {
		return nil
	}
	for _, f := range s.inst.registry.access {
		if err := f(ctx, s, db); err != nil {
			return err
		}
	}
	return nil
}

// selectVariables is SELECT @x = ..., which sets the variables once for every row.
func (s *Session) selectVariables(ctx context.Context, p *bind.Plan, w tds.Writer) error {
	count := int64(0)
	err := s.queryPlan(ctx, p, func(values []any) error {
		count++
		for i, a := range p.Variables {
			v := s.variable(a.Variable)
			if v == nil {
				return sqlerr.New(137, 1, a.Variable)
			}
			v.value = values[i]
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.rowCount = count
	return nil
}

// selectInto is SELECT ... INTO: makes the table and fills it.
func (s *Session) selectInto(ctx context.Context, n *ast.SelectStatement, w tds.Writer) error {
	copied := *n
	copied.Into = nil
	counter, err := s.identityFunction(ctx, &copied)
	if err != nil {
		return err
	}
	p, err := s.compile(ctx, nil, func(b *bind.Binder) *bind.Plan { return b.Select(&copied) })
	if err != nil {
		return err
	}
	name := bind.NameOf(n.Into)
	if !name.Temporary() {
		if err := s.RequireDDL(ctx, name, "CREATE TABLE"); err != nil {
			return err
		}
	}
	table := &metadata.Table{NextColumn: 1, NextIndex: 2}
	identity := false
	for i, c := range p.Columns {
		if c.Name == "" {
			return sqlerr.New(1038, 5)
		}
		if table.Column(c.Name) != nil {
			return sqlerr.New(2705, 3, c.Name, name.Name)
		}
		col := &metadata.Column{
			ID:        int32(i + 1),
			Name:      c.Name,
			Type:      c.Type,
			Nullable:  c.Nullable && !c.Identity,
			Collation: p.Collations[i],
			Numeric:   c.Numeric,
		}
		switch {
		case counter.names(c.Name) && identity:
			return sqlerr.New(8108, 1, name.Name, table.IdentityColumn().Name)
		case counter.names(c.Name):
			col.Identity, col.Nullable, identity = counter.identity, false, true
			counter.at = i
		case c.Identity && counter != nil:
			return sqlerr.New(8108, 1, name.Name, c.Name)
		case c.Identity && !identity:
			col.Identity, identity = &metadata.Identity{Seed: 1, Increment: 1}, true
		}
		table.Columns = append(table.Columns, col)
		table.NextColumn++
	}
	var obj *metadata.Object
	if err := s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		if err := d.Place(name); err != nil {
			return err
		}
		obj = d.NewObject(name, metadata.KindTable)
		obj.Table = table
		b := &tableBuilder{d: d, o: obj}
		if n.On != nil {
			d.on = &ast.FileGroupOrPartitionScheme{Name: &ast.IdentifierOrValueExpression{Identifier: n.On}}
		}
		if err := b.placeTable(d.on, nil); err != nil {
			return err
		}
		return d.createTable(obj)
	}); err != nil {
		return err
	}
	count, err := s.copyRows(ctx, name, obj, p, counter)
	if err != nil {
		return err
	}
	s.rowCount = count
	return w.Done(s.completion(count))
}

// copyRows inserts a query's rows into a table that was just made; identity values are kept.
func (s *Session) copyRows(
	ctx context.Context,
	name bind.ObjectName,
	obj *metadata.Object,
	p *bind.Plan,
	counter *identityInto,
) (int64, error) {
	var rows [][]any
	err := s.queryPlan(ctx, p, func(values []any) error {
		values = append([]any(nil), values...)
		if counter != nil {
			values[counter.at] = counter.value(len(rows), p.Columns[counter.at].Type)
		}
		rows = append(rows, values)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return s.insertRows(ctx, name, obj, obj.Table.Columns, rows)
}
