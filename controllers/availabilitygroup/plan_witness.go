// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"math"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// Beside a configuration-only replica the engine takes two synchronous replicas and a commit rule of 0 (error 47108;
// docs/linux/sql-server-linux-availability-group-ha.md). So a set of replicas is not brought to another one through a
// third synchronous replica while it is there: a lost replica leaves before its successor becomes synchronous, and
// where all are alive the configuration-only one leaves for as long as there are three.
const synchronousBesideWitness = 2

// witness is the group's configuration-only replica.
func witness(group *mssql.Group) *mssql.GroupReplica {
	i := slices.IndexFunc(
		group.Replicas,
		func(r mssql.GroupReplica) bool { return r.Mode == string(tsql.ConfigurationOnly) },
	)
	if i < 0 {
		return nil
	}
	return &group.Replicas[i]
}

func synchronousOf(group *mssql.Group) (n int) {
	for _, r := range group.Replicas {
		if r.Mode == string(tsql.SynchronousCommit) {
			n++
		}
	}
	return n
}

// room is how many replicas may become synchronous.
func room(group *mssql.Group) int {
	if witness(group) == nil {
		return math.MaxInt
	}
	return synchronousBesideWitness - synchronousOf(group)
}

// roomForWitness says that no more than two are synchronous, or are to be.
func roomForWitness(d Desired, group *mssql.Group) bool {
	return synchronousOf(group)+len(newcomers(d, group)) <= synchronousBesideWitness
}

// witnessEnters says whether a configuration-only replica can be added: where there is room for it, and only where its
// engine answers and remembers no group, whose replica it would go on being.
func (o Observed) witnessEnters(d Desired, group *mssql.Group, server v1alpha1.ServerName) bool {
	i, known := o.Instances[server]
	return witness(group) == nil && roomForWitness(d, group) && group.RequiredSynchronizedSecondaries == 0 && known &&
		i.Err == nil && i.Group == nil
}

// witnessToCome is the declared configuration-only replica that is not in the group; "" when there is none.
func witnessToCome(d Desired, group *mssql.Group) v1alpha1.ServerName {
	for _, r := range d.Group.Spec.Replicas {
		if r.AvailabilityMode == v1alpha1.ConfigurationOnly && group.Replica(host(r.Server)) == nil {
			return r.Server
		}
	}
	return ""
}

// awaitedWitness is the one to come that does not answer; "" when there is none. Until it does, it can't vote in the
// place of another.
func (o Observed) awaitedWitness(d Desired, group *mssql.Group) v1alpha1.ServerName {
	if s := witnessToCome(d, group); s != "" && o.Instances[s].Err != nil {
		return s
	}
	return ""
}

// newcomers are the replicas that are declared synchronous and are not.
func newcomers(d Desired, group *mssql.Group) (replicas []v1alpha1.Replica) {
	for _, r := range d.Group.Spec.Replicas {
		have := group.Replica(host(r.Server))
		if r.AvailabilityMode == v1alpha1.SynchronousCommit &&
			(have == nil || have.Mode != string(tsql.SynchronousCommit)) {
			replicas = append(replicas, r)
		}
	}
	return replicas
}

// ready are the newcomers that have their copy and are connected: beside two others they wait for the
// configuration-only replica alone.
func (c *replicaChange) ready() (replicas []v1alpha1.Replica) {
	for _, r := range newcomers(c.d, c.group) {
		have := c.group.Replica(host(r.Server))
		if have != nil && have.Connected == "CONNECTED" && !slices.ContainsFunc(c.group.Databases, func(name string) bool {
			return stateOf(c.group, host(r.Server), name) != "SYNCHRONIZING"
		}) {
			replicas = append(replicas, r)
		}
	}
	return replicas
}

// witnessLeaves removes the configuration-only replica where it keeps one from becoming synchronous that has its copy,
// or where another is to take its place and can. Without it two have to agree on everything until there is a third:
// who waits becomes synchronous in the same round, and nothing else is done in it, so that both are judged by what is
// there.
func (c *replicaChange) witnessLeaves() {
	have := witness(c.group)
	if have == nil || len(c.p.Steps) > 0 || !connected(c.group) {
		return
	}
	var next []v1alpha1.Replica
	if synchronousOf(c.group) >= synchronousBesideWitness {
		next = c.ready()
	}
	if len(next) == 0 && !c.replaced() {
		return
	}
	c.remove(have, "every synchronous replica is connected, and they agree without it")
	for _, r := range next {
		execute(c.p, c.primary, tsql.SetReplicaMode(c.d.name(), host(r.Server), tsql.SynchronousCommit))
	}
}

// replaced says that another configuration-only replica is declared in the place of one, answers, and finds room.
func (c *replicaChange) replaced() bool {
	i, known := c.o.Instances[witnessToCome(c.d, c.group)]
	return known && i.Err == nil && roomForWitness(c.d, c.group)
}

// waitsForRoomOf says that a replica cannot become synchronous before another has left, which has been away for so long
// that a restart is none of it: until then it may be the only one that has what is acknowledged.
func (o Observed) waitsForRoomOf(group *mssql.Group, server, leaving string) bool {
	have, away := group.Replica(server), group.Replica(leaving)
	return room(group) <= 0 && have != nil && have.Mode == string(tsql.AsynchronousCommit) &&
		away != nil && disconnected(away) && o.AwayFor[credentials.ServerOf(leaving)] >= demoteAfter
}

// connected says that the primary is connected to every synchronous replica: without a configuration-only one they are
// the majority that every change of the configuration takes.
func connected(group *mssql.Group) bool {
	return !slices.ContainsFunc(group.Replicas, func(r mssql.GroupReplica) bool {
		return r.Role != "PRIMARY" && r.Mode == string(tsql.SynchronousCommit) && r.Connected != "CONNECTED"
	})
}
