// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// transfer is ALTER SCHEMA ... TRANSFER (docs/t-sql/statements/alter-schema-transact-sql.md).
func (s *Session) transfer(ctx context.Context, n *ast.AlterSchemaStatement, w tds.Writer) error {
	name, prefix := NameOf(n.ObjectName), ""
	switch strings.ToLower(n.ObjectKind) {
	case "type":
		prefix = metadata.AliasTypePrefix
	case "", "notspecified", "object":
	default:
		return unsupported("ALTER SCHEMA ... TRANSFER of " + n.ObjectKind)
	}
	return s.ChangeSchema(ctx, ObjectName{}, func(d *SchemaChange) error {
		target := d.sch.SchemaByName(n.Name.Value)
		if target == nil {
			return sqlerr.New(15151, 1, "alter", "schema", n.Name.Value)
		}
		if err := s.require(ctx, Permission{Name: "ALTER", Database: d.db, Schema: target.Name}); err != nil {
			return sqlerr.New(15151, 1, "alter", "schema", n.Name.Value)
		}
		o := d.LookUp(ObjectName{Schema: name.Schema, Name: prefix + name.Name})
		if o == nil || o.Parent != 0 {
			return sqlerr.New(15151, 1, "find", "object", name.Name)
		}
		if err := s.require(ctx, Permission{Name: "CONTROL", Database: d.db, Schema: d.sch.SchemaName(o), Object: o.Name,
			ObjectID: o.ID}); err != nil {
			return sqlerr.New(15151, 1, "find", "object", name.Name)
		}
		if err := s.ObjectEvent(ctx, d, "ALTER", o); err != nil {
			return err
		}
		if o.Schema == target.ID {
			return nil
		}
		if d.boundTo(o, nil) != "" {
			return sqlerr.New(15348, 1)
		}
		if d.sch.Named(target.ID, o.Name) != nil {
			return sqlerr.New(15530, 1, "object", name.Name)
		}
		for _, moved := range append(append([]*metadata.Object(nil), d.sch.Children(o.ID)...), o) {
			d.sch.Unname(moved)
			moved.Schema = target.ID
			if err := d.Modify(moved); err != nil {
				return err
			}
		}
		return nil
	})
}
