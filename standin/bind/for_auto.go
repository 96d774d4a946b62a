// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"slices"

	"geosql.dev/standin/forclause"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// autoLevels finds the levels of AUTO (docs/relational-databases/xml/use-auto-mode-with-for-xml.md,
// docs/relational-databases/json/format-json-output-automatically-with-auto-mode-sql-server.md): tables in the order in
// which the select list names their columns. What is computed goes with the column before it.
func (b *Binder) autoLevels(sc *Scope, outputs []Output, missing *sqlerr.Error) []forclause.Level {
	if len(sc.Sources) == 0 {
		b.FailWith(missing)
	}
	var levels []forclause.Level
	place := map[*Source]int{}
	at := -1
	var before []int
	for i, o := range outputs {
		if c := o.expr.column; c != nil && slices.Contains(sc.Sources, c.source) {
			n, known := place[c.source]
			if !known {
				n = len(levels)
				place[c.source] = n
				levels = append(levels, forclause.Level{Name: c.source.element()})
			}
			at = n
		}
		if at < 0 {
			before = append(before, i)
			continue
		}
		levels[at].Columns = append(levels[at].Columns, i)
		levels[at].Restarts = levels[at].Restarts || o.expr.Type.Kind == sqltype.XML
	}
	if len(levels) == 0 {
		levels = []forclause.Level{{Name: sc.Sources[0].element()}}
	}
	levels[0].Columns = append(before, levels[0].Columns...)
	return levels
}

// element is what AUTO calls the rows of a source: its alias, or its name as the query has it.
func (src *Source) element() string {
	if src.schema != "" && src.name != "" {
		return src.name
	}
	return src.Alias
}
