// SPDX-License-Identifier: Apache-2.0

// Package backup is BACKUP and RESTORE: the statements with their options, databases in standby between two restores, backup devices, and
// the history of both in msdb (docs/relational-databases/backup-restore/back-up-and-restore-of-sql-server-databases.md). What is in a backup
// set, and how one is read and written, is storage's; the files that sets are in are backupmedia's.
package backup

import (
	"context"

	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/syntax"
	"geosql.dev/operator/standin/tds"
)

// Extension adds the statements, views and procedures to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	r.Statement((*syntax.Backup)(nil), func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
		return backup(ctx, s, st.Node.(*syntax.Backup), w)
	})
	r.Statement((*syntax.Restore)(nil), func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
		return restore(ctx, s, st.Node.(*syntax.Restore), w)
	})
	r.Table(engine.InternalTable{Scope: engine.MsdbOnly, Name: "__backupset", DDL: []string{
		"CREATE TABLE __backupset (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	r.Table(engine.InternalTable{Scope: engine.MsdbOnly, Name: "__restorehistory", DDL: []string{
		"CREATE TABLE __restorehistory (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	installViews(r)
	installHistory(r)
	installDevices(r)
	return nil
}
