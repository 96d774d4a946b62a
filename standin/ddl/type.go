// SPDX-License-Identifier: Apache-2.0

package ddl

import (
	"context"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// firstUserType is the least user_type_id of a type that CREATE TYPE makes.
const firstUserType = 257

// createAlias is CREATE TYPE name FROM system type.
func createAlias(ctx context.Context, s *engine.Session, n *ast.CreateTypeUddtStatement, w tds.Writer) error {
	t, e := bind.DataTypeOf(n.DataType, false)
	if e != nil {
		return engine.NumberedTypeError(e, 1)
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
	table := &metadata.Table{Columns: []*metadata.Column{c}}
	return defineType(ctx, s, bind.NameOf(n.Name), metadata.KindAlias, "", table)
}

// createTableType is CREATE TYPE name AS TABLE. The definition is tried out as that of a table variable.
func createTableType(ctx context.Context, s *engine.Session, n *ast.CreateTypeTableStatement, w tds.Writer) error {
	if len(n.Options) > 0 {
		return sqlerr.Unsupported("A memory-optimized table type")
	}
	name := bind.NameOf(n.Name)
	trial, err := s.TableOfDefinition(ctx, "@type", n.Definition)
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
	return defineType(ctx, s, name, metadata.KindTableType, s.StatementText(n), &table)
}

func defineType(
	ctx context.Context,
	s *engine.Session,
	name bind.ObjectName,
	kind, definition string,
	table *metadata.Table,
) error {
	if err := s.RequireDDL(ctx, name, "CREATE TYPE"); err != nil {
		return err
	}
	return s.ChangeSchema(ctx, name, func(d *engine.SchemaChange) error {
		shown := name
		name.Name = metadata.AliasTypePrefix + name.Name
		if err := d.Place(name); err != nil {
			if e := engine.AsError(err); e.Number == 2714 {
				return sqlerr.New(219, 1, typeName(d, shown))
			}
			return err
		}
		if t, _ := sqltype.Named(shown.Name, nil, false); t.Kind != sqltype.Unknown && shown.Schema == "" {
			return sqlerr.New(219, 1, typeName(d, shown))
		}
		o := d.NewObject(name, kind)
		o.Table, o.Definition = table, definition
		next := int64(firstUserType)
		for _, other := range d.Catalog().Objects {
			if id := other.UserTypeID(); id >= next {
				next = id + 1
			}
		}
		o.Properties[metadata.UserTypeProperty] = strconv.FormatInt(next, 10)
		return d.Save(o)
	})
}

// typeName is a type's name with its schema, for messages.
func typeName(d *engine.SchemaChange, name bind.ObjectName) string {
	return d.SchemaNamed(name) + "." + name.Name
}

// dropType is DROP TYPE (docs/t-sql/statements/drop-type-transact-sql.md).
func dropType(ctx context.Context, s *engine.Session, n *ast.DropTypeStatement, w tds.Writer) error {
	name := bind.NameOf(n.Name)
	return s.ChangeSchema(ctx, name, func(d *engine.SchemaChange) error {
		schemaName := d.SchemaNamed(name)
		o := d.Catalog().Find(schemaName, metadata.AliasTypePrefix+name.Name)
		if o == nil {
			if n.IsIfExists {
				return nil
			}
			return sqlerr.New(218, 1, typeName(d, name))
		}
		p := engine.Permission{Name: "ALTER", Database: d.Database(), Schema: schemaName}
		if err := s.Require(ctx, p); err != nil {
			return sqlerr.New(218, 1, typeName(d, name))
		}
		if by := engine.UserOfType(d.Catalog(), o); by != nil {
			return sqlerr.New(3732, 1, typeName(d, name), by.Name)
		}
		return d.Remove(o)
	})
}
