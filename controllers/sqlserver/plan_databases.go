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

// planDatabases makes the databases that the server declares for itself, or the Restores from which they come, and
// keeps their properties. It comes last: nothing of the server waits for a database.
func planDatabases(d Desired, o Observed, p *reconcile.Plan) bool {
	server := databases.Server{Host: d.host(), Version: o.Engine.Instance.ProductVersion, Logins: o.Engine.Logins}
	var kept databases.Kept
	var making, waiting, passing []string
	awaited := awaitedDatabases(d, o)
	for _, declared := range d.Server.Spec.Databases {
		have, exists := databaseOf(o, declared.Name)
		comes := awaited.Of(string(declared.Name))
		switch {
		case comes != nil && comes.Made != nil:
			p.Beside(databases.MakeRestore{Restore: comes.Made}, v1alpha1.ReasonRestoreAwaited)
		case comes != nil:
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
	if outcome, stuck := awaited.Stuck(); stuck {
		return p.Settle(outcome)
	}
	if outcome, differs := kept.Outcome(); differs {
		return p.Settle(outcome)
	}
	if len(awaited) > 0 {
		return p.Settle(awaited.Outcome())
	}
	if len(waiting) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase,
			"not every declared database is online: "+strings.Join(waiting, ", ")))
	}
	return true
}

// declarer is the server with the Restores that bring its databases.
func (d Desired) declarer() databases.Declarer {
	return databases.Declarer{Object: &d.Server.ObjectMeta, Restores: d.Restores}
}

// awaitedDatabases are those that come from Restores, by what the engine has of them, and those that are left halfway.
// One that is online belongs to the agent until its Restore hands it over: another's is never restored over, and is
// kept as declared meanwhile.
func awaitedDatabases(d Desired, o Observed) (all databases.AwaitedList) {
	for _, declared := range d.Server.Spec.Databases {
		have, exists := databaseOf(o, declared.Name)
		if have.InGroup || have.State == "ONLINE" && have.Owner != credentials.RoleAgent.Login() {
			continue
		}
		w := databases.Awaited{Name: string(declared.Name)}
		var waits bool
		if w.Outcome, waits = d.declarer().Awaits(declared, d.name(), have.State); !waits && !exists {
			w.Outcome, w.Made, waits = d.declarer().Comes(declared, d.name())
		}
		if !waits && have.State == "RESTORING" {
			w.Outcome, waits = conditions.Stalled(v1alpha1.ReasonRestoreFailed, fmt.Sprintf("database %s on %s is "+
				"RESTORING and no Restore is at it: drop it there, or recover it", declared.Name, d.host())), true
		}
		if waits {
			all = append(all, w)
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
