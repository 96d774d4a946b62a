// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// planDatabases makes the databases that the server declares for itself, and keeps their properties. It comes last:
// nothing of the server waits for a database.
func planDatabases(d Desired, o Observed, p *reconcile.Plan) bool {
	server := databases.Server{Host: d.host(), Version: o.Engine.Instance.ProductVersion, Logins: o.Engine.Logins}
	var kept databases.Kept
	var making, waiting []string
	for _, declared := range d.Server.Spec.Databases {
		have, exists := databaseOf(o, declared.Name)
		switch {
		case !exists:
			making = append(making, string(declared.Name))
			for _, s := range databases.Make(server, declared) {
				p.Beside(mssql.Execute{Role: credentials.RoleOperator, Database: "master", Statement: s},
					v1alpha1.ReasonWaitingForDatabase)
			}
		case have.InGroup:
			kept.Conflicts = append(kept.Conflicts, fmt.Sprintf(
				"database %s on %s is in an availability group, whose primary moves: declare it at the AvailabilityGroup",
				have.Name, d.host()))
		case have.State != "ONLINE":
			waiting = append(waiting, fmt.Sprintf("%s is %s", have.Name, strings.ToLower(have.State)))
		case !databases.Owns(declared, have) && !d.adopts():
			kept.Conflicts = append(kept.Conflicts, fmt.Sprintf(
				"database %s exists on %s and belongs to %q: annotate the server with %s=true to have it kept as declared, or "+
					"name another database", have.Name, d.host(), have.Owner, v1alpha1.AdoptAnnotation))
		default:
			kept.Add(databases.Keep(server, declared, have))
		}
	}
	for _, c := range kept.Changes {
		p.Beside(mssql.Execute{Role: c.Role, Database: "master", Statement: c.Statement}, v1alpha1.ReasonDatabaseDiffers)
	}
	if len(making) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase,
			"these databases are being made: "+strings.Join(making, ", ")))
	}
	if outcome, differs := kept.Outcome(); differs {
		return p.Settle(outcome)
	}
	if len(waiting) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase,
			"not every declared database is online: "+strings.Join(waiting, ", ")))
	}
	return true
}

// databaseOf finds a database by its name, compared as the server's default collation does.
func databaseOf(o Observed, name v1alpha1.DatabaseName) (mssql.Database, bool) {
	for have, x := range o.Engine.Databases {
		if strings.EqualFold(have, string(name)) {
			return x, true
		}
	}
	return mssql.Database{}, false
}
