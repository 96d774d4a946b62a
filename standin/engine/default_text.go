// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// defaultText is a column's default in SQLite's SQL, for a referential action; NULL when it has none.
func (d *SchemaChange) defaultText(o *metadata.Object, c *metadata.Column) (string, error) {
	def := d.sch.Objects[c.Default]
	if def == nil {
		return "NULL", nil
	}
	node := parseExpression(def.Definition)
	if node == nil {
		return "", sqlerr.New(4413, 1, def.Name)
	}
	b := newBinder(d.ctx, d.s, d.space)
	b.spaces[d.space] = d.sch
	text := ""
	if e := bindSafely(func() {
		t := writeTarget{object: o, schema: d.sch.SchemaName(o), verb: "UPDATE", database: d.db.Name(), db: d.db}
		text = b.store(b.scalar(&scope{}, node), c, &t)
	}); e != nil {
		return "", e
	}
	if len(b.params) > 0 {
		return "", unsupported("SET DEFAULT with a default that is no constant")
	}
	return text, nil
}
