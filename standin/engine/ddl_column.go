// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

func (b *tableBuilder) column(n *ast.ColumnDefinition) error {
	t := b.o.Table
	name := n.ColumnIdentifier.Value
	if t.column(name) != nil {
		return sqlerr.New(2705, 3, name, b.o.shownName())
	}
	c := &Column{ID: t.NextColumn, Name: name, Nullable: true}
	if n.GeneratedAlways != "" || n.Encryption != nil || n.IsMasked {
		return unsupported("GENERATED ALWAYS, ENCRYPTED and MASKED columns")
	}
	if n.StorageOptions != nil && n.StorageOptions.IsFileStream {
		return unsupported("FILESTREAM columns")
	}
	t.NextColumn++
	t.Columns = append(t.Columns, c)
	if n.ComputedColumnExpression != nil {
		c.Computed, c.Persisted = b.text(n.ComputedColumnExpression), n.IsPersisted
		if err := plainlyComputed(n); err != nil {
			return err
		}
		if b.altering {
			return b.computed(n, c)
		}
		b.computes = append(b.computes, func() error { return b.computed(n, c) })
		return nil
	}
	if err := b.columnType(n, c); err != nil {
		return err
	}
	if n.Nullable != nil {
		c.Nullable = n.Nullable.Nullable
	}
	c.RowGUID = n.IsRowGuidCol
	if n.IdentityOptions != nil {
		if err := b.identity(n, c); err != nil {
			return err
		}
	}
	if n.DefaultConstraint != nil {
		if err := b.addDefault(n.DefaultConstraint, c); err != nil {
			return err
		}
	}
	for _, con := range n.Constraints {
		if err := b.columnConstraint(con, c, n); err != nil {
			return err
		}
	}
	if n.Index != nil {
		return b.inlineIndex(n.Index, c)
	}
	return nil
}

func (b *tableBuilder) columnType(n *ast.ColumnDefinition, c *Column) error {
	if n.DataType == nil {
		if strings.EqualFold(c.Name, "timestamp") {
			c.Type = sqltype.Type{Kind: sqltype.RowVersion}
			return nil
		}
		return sqlerr.New(173, 1, c.Name)
	}
	t, e := dataTypeOf(n.DataType, false)
	if e != nil {
		if u, ok := n.DataType.(*ast.UserDataTypeReference); ok {
			if o := b.d.s.userType(b.d.ctx, nameOf(u.Name)); o != nil && o.Kind == kindAlias {
				alias := o.Table.Columns[0]
				c.Type, c.UserType, c.UserTypeID, c.Nullable, c.Numeric = alias.Type, o.typeName(), o.userTypeID(), alias.Nullable, alias.Numeric
				e = nil
			}
		}
		if e != nil {
			if size, _, found := strings.Cut(strings.TrimPrefix(e.Message, "The size ("), ")"); found && (e.Number == 131 || e.Number == 2717) {
				return sqlerr.New(e.Number, e.State, size, "column", c.Name, pick(e.Number == 131, 8000, 4000))
			}
			return e
		}
	} else {
		c.Type = t
	}
	switch name := n.DataType.(type) {
	case *ast.UserDataTypeReference:
		if strings.EqualFold(nameOf(name.Name).name, "sysname") {
			c.UserType, c.Nullable = "sysname", false
		}
	case *ast.SqlDataTypeReference:
		c.Numeric = c.Numeric || strings.EqualFold(name.SqlDataTypeOption, "numeric")
		if strings.EqualFold(name.SqlDataTypeOption, "sysname") {
			c.UserType, c.Nullable = "sysname", false
		}
	}
	if c.Type.Kind == sqltype.RowVersion {
		c.Nullable = false
	}
	if c.Type.Kind.IsCharacter() {
		c.Collation = sqltype.DefaultCollation
		if b.d.db != nil {
			c.Collation = b.d.db.Info().Collation
		}
		if n.Collation != nil && !strings.EqualFold(n.Collation.Value, "database_default") {
			if _, ok := sqltype.ParseCollation(n.Collation.Value); !ok {
				return sqlerr.New(448, 1, n.Collation.Value)
			}
			c.Collation = n.Collation.Value
		}
	}
	return nil
}

func (b *tableBuilder) identity(n *ast.ColumnDefinition, c *Column) error {
	k := c.Type.Kind
	if !k.IsInteger() && !(k == sqltype.Decimal && c.Type.Scale == 0) {
		return sqlerr.New(2749, 2, c.Name)
	}
	for _, other := range b.o.Table.Columns {
		if other.Identity != nil {
			return sqlerr.New(2744, 2, b.o.Name)
		}
	}
	if n.Nullable != nil && n.Nullable.Nullable {
		return sqlerr.New(8147, 1, c.Name, b.o.Name)
	}
	if n.DefaultConstraint != nil {
		return sqlerr.New(1754, 0, b.o.Name, c.Name)
	}
	id := &Identity{Seed: 1, Increment: 1, NotForReplication: n.IdentityOptions.NotForReplication}
	for _, part := range []struct {
		node ast.ScalarExpression
		out  *int64
	}{{n.IdentityOptions.IdentitySeed, &id.Seed}, {n.IdentityOptions.IdentityIncrement, &id.Increment}} {
		if part.node == nil {
			continue
		}
		v, err := b.d.s.evaluate(b.d.ctx, part.node, sqltype.BigIntType)
		if err != nil {
			return err
		}
		*part.out, _ = v.(int64)
	}
	if id.Increment == 0 {
		return sqlerr.New(2748, 1, c.Name)
	}
	c.Identity, c.Nullable = id, false
	return nil
}

// declaredNotNull tells whether a column is declared NOT NULL.
func declaredNotNull(n *ast.ColumnDefinition) bool {
	for _, con := range n.Constraints {
		if t, ok := con.(*ast.NullableConstraintDefinition); ok && !t.Nullable {
			return true
		}
	}
	return false
}

// plainlyComputed refuses what a computed column cannot have here: keys, indexes and conditions.
func plainlyComputed(n *ast.ColumnDefinition) error {
	for _, con := range n.Constraints {
		switch t := con.(type) {
		case *ast.NullableConstraintDefinition:
			if !t.Nullable && !n.IsPersisted {
				return sqlerr.New(8183, 1)
			}
		case *ast.UniqueConstraintDefinition:
			return unsupported("An index on a computed column")
		case *ast.CheckConstraintDefinition, *ast.ForeignKeyConstraintDefinition:
			if !n.IsPersisted {
				return sqlerr.New(8183, 1)
			}
			return unsupported("A constraint of a computed column")
		default:
			return unsupported("A constraint of a computed column")
		}
	}
	if n.Index != nil {
		return unsupported("An index on a computed column")
	}
	return nil
}

// computed makes a column that is computed whenever it is read.
func (b *tableBuilder) computed(n *ast.ColumnDefinition, c *Column) error {
	c.Collation = sqltype.DefaultCollation
	o := *b.o
	_, err := b.d.over(&o, "", func(bind *binder, sc *scope) string {
		e := bind.scalar(sc, n.ComputedColumnExpression)
		c.Type, c.Nullable = e.typ, e.nullable || e.null
		if c.Nullable && declaredNotNull(n) {
			bind.refuse("NOT NULL of a computed column that may be NULL")
		}
		return e.sql
	})
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Number == 207 {
		for _, other := range o.Table.Columns {
			if other.Computed != "" && e.Message == sqlerr.Text(207, other.Name) {
				return sqlerr.New(1759, 0, other.Name, o.Name)
			}
		}
	}
	return err
}
