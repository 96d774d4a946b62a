// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// rowBinder is what binds expressions over the plain columns of a table, prefixed ("NEW."), which are the scope's only
// source.
func (d *SchemaChange) rowBinder(o *metadata.Object, prefix string) (*binder, *scope) {
	b := newBinder(d.ctx, d.s, d.space)
	b.spaces[d.space] = d.sch
	src := &source{alias: o.Name, object: o}
	for _, c := range storedColumns(o) {
		src.addColumn(c.Name, prefix+metadata.ColumnName(c.ID), c.Type, c.Nullable, c.CollationKey(), c)
	}
	sc := &scope{}
	sc.add(src)
	return b, sc
}

// over binds a condition over the columns of a table, prefixed ("NEW."): the plain ones, and the others by what they
// are computed by.
func (d *SchemaChange) over(o *metadata.Object, prefix string, bind func(b *binder, sc *scope) string) (string, error) {
	b, sc := d.rowBinder(o, prefix)
	for _, c := range o.Table.Columns {
		if c.Computed == "" {
			continue
		}
		k, err := d.computed(o, c, prefix)
		if err != nil {
			return "", err
		}
		sc.sources[0].addColumn(c.Name, k.sql, c.Type, c.Nullable, c.CollationKey(), c)
	}
	var sql string
	if e := bindSafely(func() { sql = bind(b, sc) }); e != nil {
		return "", e
	}
	if len(b.params) > 0 || len(b.used) > 0 || len(b.needs) > 0 {
		return "", sqlerr.New(1046, 1)
	}
	return sql, nil
}

// filter is the condition of a filtered index or of filtered statistics, what is which, by its name.
func (d *SchemaChange) filter(o *metadata.Object, text, what, name string) (string, error) {
	node := ParsePredicate(text)
	if node == nil {
		return "", sqlerr.New(10735, 1, text)
	}
	cond, err := d.over(o, "", func(b *binder, sc *scope) string {
		e := b.predicate(sc, node)
		for _, c := range e.free {
			if c.column != nil && c.column.Computed != "" {
				b.fail(10610, what, name, o.ShownName(), c.column.Name)
			}
		}
		return e.sql
	})
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Number == 1046 {
		return "", sqlerr.New(10735, 1, text)
	}
	return cond, err
}

// condition is that of a check constraint, which must be one that it may have.
func (d *SchemaChange) condition(table, check *metadata.Object, prefix string) (string, error) {
	return d.lookAtCheck(table, check, prefix, func(b *binder, e expr) {
		b.unpersisted(e, table.ShownName(), "CHECK CONSTRAINT")
		if e.xml {
			b.fail(423, table.ShownName())
		}
	})
}

// lookAtCheck binds the condition of a check constraint, and shows what it is made of.
func (d *SchemaChange) lookAtCheck(
	table, check *metadata.Object,
	prefix string,
	look func(*binder, expr),
) (string, error) {
	node := ParsePredicate(check.Definition)
	if node == nil {
		return "", sqlerr.New(102, 1, check.Definition)
	}
	return d.over(table, prefix, func(b *binder, sc *scope) string {
		b.kept = true
		e := b.predicate(sc, node)
		look(b, e)
		return e.sql
	})
}

// StatisticsFilter is the text of the WHERE clause of CREATE STATISTICS; an error refuses a condition that filters have
// not.
func (d *SchemaChange) StatisticsFilter(
	table *metadata.Object,
	condition ast.BooleanExpression,
	statistics string,
) (string, error) {
	b := &tableBuilder{d: d, o: table}
	text := b.filterText(condition)
	_, err := d.filter(table, text, "statistics", statistics)
	return text, err
}

// Find tells whether a query gives a row.
func (d *SchemaChange) Find(sql string, found *bool) error {
	err := sqlitex.ExecuteTransient(
		d.conn,
		sql,
		&sqlitex.ExecOptions{ResultFunc: func(*sqlite.Stmt) error { *found = true; return nil }},
	)
	return d.stepError(err)
}

// stepError is what a function of ours has raised in a statement that failed, else SQLite's error.
func (d *SchemaChange) stepError(err error) error {
	if err != nil {
		if st := d.s.inst.conns.of(d.conn); st != nil {
			if e := st.take(); e != nil {
				return e
			}
		}
	}
	return err
}

// enforceCheck makes the triggers of a check constraint.
func (d *SchemaChange) enforceCheck(table, check *metadata.Object) error {
	cond, err := d.condition(table, check, "NEW.")
	if err != nil {
		return err
	}
	for suffix, event := range map[string]string{"i": "INSERT", "u": "UPDATE"} {
		err := d.run(
			fmt.Sprintf("CREATE TRIGGER %s AFTER %s ON %s WHEN %s AND (%s) IS 0 BEGIN SELECT RAISE(ABORT, '%s%d'); END",
				triggerName(check.ID, suffix), event, table.StorageName(), judges(check), cond, raised, check.ID),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyCheck tells whether all rows keep a check constraint.
func (d *SchemaChange) verifyCheck(table, check *metadata.Object) error {
	cond, err := d.condition(table, check, "")
	if err != nil {
		return err
	}
	return d.verify("SELECT 1 FROM "+table.StorageName()+" WHERE ("+cond+") IS 0 LIMIT 1", "ALTER TABLE", table, check)
}

// target is a table as the messages of a statement name it.
func (d *SchemaChange) target(table *metadata.Object, verb string) *writeTarget {
	t := &writeTarget{object: table, schema: d.sch.SchemaName(table), verb: verb, database: "tempdb", db: d.db}
	if d.db != nil {
		t.database = d.db.Name()
	}
	return t
}

func (d *SchemaChange) verify(sql, verb string, table, constraint *metadata.Object) error {
	bad := false
	if err := d.Find(sql, &bad); err != nil {
		return err
	}
	if !bad {
		return nil
	}
	t := d.target(table, verb)
	kind, where := "CHECK", table
	if constraint.ForeignKey != nil {
		kind = "FOREIGN KEY"
		where = d.sch.Objects[constraint.ForeignKey.Referenced]
	}
	return sqlerr.New(547, 0, verb, kind, constraint.Name, t.database, d.sch.SchemaName(where)+"."+where.Name, "", "", "")
}

func (b *tableBuilder) check(n *ast.CheckConstraintDefinition, column int32) error {
	name := ""
	if c := b.o.Table.ColumnByID(column); c != nil {
		name = c.Name
	}
	o, err := b.child(n.ConstraintIdentifier, metadata.KindCheck, "CK", name)
	if err != nil {
		return err
	}
	if hasSubquery(n.CheckCondition) {
		return sqlerr.New(1046, 1)
	}
	text := syntax.ConditionText(n.CheckCondition)
	if text == "" || ParsePredicate(text) == nil {
		text = b.text(n.CheckCondition)
	}
	o.Definition = "(" + text + ")"
	o.Column, o.NotForReplication, o.NotTrusted = column, n.NotForReplication, b.noCheck
	b.later = append(b.later, func() error {
		if column != 0 && b.namesOther(n.CheckCondition, name) {
			return sqlerr.New(8141, 0, "CHECK", name, b.o.Name)
		}
		if b.altering && !b.noCheck {
			if err := b.d.verifyCheck(b.o, o); err != nil {
				return err
			}
		}
		return b.d.enforceCheck(b.o, o)
	})
	return b.d.Save(o)
}
