// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// spares says whether a replica may leave the group, or be synchronous no more: every declared one has the data by
// then, and commits find as many synchronized secondaries as they need. What a replica without a copy holds, and one at
// a site that a person has called lost, is missed by nobody. A configuration-only replica leaves when the others agree
// without it.
func (o Observed) spares(d Desired, group *mssql.Group, leaving string) bool {
	have := group.Replica(leaving)
	if have != nil && have.Mode == string(tsql.ConfigurationOnly) {
		return connected(group)
	}
	if have == nil || errors.Is(o.Instances[credentials.ServerOf(leaving)].Err, sites.ErrSiteLost) {
		return true
	}
	if o.holdsVote(d, group, have) {
		return false
	}
	if !holds(group, leaving) {
		return true
	}
	return len(o.behind(d, group, leaving)) == 0 && enoughWithout(group, have)
}

// holdsVote says that a replica is one of three that agree, and that the configuration-only one that is to take its
// place does not answer.
func (o Observed) holdsVote(d Desired, group *mssql.Group, have *mssql.GroupReplica) bool {
	return have.Mode == string(tsql.SynchronousCommit) && witness(group) == nil &&
		synchronousOf(group) == synchronousBesideWitness+1 && o.awaitedWitness(d, group) != ""
}

// behind are the declared replicas, other than leaving, that do not have the data yet.
func (o Observed) behind(d Desired, group *mssql.Group, leaving string) []v1alpha1.ServerName {
	var behind []v1alpha1.ServerName
	for _, r := range d.Group.Spec.Replicas {
		if r.AvailabilityMode == v1alpha1.ConfigurationOnly || strings.EqualFold(host(r.Server), leaving) ||
			errors.Is(o.Instances[r.Server].Err, sites.ErrSiteLost) {
			continue
		}
		follows := r.AvailabilityMode != v1alpha1.SynchronousCommit || o.waitsForRoomOf(group, host(r.Server), leaving)
		for _, database := range group.Databases {
			state := stateOf(group, host(r.Server), database)
			if state != "SYNCHRONIZED" && (state != "SYNCHRONIZING" || !follows) {
				behind = append(behind, r.Server)
				break
			}
		}
	}
	return behind
}

// holds tells that a replica has a copy of a database of the group, be it one that lags.
func holds(group *mssql.Group, server string) bool {
	return slices.ContainsFunc(
		group.Databases,
		func(database string) bool { return stateOf(group, server, database) != "" },
	)
}

// synchronized counts the synchronous secondaries, of those that counts lets through, that have every commit. group is
// as its primary knows it.
func synchronized(group *mssql.Group, counts func(server string) bool) int {
	n := 0
	for _, r := range group.Replicas {
		has := r.Role != "PRIMARY" && r.Mode == string(tsql.SynchronousCommit) && counts(r.Server)
		if has &&
			!slices.ContainsFunc(
				group.Databases,
				func(database string) bool { return stateOf(group, r.Server, database) != "SYNCHRONIZED" },
			) {
			n++
		}
	}
	return n
}

// staying says of replicas that are to leave, or to be asynchronous, what is waited for; false when none is kept.
func staying(d Desired, o Observed, primary v1alpha1.ServerName) (conditions.Outcome, bool) {
	group := o.Instances[primary].Group
	var kept []string
	awaited := map[v1alpha1.ServerName]bool{}
	for _, have := range group.Replicas {
		goes := !slices.ContainsFunc(d.Group.Spec.Replicas, func(r v1alpha1.Replica) bool {
			return strings.EqualFold(host(r.Server), have.Server) &&
				(have.Mode != string(tsql.SynchronousCommit) || r.AvailabilityMode != v1alpha1.AsynchronousCommit)
		})
		if !goes || credentials.ServerOf(have.Server) == primary || o.spares(d, group, have.Server) {
			continue
		}
		kept = append(kept, have.Server)
		for _, s := range o.behind(d, group, have.Server) {
			awaited[s] = true
		}
	}
	if len(kept) == 0 {
		return conditions.Outcome{}, false
	}
	var names []v1alpha1.ServerName
	for _, s := range d.servers() {
		if awaited[s] {
			names = append(names, s)
		}
	}
	what := "as many synchronized secondaries as commits need"
	if w := witness(group); w != nil && slices.Contains(kept, w.Server) {
		what = "every synchronous replica to be connected"
	}
	if w := o.awaitedWitness(d, group); w != "" && len(names) == 0 {
		what = fmt.Sprintf("%s, which does not answer and is to be the configuration-only replica", w)
	}
	if len(names) > 0 {
		what = fmt.Sprintf(
			"%s, which must have the data first; if its site is gone for good set the Site's lifecycle to Lost",
			list(names),
		)
	}
	return conditions.InProgress(
		v1alpha1.ReasonSynchronizing,
		fmt.Sprintf("%s is primary and serves; %s stays as it is and waits for %s",
			host(primary), list(kept), what),
	), true
}
