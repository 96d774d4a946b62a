// SPDX-License-Identifier: Apache-2.0

// Package serverproc has the system stored procedures with which people look at a server and keep it in order: sp_help
// and its kin, the error logs, statistics of many columns, the machine, and the procedures of earlier versions that are
// statements today
// (docs/relational-databases/system-stored-procedures/database-engine-stored-procedures-transact-sql.md). They ask the
// catalogue views and run T-SQL; procedures that need the inside of the engine (sp_executesql, sp_rename, sp_configure
// ...) are in it.
package serverproc

import "geosql.dev/standin/engine"

// Extension adds the procedures to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	installHelp(r)
	installServerProcedures(r)
	installErrorLog(r)
	installStatistics(r)
	installHostProcedures(r)
	installFileProcedures(r)
	installFormerProcedures(r)
	return nil
}
