// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// firstUserType is the least user_type_id of a type that CREATE TYPE makes.
const firstUserType = 257

// installTypes registers CREATE TYPE and DROP TYPE (docs/t-sql/statements/create-type-transact-sql.md).
func installTypes(r *Registry) {
	on(r, (*Session).createAlias)
	on(r, (*Session).createTableType)
	on(r, (*Session).dropType)
	on(r, func(_ *Session, _ context.Context, n *ast.CreateTypeStatement, _ tds.Writer) error {
		return sqlerr.New(102, 1, NameOf(n.Name).Name)
	})
}

// createAlias is CREATE TYPE name FROM system type.
func (s *Session) createAlias(ctx context.Context, n *ast.CreateTypeUddtStatement, w tds.Writer) error {
	t, e := DataTypeOf(n.DataType, false)
	if e != nil {
		return placed(e, 1)
	}
	switch t.Kind {
	case sqltype.RowVersion, sqltype.XML:
		return sqlerr.New(15036, 1, t.Kind)
	}
	c := &metadata.Column{
		ID:       1,
		Name:     "value",
		Type:     t,
		Nullable: n.NullableConstraint == nil || n.NullableConstraint.Nullable,
	}
	if sys, ok := n.DataType.(*ast.SqlDataTypeReference); ok {
		c.Numeric = strings.EqualFold(sys.SqlDataTypeOption, "numeric")
	}
	return s.defineType(ctx, NameOf(n.Name), metadata.KindAlias, "", &metadata.Table{Columns: []*metadata.Column{c}})
}

// createTableType is CREATE TYPE name AS TABLE. The definition is tried out as that of a table variable.
func (s *Session) createTableType(ctx context.Context, n *ast.CreateTypeTableStatement, w tds.Writer) error {
	if len(n.Options) > 0 {
		return unsupported("A memory-optimized table type")
	}
	name := NameOf(n.Name)
	trial, err := s.tableOfDefinition(ctx, "@type", n.Definition)
	if err != nil {
		return err
	}
	table := *trial.Table
	table.RowidColumn = 0
	for i, c := range table.Columns {
		copied := *c
		copied.Default = 0
		table.Columns[i] = &copied
	}
	return s.defineType(ctx, name, metadata.KindTableType, s.frame().batch.TextOf(n), &table)
}

func (s *Session) defineType(
	ctx context.Context,
	name ObjectName,
	kind, definition string,
	table *metadata.Table,
) error {
	if err := s.requireDDL(ctx, name, "CREATE TYPE"); err != nil {
		return err
	}
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		shown := name
		name.Name = metadata.AliasTypePrefix + name.Name
		if err := d.place(name); err != nil {
			if e := AsError(err); e.Number == 2714 {
				return sqlerr.New(219, 1, d.typeName(shown))
			}
			return err
		}
		if t, _ := sqltype.Named(shown.Name, nil, false); t.Kind != sqltype.Unknown && shown.Schema == "" {
			return sqlerr.New(219, 1, d.typeName(shown))
		}
		o := d.newObject(name, kind)
		o.Table, o.Definition = table, definition
		next := int64(firstUserType)
		for _, other := range d.sch.Objects {
			if id := other.UserTypeID(); id >= next {
				next = id + 1
			}
		}
		o.Properties[metadata.UserTypeProperty] = strconv.FormatInt(next, 10)
		return d.save(o)
	})
}

// typeName is a type's name with its schema, for messages.
func (d *SchemaChange) typeName(name ObjectName) string {
	if name.Schema == "" {
		name.Schema = d.s.defaultSchema(d.space)
	}
	return name.Schema + "." + name.Name
}

// dropType is DROP TYPE (docs/t-sql/statements/drop-type-transact-sql.md).
func (s *Session) dropType(ctx context.Context, n *ast.DropTypeStatement, w tds.Writer) error {
	name := NameOf(n.Name)
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		schemaName := d.schemaNamed(name)
		o := d.sch.Find(schemaName, metadata.AliasTypePrefix+name.Name)
		if o == nil {
			if n.IsIfExists {
				return nil
			}
			return sqlerr.New(218, 1, d.typeName(name))
		}
		p := Permission{Name: "ALTER", Database: d.db, Schema: schemaName}
		if err := s.require(ctx, p); err != nil {
			return sqlerr.New(218, 1, d.typeName(name))
		}
		if by := userOfType(d.sch, o); by != nil {
			return sqlerr.New(3732, 1, d.typeName(name), by.Name)
		}
		return d.remove(o)
	})
}

// userOfType is an object that has a column or parameter of a type; nil when there is none.
func userOfType(s *metadata.Catalog, t *metadata.Object) *metadata.Object {
	for _, o := range s.Sorted() {
		if o.Table != nil && o.ID != t.ID {
			for _, c := range o.Table.Columns {
				if c.UserTypeID == t.UserTypeID() {
					return o
				}
			}
		}
		if !o.TakesParameters() {
			continue
		}
		_, node, err := parseModule(o)
		if err != nil {
			continue
		}
		for _, p := range partsOf(node).parameters {
			if u, ok := p.DataType.(*ast.UserDataTypeReference); ok && strings.EqualFold(NameOf(u.Name).Name, t.TypeName()) {
				return o
			}
		}
	}
	return nil
}
