// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// defaultText is a column's default in SQLite's SQL, for a referential action; NULL when it has none.
func (d *SchemaChange) defaultText(o *metadata.Object, c *metadata.Column) (string, error) {
	def := d.sch.Objects[c.Default]
	if def == nil {
		return "NULL", nil
	}
	node := bind.ParseExpression(def.Definition)
	if node == nil {
		return "", sqlerr.New(4413, 1, def.Name)
	}
	b := newBinder(d.ctx, d.s, d.space)
	b.Spaces[d.space] = d.sch
	text := ""
	if e := bind.Safely(func() {
		t := bind.Target{Object: o, Schema: d.sch.SchemaName(o), Verb: "UPDATE", DatabaseName: d.db.Name(), Database: d.db}
		text = b.Store(b.Scalar(&bind.Scope{}, node), c, &t)
	}); e != nil {
		return "", e
	}
	if len(b.Params) > 0 {
		return "", unsupported("SET DEFAULT with a default that is no constant")
	}
	return text, nil
}
