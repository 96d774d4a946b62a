// SPDX-License-Identifier: Apache-2.0

// Package partition executes the statements that divide tables: partition functions and schemes, and ALTER TABLE ...
// SWITCH, which moves rows between tables and partitions (docs/relational-databases/partitions). Where a row belongs
// follows from its table's metadata, which the engine and package metadata read.
package partition

import (
	"context"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Extension adds these statements to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	on(r, createFunction)
	on(r, alterFunction)
	on(r, createScheme)
	on(r, alterScheme)
	on(r, func(ctx context.Context, s *engine.Session, n *ast.DropPartitionFunctionStatement, _ tds.Writer) error {
		return drop(ctx, s, metadata.KindPartitionFunction, n.Name)
	})
	on(r, func(ctx context.Context, s *engine.Session, n *ast.DropPartitionSchemeStatement, _ tds.Writer) error {
		return drop(ctx, s, metadata.KindPartitionScheme, n.Name)
	})
	on(r, switchTable)
	return nil
}

// on registers a func with its node already typed.
func on[T ast.Statement](
	r *engine.Registry,
	run func(ctx context.Context, s *engine.Session, n T, w tds.Writer) error,
) {
	var node T
	r.Statement(node, func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
		return run(ctx, s, st.Node.(T), w)
	})
}

// change runs f on the partition functions and schemes of the current database.
func change(ctx context.Context, s *engine.Session, f func(d *engine.SchemaChange) error) error {
	if err := s.Require(ctx, engine.Permission{Name: "ALTER ANY DATASPACE", Database: s.CurrentDatabase()}); err != nil {
		return err
	}
	return s.ChangeSchema(ctx, bind.ObjectName{}, f)
}

func newObject(kind string, id int32, name string, o *metadata.Object) *metadata.Object {
	now := time.Now().UTC()
	o.ID, o.Kind, o.Name, o.Created, o.Modified = metadata.PlacementRow(kind, id), kind, name, now, now
	return o
}

// drop is DROP PARTITION FUNCTION and DROP PARTITION SCHEME, which are refused while something uses
// them.
func drop(ctx context.Context, s *engine.Session, kind string, name *ast.Identifier) error {
	return change(ctx, s, func(d *engine.SchemaChange) error {
		o := d.Catalog().PartitionObject(kind, name.Value)
		word := map[string]string{metadata.KindPartitionFunction: "partition function",
			metadata.KindPartitionScheme: "partition scheme"}[kind]
		if o == nil {
			return sqlerr.New(15151, 1, "drop", word, name.Value)
		}
		if kind == metadata.KindPartitionScheme {
			if d.Catalog().UsesGroup(o.Scheme.ID) {
				return sqlerr.New(7717, 1, o.Name)
			}
			return d.RemovePlacement(o)
		}
		for _, scheme := range d.Catalog().Placed(metadata.KindPartitionScheme) {
			if scheme.Scheme.Function == o.Function.ID {
				return sqlerr.New(7706, 1, o.Name)
			}
		}
		return d.RemovePlacement(o)
	})
}
