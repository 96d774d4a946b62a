// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// maxTextRepl bounds the bytes that one INSERT or UPDATE may write into a replicated column of a large type; -1 does
// not (docs/database-engine/configure-windows/configure-the-max-text-repl-size-server-configuration-option.md).
const maxTextRepl = "max text repl size (B)"

// replicable refuses a value of a type that is longer than may be replicated (7139).
func (st *connState) replicable(args []sqlite.Value) (any, *sqlerr.Error) {
	raw, t := storage.ArgumentValue(args[0]), sqltype.Unpack(args[1].Int64())
	if st.session == nil || raw == nil {
		return raw, nil
	}
	size := int64(0)
	switch v := raw.(type) {
	case string:
		if size = int64(t.Units(v)); t.Kind.IsUnicode() || t.Kind == sqltype.XML {
			size = 2 * int64(sqltype.Length(v))
		}
	case []byte:
		size = int64(len(v))
	}
	if most, _ := st.session.inst.Configuration(maxTextRepl); most >= 0 && size > most {
		return nil, sqlerr.New(7139, 1, size, most)
	}
	return raw, nil
}
