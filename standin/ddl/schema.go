// SPDX-License-Identifier: Apache-2.0

package ddl

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// transfer is ALTER SCHEMA ... TRANSFER (docs/t-sql/statements/alter-schema-transact-sql.md).
func transfer(ctx context.Context, s *engine.Session, n *ast.AlterSchemaStatement, w tds.Writer) error {
	name, prefix := bind.NameOf(n.ObjectName), ""
	switch strings.ToLower(n.ObjectKind) {
	case "type":
		prefix = metadata.AliasTypePrefix
	case "", "notspecified", "object":
	default:
		return sqlerr.Unsupported("ALTER SCHEMA ... TRANSFER of " + n.ObjectKind)
	}
	return s.ChangeSchema(ctx, bind.ObjectName{}, func(d *engine.SchemaChange) error {
		target := d.Catalog().SchemaByName(n.Name.Value)
		if target == nil {
			return sqlerr.New(15151, 1, "alter", "schema", n.Name.Value)
		}
		if err := s.Require(ctx, engine.Permission{Name: "ALTER", Database: d.Database(), Schema: target.Name}); err != nil {
			return sqlerr.New(15151, 1, "alter", "schema", n.Name.Value)
		}
		o := d.LookUp(bind.ObjectName{Schema: name.Schema, Name: prefix + name.Name})
		if o == nil || o.Parent != 0 {
			return sqlerr.New(15151, 1, "find", "object", name.Name)
		}
		if err := s.Require(ctx, engine.Permission{
			Name:     "CONTROL",
			Database: d.Database(),
			Schema:   d.Catalog().SchemaName(o),
			Object:   o.Name,
			ObjectID: o.ID,
		}); err != nil {
			return sqlerr.New(15151, 1, "find", "object", name.Name)
		}
		if err := s.ObjectEvent(ctx, d, "ALTER", o); err != nil {
			return err
		}
		if o.Schema == target.ID {
			return nil
		}
		if d.BoundTo(o, nil) != "" {
			return sqlerr.New(15348, 1)
		}
		if d.Catalog().Named(target.ID, o.Name) != nil {
			return sqlerr.New(15530, 1, "object", name.Name)
		}
		for _, moved := range append(append([]*metadata.Object(nil), d.Catalog().Children(o.ID)...), o) {
			d.Catalog().Unname(moved)
			moved.Schema = target.ID
			if err := d.Modify(moved); err != nil {
				return err
			}
		}
		return nil
	})
}
