// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
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
	var making, waiting, passing []string
	for _, declared := range d.Server.Spec.Databases {
		have, exists := databaseOf(o, declared.Name)
		restore := d.Replacing[strings.ToLower(string(declared.Name))]
		switch {
		case restore != "" && (!exists || have.Owner == credentials.RoleAgent.Login()):
			// Between two names an empty one would stand in the way of the restored.
			waiting = append(waiting, fmt.Sprintf("%s comes from Restore %s", declared.Name, restore))
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
		case !databases.Owns(declared, have, d.ownersOf(declared.Name)...) && !d.adopts():
			kept.Conflicts = append(kept.Conflicts, fmt.Sprintf(
				"database %s exists on %s and belongs to %q: annotate the server with %s=true to have it kept as declared, or "+
					"name another database", have.Name, d.host(), have.Owner, v1alpha1.AdoptAnnotation))
		default:
			if !d.mayPass(declared, have) {
				passing = append(passing, fmt.Sprintf("%s from %s to %s", have.Name, cmp.Or(have.Owner, "nobody"),
					declared.Owner))
				declared.Owner = ""
			}
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
	if len(passing) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonDatabaseDiffers,
			"these databases change their owner: "+strings.Join(passing, ", ")))
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

// replacing are the Restores that are about to give databases of the server their names, by these in lower case.
func replacing(server v1alpha1.ServerName, restores []v1alpha1.Restore) map[string]string {
	all := map[string]string{}
	for i := range restores {
		if r := &restores[i]; r.Replaces(server, r.Spec.Replace) {
			all[strings.ToLower(string(r.Spec.Replace))] = r.Name
		}
	}
	return all
}

// ownersOf are the owners of a database that are on record as the operator's doing.
func (d Desired) ownersOf(name v1alpha1.DatabaseName) []string {
	for _, s := range d.Server.Status.Databases {
		if strings.EqualFold(string(s.Name), string(name)) {
			return s.Owners
		}
	}
	return nil
}

// mayPass tells that a database may be given to its declared owner: that one is on record, or owns it. A record that
// came after the change would not come where the manager ends between the two, and the next change would meet somebody
// else's database.
func (d Desired) mayPass(declared v1alpha1.Database, have mssql.Database) bool {
	return declared.Owner == "" || strings.EqualFold(declared.Owner, have.Owner) ||
		databases.Recorded(d.ownersOf(declared.Name), declared.Owner)
}

// ownDatabases is what is to be remembered of the declared databases. What is somebody else's now, or can't be told,
// stays as it was.
func ownDatabases(d Desired, o Observed) (all []v1alpha1.ServerDatabaseStatus) {
	for _, declared := range d.Server.Spec.Databases {
		owners := d.ownersOf(declared.Name)
		have, exists := databaseOf(o, declared.Name)
		switch {
		case !exists:
			continue
		case !have.InGroup && (databases.Owns(declared, have, owners...) || d.adopts()):
			owners = databases.RecordOwners(declared, have, owners)
		}
		if len(owners) > 0 {
			all = append(all, v1alpha1.ServerDatabaseStatus{Name: declared.Name, Owners: owners})
		}
	}
	return all
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
