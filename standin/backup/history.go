// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// installHistory registers what removes the history of backups and restores from msdb; the files of backups stay
// (docs/relational-databases/system-stored-procedures/sp-delete-backuphistory-transact-sql.md,
// docs/relational-databases/system-stored-procedures/sp-delete-database-backuphistory-transact-sql.md).
func installHistory(r *engine.Registry) {
	remove := func(name, parameters string, backup func(*engine.ProcCall, backupRecord) bool,
		restore func(*engine.ProcCall, restoreRecord) bool) {
		r.Procedure(
			engine.Procedure{
				Schema:     "dbo",
				Database:   "msdb",
				Name:       name,
				Parameters: engine.ParameterList(parameters),
				Run: func(ctx context.Context, c *engine.ProcCall) error {
					if !c.Session.Login().Sysadmin {
						return sqlerr.New(229, 5, "EXECUTE", name, "msdb", "dbo")
					}
					err := forget(ctx, c.Session, "__backupset", func(b backupRecord) (int64, bool) { return b.ID, backup(c, b) })
					if err != nil {
						return err
					}
					return forget(
						ctx,
						c.Session,
						"__restorehistory",
						func(x restoreRecord) (int64, bool) { return x.ID, restore(c, x) },
					)
				},
			},
		)
	}
	remove("sp_delete_backuphistory", "@oldest_date! datetime",
		func(c *engine.ProcCall, b backupRecord) bool { return b.Finished.Before(c.Time("@oldest_date")) },
		func(c *engine.ProcCall, x restoreRecord) bool { return x.At.Before(c.Time("@oldest_date")) })
	remove("sp_delete_database_backuphistory", "@database_name! nvarchar(128)",
		func(c *engine.ProcCall, b backupRecord) bool {
			return strings.EqualFold(b.Database, c.String("@database_name"))
		},
		func(c *engine.ProcCall, x restoreRecord) bool {
			return strings.EqualFold(x.Database, c.String("@database_name"))
		})
}

// forget removes those documents of an internal table of msdb that the function names.
func forget[T any](ctx context.Context, s *engine.Session, table string, goes func(T) (int64, bool)) error {
	list, err := documents[T](ctx, s, table)
	if err != nil {
		return err
	}
	return s.Write(ctx, s.Instance().DatabaseByID(4), func(tx *storage.Tx) error {
		for _, one := range list {
			id, old := goes(one)
			if !old {
				continue
			}
			if err := sqlitex.Execute(tx.Conn(), "DELETE FROM "+table+" WHERE id = ?",
				&sqlitex.ExecOptions{Args: []any{id}}); err != nil {
				return err
			}
		}
		return nil
	})
}
