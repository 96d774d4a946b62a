// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
)

// spt_values is a table of master that no page describes and that scripts use for the numbers from 0 to 2047 (type P). Of its other types, those are
// here whose values pages tell: the modes, resources and states of locks (docs/relational-databases/system-compatibility-views/sys-syslockinfo-transact-sql.md),
// each a number higher than the page's where the procedures of old add 1, and the size of a page, which tools of management read (type E).
func installSptValues(r *Registry) {
	var rows []record
	add := func(kind string, number int, name, low, high any) {
		rows = append(rows, record{"name": name, "number": number, "type": fmt.Sprintf("%-3s", kind), "low": low, "high": high, "status": 0})
	}
	for n := range 2048 {
		add("P", n, nil, n/8+1, 1<<(n%8))
	}
	add("E", 1, "WINDOWS/NT", 8192, nil)
	for kind, names := range map[string][]string{
		"L": {"NULL", "Sch-S", "Sch-M", "S", "U", "X", "IS", "IU", "IX", "SIU", "SIX", "UIX", "BU", "RangeS-S", "RangeS-U", "RangeIn-Null", "RangeIn-S", "RangeIn-U", "RangeIn-X",
			"RangeX-S", "RangeX-U", "RangeX-X"},
		"LR": {"NUL", "DB", "FIL", "IDX", "TAB", "PAG", "KEY", "EXT", "RID", "APP"},
		"LS": {"GRANT", "CNVT", "WAIT"},
	} {
		for i, name := range names {
			add(kind, i+1, name, nil, nil)
		}
	}
	r.recordView("master", "dbo", "spt_values", "name nvarchar(35), number int, type nchar(3), low int, high int, status int", func(context.Context, *Session) ([]record, error) { return rows, nil })
}
