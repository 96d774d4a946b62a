// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// SetStatus writes a Failover's status. It comes before the request is written: what was asked for is never forgotten.
type SetStatus struct {
	Failover *v1alpha1.Failover
	Status   v1alpha1.FailoverStatus
	// Changes are the conditions that differ from before.
	Changes []conditions.Change
}

// Describe says how far it is.
func (s SetStatus) Describe() string {
	return fmt.Sprintf("Failover %s is %s %s: %s", s.Failover.Name, s.Status.Phase, s.Status.Outcome, s.Status.Reason)
}

// Ask writes a request on the group's Lease at a voter.
type Ask struct {
	Voter   string
	Request votes.Request
}

// Describe names the voter.
func (s Ask) Describe() string {
	return fmt.Sprintf(
		"ask for the %s of Failover %s on the Lease at voter %s",
		s.Request.Kind,
		s.Request.Failover,
		s.Voter,
	)
}

// Remember notes on the group's Lease at a voter which Failovers were carried out: their own status is gone with them.
type Remember struct {
	Voter      string
	CarriedOut []votes.CarriedOut
}

// Describe names the voter.
func (s Remember) Describe() string {
	return fmt.Sprintf("note %d Failovers that were carried out on the Lease at voter %s", len(s.CarriedOut), s.Voter)
}

// Record makes the Failover of an election that the agents held by themselves.
type Record struct {
	Failover *v1alpha1.Failover
}

// Describe names the term.
func (s Record) Describe() string {
	return fmt.Sprintf("record the election of term %d as Failover %s", *s.Failover.Spec.RecordedTerm, s.Failover.Name)
}

// DropRecord deletes the oldest record of a group that has many, or the oldest of its switchovers for restarts and
// drains.
type DropRecord struct {
	Failover *v1alpha1.Failover
}

// Describe names the record.
func (s DropRecord) Describe() string {
	return fmt.Sprintf("delete record %s: the newest %d are kept", s.Failover.Name, recordsKept)
}

// busy says that a Failover waits for the agents, or an election is under way: it has to be looked at again soon.
func busy(p reconcile.Plan) bool { return p.Outcome.Progress == conditions.Working }

func setBusy(p *reconcile.Plan, is bool) {
	if is {
		p.Outcome.Progress = conditions.Working
	}
}

// plan decides for all Failovers of a group. It is pure.
func plan(o Observed) reconcile.Plan {
	p := reconcile.Plan{Outcome: conditions.Outcome{Progress: conditions.Settled}}
	now := make([]v1alpha1.FailoverStatus, len(o.Failovers))
	for i, f := range o.Failovers {
		now[i] = f.Status
	}
	for i := range o.Failovers {
		f := &o.Failovers[i]
		if f.Spec.RecordedTerm != nil {
			setStatus(&p, f, follow(o, f, f.Status))
			continue
		}
		if f.Status.Phase == v1alpha1.FailoverCompleted {
			setStatus(&p, f, follow(o, f, f.Status))
			continue
		}
		next, ask := advance(o, f, waitsFor(o, now, i))
		setBusy(&p, next.Phase != v1alpha1.FailoverCompleted)
		now[i] = next
		setStatus(&p, f, next)
		if ask != nil {
			p.Add(*ask)
		}
	}
	planRemembered(&p, o, now)
	planRecords(&p, o)
	return p
}

// waitsFor is the name of the Failover that blocks Failovers[i], empty for none: the group does one thing at a time,
// oldest first. A Failover, which is for when there is no primary, waits for none that itself waits, for a
// primary say; nor, while there is none, for one whose agents have had the time of an election: the agents go by the
// newest request.
func waitsFor(o Observed, now []v1alpha1.FailoverStatus, i int) string {
	urgent := o.Failovers[i].Spec.Kind == v1alpha1.FailoverFailover
	lost := o.Group != nil && o.Group.Status.Primary == ""
	for k, other := range o.Failovers {
		asked := now[k].Requested
		switch {
		case k == i || other.Spec.RecordedTerm != nil || now[k].Phase == v1alpha1.FailoverCompleted:
		case asked == nil && (k > i || urgent):
		case urgent && lost && asked != nil && o.Now.Sub(asked.Time) > electionTime:
		default:
			return other.Name
		}
	}
	return ""
}

func setStatus(p *reconcile.Plan, f *v1alpha1.Failover, next v1alpha1.FailoverStatus) {
	changes := condition(f, &next)
	if !same(f.Status, next) {
		p.Add(SetStatus{Failover: f, Status: next, Changes: changes})
	}
}

// advance is where a Failover that is not completed stands now, and the request to write if there is one. before is the
// name of the one that it waits for, if there is one.
func advance(o Observed, f *v1alpha1.Failover, before string) (v1alpha1.FailoverStatus, *Ask) {
	s := *f.Status.DeepCopy()
	if answered(o, f, &s) {
		return s, nil
	}
	if s.Requested == nil {
		return begin(o, f, s, before)
	}
	return wait(o, f, s)
}

// answered takes over what an agent wrote, as an answer or as a timeline; false when there is nothing.
func answered(o Observed, f *v1alpha1.Failover, s *v1alpha1.FailoverStatus) bool {
	answer, timeline := o.Votes.Answer(string(f.UID)), o.Votes.TimelineOf(string(f.UID))
	outcome := votes.AnswerOutcome("")
	if timeline != nil {
		takeTimeline(s, *timeline)
		outcome = timeline.Outcome
		s.Reason, s.Message = "", shorten(timeline.Message)
		if outcome == votes.OutcomeDone {
			// The timeline may be read before the answer: both must leave the same reason.
			s.Reason = votes.ReasonPromoted
		}
	}
	if answer != nil && (outcome == "" || answer.Final()) {
		outcome = answer.Outcome
		s.Reason, s.Message = answer.Reason, shorten(answer.Message)
		s.Term = max(s.Term, answer.Term)
	}
	switch outcome {
	case "":
		return false
	case votes.OutcomeAccepted:
		if o.Now.After(expires(f).Add(unknownAfter)) {
			complete(
				o,
				s,
				v1alpha1.FailoverUnknown,
				v1alpha1.ReasonAnswerMissing,
				"an agent began with it and never said how it ended: the group's status says who is primary",
			)
			return true
		}
		s.Phase = v1alpha1.FailoverRunning
		s.Reason, s.Message = cmp.Or(s.Reason, v1alpha1.ReasonAccepted), cmp.Or(s.Message, "an agent has begun with it")
	case votes.OutcomeDone:
		complete(o, s, v1alpha1.FailoverSucceeded, cmp.Or(s.Reason, v1alpha1.ReasonDone), s.Message)
	case votes.OutcomeRefused:
		complete(o, s, refusal(s.Reason), cmp.Or(s.Reason, v1alpha1.ReasonRefused), s.Message)
	case votes.OutcomeFailed:
		complete(o, s, v1alpha1.FailoverFailed, cmp.Or(s.Reason, v1alpha1.ReasonFailed), s.Message)
	default:
		complete(o, s, v1alpha1.FailoverUnknown, cmp.Or(s.Reason, v1alpha1.ReasonAnswerMissing), s.Message)
	}
	return true
}

func refusal(reason string) v1alpha1.FailoverOutcome {
	switch reason {
	case votes.ReasonSuperseded:
		return v1alpha1.FailoverSuperseded
	case votes.ReasonExpired:
		return v1alpha1.FailoverExpired
	}
	return v1alpha1.FailoverRefused
}

// begin checks what is known and asks the agents, or says why not (yet).
func begin(o Observed, f *v1alpha1.Failover, s v1alpha1.FailoverStatus, before string) (v1alpha1.FailoverStatus, *Ask) {
	pending := func(reason, format string, args ...any) (v1alpha1.FailoverStatus, *Ask) {
		message := fmt.Sprintf(format, args...)
		if o.Now.After(expires(f)) {
			complete(o, &s, v1alpha1.FailoverExpired, reason, "it could not begin in time, and nothing was changed: "+message)
			return s, nil
		}
		s.Phase, s.Reason, s.Message = v1alpha1.FailoverPending, reason, shorten(message)
		return s, nil
	}
	if was := o.Votes.CarriedOut(f.Name, specOf(f), string(f.UID)); was != nil {
		complete(o, &s, v1alpha1.FailoverSuperseded, v1alpha1.ReasonCarriedOut, fmt.Sprintf(
			"nothing was changed: Failover %s, which asked for the same, was carried out at %s, and this one has come back, "+
				"from a backup or a repository, say. If you want it done again, make one of another name",
			f.Name,
			was.At.UTC().Format(time.RFC3339),
		))
		return s, nil
	}
	if requests.MayLose(f.Spec) && f.Spec.ExpectedTerm == nil {
		// It is from before admission asked for it, and may have come back from anywhere.
		complete(
			o,
			&s,
			v1alpha1.FailoverRefused,
			v1alpha1.ReasonTermMissing,
			"refused, nothing was changed: it may cost acknowledged writes and does not say in spec.expectedTerm in which term "+
				"that was decided on. Make another one: kubectl geosql failover fills it in",
		)
		return s, nil
	}
	if leading, known := o.Votes.Leading(); f.Spec.ExpectedTerm != nil && known && leading.Term != *f.Spec.ExpectedTerm {
		complete(
			o,
			&s,
			v1alpha1.FailoverSuperseded,
			votes.ReasonSuperseded,
			fmt.Sprintf(
				"refused, nothing was changed: the group is in term %d, and it was decided on in term %d",
				leading.Term,
				*f.Spec.ExpectedTerm,
			),
		)
		return s, nil
	}
	if o.Group == nil {
		return pending(v1alpha1.ReasonGroupMissing, "there is no AvailabilityGroup %s", f.Spec.Group)
	}
	if before != "" {
		return pending(
			v1alpha1.ReasonWaiting,
			"Failover %s of group %s is not completed yet; kubectl delete failover %[1]s -n %[3]s if it is not to be waited for",
			before,
			f.Spec.Group,
			f.Namespace,
		)
	}
	switch p := requests.Check(o.Group, f.Spec, o.Now); p.Verdict {
	case requests.Refuse:
		if !p.Seen.IsZero() && !f.CreationTimestamp.Before(&p.Seen) {
			// What was asked for may follow what its author saw, of which the status does not know yet. Both times are whole
			// seconds: of the same second nobody can say which came first.
			return pending(
				requests.ReasonStatusStale,
				"what the group's status says is from before this Failover: %s",
				p.Message,
			)
		}
		complete(o, &s, v1alpha1.FailoverRefused, p.Reason, "refused, nothing was changed: "+p.Message)
		return s, nil
	case requests.Wait:
		return pending(p.Reason, "%s", p.Message)
	}
	voter := chooseVoter(o.Votes, "")
	if voter == "" {
		return pending(
			v1alpha1.ReasonVotersNotAnswering,
			"of group %s no voter that has the Lease answers: %s",
			f.Spec.Group,
			silence(o.Votes),
		)
	}
	if o.Now.After(expires(f)) {
		return pending(v1alpha1.ReasonExpired, "the operator did not look at it before")
	}
	at := metav1.NewMicroTime(o.Votes.Issue(o.Now))
	s.Phase, s.Reason, s.Message = v1alpha1.FailoverRequested, v1alpha1.ReasonRequested,
		"the agents are asked; none has answered yet"
	s.Requested, s.Voter, s.From = &at, voter, o.Group.Status.Primary
	if requests.Promotes(f.Spec.Kind) {
		s.EstimatedDataLoss = estimate(o.Group, f.Spec)
	}
	return s, &Ask{Voter: voter, Request: request(f, at.Time)}
}

// estimate is what the promotion may lose by the group's status; nil is unknown, or that the agents choose the target.
func estimate(group *v1alpha1.AvailabilityGroup, spec v1alpha1.FailoverSpec) *metav1.Duration {
	if !spec.AllowDataLoss {
		return nil
	}
	to := string(spec.To)
	if to == "" {
		to = requests.Best(group)
	}
	return requests.Largest(requests.EstimateLoss(group, to))
}

// notBegun says why nobody began with a request, as far as the votes tell.
func notBegun(o Observed, f *v1alpha1.Failover, s v1alpha1.FailoverStatus) string {
	if s.Requested != nil && o.Votes.Overtaken(string(f.UID), s.Requested.Time) {
		return "no agent began with it: one that was issued later was answered meanwhile. Make another one if it is still " +
			"wanted"
	}
	return "no agent began with it in time: do agents run beside the replicas, and do they reach the voters?"
}

// wait sees to it that a request that was asked for and not answered stands at a voter, and gives up in the end.
func wait(o Observed, f *v1alpha1.Failover, s v1alpha1.FailoverStatus) (v1alpha1.FailoverStatus, *Ask) {
	end := expires(f)
	switch {
	case o.Now.After(end.Add(unknownAfter)):
		complete(
			o,
			&s,
			v1alpha1.FailoverUnknown,
			v1alpha1.ReasonAnswerMissing,
			"no answer could be read at a majority of the voters: the group's status says who is primary",
		)
		return s, nil
	case o.Now.After(end.Add(answerGrace)) && o.Votes.Majority() && s.Phase == v1alpha1.FailoverRequested:
		complete(
			o,
			&s,
			v1alpha1.FailoverExpired,
			v1alpha1.ReasonExpired,
			notBegun(o, f, s),
		)
		return s, nil
	case o.Now.After(end) || s.Phase == v1alpha1.FailoverRunning:
		return s, nil
	}
	if !o.Votes.Carries(string(f.UID)) {
		// It was never written, or only where nobody can look now.
		if voter := chooseVoter(o.Votes, ""); voter != "" {
			return s, &Ask{Voter: voter, Request: request(f, s.Requested.Time)}
		}
		return s, nil
	}
	if since := o.Now.Sub(s.Requested.Time); since > otherVoterAfter || since < 0 {
		// The agents may not reach the voter that the manager reaches.
		if voter := chooseVoter(o.Votes, string(f.UID)); voter != "" {
			return s, &Ask{Voter: voter, Request: request(f, s.Requested.Time)}
		}
	}
	return s, nil
}

// chooseVoter is the first that answers, where agents read, and does not have the request yet.
func chooseVoter(votes requests.Votes, id string) string {
	i := slices.IndexFunc(votes, func(v requests.Vote) bool {
		return votes.Counts(v) && (id == "" || v.Request == nil || v.Request.ID != id)
	})
	if i < 0 {
		return ""
	}
	return votes[i].Site
}

// silence says of each voter why nothing can be written there.
func silence(votes requests.Votes) string {
	var why []string
	for _, v := range votes {
		if v.Err != nil {
			why = append(why, fmt.Sprintf("%s (%v)", cmp.Or(v.Site, "a voter"), v.Err))
		}
	}
	return strings.Join(why, "; ")
}

// complete ends a Failover. What ended stays so.
func complete(o Observed, s *v1alpha1.FailoverStatus, outcome v1alpha1.FailoverOutcome, reason, message string) {
	at := metav1.NewMicroTime(o.Now.Truncate(time.Microsecond))
	s.Phase, s.Outcome, s.Reason, s.Message = v1alpha1.FailoverCompleted, outcome, reason, shorten(message)
	if s.Completed == nil {
		s.Completed = &at
	}
}

// maxMessage is what a Failover's status takes.
const maxMessage = 4096

func shorten(message string) string { return conditions.Shorten(message, maxMessage) }
