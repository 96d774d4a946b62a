// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// Observed is what is there of a Restore.
type Observed struct {
	// Order is what the server's sidecar is told; empty when nothing.
	Order reconcile.Reading[[]byte]
	// Says is what it says of the Restore; nil when nothing.
	Says reconcile.Reading[*restores.Status]
	// Rights are the permissions on the server that its agent has.
	Rights reconcile.Reading[[]string]
	// Owner of the database that was restored, empty where there is none; State is its state, such as RESTORING.
	Owner reconcile.Reading[string]
	State string
	// Places is where the database is that is to be dropped, nil where there is none.
	Places reconcile.Reading[*mssql.DatabasePlaces]
	// User is the agent's in the database, nil where it has none; read where the agent checks it, or has checked it.
	User reconcile.Reading[*mssql.UserState]
}
