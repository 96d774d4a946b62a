// SPDX-License-Identifier: Apache-2.0

// Package backup is BACKUP and RESTORE: the statements with their options, databases in standby between two restores,
// backup devices, and the history of both in msdb
// (docs/relational-databases/backup-restore/back-up-and-restore-of-sql-server-databases.md). What is in a backup set,
// and how one is read and written, is storage's; the files that sets are in are backupmedia's.
package backup

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Replicas are the availability groups, as backups at secondary replicas need them.
type Replicas interface {
	// MayBackUp is 3062 for a secondary database of which no backup can be taken now.
	MayBackUp(database string) error
	// BackUpLog has a regular backup of a secondary database's log go on with the chain: write stores it and says up to
	// where it goes. noted is false where the backup is stored and nobody knows whether the primary has noted it.
	BackUpLog(ctx context.Context, database string, write func() (storage.LSN, error)) (noted bool, err error)
}

// Extension adds the statements, views and procedures to an instance. Replicas is nil where there are no availability
// groups.
type Extension struct{ Replicas Replicas }

// Install registers them.
func (e Extension) Install(r *engine.Registry) error {
	r.Statement(
		(*syntax.Backup)(nil),
		func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
			return e.backup(ctx, s, st.Node.(*syntax.Backup), w)
		},
	)
	r.Statement(
		(*syntax.Restore)(nil),
		func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
			return restore(ctx, s, st.Node.(*syntax.Restore), w)
		},
	)
	r.Table(engine.InternalTable{Scope: engine.MsdbOnly, Name: "__backupset", DDL: []string{
		"CREATE TABLE __backupset (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	r.Table(engine.InternalTable{Scope: engine.MsdbOnly, Name: "__restorehistory", DDL: []string{
		"CREATE TABLE __restorehistory (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	installViews(r)
	installHistory(r)
	installDevices(r)
	return nil
}
