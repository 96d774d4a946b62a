// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// installDetach registers sp_detach_db, sp_attach_db and sp_attach_single_file_db, which takes the log that is beside
// the data file (docs/relational-databases/system-stored-procedures/sp-detach-db-transact-sql.md,
// docs/relational-databases/system-stored-procedures/sp-attach-db-transact-sql.md).
func installDetach(r *Registry) {
	r.Procedure(
		Procedure{
			Name:          "sp_detach_db",
			NoTransaction: true,
			Parameters: ParameterList(
				"@dbname nvarchar(128), @skipchecks nvarchar(10), @keepfulltextindexfile nvarchar(10) = true",
			),
			Run: detachDatabase,
		},
	)
	r.Procedure(
		Procedure{
			Name:          "sp_attach_single_file_db",
			NoTransaction: true,
			Parameters:    ParameterList("@dbname! nvarchar(128), @physname! nvarchar(260)"),
			Run: func(ctx context.Context, c *ProcCall) error {
				data := c.String("@physname")
				return c.Exec(
					ctx,
					"EXEC sp_attach_db @p1, @p2, @p3",
					c.String("@dbname"),
					data,
					strings.TrimSuffix(data, filepath.Ext(data))+"_log.ldf",
				)
			},
		},
	)
	parameters := "@dbname! nvarchar(128), @filename1! nvarchar(260)"
	for n := 2; n <= attachedFiles; n++ {
		parameters += fmt.Sprintf(", @filename%d nvarchar(260)", n)
	}
	r.Procedure(
		Procedure{
			Name:          "sp_attach_db",
			NoTransaction: true,
			Parameters:    ParameterList(parameters),
			Run: func(ctx context.Context, c *ProcCall) error {
				var specs []string
				for n := 1; n <= attachedFiles; n++ {
					if name := c.String(fmt.Sprintf("@filename%d", n)); name != "" {
						specs = append(specs, "(FILENAME = N'"+strings.ReplaceAll(name, "'", "''")+"')")
					}
				}
				return c.Exec(
					ctx,
					"CREATE DATABASE "+syntax.QuoteName(c.String("@dbname"))+" ON "+strings.Join(specs, ", ")+" FOR ATTACH",
				)
			},
		},
	)
}

// attachedFiles is how many files sp_attach_db takes.
const attachedFiles = 16

// detachDatabase takes a database out of the instance and leaves its files, as they are after a clean end.
func detachDatabase(ctx context.Context, c *ProcCall) error {
	s := c.Session
	db := s.inst.Database(c.String("@dbname"))
	if db == nil {
		return sqlerr.New(15010, 1, c.String("@dbname"))
	}
	if db.System() {
		return sqlerr.New(7940, 1)
	}
	if err := s.require(ctx, Permission{Name: "CONTROL", Database: db}); err != nil {
		return err
	}
	if info := db.Info(); info.Published || info.MergePublished || info.Distributor {
		return sqlerr.New(3724, 1, "detach", "database", db.Name())
	}
	if len(s.inst.UsersOf(db, s)) > 0 || s.db == db {
		return sqlerr.New(3703, 2, "database", db.Name())
	}
	if err := s.inst.Announce(ctx, DatabaseEvent{Kind: DatabaseDropping, Database: db}); err != nil {
		return err
	}
	err := s.inst.takeOut(ctx, db, (*storage.Database).Close, func(storage.Files) error { return nil })
	if err == nil {
		s.inst.log.Info("database detached", "database", db.Name())
	}
	return err
}
