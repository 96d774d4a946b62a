// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

func (b *tableBuilder) column(n *ast.ColumnDefinition) error {
	t := b.o.Table
	name := n.ColumnIdentifier.Value
	if t.Column(name) != nil {
		state := uint8(3)
		if b.altering {
			state = 4
		}
		return sqlerr.New(2705, state, name, b.o.ShownName())
	}
	c := &metadata.Column{ID: t.NextColumn, Name: name, Nullable: true}
	if n.GeneratedAlways != "" || n.Encryption != nil || n.IsMasked {
		return unsupported("GENERATED ALWAYS, ENCRYPTED and MASKED columns")
	}
	if n.StorageOptions != nil && n.StorageOptions.IsFileStream {
		return unsupported("FILESTREAM columns")
	}
	if n.StorageOptions != nil && n.StorageOptions.SparseOption == "ColumnSetForAllSparseColumns" {
		return unsupported("COLUMN_SET FOR ALL_SPARSE_COLUMNS")
	}
	t.NextColumn++
	t.Columns = append(t.Columns, c)
	if n.ComputedColumnExpression != nil {
		if bind.HasSubquery(n.ComputedColumnExpression) {
			return sqlerr.New(1046, 1)
		}
		c.Computed, c.Persisted = b.text(n.ComputedColumnExpression), n.IsPersisted
		if err := mayCompute(n); err != nil {
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
	if err := b.onlyOnce(n, c); err != nil {
		return err
	}
	switch {
	case n.Nullable != nil:
		c.Nullable = n.Nullable.Nullable
	case c.UserType == "" && !b.o.IsVariable() && !b.d.s.nullByDefault(b.d.db):
		c.Nullable = false
	}
	c.RowGUID = n.IsRowGuidCol
	c.Sparse = n.StorageOptions != nil && n.StorageOptions.SparseOption == "Sparse"
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
	if err := b.constraintsOnce(n, c); err != nil {
		return err
	}
	for _, con := range n.Constraints {
		if err := b.columnConstraint(con, c, n); err != nil {
			return err
		}
	}
	if err := b.properties(c); err != nil {
		return err
	}
	if n.Index != nil {
		return b.inlineIndex(n.Index, c)
	}
	return nil
}

// onlyOnce refuses what a table or a column has once: a column of type rowversion, and NULL or NOT NULL.
func (b *tableBuilder) onlyOnce(n *ast.ColumnDefinition, c *metadata.Column) error {
	for _, other := range b.o.Table.Columns {
		if other != c && c.Type.Kind == sqltype.RowVersion && other.Type.Kind == sqltype.RowVersion {
			return sqlerr.New(2738, 2, b.o.Name, c.Name)
		}
	}
	switch syntax.RepeatedInColumn(b.text(n)) {
	case "NULL":
		return sqlerr.New(8150, 0, c.Name, b.o.Name)
	case "DEFAULT":
		return sqlerr.New(8148, 0, "column DEFAULT", "column", c.Name, b.o.Name)
	}
	return nil
}

// constraintsOnce refuses constraints of which a column has one alone.
func (b *tableBuilder) constraintsOnce(n *ast.ColumnDefinition, c *metadata.Column) error {
	unique, foreign := 0, 0
	for _, con := range n.Constraints {
		switch t := con.(type) {
		case *ast.UniqueConstraintDefinition:
			if !t.IsPrimaryKey {
				unique++
			}
		case *ast.ForeignKeyConstraintDefinition:
			foreign++
		}
	}
	switch {
	case unique > 1:
		return sqlerr.New(8148, 0, "column UNIQUE", "column", c.Name, b.o.Name)
	case foreign > 1:
		return sqlerr.New(8148, 0, "column FOREIGN KEY", "column", c.Name, b.o.Name)
	}
	return nil
}

func (b *tableBuilder) columnType(n *ast.ColumnDefinition, c *metadata.Column) error {
	if n.DataType == nil {
		if strings.EqualFold(c.Name, "timestamp") {
			c.Type = sqltype.Type{Kind: sqltype.RowVersion}
			return nil
		}
		return sqlerr.New(173, 1, c.Name)
	}
	t, e := bind.DataTypeOf(n.DataType, false)
	if e != nil {
		if u, ok := n.DataType.(*ast.UserDataTypeReference); ok {
			if o := b.d.s.userType(b.d.ctx, bind.NameOf(u.Name)); o != nil && o.Kind == metadata.KindAlias {
				alias := o.Table.Columns[0]
				c.Type, c.UserType, c.UserTypeID, c.Nullable, c.Numeric = alias.Type, o.TypeName(), o.UserTypeID(), alias.Nullable,
					alias.Numeric
				e = nil
			}
		}
		if e != nil {
			if size, _, found := strings.Cut(strings.TrimPrefix(e.Message, "The size ("), ")"); found &&
				(e.Number == 131 || e.Number == 2717) {
				return sqlerr.New(e.Number, e.State, size, "column", c.Name, pick(e.Number == 131, 8000, 4000))
			}
			return NumberedTypeError(e, int(c.ID))
		}
	} else {
		c.Type = t
	}
	switch name := n.DataType.(type) {
	case *ast.UserDataTypeReference:
		if strings.EqualFold(bind.NameOf(name.Name).Name, "sysname") {
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
		c.Collation = b.collation()
		if n.Collation != nil && !strings.EqualFold(n.Collation.Value, "database_default") {
			named, ok := sqltype.ParseCollation(n.Collation.Value)
			if !ok {
				return sqlerr.New(448, 1, n.Collation.Value)
			}
			c.Collation = named.Name
		}
		if sqltype.UnicodeOnly(c.Collation) && !c.Type.Kind.IsUnicode() {
			return sqlerr.New(459, 1, c.Collation)
		}
		c.Type = c.Type.In(c.Collation)
	}
	return nil
}

// collation is that of columns that are declared with none: those of temporary tables have tempdb's, of table variables
// the current database's.
func (b *tableBuilder) collation() string {
	switch {
	case b.d.db != nil:
		return b.d.db.Info().Collation
	case strings.HasPrefix(b.o.Name, "@"):
		return b.d.s.Collation()
	}
	return sqltype.DefaultCollation
}

func (b *tableBuilder) identity(n *ast.ColumnDefinition, c *metadata.Column) error {
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
	id := &metadata.Identity{Seed: 1, Increment: 1, NotForReplication: n.IdentityOptions.NotForReplication}
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
		return sqlerr.New(2753, 2, c.Name)
	}
	c.Identity, c.Nullable = id, false
	return nil
}
