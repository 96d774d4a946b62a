// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
)

// unknown is what status says of what cannot be seen.
const unknown = "Unknown"

// describe makes the status of what was observed. What an instance says of itself counts; the primary's rows about a
// secondary that is not connected are stale and are not shown.
func describe(before v1alpha1.AvailabilityGroupStatus, d Desired, o Observed) v1alpha1.AvailabilityGroupStatus {
	s := *before.DeepCopy()
	primary := o.primary(d)
	s.Primary, s.Voters, s.Replicas = "", describeVoters(d, o), nil
	record(&s, d, o)
	s.VoterConfiguration, s.FormerVoters = describeConfiguration(o), formerVoters(before, o)
	if leading, known := o.leading(); known {
		s.Term = max(s.Term, leading.Term)
	}
	for _, server := range o.answering(d) {
		if g := o.Instances[server].Group; g != nil && s.GroupID == "" {
			s.GroupID = g.ID
		}
	}
	if primary != "" {
		g := o.Instances[primary].Group
		s.GroupID = g.ID
		s.Primary = host(primary)
		s.RequiredSynchronizedSecondaries = ptr.To(int32(min(g.RequiredSynchronizedSecondaries, math.MaxInt32))) //nolint:gosec // it fits
	}
	s.Listener = fmt.Sprintf("%s:%d", d.listenerName(), d.listenerPort())
	for _, r := range d.Group.Spec.Replicas {
		s.Replicas = append(s.Replicas, describeReplica(before, d, o, r.Server, primary))
	}
	s.Synchronized = healthyReplicas(d, s.Replicas)
	for _, server := range d.former() {
		if !o.left(d, server) {
			s.Replicas = append(s.Replicas, describeReplica(before, d, o, server, primary))
		}
	}
	if over := len(s.Replicas) - maxReplicas; over > 0 {
		// Nothing else tells of a former one that may have the group; spec has those that are declared.
		n := len(d.Group.Spec.Replicas)
		s.Replicas = slices.Delete(s.Replicas, max(0, n-over), n)
	}
	return s
}

// healthyReplicas counts the replicas with data whose health is HEALTHY. It is asked before servers that are no longer
// replicas are added.
func healthyReplicas(d Desired, replicas []v1alpha1.ReplicaStatus) string {
	var healthy, all int
	for i, r := range d.Group.Spec.Replicas {
		if r.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		all++
		if replicas[i].SynchronizationHealth == "HEALTHY" {
			healthy++
		}
	}
	return fmt.Sprintf("%d of %d", healthy, all)
}

// maxFormerVoters is how many sites with a Lease and no vote status takes.
const maxFormerVoters = 16

// formerVoters are the sites that do not vote and may have the group's Lease: those that voted, and those that are to
// vote or were. The Leases stay until the group is deleted.
func formerVoters(before v1alpha1.AvailabilityGroupStatus, o Observed) []string {
	var former []string
	voting := o.Configuration.Sites()
	add := func(site string) {
		if !slices.Contains(voting, site) && !slices.Contains(former, site) && len(former) < maxFormerVoters {
			former = append(former, site)
		}
	}
	for _, v := range before.Voters {
		add(v.Site)
	}
	for _, v := range o.Joining {
		if !errors.Is(v.Err, votes.ErrAbsent) {
			add(string(v.Site))
		}
	}
	for _, site := range before.FormerVoters {
		gone := slices.ContainsFunc(
			o.Former,
			func(v Voter) bool { return string(v.Site) == site && errors.Is(v.Err, votes.ErrAbsent) },
		)
		if !gone {
			add(site)
		}
	}
	slices.Sort(former)
	return former
}

func describeConfiguration(o Observed) *v1alpha1.VoterConfiguration {
	c := o.Configuration
	if c.Term == 0 {
		return nil
	}
	return &v1alpha1.VoterConfiguration{Term: c.Term, Number: c.Number, Voters: c.Voters, Next: c.Next}
}

// maxReplicas is how many replicas status takes: all that can be declared, and former ones.
const maxReplicas = 32

// left tells that a server which is no longer a replica has nothing of the group any more.
func (o Observed) left(d Desired, server v1alpha1.ServerName) bool {
	if _, exists := d.Sites[server]; !exists {
		return true
	}
	i, ok := o.Instances[server]
	return ok && i.Err == nil && i.Group == nil && o.Agents[server].UpToDate
}

func describeVoters(d Desired, o Observed) []v1alpha1.VoterStatus {
	var voters []v1alpha1.VoterStatus
	for _, v := range o.Voters {
		status := v1alpha1.VoterStatus{Site: string(v.Site)}
		switch {
		case v.Err == nil:
			status.Holder, status.Term, status.State = v.Record.Holder.Server, v.Record.Term, string(v.Record.State)
			status.HolderIdentity, status.Paused = identity(v.Record.Holder), v.Paused
		case errors.Is(v.Err, votes.ErrAbsent):
			status.State = "Absent"
		default:
			status.State = unknown
			for _, old := range d.Group.Status.Voters {
				if old.Site == status.Site {
					// Who held the vote when it was last seen may help; its state is not known.
					status.Holder, status.HolderIdentity, status.Term, status.Paused = old.Holder, old.HolderIdentity, old.Term,
						old.Paused
				}
			}
		}
		voters = append(voters, status)
	}
	return voters
}

// identity of a holder without its nonce, which is another at every renewal.
func identity(h votes.Holder) string {
	if h.Server == "" {
		return ""
	}
	return strings.Join([]string{h.Server, h.PodUID, h.Engine}, "/")
}

func describeReplica(
	before v1alpha1.AvailabilityGroupStatus,
	d Desired,
	o Observed,
	server, primary v1alpha1.ServerName,
) v1alpha1.ReplicaStatus {
	s := v1alpha1.ReplicaStatus{
		Server:                host(server),
		Role:                  unknown,
		ConnectedState:        unknown,
		SynchronizationHealth: unknown,
		Promotable:            promotable(d, o, server, primary),
		Quarantined:           describeQuarantine(o.quarantine(server)),
	}
	i, ok := o.Instances[server]
	if !ok || i.Err != nil {
		describeSilent(before, d, &s)
		switch have := o.row(primary, server); {
		case have == nil || !disconnected(have):
			s.DisconnectedSince = nil
		case s.DisconnectedSince == nil:
			s.DisconnectedSince = &metav1.Time{Time: o.Now.Truncate(time.Second)}
		}
		return s
	}
	s.ObservedAt, s.Outside = &metav1.Time{Time: o.Now.Truncate(time.Second)}, outsideAlone(d, o, server)
	g := i.Group
	if g == nil {
		s.Role, s.ConnectedState, s.SynchronizationHealth = "NotJoined", "", ""
		return s
	}
	if g.Role != "" {
		s.Role = g.Role
	}
	s.SequenceNumber = strconv.FormatInt(g.SequenceNumber, 10)
	if own := g.Replica(s.Server); own != nil {
		s.AvailabilityMode = own.Mode
		s.ConnectedState, s.SynchronizationHealth = cmp.Or(own.Connected, unknown), cmp.Or(own.Health, unknown)
	}
	var leader *mssql.Group
	if primary != "" {
		leader = o.Instances[primary].Group
		if theirs := leader.Replica(s.Server); theirs != nil && theirs.Connected == "CONNECTED" {
			// The primary alone knows the health of the whole.
			s.ConnectedState, s.SynchronizationHealth = theirs.Connected, cmp.Or(theirs.Health, unknown)
		}
	}
	for _, row := range g.States {
		if row.Local || strings.EqualFold(row.Server, s.Server) {
			s.Databases = append(
				s.Databases,
				describeDatabase(row, rowOf(leader, s.Server, row.Database), rowOf(leader, host(primary), row.Database)),
			)
		}
	}
	if len(s.Databases) > maxDatabases {
		s.Databases = s.Databases[:maxDatabases]
	}
	return s
}

// describeQuarantine is what the votes tell of a replica that is kept apart; nil for one that is not.
func describeQuarantine(apart *votes.Apart) *v1alpha1.Quarantine {
	if apart == nil {
		return nil
	}
	q := &v1alpha1.Quarantine{Term: apart.Term}
	for _, d := range apart.Databases[:min(len(apart.Databases), maxDatabases)] {
		q.Databases = append(
			q.Databases,
			v1alpha1.QuarantinedDatabase{Name: d.Name, FromLSN: d.FromLSN, ToLSN: d.ToLSN, LastCommitTime: d.LastCommit},
		)
	}
	return q
}

// describeSilent says of a server that does not answer what stays true: when it last did, in which mode, and how far
// each database had come by then, without which nobody could estimate what is lost with it.
func describeSilent(before v1alpha1.AvailabilityGroupStatus, d Desired, s *v1alpha1.ReplicaStatus) {
	last := map[string]v1alpha1.ReplicaDatabaseStatus{}
	for _, old := range before.Replicas {
		if strings.EqualFold(old.Server, s.Server) {
			s.ObservedAt, s.DisconnectedSince, s.AvailabilityMode, s.Outside = old.ObservedAt, old.DisconnectedSince,
				old.AvailabilityMode, old.Outside
			for _, database := range old.Databases {
				last[strings.ToLower(database.Name)] = database
			}
		}
	}
	for _, name := range d.databases() {
		old := last[strings.ToLower(name)]
		s.Databases = append(s.Databases, v1alpha1.ReplicaDatabaseStatus{Name: name, SynchronizationState: unknown,
			LastCommitTime: old.LastCommitTime, LastHardenedLSN: old.LastHardenedLSN})
	}
}

// maxDatabases is how many databases status takes per replica.
const maxDatabases = 32

func rowOf(g *mssql.Group, server, database string) *mssql.GroupDatabaseState {
	if g == nil {
		return nil
	}
	for i, s := range g.States {
		if strings.EqualFold(s.Server, server) && strings.EqualFold(s.Database, database) {
			return &g.States[i]
		}
	}
	return nil
}

// describeDatabase is a database on a replica: own is the replica's row, seen the primary's row about it, leader the
// primary's row about itself; the latter two are nil when there is no primary.
func describeDatabase(
	own mssql.GroupDatabaseState,
	seen, leader *mssql.GroupDatabaseState,
) v1alpha1.ReplicaDatabaseStatus {
	s := v1alpha1.ReplicaDatabaseStatus{
		Name: own.Database, SynchronizationState: cmp.Or(own.State, unknown),
		RedoQueueKB: own.RedoQueueKB, RedoRateKBps: own.RedoRateKBps,
		LastHardenedLSN: own.HardenedLSN, LastRedoneLSN: own.RedoneLSN,
	}
	if own.Suspended {
		s.Suspended = cmp.Or(own.SuspendReason, "suspended")
	}
	if own.LastCommit != nil {
		s.LastCommitTime = &metav1.Time{Time: own.LastCommit.Truncate(time.Second)}
	}
	if seen != nil {
		s.LogSendQueueKB = seen.SendQueueKB
	}
	s.EstimatedDataLoss = dataLoss(own, seen, leader)
	s.EstimatedRecoveryTime = recoveryTime(own)
	return s
}

// dataLoss is what would be lost if this replica became primary now: nothing when the primary says that it is ready for
// failover, else the primary's last commit time less the replica's
// (docs/database-engine/availability-groups/windows/monitor-performance-for-always-on-availability-groups.md,
// "Estimating potential data loss (RPO)"). nil is unknown. On an idle database the difference says little.
func dataLoss(own mssql.GroupDatabaseState, seen, leader *mssql.GroupDatabaseState) *metav1.Duration {
	switch {
	case seen == nil || leader == nil:
		return nil
	case seen == leader || seen.FailoverReady:
		return &metav1.Duration{}
	case leader.LastCommit == nil || own.LastCommit == nil:
		return nil
	}
	return &metav1.Duration{Duration: max(0, leader.LastCommit.Sub(*own.LastCommit)).Round(time.Millisecond)}
}

// recoveryTime is how long redo would take: redo queue divided by redo rate (same document, "Estimating failover time
// (RTO)"). nil is unknown: the rate is an average, and 0 or NULL while nothing is redone. An empty queue takes no time.
func recoveryTime(own mssql.GroupDatabaseState) *metav1.Duration {
	switch {
	case own.RedoQueueKB == nil:
		return nil
	case *own.RedoQueueKB == 0:
		return &metav1.Duration{}
	case own.RedoRateKBps == nil || *own.RedoRateKBps <= 0:
		return nil
	}
	seconds := float64(*own.RedoQueueKB) / float64(*own.RedoRateKBps)
	return &metav1.Duration{Duration: time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)}
}
