// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// Observed is the world around a group as it was read, without any decision.
type Observed struct {
	Now time.Time
	// Missing are the replicas' servers that no SQLServer declares.
	Missing []v1alpha1.ServerName
	// NotReady are the replicas' servers whose SQLServer is not ready, with the reason; only looked at before the group
	// was made, when their pods may still be restarted.
	NotReady map[v1alpha1.ServerName]string
	// Outdated are the servers whose sidecars are of an earlier release.
	Outdated []v1alpha1.ServerName
	// Instances by server.
	Instances map[v1alpha1.ServerName]Instance
	// AwayFor is for how long this process has seen replicas away without interruption, by a clock that nobody sets.
	AwayFor map[v1alpha1.ServerName]time.Duration
	// UnseededFor is for how long this process has seen replicas lack a database of the group while none was seeded to
	// them.
	UnseededFor map[v1alpha1.ServerName]time.Duration
	// UnheardFor is for how long this process has seen the primary without a connection to replicas that answer; Restarted
	// is how often endpoints were restarted for them.
	UnheardFor map[v1alpha1.ServerName]time.Duration
	Restarted  map[v1alpha1.ServerName]Attempts
	// FirstPod is the UID of the first primary's pod; empty where it cannot be read, or is ending, once there is a group,
	// and without fencing.
	FirstPod string
	// Configuration of voters, the newest that is known of.
	Configuration votes.Configuration
	// Voters in the order of the configuration.
	Voters []Voter
	// Joining are the declared sites that do not vote yet. Former are, when the group is being deleted, those that do not
	// vote and may have a Lease.
	Joining, Former []Voter
	// Orders is what the agents are to be told, with no credentials.
	Orders orders.Group
	// VoterAddress says which voter's API server the agents cannot be told the address of, nil when there is none.
	VoterAddress error
	// Agents says for each server whether its agent has the group's present orders.
	Agents map[v1alpha1.ServerName]Orders
	// ListenerIP is the ClusterIP of the listener's Service at the initial primary's site, or at another replica's when
	// that server is gone or its site does not tell, for a listener without a declared address; empty when it is not known
	// yet.
	ListenerIP string
	// Backups is the group's BackupPolicy, nil when it has none; not asked for without an objective for backups.
	Backups reconcile.Reading[*v1alpha1.BackupPolicy]
	// Volumes are the stores of that policy which are on servers' volumes, with the sites of these; empty where nothing
	// says it.
	Volumes reconcile.Reading[map[v1alpha1.ObjectName]v1alpha1.SiteName]

	// accounts are the agents' accounts at the voters.
	accounts map[v1alpha1.SiteName]voterAccess
}

// Instance is what one replica's engine says.
type Instance struct {
	// Err is why it did not answer. Nothing else is known then.
	Err error
	// Mirroring is what it has for log between replicas.
	Mirroring mssql.Mirroring
	// Logins that exist, by name.
	Logins map[string]mssql.Login
	// Group as it knows it, nil when it has none of the name.
	Group *mssql.Group
	// IgnoresAsynchronous tells that trace flag 1448 is on; nil when that was not asked.
	IgnoresAsynchronous *bool
	// Logs by database; nil when that was not asked, because it is no primary, or when LogsErr says why they are not
	// known.
	Logs    map[string]mssql.LogSize
	LogsErr error
}

// Voter is one voter's Lease.
type Voter struct {
	Site v1alpha1.SiteName
	// Err is why it is not known; votes.ErrAbsent when there is none, errNoVote when the Lease is not one.
	Err error
	// SilentSince is since when it is not known what the voter has; zero when it is.
	SilentSince time.Time
	Record      votes.Record
	// UID and Version of the Lease.
	UID     types.UID
	Version string
	// Paused forbids automatic elections.
	Paused bool
}

// Orders is the Secret that tells an agent which groups it serves.
type Orders struct {
	// Err is why the site could not be asked.
	Err error
	// Told is what the Secret has for this group, nil when it has nothing.
	Told *orders.Group
	// Ended says that the Secret tells the agent that the orders have ended. One that says nothing, since it is missing or
	// cannot be read, is to an agent as if nobody had said anything: it goes on.
	Ended bool
	// UpToDate says that it is what the group asks for, with credentials that do not end soon.
	UpToDate bool
	// Word is what the agent itself says; asked for only where the engine has the group, and the orders have ended or say
	// that the group ends.
	Word reconcile.Reading[Word]
}

// Word is what a server's agent says of the group.
type Word struct {
	// Idle says that it does nothing for the group, and that none can: it has no orders, or does not run.
	Idle bool
	// State of the orders by which it goes, empty of a release that does not tell; EndingID is which group of the name
	// it knows to end.
	State    orders.State
	EndingID string
}

// quarantine is what the votes that answer tell of a replica that is kept apart; nil for one that is not.
func (o Observed) quarantine(server v1alpha1.ServerName) *votes.Apart {
	var records []votes.Record
	for _, v := range o.Voters {
		if v.Err == nil {
			records = append(records, v.Record)
		}
	}
	for _, a := range votes.QuarantinedReplicas(records...) {
		if strings.EqualFold(a.Server, host(server)) && !a.Over {
			return &a
		}
	}
	return nil
}

// answering are the servers whose engines answered, in the order of the declaration.
func (o Observed) answering(d Desired) []v1alpha1.ServerName {
	var names []v1alpha1.ServerName
	for _, s := range d.servers() {
		if i, ok := o.Instances[s]; ok && i.Err == nil {
			names = append(names, s)
		}
	}
	return names
}

// silent are the servers whose engines did not answer.
func (o Observed) silent(d Desired) []v1alpha1.ServerName {
	var names []v1alpha1.ServerName
	for _, s := range d.servers() {
		if i, ok := o.Instances[s]; !ok || i.Err != nil {
			names = append(names, s)
		}
	}
	return names
}

// why lists the servers with the reason why nothing is known of them.
func (o Observed) why(servers []v1alpha1.ServerName) string {
	parts := make([]string, len(servers))
	for i, s := range servers {
		parts[i] = string(s)
		if err := o.Instances[s].Err; err != nil {
			parts[i] += " (" + err.Error() + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// primary is the server that says it is PRIMARY and holds the votes, empty when none that answers does. It may be one
// that is no longer declared. A server that says PRIMARY while a majority of the votes names another is a former
// primary that has not noticed yet: its lease runs out by itself, and nobody is sent there. While no majority can be
// read, a single one is believed.
func (o Observed) primary(d Desired) v1alpha1.ServerName {
	var claimants []v1alpha1.ServerName
	for _, s := range append(o.answering(d), d.former()...) {
		if g := o.Instances[s].Group; o.Instances[s].Err == nil && g != nil && g.Role == string(ballot.RolePrimary) {
			claimants = append(claimants, s)
		}
	}
	leading, known := o.leading()
	voted := d.fenced() && leading.Holder.Server != "" && leading.State != votes.StateReleased
	for _, s := range claimants {
		if voted && strings.EqualFold(leading.Holder.Server, host(s)) {
			return s
		}
	}
	if len(claimants) != 1 || voted && known {
		return ""
	}
	return claimants[0]
}

// row is what the primary, as told by primary, says of a replica; nil when there is none, or it says nothing.
func (o Observed) row(primary, replica v1alpha1.ServerName) *mssql.GroupReplica {
	if primary == "" {
		return nil
	}
	return o.Instances[primary].Group.Replica(host(replica))
}

// decided says whether the group's configuration may be changed: a majority of the votes names the primary. During an
// election, and while the votes cannot be read, nothing is ordered: the primary that is seen may not be the last.
func (o Observed) decided(d Desired) bool {
	if !d.fenced() {
		return true
	}
	leading, known := o.leading()
	primary := o.primary(d)
	return known && primary != "" && leading.State != votes.StateReleased &&
		strings.EqualFold(leading.Holder.Server, host(primary))
}

// exists says whether any replica that answers has the group.
func (o Observed) exists(d Desired) bool {
	for _, s := range o.answering(d) {
		if o.Instances[s].Group != nil {
			return true
		}
	}
	return false
}

// elsewhere are servers that were replicas and are declared no more: those that have the group, and those of which it
// is not known. One has none whose object is gone, whose site is lost, or that is being deleted before its engine has
// ever answered. One that has not answered yet may have it: the object may have come anew to a volume that was kept.
func (o Observed) elsewhere(d Desired) (have, unknown []v1alpha1.ServerName) {
	for _, s := range d.former() {
		i, asked := o.Instances[s]
		_, exists := d.Sites[s]
		switch {
		case asked && i.Err == nil && i.Group != nil:
			have = append(have, s)
		case asked && (i.Err == nil || errors.Is(i.Err, sites.ErrSiteLost)),
			!exists, d.NeverAnswered[s]:
		default:
			unknown = append(unknown, s)
		}
	}
	return have, unknown
}

// newest is the server with the newest configuration of the group and, of those with the same, the longest log; empty
// when none that answers has the group and holds data. other are those that have it, too.
func (o Observed) newest(d Desired) (best v1alpha1.ServerName, other []v1alpha1.ServerName) {
	for _, s := range append(o.answering(d), d.former()...) {
		i := o.Instances[s]
		if i.Err != nil || i.Group == nil || i.mode(s) != ballot.ModeSynchronous {
			continue
		}
		if best == "" {
			best = s
			continue
		}
		than := o.Instances[best]
		if cmp.Or(
			cmp.Compare(i.Group.SequenceNumber, than.Group.SequenceNumber),
			ballot.CompareLogs(i.logs(), than.logs()),
		) > 0 {
			best, s = s, best
		}
		other = append(other, s)
	}
	return best, other
}

// mode is the one that an instance has by what it knows itself of the group, empty when it does not know.
func (i Instance) mode(server v1alpha1.ServerName) ballot.Mode {
	if r := i.Group.Replica(host(server)); r != nil {
		return ballot.Mode(r.Mode)
	}
	return ""
}

// callsItselfPrimary tells that the instance's role in the group is PRIMARY. Where another server is the group's
// primary, this one was and has not noticed. DROP AVAILABILITY GROUP there lets whoever is connected go on writing,
// with no lease that ends (docs/t-sql/statements/drop-availability-group-transact-sql.md, the note at its beginning),
// and without orders its agent would not make it step down.
func (i Instance) callsItselfPrimary() bool {
	return i.Group != nil && i.Group.Role == string(ballot.RolePrimary)
}

// logs are the instance's copies of the group's databases.
func (i Instance) logs() []ballot.DatabaseState {
	var states []ballot.DatabaseState
	for _, s := range i.Group.States {
		states = append(states, ballot.DatabaseState{Name: s.Database, Local: s.Local, HardenedLSN: s.HardenedLSN})
	}
	return states
}

// leading is what a majority of the votes says, or else the newest vote, and whether a majority of the voters is known.
func (o Observed) leading() (votes.Record, bool) {
	records := map[string]votes.Record{}
	for _, v := range o.Voters {
		if v.Err == nil {
			records[string(v.Site)] = v.Record
		}
	}
	return o.Configuration.Leading(records)
}

// granted says whether a majority of the votes is that of one run in one term, which it has not given up.
func (o Observed) granted(leading votes.Record) bool {
	return o.Configuration.Quorum(func(site string) bool {
		return slices.ContainsFunc(o.Voters, func(v Voter) bool {
			r := v.Record
			return string(v.Site) == site && v.Err == nil && r.State != votes.StateReleased && r.Term == leading.Term &&
				r.Holder.SameRun(leading.Holder)
		})
	})
}
