// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// planReplicas brings the replicas' options to what is declared, and adds and removes replicas. There is never a moment
// in which fewer acknowledgements suffice than the larger set needs: the number is raised before a synchronous replica
// is added, and a replica is removed before planCommitRule lowers it.
func planReplicas(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	group := o.Instances[primary].Group
	if raisesFirst(d, group) {
		execute(
			p,
			primary,
			tsql.SetRequiredSynchronizedSecondaries(d.name(), d.requiredNow(group)).
				Because("more replicas are about to be synchronous"),
		)
		return p.Settle(creating("the number of secondaries that a commit needs is being raised before replicas are added"))
	}
	c := replicaChange{d: d, o: o, p: p, primary: primary, group: group, room: room(group)}
	for _, r := range d.Group.Spec.Replicas {
		c.declared(r)
	}
	for i := range group.Replicas {
		have := &group.Replicas[i]
		declared := slices.Contains(d.servers(), credentials.ServerOf(have.Server))
		if have.Mode != string(tsql.ConfigurationOnly) && !declared && c.goes(have) {
			c.remove(have, "the others keep the commit rule without it")
		}
	}
	c.witnessLeaves()
	if len(p.Steps) > 0 {
		return p.Settle(creating("the replicas are being brought to what is declared"))
	}
	return true
}

// replicaChange is one round of planReplicas.
type replicaChange struct {
	d       Desired
	o       Observed
	p       *reconcile.Plan
	primary v1alpha1.ServerName
	group   *mssql.Group
	// room is how many replicas may still become synchronous.
	room int
	// spared tells that a synchronous replica has been let go: one at a time, because the number that commits need falls
	// after each.
	spared bool
}

// declared plans what a declared replica needs.
func (c *replicaChange) declared(r v1alpha1.Replica) {
	want := replica(r)
	have := c.group.Replica(want.Server)
	dead := false
	switch onDead(c.d, c.o, c.primary, r) {
	case v1alpha1.DeadReplicaRemove:
		if have != nil {
			destroy(
				c.p,
				reconcile.Seen("commits do not need it, and it was away for long", c.o.Instances[c.primary].Err),
				c.primary,
				tsql.RemoveReplica(c.d.name(), want.Server).Because("go on without "+want.Server+", which is away"),
			)
		}
		return
	case v1alpha1.DeadReplicaDemoteToAsync:
		want.Mode, dead = tsql.AsynchronousCommit, true
	}
	if have == nil {
		c.enters(r.Server, want)
		return
	}
	if have.Mode != string(want.Mode) && !fixed(have, want) && c.changes(have, want.Mode, dead) {
		execute(c.p, c.primary, tsql.SetReplicaMode(c.d.name(), want.Server, want.Mode))
	}
	if want.Mode != tsql.ConfigurationOnly && !fixed(have, want) && (have.Connections != "NO") != want.Readable {
		execute(c.p, c.primary, tsql.SetReplicaReadable(c.d.name(), want.Server, want.Readable))
	}
	if want.SessionTimeout > 0 && have.SessionTimeout != want.SessionTimeout {
		execute(c.p, c.primary, tsql.SetReplicaSessionTimeout(c.d.name(), want.Server, want.SessionTimeout))
	}
}

// enters adds a replica. One that is to be synchronous where two are beside a configuration-only one comes in as
// asynchronous: it gets its copy meanwhile.
func (c *replicaChange) enters(server v1alpha1.ServerName, want tsql.Replica) {
	switch {
	case c.o.Instances[server].callsItselfPrimary():
		return
	case want.Mode == tsql.ConfigurationOnly:
		if !c.o.witnessEnters(c.d, c.group, server) {
			return
		}
	case want.Mode == tsql.SynchronousCommit && !c.takesRoom():
		want.Mode = tsql.AsynchronousCommit
	}
	execute(c.p, c.primary, tsql.AddReplica(c.d.name(), want, c.d.clusterType()))
}

// changes says whether a replica may be brought to another mode now.
func (c *replicaChange) changes(have *mssql.GroupReplica, mode tsql.AvailabilityMode, dead bool) bool {
	if mode == tsql.SynchronousCommit {
		return c.takesRoom()
	}
	return have.Mode != string(tsql.SynchronousCommit) || dead || c.goes(have)
}

func (c *replicaChange) takesRoom() bool {
	c.room--
	return c.room >= 0
}

func (c *replicaChange) remove(have *mssql.GroupReplica, evidence string) {
	destroy(c.p, reconcile.Seen(evidence, c.o.Instances[c.primary].Err), c.primary,
		tsql.RemoveReplica(c.d.name(), have.Server))
}

// goes says whether a replica may leave the group, or be synchronous no more, in this round.
func (c *replicaChange) goes(have *mssql.GroupReplica) bool {
	synchronous := have.Mode == string(tsql.SynchronousCommit)
	spared := (!synchronous || !c.spared) && c.o.spares(c.d, c.group, have.Server)
	c.spared = c.spared || spared && synchronous
	return spared
}

// fixed says that a replica cannot be brought to the wanted mode: one with data and a configuration-only one are not
// made of each other (docs/linux/sql-server-linux-availability-group-ha.md; errors 47112, 47113).
func fixed(have *mssql.GroupReplica, want tsql.Replica) bool {
	return (have.Mode == string(tsql.ConfigurationOnly)) != (want.Mode == tsql.ConfigurationOnly)
}

// modeFixed asks a person about replicas whose mode cannot be brought to what is declared; false when there is none.
func modeFixed(d Desired, group *mssql.Group) (conditions.Outcome, bool) {
	var servers []string
	for _, r := range d.Group.Spec.Replicas {
		if have := group.Replica(host(r.Server)); have != nil && fixed(have, replica(r)) {
			servers = append(servers, fmt.Sprintf("%s (%s)", have.Server, have.Mode))
		}
	}
	return conditions.Stalled(v1alpha1.ReasonReplicaModeFixed, fmt.Sprintf(
		"SQL Server changes no replica with data into a configuration-only one, nor the other way (errors 47112, 47113): "+
			"set availabilityMode back for %s, "+
			"or declare another server with the other availabilityMode in its place. Everything else is as declared",
		strings.Join(servers, ", "),
	)), len(servers) > 0
}

// raisesFirst tells whether the number of secondaries that a commit needs has to be raised before the set of
// synchronous replicas grows. It is not where the synchronized ones could not meet it, which would block every commit,
// nor where two of them are all that agree, as a configuration-only one has left for a third or is there still and
// takes 0 only (error 47108): if one of the two fell away now, nobody could lower it again. There it is raised
// afterwards.
func raisesFirst(d Desired, group *mssql.Group) bool {
	needed := d.requiredNow(group)
	return witness(group) == nil && (!d.fenced() || synchronousOf(group) > synchronousBesideWitness) &&
		len(newcomers(d, group)) > 0 && needed > group.RequiredSynchronizedSecondaries &&
		needed <= synchronized(group, func(string) bool { return true })
}
