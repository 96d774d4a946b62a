// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
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
	// Kept are the keys that the server lacks, as the stores keep them, by thumbprint: nil where none does.
	Kept map[string]reconcile.Reading[*backup.SealedKey]
}
