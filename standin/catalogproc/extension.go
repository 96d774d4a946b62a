// SPDX-License-Identifier: Apache-2.0

// Package catalogproc has the catalog stored procedures, which ODBC, JDBC and ADO.NET answer calls for metadata with
// (docs/relational-databases/system-stored-procedures/catalog-stored-procedures-transact-sql.md). They ask the
// catalogue views.
package catalogproc

import "geosql.dev/standin/engine"

// Extension adds the procedures to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	installTypes(r)
	installTables(r)
	installProcedures(r)
	return nil
}
