// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// bulkRowset binds OPENROWSET (BULK 'file', SINGLE_CLOB | SINGLE_NCLOB | SINGLE_BLOB): one row with the whole file
// (docs/t-sql/functions/openrowset-transact-sql.md).
func (b *Binder) bulkRowset(sc *Scope, n *ast.BulkOpenRowset) string {
	kind := ""
	for _, opt := range n.Options {
		o, ok := opt.(*ast.BulkInsertOptionBase)
		if !ok || !strings.HasPrefix(o.OptionKind, "Single") {
			b.Refuse("OPENROWSET (BULK) with another option than SINGLE_BLOB, SINGLE_CLOB and SINGLE_NCLOB")
		}
		kind = "openrowset " + lower(o.OptionKind)
	}
	if kind == "" || len(n.DataFiles) != 1 {
		b.Refuse("OPENROWSET (BULK) without SINGLE_BLOB, SINGLE_CLOB or SINGLE_NCLOB")
	}
	if n.Alias == nil {
		b.Fail(491)
	}
	return b.tableFunction(sc, ObjectName{Schema: "sys", Name: kind}, n.DataFiles, n.Alias.Value, n.Columns)
}
