// SPDX-License-Identifier: Apache-2.0

package partition

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

// switchSide is the source or the target of ALTER TABLE ... SWITCH: a table, or one partition of one.
type switchSide struct {
	o *metadata.Object
	// number is the partition, 0 of a table that has none; function what divides the table then.
	number   int
	function *metadata.PartitionFunction
}

// switchTable is ALTER TABLE ... SWITCH (docs/t-sql/statements/alter-table-transact-sql.md, SWITCH). Where SQL Server
// gives pages to another table, rows move here, within the one transaction of the statement: the log, redo and backups
// have them as deleted and inserted.
func switchTable(ctx context.Context, s *engine.Session, n *ast.AlterTableSwitchStatement, w tds.Writer) error {
	name, other := bind.NameOf(n.SchemaObjectName), bind.NameOf(n.TargetTable)
	if name.Temporary() || other.Temporary() {
		return sqlerr.Unsupported("ALTER TABLE ... SWITCH of temporary tables")
	}
	var numbers [2]*int64
	for i, node := range []ast.ScalarExpression{n.SourcePartition, n.TargetPartition} {
		number, err := switched(ctx, s, node, []bind.ObjectName{name, other}[i])
		if err != nil {
			return err
		}
		numbers[i] = number
	}
	var warnings []*sqlerr.Error
	err := s.ChangeTable(ctx, n.SchemaObjectName, "SWITCH", func(d *engine.SchemaChange, o *metadata.Object) error {
		target, err := targetOf(d, name, other)
		if err != nil {
			return err
		}
		if target.ID == o.ID {
			return sqlerr.New(4955, 1, name, other)
		}
		sw := &switching{d: d}
		for i, table := range []*metadata.Object{o, target} {
			side, err := sideOf(d.Catalog(), table, numbers[i])
			if err != nil {
				return err
			}
			if numbers[i] != nil && side.number == 0 {
				warnings = append(warnings, sqlerr.New(4903, 1, *numbers[i], table.Name))
			}
			*[]*switchSide{&sw.from, &sw.to}[i] = side
		}
		if err := s.ObjectEvent(ctx, d, "SWITCH", target); err != nil {
			return err
		}
		if err := sw.judge(); err != nil {
			return err
		}
		if err := sw.move(); err != nil {
			return err
		}
		return d.Modify(target)
	})
	if err != nil {
		return err
	}
	for _, e := range warnings {
		if err := w.Message(e); err != nil {
			return err
		}
	}
	return nil
}

// switched is the number that an expression behind PARTITION gives, nil without one.
func switched(
	ctx context.Context,
	s *engine.Session,
	node ast.ScalarExpression,
	table bind.ObjectName,
) (*int64, error) {
	if node == nil {
		return nil, nil
	}
	v, typ, err := s.EvaluateTyped(ctx, node)
	if err != nil {
		return nil, err
	}
	number, ok := v.(int64)
	if !typ.Kind.IsInteger() && v != nil || v != nil && !ok {
		return nil, sqlerr.New(4957, 1, "ALTER TABLE SWITCH", "table", table.Name)
	}
	return &number, nil // that of NULL is 0, which no partition has
}

// targetOf is the table that rows go to.
func targetOf(d *engine.SchemaChange, source, name bind.ObjectName) (*metadata.Object, error) {
	if name.Database != "" && !strings.EqualFold(name.Database, d.Database().Name()) {
		other := d.Session().Instance().Database(name.Database)
		if other == nil {
			return nil, sqlerr.New(911, 1, name.Database)
		}
		return nil, sqlerr.New(4948, 1, source, d.Database().Name(), name, other.Name())
	}
	if o := d.LookUp(name); o != nil && o.Kind != metadata.KindTable {
		return nil, sqlerr.New(4949, 1, name)
	}
	return d.TableToChange(name, 4902)
}

// sideOf is a table, or the partition that a number says.
func sideOf(s *metadata.Catalog, o *metadata.Object, number *int64) (switchSide, error) {
	_, f := s.SchemeOf(o.Table.Place.DataSpace())
	switch {
	case f == nil:
		return switchSide{o: o}, nil
	case number == nil:
		return switchSide{}, sqlerr.New(4911, 1, o.Name)
	case *number < 1 || *number > int64(f.Fanout()):
		return switchSide{}, sqlerr.New(4950, 1, *number, o.Name)
	}
	return switchSide{o: o, number: int(*number), function: f}, nil
}

// switching is one ALTER TABLE ... SWITCH.
type switching struct {
	d        *engine.SchemaChange
	from, to switchSide
}

// judge refuses what the page's "Considerations and limitations" exclude.
func (sw *switching) judge() error {
	for _, f := range []func() error{sw.columns, sw.divided, sw.alignedIndexes, sw.indexes, sw.foreignKeys, sw.checks,
		sw.ranges, sw.spaces, sw.empty} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// rows is SQLite's condition for the rows of a side.
func (sw *switching) rows(side switchSide) string {
	if side.number == 0 {
		return "1"
	}
	return sw.d.Catalog().InPartitions(side.o, []int{side.number})
}

// empty refuses a target that has rows.
func (sw *switching) empty() error {
	found := false
	if err := sw.d.Find("SELECT 1 FROM main."+sw.to.o.StorageName()+" WHERE "+sw.rows(sw.to)+" LIMIT 1",
		&found); err != nil ||
		!found {
		return err
	}
	if sw.to.number > 0 {
		return sqlerr.New(4904, 1, sw.to.number, sw.to.o.Name)
	}
	return sqlerr.New(4905, 1, sw.to.o.Name)
}

// move moves the rows. Constraints have been judged by what they say.
func (sw *switching) move() error { return sw.d.MoveRows(sw.from.o, sw.to.o, sw.rows(sw.from)) }
