// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"math"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
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

// witnessEnters says whether a configuration-only replica can be added: the replicas that stay are synchronous, and
// nothing else is that the engine would refuse beside it.
func witnessEnters(d Desired, group *mssql.Group) bool {
	return witness(group) == nil && synchronousOf(group) <= synchronousBesideWitness &&
		group.RequiredSynchronizedSecondaries == 0 && len(newcomers(d, group)) == 0
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

// inTheWay says that a declared configuration-only replica keeps one from becoming synchronous that has its copy, and
// that nobody else makes room.
func (c *replicaChange) inTheWay() bool {
	return !c.spared && synchronousOf(c.group) >= synchronousBesideWitness &&
		slices.ContainsFunc(newcomers(c.d, c.group), func(r v1alpha1.Replica) bool {
			return c.group.Replica(host(r.Server)) != nil &&
				!slices.ContainsFunc(c.group.Databases, func(database string) bool {
					return stateOf(c.group, host(r.Server), database) != "SYNCHRONIZING"
				})
		})
}

// waitsForRoomOf says that a replica cannot become synchronous before another, which is away, has left.
func waitsForRoomOf(group *mssql.Group, server, leaving string) bool {
	have, away := group.Replica(server), group.Replica(leaving)
	return room(group) <= 0 && have != nil && have.Mode == string(tsql.AsynchronousCommit) &&
		away != nil && disconnected(away)
}

// connected says that the primary is connected to every synchronous replica: without a configuration-only one they are
// the majority that every change of the configuration takes.
func connected(group *mssql.Group) bool {
	return !slices.ContainsFunc(group.Replicas, func(r mssql.GroupReplica) bool {
		return r.Role != "PRIMARY" && r.Mode == string(tsql.SynchronousCommit) && r.Connected != "CONNECTED"
	})
}
