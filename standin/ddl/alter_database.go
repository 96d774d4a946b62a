// SPDX-License-Identifier: Apache-2.0

package ddl

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// installFiles registers the actions of ALTER DATABASE on files and file groups
// (docs/t-sql/statements/alter-database-transact-sql-file-and-filegroup-options.md).
func installFiles(r *engine.Registry) {
	action(r, addFiles)
	action(r, modifyFile)
	action(r, removeFile)
	action(r, addFileGroup)
	action(r, removeFileGroup)
	action(r, modifyFileGroup)
}

// action registers an action of ALTER DATABASE that is refused within a transaction.
func action[T any](
	r *engine.Registry,
	run func(ctx context.Context, s *engine.Session, db *engine.Database, a T, w tds.Writer) error,
) {
	var node T
	r.AlterDatabase(node, func(ctx context.Context, s *engine.Session, db *engine.Database, a any, w tds.Writer) error {
		if s.InUserTransaction() {
			return sqlerr.New(226, 6, "ALTER DATABASE")
		}
		return run(ctx, s, db, a.(T), w)
	})
}
