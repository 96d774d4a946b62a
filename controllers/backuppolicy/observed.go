// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// Observed is what is there of a policy.
type Observed struct {
	Now time.Time
	// Servers are the policy's, and the former ones, of which the Order alone is read.
	Servers map[v1alpha1.ServerName]Server
	// Models are what the primary says of its databases, by their names in lower case.
	Models reconcile.Reading[map[string]mssql.BackupModel]
	// Encryption is what the primary says of what is encrypted. Kept are the keys that stores have, nil for one that has
	// none; asked for only with spec.keys.
	Encryption reconcile.Reading[mssql.Encryption]
	Kept       map[KeptKey]reconcile.Reading[*backup.SealedKey]
	// Users are the agents' users in the target's databases, at the primary.
	Users map[v1alpha1.DatabaseName]reconcile.Reading[*mssql.UserState]
}

// Server is one of them.
type Server struct {
	// Order is what its sidecar is told; empty when nothing.
	Order reconcile.Reading[[]byte]
	// Says is what its sidecar says of the policy; nil when nothing.
	Says reconcile.Reading[*backups.Status]
	// EngineEdition is what its engine says that it is.
	EngineEdition reconcile.Reading[int]
	// History is the agent's user in msdb, where backups are noted; nil when there is none.
	History reconcile.Reading[*mssql.UserState]
}

// covered are the databases of the target: those that are declared, and those that the primary's sidecar has found.
func (o Observed) covered(d Desired) []v1alpha1.DatabaseName {
	all := slices.Clone(d.Databases)
	if says, err := o.Servers[d.Primary].Says.Get(); err == nil && says != nil {
		for _, database := range says.Databases {
			name := v1alpha1.DatabaseName(database.Name)
			same := func(n v1alpha1.DatabaseName) bool { return strings.EqualFold(string(n), database.Name) }
			if database.Here && !slices.ContainsFunc(all, same) {
				all = append(all, name)
			}
		}
	}
	return all
}

// model is what the primary says of a database; nothing while it was not asked.
func (o Observed) model(database v1alpha1.DatabaseName) mssql.BackupModel {
	models, _ := o.Models.Get()
	return models[strings.ToLower(string(database))]
}
