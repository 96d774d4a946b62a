// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// outsider is a database of one of the group's names on a replica's server that is not in the group there: after a DROP
// AVAILABILITY GROUP, SET HADR OFF or REMOVE DATABASE by hand, or because it is somebody else's. Nothing is seeded over
// it (error 1801).
type outsider struct {
	server   v1alpha1.ServerName
	database string
	// state is ONLINE, RESTORING, ...
	state string
}

// alone says that the copy may have rows that nobody else has: it does not wait for log, so that it is written to
// beside the group, or was before it went OFFLINE, RECOVERING or SUSPECT (the agents judge by the same,
// keeper.Copy.Alone).
func (s outsider) alone() bool { return s.state != "RESTORING" }

// outsiders are the copies that stand outside of a group that was made. The primary's are not among them: what it has
// is added to the group. Nor is what is being seeded now, which joins the group at the end of it.
func (o Observed) outsiders(d Desired) []outsider {
	if !o.exists(d) && d.Group.Status.GroupID == "" {
		return nil
	}
	var seeding []string
	primary := o.primary(d)
	if primary != "" {
		seeding = o.Instances[primary].Group.Seeding
	}
	var found []outsider
	for _, r := range d.Group.Spec.Replicas {
		i, seen := o.Instances[r.Server]
		if !seen || i.Err != nil || i.callsItselfPrimary() || r.AvailabilityMode == v1alpha1.ConfigurationOnly ||
			contains(seeding, host(r.Server)) {
			continue
		}
		for _, name := range d.databases() {
			if have, there := database(i.Mirroring, name); there && !have.InGroup {
				found = append(found, outsider{server: r.Server, database: have.Name, state: have.State})
			}
		}
	}
	return found
}

// outsideAlone are the databases that a server has outside of the group with rows of its own perhaps, for its status.
func outsideAlone(d Desired, o Observed, server v1alpha1.ServerName) []string {
	var names []string
	for _, s := range o.outsiders(d) {
		if s.server == server && s.alone() && len(names) < maxDatabases {
			names = append(names, s.database)
		}
	}
	return names
}

// writtenOutside asks a person about copies that are, or were, written to beside the group; false when there is none.
// What is written there nobody else has, so nothing is given up without a word.
func writtenOutside(d Desired, o Observed) (conditions.Outcome, bool) {
	var copies []string
	for _, s := range o.outsiders(d) {
		if s.alone() {
			copies = append(copies, fmt.Sprintf("%s on %s (%s)%s", s.database, host(s.server), s.state, noGroup(o, s.server)))
		}
	}
	if len(copies) == 0 {
		return conditions.Outcome{}, false
	}
	who := "no replica is primary"
	if primary := o.primary(d); primary != "" {
		who = host(primary) + " is primary and serves"
	} else if len(o.silent(d)) == 0 {
		who = withoutPrimary(d, o)
	}
	return conditions.Stalled(v1alpha1.ReasonDatabaseOutside, fmt.Sprintf(
		"%s; outside of the group: %s. Whoever writes there makes rows that no other replica has, and the listener does "+
			"not lead there. "+
			"End the writers, save what is to be kept, and DROP DATABASE (or rename it) there: then it is seeded anew by itself",
		who,
		list(copies),
	)), true
}

// noGroup says of a server that it has lost the group altogether.
func noGroup(o Observed, server v1alpha1.ServerName) string {
	if o.Instances[server].Group == nil {
		return ", which has no such group any more"
	}
	return ""
}

// leftOutside asks a person about copies that are of no use where they are and in the way of a seeding; false when
// there is none.
func leftOutside(d Desired, o Observed, group *mssql.Group) (conditions.Outcome, bool) {
	var copies []string
	for _, s := range o.outsiders(d) {
		if s.alone() {
			continue
		}
		engine := ""
		if f := failureOf(group, host(s.server), s.database); f != nil {
			engine = "; the engine: " + f.Reason
		}
		copies = append(copies, fmt.Sprintf("%s on %s (%s%s)", s.database, host(s.server), strings.ToLower(s.state), engine))
		if len(copies) == 1 {
			copies[0] += fmt.Sprintf(
				": ALTER DATABASE [%s] SET HADR AVAILABILITY GROUP = [%s] there joins it if its log reaches the primary's, and "+
					"kubectl geosql reseed %s %s --database %s -n %s gives it up and has it seeded anew",
				s.database,
				d.name(),
				d.name(),
				s.server,
				s.database,
				d.Group.Namespace,
			)
		}
	}
	if len(copies) == 0 {
		return conditions.Outcome{}, false
	}
	return conditions.Stalled(v1alpha1.ReasonDatabaseOutside,
		"a copy is not in the group, and nothing is seeded over it: "+strings.Join(copies, "; ")), true
}

// failureOf is why the newest seeding of a database to a server failed, nil when it did not. It counts no more where
// the copy takes log: one that has joined in another way may leave the failure the newest that there is.
func failureOf(group *mssql.Group, server, database string) *mssql.SeedingFailure {
	if s := stateOf(group, server, database); s == "SYNCHRONIZED" || s == "SYNCHRONIZING" {
		return nil
	}
	i := slices.IndexFunc(group.SeedingFailures, func(f mssql.SeedingFailure) bool {
		return strings.EqualFold(f.Server, server) && strings.EqualFold(f.Database, database)
	})
	if i < 0 {
		return nil
	}
	return &group.SeedingFailures[i]
}

// held says why databases of a replica take no log though nothing is wrong with the way there: a person has suspended
// them, or they are kept apart after a failover with data loss. Both wait for a person; false when there is none.
func held(d Desired, o Observed, primary v1alpha1.ServerName) (conditions.Outcome, bool) {
	var suspended, apart []string
	for _, r := range d.Group.Spec.Replicas {
		i, seen := o.Instances[r.Server]
		switch {
		case !seen || i.Err != nil || i.Group == nil || r.AvailabilityMode == v1alpha1.ConfigurationOnly:
		case o.quarantine(r.Server) != nil:
			apart = append(apart, string(r.Server))
		default:
			for _, name := range d.databases() {
				if row := rowOf(i.Group, host(r.Server), name); row != nil && row.Suspended && byUser(row.SuspendReason) {
					suspended = append(suspended, name+" on "+host(r.Server))
				}
			}
		}
	}
	serves := host(primary) + " is primary and serves; "
	switch {
	case len(apart) > 0:
		return conditions.Stalled(v1alpha1.ReasonReplicaQuarantined, fmt.Sprintf(
			"%s%s alone has log from before a failover with data loss, and takes none until a person has decided: kubectl "+
				"geosql rejoin %s %s -n %s, or reseed",
			serves,
			list(apart),
			d.name(),
			apart[0],
			d.Group.Namespace,
		)), true
	case len(suspended) > 0:
		return conditions.Stalled(v1alpha1.ReasonDataMovementSuspended, fmt.Sprintf(
			"%sa person has suspended data movement (SET HADR SUSPEND): %s. It is no second copy until ALTER DATABASE ... "+
				"SET HADR RESUME there, and the primary keeps all log meanwhile",
			serves,
			list(suspended),
		)), true
	}
	return conditions.Outcome{}, false
}

// byUser tells that a person has suspended data movement, who alone resumes it.
func byUser(reason string) bool { return strings.EqualFold(reason, "SUSPEND_FROM_USER") }
