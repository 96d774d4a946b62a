// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// keyPair is a column of a foreign key and the one that it refers to, in SQLite's SQL: of any row, and of the row that
// a trigger is for.
type keyPair struct {
	child, newChild, parent, oldParent, newParent string
}

func (d *SchemaChange) keyPairs(child, parent *metadata.Object, k *metadata.ForeignKey) ([]keyPair, error) {
	out := make([]keyPair, len(k.Columns))
	for i := range k.Columns {
		p := &out[i]
		for _, part := range []struct {
			text   *string
			table  *metadata.Object
			column int32
			prefix string
		}{{&p.child, child, k.Columns[i], ""}, {&p.newChild, child, k.Columns[i], "NEW."},
			{&p.parent, parent, k.RefColumns[i], ""},
			{&p.oldParent, parent, k.RefColumns[i], "OLD."}, {&p.newParent, parent, k.RefColumns[i], "NEW."}} {
			text, err := d.columnText(part.table, part.column, part.prefix)
			if err != nil {
				return nil, err
			}
			*part.text = text
		}
	}
	return out, nil
}

// columnText is a column by its name, or by what it is computed by, with its collation.
func (d *SchemaChange) columnText(o *metadata.Object, id int32, prefix string) (string, error) {
	c := o.Table.ColumnByID(id)
	if c == nil || c.Computed == "" {
		return prefix + metadata.ColumnName(id), nil
	}
	_, text, err := d.computedText(o, c, prefix)
	return text, err
}

// updateOf is the list of columns that a trigger watches: none when one of them is computed, since it changes with
// others.
func updateOf(o *metadata.Object, columns []int32) string {
	names := make([]string, len(columns))
	for i, id := range columns {
		if c := o.Table.ColumnByID(id); c != nil && c.Computed != "" {
			return ""
		}
		names[i] = metadata.ColumnName(id)
	}
	return " OF " + strings.Join(names, ", ")
}

func (d *SchemaChange) verifyForeignKey(child, fk *metadata.Object) error {
	parent := d.sch.Objects[fk.ForeignKey.Referenced]
	var given, match []string
	for i, id := range fk.ForeignKey.Columns {
		c, err := d.columnText(child, id, "c.")
		if err != nil {
			return err
		}
		p, err := d.columnText(parent, fk.ForeignKey.RefColumns[i], "p.")
		if err != nil {
			return err
		}
		given, match = append(given, c+" IS NOT NULL"), append(match, p+" = "+c)
	}
	return d.verify(fmt.Sprintf(
		"SELECT 1 FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s) LIMIT 1",
		child.StorageName(),
		strings.Join(given, " AND "),
		parent.StorageName(),
		strings.Join(match, " AND "),
	), "ALTER TABLE", child, fk)
}

// mayAct refuses actions that a foreign key cannot have: SET NULL of columns that take none (1761), SET DEFAULT of such
// columns without a default (1762), and a second way for a change to come to a table (1785)
// (docs/relational-databases/tables/primary-and-foreign-key-constraints.md, Cascading referential integrity).
func (b *tableBuilder) mayAct(name string, k *metadata.ForeignKey) error {
	for _, id := range k.Columns {
		c := b.o.Table.ColumnByID(id)
		for _, action := range []string{k.OnDelete, k.OnUpdate} {
			switch {
			case action == "SET_NULL" && !c.Nullable:
				return sqlerr.New(1761, 0, name)
			case action == "SET_DEFAULT" && !c.Nullable && c.Default == 0:
				return sqlerr.New(1762, 0, name)
			}
		}
	}
	if (k.OnDelete != "NO_ACTION" || k.OnUpdate != "NO_ACTION") && b.d.cascadesTwice(k.Referenced, b.o.ID) {
		return sqlerr.New(1785, 0, name, b.o.Name)
	}
	return nil
}

// mayRefer refuses foreign keys that computed columns cannot have: of columns that are not persisted, and with actions
// that would give a computed column a value (docs/t-sql/statements/create-table-transact-sql.md, computed columns).
func (b *tableBuilder) mayRefer(name string, child, ref *metadata.Column, k *metadata.ForeignKey) error {
	switch {
	case child.Computed != "" && !child.Persisted:
		return sqlerr.New(1764, 1, child.Name, b.o.ShownName(), "FOREIGN KEY CONSTRAINT")
	case child.Computed != "" && k.OnDelete != "NO_ACTION" && k.OnDelete != "CASCADE":
		return sqlerr.New(1765, 1, name, child.Name)
	case child.Computed != "" && k.OnUpdate != "NO_ACTION":
		return sqlerr.New(1715, 1, name, child.Name)
	case (child.Computed != "" || ref.Computed != "") && k.Referenced == b.o.ID:
		return unsupported("A foreign key of a computed column to its own table")
	case ref.Computed != "" && !ref.Persisted:
		return unsupported("A foreign key to a computed column that is not persisted")
	}
	return nil
}
