// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/engineimage"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Reasons of a replica's promotability, beside those of package votes.
const (
	reasonSynchronized   = "Synchronized"
	reasonNotAnswering   = "NotAnswering"
	reasonNotJoined      = "NotJoined"
	reasonNotSeeded      = "NotSeeded"
	reasonOutside        = "DatabaseOutside"
	reasonPrimaryUnknown = "PrimaryUnknown"
	reasonNoDatabases    = "NoDatabases"
	reasonNotDeclared    = "NotDeclared"
	reasonQuarantined    = "Quarantined"
	reasonVersionLower   = "VersionLower"
)

// promotable says whether a replica could become primary now without losing anything, or why not. A server that does
// not answer is unknown, not unfit; without a primary nobody knows but the election, which asks every replica.
func promotable(d Desired, o Observed, server, primary v1alpha1.ServerName) *v1alpha1.Promotability {
	say := func(status metav1.ConditionStatus, reason, format string, args ...any) *v1alpha1.Promotability {
		return &v1alpha1.Promotability{
			Status:  status,
			Reason:  reason,
			Message: conditions.Shorten(fmt.Sprintf(format, args...), 1024),
		}
	}
	d = without(d, awaitedDatabases(d, o))
	mode, declared := modeOf(d, server)
	switch {
	case !declared:
		return say(metav1.ConditionFalse, reasonNotDeclared, "%s is no longer a declared replica", server)
	case mode == v1alpha1.ConfigurationOnly:
		return say(metav1.ConditionFalse, votes.ReasonNotAReplica, "a ConfigurationOnly replica holds no databases")
	case server == primary:
		return say(metav1.ConditionFalse, votes.ReasonAlreadyPrimary, "%s is the primary", host(server))
	case mode == v1alpha1.AsynchronousCommit:
		return say(
			metav1.ConditionFalse,
			votes.ReasonNotSynchronous,
			"an AsynchronousCommit replica may lack acknowledged writes",
		)
	}
	i, ok := o.Instances[server]
	switch {
	case !ok || i.Err != nil:
		return say(metav1.ConditionUnknown, reasonNotAnswering, "%s does not answer", host(server))
	case i.Group == nil:
		return say(metav1.ConditionFalse, reasonNotJoined, "%s has not joined the group", host(server))
	}
	if apart := o.quarantine(server); apart != nil {
		return say(
			metav1.ConditionFalse,
			reasonQuarantined,
			"since the failover with data loss of term %d this replica alone has log of %d databases: "+
				"it waits for kubectl geosql rejoin %s %s, or reseed",
			apart.Term,
			len(apart.Databases),
			d.name(),
			server,
		)
	}
	if lower, version := o.lowerThanPrimary(server, primary); lower {
		return say(metav1.ConditionFalse, reasonVersionLower, "its engine, %s, is of a lower major version than the "+
			"primary's, %s: there is no failing back to it; update it", i.Mirroring.ProductVersion, version)
	}
	if primary == "" {
		d = without(d, unheard(d, i))
	}
	if reason, message := unfit(d, i); reason != "" {
		return say(metav1.ConditionFalse, reason, "%s", message)
	}
	if primary == "" {
		return say(
			metav1.ConditionUnknown,
			reasonPrimaryUnknown,
			"no replica that answers is primary: which replica has every acknowledged write is for the election to find out",
		)
	}
	if len(d.databases()) == 0 {
		return say(metav1.ConditionTrue, reasonNoDatabases, "the group has no databases")
	}
	if behind := notReady(d, o.Instances[primary].Group, host(server)); len(behind) > 0 {
		return say(
			metav1.ConditionFalse,
			votes.ReasonNotSynchronized,
			"not ready for failover: %s",
			strings.Join(behind, ", "),
		)
	}
	return say(metav1.ConditionTrue, reasonSynchronized, "every database is synchronized")
}

// lowerThanPrimary tells that a server's engine is of a lower major version than the primary's, which it returns: the
// primary's databases have become ones that it can't open.
func (o Observed) lowerThanPrimary(server, primary v1alpha1.ServerName) (lower bool, version string) {
	own, of := o.Instances[server], o.Instances[primary]
	if own.Err != nil || of.Err != nil {
		return false, ""
	}
	has, needs := engineimage.MajorOf(own.Mirroring.ProductVersion), engineimage.MajorOf(of.Mirroring.ProductVersion)
	return has != 0 && has < needs, of.Mirroring.ProductVersion
}

func modeOf(d Desired, server v1alpha1.ServerName) (v1alpha1.AvailabilityMode, bool) {
	for _, r := range d.Group.Spec.Replicas {
		if r.Server == server {
			return r.AvailabilityMode, true
		}
	}
	return "", false
}

// unheard are databases of which a replica does not know that the group has them. Without a primary nobody says whether
// they are to come, from backups say.
func unheard(d Desired, i Instance) (all databases.AwaitedList) {
	for _, name := range d.databases() {
		if !contains(i.Group.Databases, name) {
			all = append(all, databases.Awaited{Name: name})
		}
	}
	return all
}

// unfit is what the replica itself says against it: a database that is not there, that is being reverted or
// initialized, or whose data movement is suspended. The reason is empty when nothing is.
func unfit(d Desired, i Instance) (reason, message string) {
	for _, name := range d.databases() {
		var row *mssql.GroupDatabaseState
		for k := range i.Group.States {
			if s := &i.Group.States[k]; s.Local && strings.EqualFold(s.Database, name) {
				row = s
			}
		}
		have, there := database(i.Mirroring, name)
		switch {
		case row == nil && there && !have.InGroup:
			return reasonOutside, fmt.Sprintf(
				"database %s there (%s) is outside of the group",
				name,
				strings.ToLower(have.State),
			)
		case row == nil:
			return reasonNotSeeded, fmt.Sprintf("database %s is not there yet", name)
		case row.Suspended:
			return votes.ReasonSuspended, fmt.Sprintf(
				"data movement of database %s is suspended (%s)%s",
				name,
				cmp.Or(row.SuspendReason, "no reason is given"),
				release(d, row.SuspendReason),
			)
		case strings.EqualFold(row.State, "REVERTING"), strings.EqualFold(row.State, "INITIALIZING"):
			return votes.ReasonReverting, fmt.Sprintf(
				"database %s is %s: wait until it is synchronized",
				name,
				strings.ToLower(row.State),
			)
		}
	}
	return "", ""
}

// release says how a replica is let go that the agents keep apart; what a person suspended, a person resumes.
func release(d Desired, reason string) string {
	if byUser(reason) {
		return "; ALTER DATABASE ... SET HADR RESUME there ends it"
	}
	return fmt.Sprintf(
		"; if it is kept apart after a failover with data loss, it waits for kubectl geosql rejoin %s SERVER, or reseed",
		d.name(),
	)
}

// notReady are the databases of which the primary says that the replica is not ready for failover.
func notReady(d Desired, leader *mssql.Group, server string) []string {
	var behind []string
	for _, name := range d.databases() {
		row := rowOf(leader, server, name)
		switch {
		case row == nil:
			behind = append(behind, fmt.Sprintf("%s (the primary has no row about it)", name))
		case !row.FailoverReady:
			behind = append(behind, fmt.Sprintf("%s (%s)", name, orUnknown(row.State)))
		}
	}
	return behind
}
