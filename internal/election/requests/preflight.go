// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
)

// Verdict is what can be said of a request before anything is touched.
type Verdict string

const (
	// Go lets the agents decide: nothing that is known speaks against it.
	Go Verdict = "Go"
	// Wait means that something is not known that may be known soon.
	Wait Verdict = "Wait"
	// Refuse means that it would lose data or make no sense.
	Refuse Verdict = "Refuse"
)

// Reasons of a Preflight, beside those of package votes.
const (
	// ReasonNotFenced: clusterType None has no election.
	ReasonNotFenced = "NotFenced"
	// ReasonNotCreated: the group does not exist on any server yet.
	ReasonNotCreated = "NotCreated"
	// ReasonStatusStale: the group's status is older than FreshFor, so that nothing can be told from it, or no newer than
	// the Failover that it speaks against.
	ReasonStatusStale = "StatusStale"
	// ReasonStatusUnknown: the group's status does not tell whether the replica has every acknowledged write.
	ReasonStatusUnknown = "StatusUnknown"
)

// FreshFor is how old what the group's status says of a server may be to be relied on.
const FreshFor = 20 * time.Second

// Preflight is a verdict with its reason.
type Preflight struct {
	Verdict Verdict
	Reason  string
	Message string
	// Seen is when the server's status was taken that a Refuse goes by; zero when the declaration alone refuses.
	Seen metav1.Time
}

// Check says what the group's declaration and status say of a request, as of now. The agents check again with what they
// see themselves; this refuses at once, with the reason, what they would refuse.
func Check(group *v1alpha1.AvailabilityGroup, spec v1alpha1.FailoverSpec, now time.Time) Preflight {
	if p := CheckDeclaration(group, spec); p.Verdict != Go {
		return p
	}
	if group.Status.GroupID == "" {
		return Preflight{
			Verdict: Wait,
			Reason:  ReasonNotCreated,
			Message: fmt.Sprintf("group %s has not been created yet", group.Name),
		}
	}
	switch spec.Kind {
	case v1alpha1.FailoverSwitchover:
		return checkSwitchover(group, spec.To, now)
	case v1alpha1.FailoverReseed:
		return checkReseed(group, spec, now)
	}
	return Preflight{Verdict: Go}
}

// checkReseed refuses what may be the only copy of rows.
func checkReseed(group *v1alpha1.AvailabilityGroup, spec v1alpha1.FailoverSpec, now time.Time) Preflight {
	replica := Replica(group, string(spec.To))
	if replica == nil || replica.ObservedAt == nil || now.Sub(replica.ObservedAt.Time) > FreshFor {
		return Preflight{Verdict: Go}
	}
	for _, name := range replica.Outside {
		meant := len(spec.Databases) == 0 ||
			slices.ContainsFunc(spec.Databases, func(d v1alpha1.DatabaseName) bool { return strings.EqualFold(string(d), name) })
		if meant {
			return Preflight{Verdict: Refuse, Reason: votes.ReasonOwnData, Seen: *replica.ObservedAt, Message: fmt.Sprintf(
				"%s is ONLINE on %s outside of the group, and may have rows that nobody else has: save what is to be kept, and "+
					"DROP DATABASE (or rename it) there; then it is seeded by itself",
				name,
				spec.To,
			)}
		}
	}
	return Preflight{Verdict: Go}
}

// CheckDeclaration says what the group's declaration alone says of a request.
func CheckDeclaration(group *v1alpha1.AvailabilityGroup, spec v1alpha1.FailoverSpec) Preflight {
	if group.Spec.ClusterType == v1alpha1.ClusterNone {
		return Preflight{
			Verdict: Refuse,
			Reason:  ReasonNotFenced,
			Message: "clusterType None has no votes and no fence: roles are changed by hand, with ALTER AVAILABILITY GROUP",
		}
	}
	if spec.To == "" {
		return Preflight{Verdict: Go}
	}
	return checkReplica(group, spec)
}

func checkReplica(group *v1alpha1.AvailabilityGroup, spec v1alpha1.FailoverSpec) Preflight {
	var declared *v1alpha1.Replica
	var names []string
	for i, r := range group.Spec.Replicas {
		names = append(names, string(r.Server))
		if r.Server == spec.To {
			declared = &group.Spec.Replicas[i]
		}
	}
	switch {
	case declared == nil:
		return Preflight{
			Verdict: Refuse,
			Reason:  votes.ReasonNotAReplica,
			Message: fmt.Sprintf(
				"%s is no replica of group %s; its replicas are %s",
				spec.To,
				group.Name,
				strings.Join(names, ", "),
			),
		}
	case declared.AvailabilityMode == v1alpha1.ConfigurationOnly && spec.Kind != v1alpha1.FailoverRejoin:
		return Preflight{
			Verdict: Refuse,
			Reason:  votes.ReasonNotAReplica,
			Message: fmt.Sprintf("%s is a ConfigurationOnly replica: it holds no databases", spec.To),
		}
	case declared.AvailabilityMode == v1alpha1.AsynchronousCommit && Promotes(spec.Kind) && !spec.AllowDataLoss:
		return Preflight{Verdict: Refuse, Reason: votes.ReasonNotSynchronous, Message: fmt.Sprintf(
			"%s is an AsynchronousCommit replica and may lack acknowledged writes: make it SynchronousCommit first, or ask "+
				"for a Failover with allowDataLoss",
			spec.To,
		)}
	}
	for _, name := range spec.Databases {
		if group.Spec.Database(string(name)) == nil {
			return Preflight{
				Verdict: Refuse,
				Reason:  votes.ReasonNoSuchDatabase,
				Message: fmt.Sprintf("%s is no database of group %s", name, group.Name),
			}
		}
	}
	return Preflight{Verdict: Go}
}

// Asked is what a Failover of the spec asks the agents for, without who asks and when.
func Asked(spec v1alpha1.FailoverSpec) votes.Request {
	r := votes.Request{
		Kind:          votes.RequestKind(spec.Kind),
		AllowDataLoss: spec.AllowDataLoss,
		FencedHolder:  spec.FencedHolder,
		ExpectedTerm:  ptr.Deref(spec.ExpectedTerm, 0),
	}
	for _, name := range spec.Databases {
		r.Kind, r.Databases = votes.RequestReseedDatabases, append(r.Databases, string(name))
	}
	if spec.To != "" {
		r.To = string(spec.To) + "-0"
	}
	return r
}

// MayLose tells of a request that it may cost acknowledged writes: it needs the term in which it was decided on.
func MayLose(spec v1alpha1.FailoverSpec) bool { return spec.AllowDataLoss || spec.FencedHolder != "" }

// Promotes tells of a kind of request that it makes a replica primary.
func Promotes(kind v1alpha1.FailoverKind) bool {
	return kind == v1alpha1.FailoverSwitchover || kind == v1alpha1.FailoverFailover
}

// checkSwitchover looks at the status. What the status does not tell is waited for.
func checkSwitchover(group *v1alpha1.AvailabilityGroup, to v1alpha1.ServerName, now time.Time) Preflight {
	if group.Status.Primary == "" {
		return Preflight{
			Verdict: Wait,
			Reason:  votes.ReasonNoPrimary,
			Message: "no server says that it is primary: a Switchover needs a primary that lives; a Failover does not",
		}
	}
	replica := Replica(group, string(to))
	if replica == nil || replica.Promotable == nil {
		return Preflight{
			Verdict: Wait,
			Reason:  ReasonStatusUnknown,
			Message: fmt.Sprintf("the group's status says nothing of %s yet", to),
		}
	}
	p := replica.Promotable
	message := p.Message
	switch {
	case p.Status == metav1.ConditionUnknown:
		return Preflight{Verdict: Wait, Reason: p.Reason, Message: message}
	case replica.ObservedAt == nil || now.Sub(replica.ObservedAt.Time) > FreshFor:
		return Preflight{
			Verdict: Wait,
			Reason:  ReasonStatusStale,
			Message: fmt.Sprintf("what the group's status says of %s is older than %s: does the operator run?", to, FreshFor),
		}
	case p.Status == metav1.ConditionFalse:
		return Preflight{Verdict: Refuse, Reason: p.Reason, Message: message, Seen: *replica.ObservedAt}
	}
	return Preflight{Verdict: Go}
}

// Replica finds a replica of a group's status by the name of its server or of its instance; nil when there is none.
func Replica(group *v1alpha1.AvailabilityGroup, server string) *v1alpha1.ReplicaStatus {
	for i := range group.Status.Replicas {
		r := &group.Status.Replicas[i]
		if SameServer(r.Server, server) {
			return r
		}
	}
	return nil
}

// SameServer compares names of servers, which may be the objects' or the instances', as SQL Server does: without case.
func SameServer(a, b string) bool {
	trim := func(s string) string { return strings.TrimSuffix(strings.ToLower(s), "-0") }
	return a != "" && trim(a) == trim(b)
}

// Loss is an estimate of what a promotion would lose.
type Loss struct {
	Database string
	// Estimate is the time between the last commit of the primary and of the replica, as last seen; nil is unknown.
	Estimate *metav1.Duration
	// State is the database's synchronization state on the replica.
	State string
	// LastCommit is the time of the last commit that the replica has, and PrimaryLastCommit that of the primary, as last
	// seen; nil is unknown.
	LastCommit, PrimaryLastCommit *metav1.Time
}

// EstimateLoss says what each database would lose if the server became primary by force. When the primary does not
// answer, the estimate is a lower bound: commits that it made after it was last seen are not in it.
func EstimateLoss(group *v1alpha1.AvailabilityGroup, server string) []Loss {
	replica := Replica(group, server)
	if replica == nil {
		return nil
	}
	var losses []Loss
	for _, d := range replica.Databases {
		l := Loss{
			Database:   d.Name,
			Estimate:   d.EstimatedDataLoss,
			State:      d.SynchronizationState,
			LastCommit: d.LastCommitTime,
		}
		if newest := newestCommit(group, d.Name); newest != nil {
			l.PrimaryLastCommit = newest
			if l.Estimate == nil && d.LastCommitTime != nil {
				l.Estimate = &metav1.Duration{Duration: max(0, newest.Sub(d.LastCommitTime.Time))}
			}
		}
		losses = append(losses, l)
	}
	return losses
}

// newestCommit is the newest commit of a database that was seen on any replica: the primary's, as far as it was seen.
func newestCommit(group *v1alpha1.AvailabilityGroup, database string) *metav1.Time {
	var newest *metav1.Time
	for _, r := range group.Status.Replicas {
		for _, d := range r.Databases {
			if strings.EqualFold(d.Name, database) && d.LastCommitTime != nil &&
				(newest == nil || newest.Before(d.LastCommitTime)) {
				newest = d.LastCommitTime
			}
		}
	}
	return newest
}

// Largest of the estimates; nil when one of them is unknown or there is none.
func Largest(losses []Loss) *metav1.Duration {
	var largest *metav1.Duration
	for _, l := range losses {
		if l.Estimate == nil {
			return nil
		}
		if largest == nil || l.Estimate.Duration > largest.Duration {
			largest = l.Estimate
		}
	}
	return largest
}

// Best is the replica that a Failover without a target is expected to choose by the status: the one with the newest
// commit among the declared replicas that hold data and answer. The agents decide by LSNs.
func Best(group *v1alpha1.AvailabilityGroup) string {
	best, newest := "", time.Time{}
	for _, r := range group.Status.Replicas {
		if SameServer(r.Server, group.Status.Primary) || r.Role == "Unknown" {
			continue
		}
		for _, d := range r.Databases {
			if d.LastCommitTime != nil && (best == "" || d.LastCommitTime.After(newest)) {
				best, newest = r.Server, d.LastCommitTime.Time
			}
		}
	}
	return best
}
