// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// Observed is what is there of a Restore.
type Observed struct {
	// Order is what the server's sidecar is told; empty when nothing.
	Order reconcile.Reading[[]byte]
	// Says is what it says of the Restore; nil when nothing. Untold says that it does not tell whether it has read its
	// orders, and says nothing of any; UntoldSince is the first look since when that was so at every one, and the mark was
	// told.
	Says        reconcile.Reading[*restores.Status]
	Untold      bool
	UntoldSince time.Time
	// Rights are the permissions on the server that its agent has.
	Rights reconcile.Reading[[]string]
	// Owner of the database that was restored, empty where there is none; State is its state, such as RESTORING.
	// Secondary says that it is in a group whose primary is not known to be here: nobody can write to it.
	Owner     reconcile.Reading[string]
	State     string
	Secondary bool
	// Stands is what stands under the names of a Restore that replaces, Copies what the group's other servers have under
	// the name once the restored database has it; nil where there is none.
	Stands reconcile.Reading[standing]
	Copies map[v1alpha1.ServerName]reconcile.Reading[*mssql.Standing]
	// Places is where the database is that is to be handed over or dropped, nil where there is none.
	Places reconcile.Reading[*mssql.DatabasePlaces]
	// User is the agent's in the database, nil where it has none; read where the agent checks it, or has checked it.
	User reconcile.Reading[*mssql.UserState]
	// Kept are the keys that the server lacks, as the stores keep them, by thumbprint: nil where none does.
	Kept map[string]reconcile.Reading[*backup.SealedKey]
}
