// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// recordName of the election of a term.
func recordName(group string, term int64) string { return fmt.Sprintf("%s-%d", group, term) }

// planRecords makes the Failovers of elections that no object knows, and takes away the oldest of many that nobody but
// the operator made.
func planRecords(p *reconcile.Plan, o Observed) {
	if o.Group == nil || o.Group.DeletionTimestamp != nil {
		return
	}
	for _, t := range o.Votes.Timelines() {
		if t.Cause != votes.CauseInitial && !knows(o.Failovers, o.Group.Name, t) {
			p.Add(Record{Failover: record(o.Group, t)})
		}
		setBusy(p, t.Outcome == votes.OutcomeAccepted && !newer(o, t) && !settled(o, t))
	}
	var recorded, asked []*v1alpha1.Failover
	for i := range o.Failovers {
		switch f := &o.Failovers[i]; {
		case f.Spec.RecordedTerm != nil:
			recorded = append(recorded, f)
		case ofAServer(f) && f.Status.Phase == v1alpha1.FailoverCompleted:
			asked = append(asked, f)
		}
	}
	slices.SortFunc(
		recorded,
		func(a, b *v1alpha1.Failover) int { return cmp.Compare(*a.Spec.RecordedTerm, *b.Spec.RecordedTerm) },
	)
	for _, oldestFirst := range [][]*v1alpha1.Failover{recorded, asked} {
		for _, f := range oldestFirst[:max(0, len(oldestFirst)-recordsKept)] {
			p.Add(DropRecord{Failover: f})
		}
	}
}

// ofAServer says that the operator made the Failover for a server that is restarted or drained. What a drill made goes
// with the drill, and what people made is theirs.
func ofAServer(f *v1alpha1.Failover) bool {
	return f.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy && f.Labels[v1alpha1.LabelDrill] == ""
}

// knows says whether an object of the hub stands for the election already: the one that asked for it, or its record.
func knows(failovers []v1alpha1.Failover, group string, t votes.Timeline) bool {
	return slices.ContainsFunc(failovers, func(f v1alpha1.Failover) bool {
		return t.RequestID != "" && string(f.UID) == t.RequestID || f.Name == recordName(group, t.Term)
	})
}

// record is the Failover of an election that the agents held by themselves, or that somebody asked for at a site.
func record(group *v1alpha1.AvailabilityGroup, t votes.Timeline) *v1alpha1.Failover {
	kind := v1alpha1.FailoverFailover
	if t.Cause == votes.CauseSwitchover && t.To != "" {
		kind = v1alpha1.FailoverSwitchover
	}
	return &v1alpha1.Failover{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: group.Namespace, Name: recordName(group.Name, t.Term),
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelGroup: group.Name},
			// History of a group that is gone would be taken for that of a new one of its name.
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AvailabilityGroup", Name: group.Name, UID: group.UID},
			},
		},
		Spec: v1alpha1.FailoverSpec{
			Group:        v1alpha1.ObjectName(group.Name),
			Kind:         kind,
			To:           credentials.ServerOf(t.To),
			RecordedTerm: ptr.To(t.Term),
		},
	}
}

// follow keeps the timeline of a completed Failover, and everything of a record, up to date.
func follow(o Observed, f *v1alpha1.Failover, before v1alpha1.FailoverStatus) v1alpha1.FailoverStatus {
	s := *before.DeepCopy()
	if s.Completed != nil && o.Now.Sub(s.Completed.Time) > followFor {
		return s
	}
	var timeline *votes.Timeline
	for _, t := range o.Votes.Timelines() {
		if f.Spec.RecordedTerm != nil && t.Term == *f.Spec.RecordedTerm ||
			f.Spec.RecordedTerm == nil && t.RequestID == string(f.UID) {
			timeline = &t
		}
	}
	if timeline == nil {
		if f.Spec.RecordedTerm != nil && s.Phase == "" {
			s.Phase, s.Reason, s.Message = v1alpha1.FailoverPending, v1alpha1.ReasonTimelineMissing,
				"this object records an election; no voter that answers has its timeline"
		}
		return s
	}
	timeline.Lost = timeline.Complete(o.Votes.Quarantined())
	takeTimeline(&s, *timeline)
	if f.Spec.RecordedTerm == nil {
		return s
	}
	reason := string(timeline.Cause)
	switch timeline.Outcome {
	case votes.OutcomeDone:
		complete(o, &s, v1alpha1.FailoverSucceeded, reason, timeline.Message)
	case votes.OutcomeFailed, votes.OutcomeRefused:
		complete(o, &s, v1alpha1.FailoverFailed, reason, timeline.Message)
	case votes.OutcomeUnknown:
		complete(o, &s, v1alpha1.FailoverUnknown, reason, timeline.Message)
	default:
		s.Phase, s.Reason, s.Message = v1alpha1.FailoverRunning, reason, shorten(timeline.Message)
		switch {
		case newer(o, *timeline) && timeline.Promoted != nil:
			complete(
				o,
				&s,
				v1alpha1.FailoverSucceeded,
				reason,
				cmp.Or(timeline.Message, "the next election began before every replica was synchronized again"),
			)
		case newer(o, *timeline):
			complete(
				o,
				&s,
				v1alpha1.FailoverFailed,
				reason,
				cmp.Or(timeline.Message, "it did not reach its end before the next election began"),
			)
		case settled(o, *timeline):
			complete(o, &s, v1alpha1.FailoverSucceeded, reason, cmp.Or(timeline.Message, lagging(*timeline)))
		}
	}
	return s
}

// newer says that a later election has begun: what did not end by then never will. A holder that goes on in a higher
// term than the one that it was elected in is none.
func newer(o Observed, t votes.Timeline) bool {
	leading, known := o.Votes.Leading()
	line := votes.LineOf(o.Votes.Timelines(), leading)
	return known && leading.Term > t.Term && (line == nil || line.Term != t.Term)
}

// settled says that the promotion was so long ago that nobody waits any more for the replicas that lag.
func settled(o Observed, t votes.Timeline) bool {
	return t.Promoted != nil && o.Now.Sub(t.Promoted.Time) > settleFor
}

// lagging is what is said of an election that is settled.
func lagging(t votes.Timeline) string {
	if t.FirstWrite == nil {
		return "the new primary is promoted and has not been seen able to commit: kubectl geosql status says which " +
			"replicas are not synchronized"
	}
	return "the new primary serves; not every replica is synchronized again: kubectl geosql status says which"
}

// takeTimeline copies what an agent noted.
func takeTimeline(s *v1alpha1.FailoverStatus, t votes.Timeline) {
	s.Cause, s.Term = string(t.Cause), t.Term
	s.From, s.To = cmp.Or(t.From, s.From), t.To
	s.Timeline = &v1alpha1.FailoverTimeline{
		Suspected: t.Suspected, Claimed: t.Claimed, Fenced: t.Fenced, Promoted: t.Promoted, FirstWrite: t.FirstWrite,
		AllSynchronized: t.AllSynchronized,
	}
	if t.Message != "" && s.Phase != v1alpha1.FailoverCompleted {
		s.Message = shorten(t.Message)
	}
	if t.Lost != nil {
		s.Lost = takeLost(*t.Lost, s.Lost)
	}
}

// takeLost copies what a forced failover cost. What an earlier look knew of the old primary's log stays: the votes tell
// of the newest forced failover only.
func takeLost(now votes.LostRange, before *v1alpha1.LostWrites) *v1alpha1.LostWrites {
	lost := &v1alpha1.LostWrites{Known: now.Known || before != nil && before.Known}
	for _, d := range now.Databases[:min(len(now.Databases), maxDatabases)] {
		one := v1alpha1.LostDatabase{
			Name:          d.Name,
			FromLSN:       d.FromLSN,
			ToLSN:         d.ToLSN,
			LastCommit:    d.LastCommit,
			OldLastCommit: d.OldLastCommit,
		}
		if one.ToLSN == "" && before != nil {
			for _, old := range before.Databases {
				if old.Name == one.Name {
					one.ToLSN, one.OldLastCommit = old.ToLSN, old.OldLastCommit
				}
			}
		}
		lost.Databases = append(lost.Databases, one)
	}
	return lost
}

// maxDatabases is how many databases status takes.
const maxDatabases = 32
