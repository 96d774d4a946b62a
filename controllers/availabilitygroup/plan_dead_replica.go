// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// The log reader of a published database delivers nothing that a synchronous secondary has not hardened: one that stays
// away stops every subscriber (docs/database-engine/availability-groups/windows/
// configure-replication-for-always-on-availability-groups-sql-server.md). spec.onDeadReplica is the declared answer.
const (
	// demoteAfter is how long a replica must have been away to be made asynchronous. It is undone when it answers again.
	demoteAfter = time.Minute
	// removeAfter is how long one must have been away to be taken out of the group. It may have to be seeded again.
	removeAfter = 10 * time.Minute
)

// absence is the evidence that a replica is dead: its engine does not answer and the primary says that it is not
// connected; it has lasted since both were so, and this process has seen it so for as long: times in the status are of
// clocks that may have been set meanwhile, or be another manager's. Silence alone may be ours: who is cut off from a
// site must not take the end of a moment's reconnection there for the end of the replica. A person's word that its site
// is lost counts as any length of time. A replica that was never seen is unknown, not dead, and so is one that the
// primary still hears.
func absence(d Desired, o Observed, primary v1alpha1.ServerName, r v1alpha1.Replica) (lasted time.Duration, dead bool) {
	i, known := o.Instances[r.Server]
	if primary == "" || r.Server == primary || r.AvailabilityMode == v1alpha1.ConfigurationOnly || !known || i.Err == nil {
		return 0, false
	}
	have := o.row(primary, r.Server)
	if have != nil && !disconnected(have) {
		return 0, false
	}
	if errors.Is(i.Err, sites.ErrSiteLost) {
		return removeAfter, true
	}
	for _, s := range d.Group.Status.Replicas {
		switch {
		case !strings.EqualFold(s.Server, host(r.Server)) || s.ObservedAt == nil:
		case have == nil:
			return min(o.Now.Sub(s.ObservedAt.Time), o.AwayFor[r.Server]), true
		case s.DisconnectedSince == nil:
			return 0, true
		default:
			return min(o.Now.Sub(s.ObservedAt.Time), o.Now.Sub(s.DisconnectedSince.Time), o.AwayFor[r.Server]), true
		}
	}
	return 0, false
}

// away are the replicas, and those that are to leave, that are away, as this process sees it.
func (o Observed) away(d Desired) (servers []v1alpha1.ServerName) {
	primary := o.primary(d)
	for _, s := range append(d.servers(), d.former()...) {
		have := o.row(primary, s)
		if i, known := o.Instances[s]; primary != "" && known && i.Err != nil && (have == nil || disconnected(have)) {
			servers = append(servers, s)
		}
	}
	return servers
}

func disconnected(have *mssql.GroupReplica) bool { return have.Connected == "DISCONNECTED" }

// onDead is what is done about a declared replica now: Wait when it is there, or when nothing may be done about it.
func onDead(d Desired, o Observed, primary v1alpha1.ServerName, r v1alpha1.Replica) v1alpha1.OnDeadReplica {
	lasted, dead := absence(d, o, primary, r)
	if !dead {
		return v1alpha1.DeadReplicaWait
	}
	have := o.row(primary, r.Server)
	switch d.Group.Spec.OnDeadReplica {
	case v1alpha1.DeadReplicaDemoteToAsync:
		if r.AvailabilityMode != v1alpha1.SynchronousCommit || have == nil {
			return v1alpha1.DeadReplicaWait
		}
		if demoted(have) || lasted >= demoteAfter && enoughWithout(o.Instances[primary].Group, have) {
			return v1alpha1.DeadReplicaDemoteToAsync
		}
	case v1alpha1.DeadReplicaRemove:
		if have == nil || lasted >= removeAfter && enoughWithout(o.Instances[primary].Group, have) {
			return v1alpha1.DeadReplicaRemove
		}
	}
	return v1alpha1.DeadReplicaWait
}

func demoted(have *mssql.GroupReplica) bool {
	return have.Mode == string(tsql.AsynchronousCommit)
}

// enoughWithout tells whether commits find as many synchronized secondaries as they need when a replica is synchronous
// no more: the number is never lowered to make room, for it is what an acknowledgement is worth.
func enoughWithout(group *mssql.Group, without *mssql.GroupReplica) bool {
	return synchronized(
		group,
		func(server string) bool { return !strings.EqualFold(server, without.Server) },
	) >= group.RequiredSynchronizedSecondaries
}

// planReturn lets a replica that was taken out while it was away, and answers again, forget the group that it
// remembers: it is added and joins as a new one. So does a configuration-only one that was in the way of others. DROP
// AVAILABILITY GROUP on a secondary leaves its databases as they are; one that calls itself primary steps down first.
func planReturn(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	group := o.Instances[primary].Group
	for _, r := range d.Group.Spec.Replicas {
		if d.Group.Spec.OnDeadReplica != v1alpha1.DeadReplicaRemove && r.AvailabilityMode != v1alpha1.ConfigurationOnly {
			continue
		}
		i, ok := o.Instances[r.Server]
		if !ok || i.Err != nil || i.Group == nil || i.callsItselfPrimary() || group.Replica(host(r.Server)) != nil {
			continue
		}
		if i.Group.ID == group.ID || i.Group.ID == "" {
			dropGroup(
				p,
				reconcile.Seen("the primary has the group without it", o.Instances[primary].Err, i.Err),
				r.Server,
				tsql.DropGroup(d.name()).
					Because("let "+host(r.Server)+", which was taken out of the group, join it anew"),
			)
		}
	}
	if len(p.Steps) > 0 {
		return p.Settle(creating("a replica that was taken out is coming back"))
	}
	return true
}

// planTraceFlag lets the log reader go on without the asynchronous replicas while one of them is asynchronous only
// because it is dead, and makes it wait for all again afterwards. The flag is gone when the instance restarts or
// another replica becomes primary, so it is looked at each time.
func planTraceFlag(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" || d.Group.Spec.OnDeadReplica != v1alpha1.DeadReplicaDemoteToAsync {
		return true
	}
	on := o.Instances[primary].IgnoresAsynchronous
	if on == nil {
		return true
	}
	wanted := d.StartsWithFlag[primary]
	for _, r := range d.Group.Spec.Replicas {
		wanted = wanted || onDead(d, o, primary, r) == v1alpha1.DeadReplicaDemoteToAsync
	}
	const flag = tsql.TraceFlagLogReaderIgnoresAsynchronous
	switch {
	case wanted && !*on:
		executeAsSA(p, primary, tsql.TraceOn(flag).Because("let the log reader go on without the replica that is away"))
	case !wanted && *on:
		executeAsSA(p, primary, tsql.TraceOff(flag).Because("let the log reader wait for asynchronous replicas again"))
	default:
		return true
	}
	return p.Settle(creating("trace flag %d is being set on %s", flag, host(primary)))
}

// withoutDead says what was done about the replicas that are away; empty when nothing was.
func withoutDead(d Desired, o Observed, primary v1alpha1.ServerName) string {
	var done []string
	for _, r := range d.Group.Spec.Replicas {
		_, dead := absence(d, o, primary, r)
		switch onDead(d, o, primary, r) {
		case v1alpha1.DeadReplicaDemoteToAsync:
			done = append(done, fmt.Sprintf("%s is asynchronous until it answers", host(r.Server)))
		case v1alpha1.DeadReplicaRemove:
			done = append(done, fmt.Sprintf("%s is out of the group until it answers", host(r.Server)))
		default:
			if dead && r.AvailabilityMode == v1alpha1.SynchronousCommit {
				done = append(
					done,
					fmt.Sprintf("publications of the group's databases deliver nothing until %s answers", host(r.Server)),
				)
			}
		}
	}
	if len(done) == 0 {
		return ""
	}
	return "; " + strings.Join(done, "; ")
}
