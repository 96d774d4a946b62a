// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// rowBinder is what binds expressions over the plain columns of a table, prefixed ("NEW."), which are the scope's only
// source.
func (d *SchemaChange) rowBinder(o *metadata.Object, prefix string) (*bind.Binder, *bind.Scope) {
	b := newBinder(d.ctx, d.s, d.space)
	b.Spaces[d.space] = d.sch
	src := &bind.Source{Alias: o.Name, Object: o}
	for _, c := range bind.StoredColumns(o) {
		src.AddColumn(c.Name, prefix+metadata.ColumnName(c.ID), c.Type, c.Nullable, c.CollationKey(), c)
	}
	sc := &bind.Scope{}
	sc.Add(src)
	return b, sc
}

// over binds a condition over the columns of a table, prefixed ("NEW."): the plain ones, and the others by what they
// are computed by.
func (d *SchemaChange) over(
	o *metadata.Object,
	prefix string,
	condition func(b *bind.Binder, sc *bind.Scope) string,
) (string, error) {
	b, sc := d.rowBinder(o, prefix)
	for _, c := range o.Table.Columns {
		if c.Computed == "" {
			continue
		}
		k, err := d.computed(o, c, prefix)
		if err != nil {
			return "", err
		}
		sc.Sources[0].AddColumn(c.Name, k.SQL, c.Type, c.Nullable, c.CollationKey(), c)
	}
	var sql string
	if e := bind.Safely(func() { sql = condition(b, sc) }); e != nil {
		return "", e
	}
	if len(b.Params) > 0 || len(b.Used) > 0 || len(b.Needs) > 0 {
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
	cond, err := d.over(o, "", func(b *bind.Binder, sc *bind.Scope) string {
		e := b.Predicate(sc, node)
		for _, c := range e.Free {
			if c.Column != nil && c.Column.Computed != "" {
				b.Fail(10610, what, name, o.ShownName(), c.Column.Name)
			}
		}
		return e.SQL
	})
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Number == 1046 {
		return "", sqlerr.New(10735, 1, text)
	}
	return cond, err
}

// condition is that of a check constraint, which must be one that it may have.
func (d *SchemaChange) condition(table, check *metadata.Object, prefix string) (string, error) {
	return d.lookAtCheck(table, check, prefix, func(b *bind.Binder, e bind.Expr) {
		b.Unpersisted(e, table.ShownName(), "CHECK CONSTRAINT")
		if e.XML {
			b.Fail(423, table.ShownName())
		}
	})
}

// lookAtCheck binds the condition of a check constraint, and shows what it is made of.
func (d *SchemaChange) lookAtCheck(
	table, check *metadata.Object,
	prefix string,
	look func(*bind.Binder, bind.Expr),
) (string, error) {
	node := ParsePredicate(check.Definition)
	if node == nil {
		return "", sqlerr.New(102, 1, check.Definition)
	}
	return d.over(table, prefix, func(b *bind.Binder, sc *bind.Scope) string {
		b.Kept = true
		e := b.Predicate(sc, node)
		look(b, e)
		return e.SQL
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
func (d *SchemaChange) target(table *metadata.Object, verb string) *bind.Target {
	t := &bind.Target{Object: table, Schema: d.sch.SchemaName(table), Verb: verb, DatabaseName: "tempdb"}
	if d.db != nil {
		t.Database, t.DatabaseName = d.db, d.db.Name()
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
	name := d.sch.SchemaName(where) + "." + where.Name
	return sqlerr.New(547, 0, verb, kind, constraint.Name, t.DatabaseName, name, "", "", "")
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
	if bind.HasSubquery(n.CheckCondition) {
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
