// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// planDatabases makes the declared databases ready to be in the group: on the first primary before there is a group,
// on the primary afterwards. A database is ready in FULL recovery, with a full backup that began its log chain.
func planDatabases(d Desired, o Observed, p *reconcile.Plan) bool {
	server := o.primary(d)
	if !o.exists(d) {
		server = d.Group.Spec.InitialPrimary
	}
	instance, ok := o.Instances[server]
	if server == "" || !ok || instance.Err != nil {
		return true
	}
	waits := awaitedDatabases(d, o)
	for _, declared := range d.Group.Spec.Databases {
		name := string(declared.Name)
		database, exists := database(instance.Mirroring, name)
		switch {
		case waits.Of(name) != nil:
			if made := waits.Of(name).Made; made != nil {
				p.Add(databases.MakeRestore{Restore: made})
			}
		case !exists && instance.Group != nil && contains(instance.Group.Databases, name):
			return p.Settle(databaseMissing(d, o, server, name))
		case !exists && len(o.copies(d, name)) > 0:
			return p.Settle(databaseElsewhere(d, o, server, name))
		case !exists:
			for _, s := range databases.Make(databaseServer(o, server), declared) {
				execute(p, server, s)
			}
			execute(p, server, tsql.SetRecoveryFull(name))
			execute(p, server, tsql.BackupDatabaseFull(name, firstBackup(name, o.Now)))
		case database.InGroup || database.State != "ONLINE":
		case !databases.Owns(declared, database) && !d.adopts():
			return p.Settle(conditions.Stalled(v1alpha1.ReasonDatabaseConflict, fmt.Sprintf(
				"database %s exists on %s and belongs to %q: annotate the group with %s=true to take it into the group, or name "+
					"another database",
				name,
				host(server),
				database.Owner,
				v1alpha1.AdoptAnnotation,
			)))
		default:
			prepare(p, server, database, o.Now)
		}
	}
	if len(p.Steps) > 0 {
		return p.Settle(creating("the databases are being prepared on %s", host(server)))
	}
	if len(waits) > 0 && !o.exists(d) {
		return p.Settle(waits.Outcome())
	}
	return true
}

// databaseElsewhere is of a database that the group is to have and that another replica has: what is there may be the
// data that is meant, and an empty one could not be seeded over it (error 1801).
func databaseElsewhere(d Desired, o Observed, server v1alpha1.ServerName, name string) conditions.Outcome {
	return conditions.Stalled(v1alpha1.ReasonDatabaseMissing, fmt.Sprintf(
		"database %s is to be one of the group's, and %s, on which it would be made, does not have it, but %s. Nothing is "+
			"created beside it: "+
			"restore on %[2]s what is to be in the group, and drop or rename the other ones, which nothing is seeded over",
		name,
		host(server),
		list(o.copies(d, name))+" has one of the name",
	))
}

// databaseMissing is of a database that the group has and its primary lacks: one was forced to be primary that was
// never seeded, say. An empty one in its place would be taken for it, and written to beside the copies that other
// replicas have.
func databaseMissing(d Desired, o Observed, primary v1alpha1.ServerName, name string) conditions.Outcome {
	copies := o.copies(d, name)
	known := "no replica that answers has it"
	if len(copies) > 0 {
		known = list(copies) + " of those that answer have it"
	}
	return conditions.Stalled(v1alpha1.ReasonDatabaseMissing, fmt.Sprintf(
		"database %s is one of the group's, and the primary %s does not have it; %s. Nothing is created in its place: let "+
			"a replica that has it become primary, "+
			"or take it out of spec.databases, restore it on the primary, and put it back",
		name,
		host(primary),
		known,
	))
}

// prepare puts an existing database into FULL recovery with a log chain. The operator may alter any database, and back
// up one that it owns; of another's it takes sa.
func prepare(p *reconcile.Plan, server v1alpha1.ServerName, database mssql.Database, now time.Time) {
	role := credentials.RoleOperator
	if database.Owner != role.Login() {
		role = credentials.RoleSA
	}
	if database.RecoveryModel != "FULL" {
		execute(p, server, tsql.SetRecoveryFull(database.Name))
	}
	if database.RecoveryModel != "FULL" || !database.LogChain {
		executeAs(p, role, server, tsql.BackupDatabaseFull(database.Name, firstBackup(database.Name, now)))
	}
}

// database finds a database by its name, compared as the server's default collation does.
func database(m mssql.Mirroring, name string) (mssql.Database, bool) {
	for have, d := range m.Databases {
		if strings.EqualFold(have, name) {
			return d, true
		}
	}
	return mssql.Database{}, false
}

// firstBackup is the file of the full backup that begins a database's log chain; never one that is there already.
func firstBackup(database string, now time.Time) string {
	return fmt.Sprintf("%s/%s-first-%s.bak", conf.BackupDir, database, now.UTC().Format("20060102T150405Z"))
}

// planJoin joins every replica that answers and has not joined, and lets the group seed databases there. A replica that
// the configuration does not name yet is added first, by planReplicas.
func planJoin(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	group := o.Instances[primary].Group
	for _, r := range d.Group.Spec.Replicas {
		instance, ok := o.Instances[r.Server]
		if !ok || instance.Err != nil || instance.Group != nil || group.Replica(host(r.Server)) == nil {
			continue
		}
		executeAsSA(p, r.Server, tsql.JoinGroup(d.name(), d.clusterType()))
		if r.AvailabilityMode != v1alpha1.ConfigurationOnly && !fixed(group.Replica(host(r.Server)), replica(r)) {
			execute(p, r.Server, tsql.GrantCreateAnyDatabase(d.name()))
		}
	}
	if len(p.Steps) > 0 {
		return p.Settle(creating("replicas are joining"))
	}
	return true
}

// planMembership adds and removes databases. A removed one stays as it is on the primary.
func planMembership(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	group := o.Instances[primary].Group
	waits := awaitedDatabases(d, o)
	for _, name := range d.databases() {
		if !contains(group.Databases, name) && waits.Of(name) == nil {
			execute(p, primary, tsql.AddGroupDatabase(d.name(), name))
		}
	}
	for _, name := range group.Databases {
		if !contains(d.databases(), name) && !d.engineMakes(name) {
			destroy(p, reconcile.Seen("the primary has the database, and keeps it", o.Instances[primary].Err), primary,
				tsql.RemoveGroupDatabase(d.name(), name))
		}
	}
	if len(p.Steps) > 0 {
		return p.Settle(creating("the group's databases are being brought to what is declared"))
	}
	return true
}

// engineMakes says of a database that the engine adds to a contained group by itself, with the group's logins and jobs
// (docs/database-engine/availability-groups/windows/contained-availability-groups-overview.md, "Contained system
// databases").
func (d Desired) engineMakes(name string) bool {
	return d.Group.Spec.Contained && contains([]string{d.name() + "_master", d.name() + "_msdb"}, name)
}

// contains compares names of databases and servers as the server's default collation does.
func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// planCommitRule sets how many secondaries must harden a commit.
func planCommitRule(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	group := o.Instances[primary].Group
	needed := d.requiredNow(group)
	if needed > group.RequiredSynchronizedSecondaries {
		// More than are synchronized would block every commit: the rest of the way is gone when others are.
		needed = max(
			group.RequiredSynchronizedSecondaries,
			min(needed, synchronized(group, func(string) bool { return true })),
		)
	}
	if group.RequiredSynchronizedSecondaries == needed {
		return true
	}
	execute(p, primary, tsql.SetRequiredSynchronizedSecondaries(d.name(), needed))
	return p.Settle(creating("the number of secondaries that a commit needs is being set"))
}

// planSeeding lets the group seed what a replica lacks, and begins seedings that failed, or have not begun, again: the
// copy that was in the way may be gone. Nothing shows whether the grant was made, and the manager may have ended
// between JOIN and GRANT; both change nothing where they are in force. It resumes nothing by itself: the agents do
// that.
func planSeeding(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	group := o.Instances[primary].Group
	var missing []string
	for _, r := range d.Group.Spec.Replicas {
		lacking := o.unseeded(d, group, r)
		if len(lacking) == 0 {
			continue
		}
		why, again := "seed "+list(lacking)+", which is not there", o.UnseededFor[r.Server] >= seedingPatience
		for _, name := range lacking {
			if f := failureOf(group, host(r.Server), name); f != nil {
				why, again = "seed "+name+" again, which failed: "+f.Reason, true
			}
		}
		missing = append(missing, "on "+host(r.Server)+": "+why)
		execute(p, r.Server, tsql.GrantCreateAnyDatabase(d.name()).Because("let group "+d.name()+" "+why))
		if again {
			execute(p, primary, tsql.SetReplicaSeeding(d.name(), host(r.Server), false).Because(why))
		}
	}
	if len(p.Steps) > 0 {
		if outcome, alone := writtenOutside(d, o); alone {
			return p.Settle(outcome)
		}
		return p.Settle(
			conditions.InProgress(
				v1alpha1.ReasonSeedingFailed,
				"a seeding has not begun or has failed; it is begun again: "+strings.Join(missing, "; "),
			),
		)
	}
	return true
}

// seedingPatience is how long a seeding may take to begin after a replica has joined, before it is asked for again.
const seedingPatience = 15 * time.Second

// awaitSeeding are the replicas to which a database is to be seeded and is not being.
func (o Observed) awaitSeeding(d Desired) (servers []v1alpha1.ServerName) {
	primary := o.primary(d)
	if primary == "" {
		return nil
	}
	for _, r := range d.Group.Spec.Replicas {
		if len(o.unseeded(d, o.Instances[primary].Group, r)) > 0 {
			servers = append(servers, r.Server)
		}
	}
	return servers
}

// unseeded are the group's databases that a joined replica's server lacks altogether and that are not being seeded to
// it, those aside whose key it lacks, too: such a seeding fails each time.
func (o Observed) unseeded(d Desired, group *mssql.Group, r v1alpha1.Replica) (lacking []string) {
	i, ok := o.Instances[r.Server]
	if have := group.Replica(host(r.Server)); have == nil || fixed(have, replica(r)) {
		return nil
	}
	if !ok || i.Err != nil || i.Group == nil || i.Group.Role != string(ballot.RoleSecondary) ||
		r.AvailabilityMode == v1alpha1.ConfigurationOnly || r.Seeding == v1alpha1.SeedingManual ||
		contains(group.Seeding, host(r.Server)) {
		return nil
	}
	for _, name := range group.Databases {
		if _, exists := database(i.Mirroring, name); !exists && !o.keyless(d, r.Server, name) {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// stateOf is a database's synchronization state on a replica as the given instance knows it, empty when it has no row.
func stateOf(g *mssql.Group, server, database string) string {
	for _, s := range g.States {
		if strings.EqualFold(s.Server, server) && strings.EqualFold(s.Database, database) {
			return s.State
		}
	}
	return ""
}
