// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
)

var (
	begun   = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	errCut  = errors.New("no answer")
	seenNow = metav1.NewTime(begun)
	fitNow  = &v1alpha1.Promotability{
		Status:  metav1.ConditionTrue,
		Reason:  "Synchronized",
		Message: "every database is synchronized",
	}
	behind = &v1alpha1.Promotability{
		Status:  metav1.ConditionFalse,
		Reason:  "NotSynchronized",
		Message: "not ready for failover: Content (synchronizing)",
	}
	notKnown = &v1alpha1.Promotability{
		Status:  metav1.ConditionUnknown,
		Reason:  "NotAnswering",
		Message: "quisec-0 does not answer",
	}
)

// group over three sites, in term 3 with tukpub as primary.
func group() *v1alpha1.AvailabilityGroup {
	g := &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content", UID: "g1"},
		Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{
				{
					Server:           "tukpub",
					AvailabilityMode: v1alpha1.SynchronousCommit,
				}, {Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
				{
					Server:           "dubcfg",
					AvailabilityMode: v1alpha1.ConfigurationOnly,
				}, {Server: "dubasy", AvailabilityMode: v1alpha1.AsynchronousCommit},
			},
			InitialPrimary: "tukpub",
		},
	}
	g.Status = v1alpha1.AvailabilityGroupStatus{
		GroupID: "6a8b",
		Primary: "tukpub-0",
		Term:    3,
		Replicas: []v1alpha1.ReplicaStatus{
			{
				Server:     "tukpub-0",
				Role:       "PRIMARY",
				ObservedAt: &seenNow,
				Databases: []v1alpha1.ReplicaDatabaseStatus{
					{Name: "Content", LastCommitTime: ptr.To(metav1.NewTime(begun.Add(-time.Second)))},
				},
			},
			{Server: "quisec-0", Role: "SECONDARY", ObservedAt: &seenNow, Promotable: fitNow},
			{
				Server:     "dubasy-0",
				Role:       "SECONDARY",
				ObservedAt: &seenNow,
				Databases: []v1alpha1.ReplicaDatabaseStatus{
					{Name: "Content", LastCommitTime: ptr.To(metav1.NewTime(begun.Add(-8 * time.Second)))},
				},
			},
		},
	}
	return g
}

func failover(name string, age time.Duration, spec v1alpha1.FailoverSpec) v1alpha1.Failover {
	spec.Group = "content"
	return v1alpha1.Failover{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "web",
			Name:              name,
			UID:               types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(begun.Add(-age)),
			Generation:        1,
		},
		Spec: spec,
	}
}

func switchover(to v1alpha1.ServerName) v1alpha1.FailoverSpec {
	return v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverSwitchover, To: to}
}

func world(failovers ...v1alpha1.Failover) Observed {
	o := Observed{Now: begun, Group: group(), Failovers: failovers}
	for _, site := range []string{"tukwila", "quincy", "dublin"} {
		o.Votes = append(
			o.Votes,
			requests.Vote{
				Site:   site,
				Record: votes.Record{Term: 3, State: votes.StateHeld, Holder: votes.Holder{Server: "tukpub-0"}},
			},
		)
	}
	return o
}

// tell lets the votes say that a term leads, with what their agents noted.
func (o *Observed) tell(term int64, timelines ...votes.Timeline) {
	for i := range o.Votes {
		o.Votes[i].Record.Term, o.Votes[i].Timelines = term, timelines
	}
}

// statusOf is a Failover's status after a plan.
func statusOf(o Observed, p reconcile.Plan, name string) v1alpha1.FailoverStatus {
	for _, s := range p.Steps {
		if set, ok := s.(SetStatus); ok && set.Failover.Name == name {
			return set.Status
		}
	}
	for _, f := range o.Failovers {
		if f.Name == name {
			return f.Status
		}
	}
	return v1alpha1.FailoverStatus{}
}

func asks(p reconcile.Plan) []string {
	var voters []string
	for _, s := range p.Steps {
		if a, ok := s.(Ask); ok {
			voters = append(voters, a.Voter)
		}
	}
	return voters
}

func TestWhatIsAskedAndWhatIsRefusedFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		spec    v1alpha1.FailoverSpec
		age     time.Duration
		change  func(*Observed)
		phase   v1alpha1.FailoverPhase
		outcome v1alpha1.FailoverOutcome
		reason  string
		message string
		asked   bool
	}{
		"a switchover": {spec: switchover("quisec"), phase: "Requested", reason: "Requested", asked: true},
		"to a replica that is behind": {spec: switchover("quisec"), change: func(o *Observed) {
			o.Group.Status.Replicas[1].Promotable, o.Group.Status.Replicas[1].ObservedAt = behind,
				ptr.To(metav1.NewTime(begun.Add(time.Second)))
		}, phase: "Completed", outcome: "Refused", reason: "NotSynchronized", message: "Content (synchronizing)"},
		"to one that was behind in the second in which it was asked for": {spec: switchover("quisec"),
			change: func(o *Observed) {
				o.Group.Status.Replicas[1].Promotable, o.Group.Status.Replicas[1].ObservedAt = behind, ptr.To(metav1.NewTime(begun))
			}, phase: "Pending", reason: "StatusStale", message: "Content (synchronizing)"},
		"to one that was behind before it was asked for": {spec: switchover("quisec"), change: func(o *Observed) {
			o.Group.Status.Replicas[1].Promotable, o.Group.Status.Replicas[1].ObservedAt = behind,
				ptr.To(metav1.NewTime(begun.Add(-2*time.Second)))
		}, phase: "Pending", reason: "StatusStale", message: "Content (synchronizing)"},
		"to one that is silent": {spec: switchover("quisec"),
			change: func(o *Observed) { o.Group.Status.Replicas[1].Promotable = notKnown }, phase: "Pending",
			reason: "NotAnswering"},
		"to one that stayed silent": {spec: switchover("quisec"), age: time.Hour,
			change: func(o *Observed) { o.Group.Status.Replicas[1].Promotable = notKnown }, phase: "Completed",
			outcome: "Expired", reason: "NotAnswering", message: "nothing was changed"},
		"by a status that is old": {spec: switchover("quisec"),
			change: func(o *Observed) { o.Now = begun.Add(time.Minute) }, phase: "Pending", reason: "StatusStale"},
		"to a stranger": {spec: switchover("other"), phase: "Completed", outcome: "Refused",
			reason: "NotAReplica", message: "its replicas are tukpub, quisec"},
		"to one without data": {spec: switchover("dubcfg"), phase: "Completed", outcome: "Refused",
			reason: "NotAReplica"},
		"to an asynchronous one": {spec: switchover("dubasy"), phase: "Completed", outcome: "Refused",
			reason: "NotSynchronous"},
		"forced to an asynchronous one": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, To: "dubasy",
			AllowDataLoss: true, ExpectedTerm: ptr.To[int64](3)},
			phase: "Requested", reason: "Requested", asked: true},
		"forced, decided on in an earlier term": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, To: "dubasy",
			AllowDataLoss: true, ExpectedTerm: ptr.To[int64](2)},
			phase: "Completed", outcome: "Superseded", reason: "Superseded", message: "in term 3"},
		"forced, decided on in an earlier term, by two votes": {spec: v1alpha1.FailoverSpec{
			Kind: v1alpha1.FailoverFailover, To: "dubasy", AllowDataLoss: true, ExpectedTerm: ptr.To[int64](2)},
			change: func(o *Observed) { o.Votes[1].Err = errCut },
			phase:  "Completed", outcome: "Superseded", reason: "Superseded", message: "in term 3"},
		"forced, decided on in no term": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, To: "dubasy",
			AllowDataLoss: true},
			phase: "Completed", outcome: "Refused", reason: "TermMissing", message: "expectedTerm"},
		"over a fenced holder, decided on in no term": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover,
			FencedHolder: "tukpub-0/p/e/n"},
			change: func(o *Observed) { o.Group.Status.Primary = "" },
			phase:  "Completed", outcome: "Refused", reason: "TermMissing", message: "expectedTerm"},
		"over a fenced holder, decided on in an earlier term": {spec: v1alpha1.FailoverSpec{
			Kind: v1alpha1.FailoverFailover, FencedHolder: "tukpub-0/p/e/n", ExpectedTerm: ptr.To[int64](1)},
			change: func(o *Observed) { o.Group.Status.Primary = "" },
			phase:  "Completed", outcome: "Superseded", reason: "Superseded", message: "in term 3"},
		"without a primary": {spec: switchover("quisec"), change: func(o *Observed) { o.Group.Status.Primary = "" },
			phase: "Pending", reason: "NoPrimary"},
		"a failover without primary": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover},
			change: func(o *Observed) { o.Group.Status.Primary = "" }, phase: "Requested", reason: "Requested", asked: true},
		"a pause": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverPause}, phase: "Requested",
			reason: "Requested", asked: true},
		"without a group": {spec: switchover("quisec"), change: func(o *Observed) { o.Group, o.Votes = nil, nil },
			phase: "Pending", reason: "GroupMissing"},
		"of a group that is not fenced": {spec: switchover("quisec"),
			change: func(o *Observed) { o.Group.Spec.ClusterType = v1alpha1.ClusterNone },
			phase:  "Completed", outcome: "Refused", reason: "NotFenced"},
		"in another term": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverSwitchover, To: "quisec",
			ExpectedTerm: ptr.To[int64](2)},
			phase: "Completed", outcome: "Superseded", reason: "Superseded", message: "in term 3"},
		"in the expected term": {spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverSwitchover, To: "quisec",
			ExpectedTerm: ptr.To[int64](3)}, phase: "Requested", reason: "Requested", asked: true},
		"without voters": {spec: switchover("quisec"), change: func(o *Observed) {
			for i := range o.Votes {
				o.Votes[i].Err = errCut
			}
		}, phase: "Pending", reason: "VotersNotAnswering",
			message: "answers: tukwila (no answer); quincy (no answer); dublin (no answer)"},
		"of yesterday": {spec: switchover("quisec"), age: 24 * time.Hour, phase: "Completed", outcome: "Expired",
			reason: "Expired"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := world(failover("f", tc.age, tc.spec))
			if tc.change != nil {
				tc.change(&o)
			}
			p := plan(o)
			s := statusOf(o, p, "f")
			g.Expect(s.Phase).To(Equal(tc.phase), "%s: %s", s.Reason, s.Message)
			g.Expect(s.Outcome).To(Equal(tc.outcome))
			g.Expect(s.Reason).To(Equal(tc.reason))
			g.Expect(s.Message).To(ContainSubstring(tc.message))
			g.Expect(asks(p)).To(HaveLen(map[bool]int{true: 1}[tc.asked]))
			if tc.asked {
				g.Expect(p.Steps[0]).
					To(BeAssignableToTypeOf(SetStatus{}), "what was asked for is never forgotten: the status comes first")
				g.Expect(busy(p)).To(BeTrue())
			}
		})
	}
}

func TestTheRequestIsTheFailover(t *testing.T) {
	g := NewWithT(t)
	o := world(
		failover(
			"f",
			time.Minute,
			v1alpha1.FailoverSpec{
				Kind:          v1alpha1.FailoverFailover,
				To:            "dubasy",
				AllowDataLoss: true,
				FencedHolder:  "tukpub-0/p/e/n",
				ExpectedTerm:  ptr.To[int64](3),
			},
		),
	)
	p := plan(o)
	ask := p.Steps[1].(Ask)
	g.Expect(ask.Request).
		To(Equal(votes.Request{ID: "uid-f", Kind: votes.RequestFailover, To: "dubasy-0", AllowDataLoss: true,
			FencedHolder: "tukpub-0/p/e/n",
			ExpectedTerm: 3, Issued: begun, ExpiresSeconds: 240, By: "Failover web/f", Failover: "f"}))
	g.Expect(ask.Request.Check()).To(Succeed())
	g.Expect(statusOf(o, p, "f").EstimatedDataLoss.Duration).
		To(Equal(7*time.Second), "the primary's last commit less the replica's")
	g.Expect(statusOf(o, p, "f").From).To(Equal("tukpub-0"))
}

// asked is a Failover that was asked for at tukwila.
func asked(at time.Duration) v1alpha1.Failover {
	f := failover("f", 0, switchover("quisec"))
	f.Status.Phase, f.Status.Reason, f.Status.Voter = v1alpha1.FailoverRequested, "Requested", "tukwila"
	f.Status.Requested = ptr.To(metav1.NewMicroTime(begun.Add(at)))
	return f
}

func TestARequestThatIsNotAnswered(t *testing.T) {
	written := func(o *Observed) { o.Votes[0].Request = &votes.Request{ID: "uid-f"} }
	for name, tc := range map[string]struct {
		after   time.Duration
		change  func(*Observed)
		asked   []string
		outcome v1alpha1.FailoverOutcome
		says    string
	}{
		"was never written: it is written again": {after: time.Second, asked: []string{"tukwila"}},
		"was written a moment ago":               {after: time.Second, change: written},
		"agents do not read at a Lease that has never had a vote": {after: time.Second, change: func(o *Observed) {
			o.Votes[0].Record = votes.Record{State: votes.StateReleased}
		}, asked: []string{"quincy"}},
		"its time is over and the voter that may have the answer is cut off": {after: 6 * time.Minute,
			change: func(o *Observed) {
				o.Votes[0].Record, o.Votes[1].Err = votes.Record{State: votes.StateReleased}, errCut
			}},
		"was written just as long ago as one waits": {after: otherVoterAfter, change: written},
		"was written for a while: the next voter has it": {after: 5 * time.Second, change: written,
			asked: []string{"quincy"}},
		"is at a voter that is cut off": {after: time.Second, change: func(o *Observed) {
			written(o)
			o.Votes[0].Err = errCut
		}, asked: []string{"quincy"}},
		"its time is over and a majority knows of nothing": {after: 6 * time.Minute, change: written, outcome: "Expired"},
		"its time is over and a newer one was answered": {after: 6 * time.Minute, change: func(o *Observed) {
			written(o)
			o.Votes[1].Answer = &votes.Answer{ID: "uid-g", Issued: begun.Add(time.Second)}
		}, outcome: "Expired", says: "one that was issued later was answered"},
		"its time is over and no majority answers": {after: 6 * time.Minute, change: func(o *Observed) {
			o.Votes[0].Err, o.Votes[1].Err = errCut, errCut
		}},
		"nobody ever answers": {after: time.Hour, change: func(o *Observed) {
			o.Votes[0].Err, o.Votes[1].Err = errCut, errCut
		}, outcome: "Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := world(asked(0))
			o.Now = begun.Add(tc.after)
			if tc.change != nil {
				tc.change(&o)
			}
			p := plan(o)
			g.Expect(asks(p)).To(Equal(tc.asked))
			s := statusOf(o, p, "f")
			g.Expect(s.Outcome).To(Equal(tc.outcome), s.Message)
			g.Expect(s.Message).To(ContainSubstring(tc.says))
			for _, step := range p.Steps {
				if a, ok := step.(Ask); ok {
					g.Expect(a.Request.Issued).To(Equal(begun), "it is the same request")
				}
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	at := func(seconds int) *metav1.MicroTime {
		return ptr.To(metav1.NewMicroTime(begun.Add(time.Duration(seconds) * time.Second)))
	}
	timeline := votes.Timeline{
		Term:      4,
		Cause:     votes.CauseSwitchover,
		RequestID: "uid-f",
		From:      "tukpub-0",
		To:        "quisec-0",
		Suspected: at(1),
		Claimed:   at(2),
		Fenced:    at(2),
		Promoted:  at(3),
		Outcome:   votes.OutcomeAccepted,
	}
	answer := func(site int, outcome votes.AnswerOutcome, reason string) func(*Observed) {
		return func(o *Observed) {
			o.Votes[site].Answer = &votes.Answer{ID: "uid-f", Outcome: outcome, Reason: reason, Message: "because", Term: 4}
		}
	}
	all := func(changes ...func(*Observed)) func(*Observed) {
		return func(o *Observed) {
			for _, c := range changes {
				c(o)
			}
		}
	}
	for name, tc := range map[string]struct {
		change  func(*Observed)
		phase   v1alpha1.FailoverPhase
		outcome v1alpha1.FailoverOutcome
		reason  string
		ready   metav1.ConditionStatus
	}{
		"accepted": {change: answer(1, votes.OutcomeAccepted, ""), phase: "Running",
			reason: "Accepted", ready: metav1.ConditionFalse},
		"refused": {change: answer(1, votes.OutcomeRefused, "Reverting"), phase: "Completed",
			outcome: "Refused", reason: "Reverting", ready: metav1.ConditionFalse},
		"refused in another term": {change: answer(1, votes.OutcomeRefused, "Superseded"), phase: "Completed",
			outcome: "Superseded", reason: "Superseded", ready: metav1.ConditionFalse},
		"done": {change: answer(1, votes.OutcomeDone, "Promoted"), phase: "Completed",
			outcome: "Succeeded", reason: "Promoted", ready: metav1.ConditionTrue},
		"failed": {change: answer(1, votes.OutcomeFailed, "RolledBack"), phase: "Completed",
			outcome: "Failed", reason: "RolledBack", ready: metav1.ConditionFalse},
		"done, and an old accepted": {change: all(answer(1, votes.OutcomeDone, "Promoted"),
			answer(2, votes.OutcomeAccepted, "")), phase: "Completed", outcome: "Succeeded", reason: "Promoted",
			ready: metav1.ConditionTrue},
		"a reason that is no reason": {change: answer(1, votes.OutcomeRefused, "no reason!"), phase: "Completed",
			outcome: "Refused", reason: "no reason!", ready: metav1.ConditionFalse},
		"an answer to another request": {change: func(o *Observed) {
			o.Votes[0].Answer = &votes.Answer{ID: "other",
				Outcome: votes.OutcomeDone}
		}, phase: "Requested", reason: "Requested", ready: metav1.ConditionFalse},
		"a timeline without an answer": {change: func(o *Observed) { o.Votes[2].Timelines = []votes.Timeline{timeline} },
			phase: "Running", reason: "Accepted", ready: metav1.ConditionFalse},
		"a voter that is cut has no say": {change: all(answer(1, votes.OutcomeDone, ""),
			func(o *Observed) { o.Votes[1].Err = errCut }), phase: "Requested", reason: "Requested",
			ready: metav1.ConditionFalse},
		"the answer was overwritten, its timeline is done": {change: func(o *Observed) {
			done := timeline
			done.Outcome, done.AllSynchronized = votes.OutcomeDone, at(9)
			o.Votes[2].Timelines = []votes.Timeline{done}
			o.Votes[0].Timelines = []votes.Timeline{timeline}
		}, phase: "Completed", outcome: "Succeeded", reason: "Promoted", ready: metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := world(asked(0))
			o.Now = begun.Add(3 * time.Second)
			o.Votes[0].Request = &votes.Request{ID: "uid-f"}
			tc.change(&o)
			p := plan(o)
			s := statusOf(o, p, "f")
			g.Expect(s.Phase).To(Equal(tc.phase))
			g.Expect(s.Outcome).To(Equal(tc.outcome))
			g.Expect(s.Reason).To(Equal(tc.reason))
			g.Expect(s.Conditions).
				To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", tc.ready),
					HaveField("Reason", MatchRegexp(`^[A-Za-z]+$`)))))
			g.Expect(asks(p)).To(BeEmpty())
		})
	}
	t.Run("the timeline is taken over, and kept up to date after the end", func(t *testing.T) {
		g := NewWithT(t)
		o := world(asked(0))
		timeline.Outcome = votes.OutcomeDone
		o.Votes[2].Timelines = []votes.Timeline{timeline}
		s := statusOf(o, plan(o), "f")
		g.Expect(s.Timeline.Promoted).To(Equal(at(3)))
		g.Expect(s.Timeline.AllSynchronized).To(BeNil())
		g.Expect(s).
			To(And(HaveField("Term", int64(4)), HaveField("From", "tukpub-0"), HaveField("To", "quisec-0"),
				HaveField("Cause", "Switchover")))
		o.Failovers[0].Status = s
		timeline.AllSynchronized = at(60)
		o.Votes[2].Timelines = []votes.Timeline{timeline}
		o.Now = begun.Add(time.Hour)
		later := statusOf(o, plan(o), "f")
		g.Expect(later.Timeline.AllSynchronized).To(Equal(at(60)))
		g.Expect(s.Completed).To(Equal(at(0)))
		g.Expect(later.Completed).To(Equal(s.Completed), "when it ended does not move")
		o.Failovers[0].Status = later
		o.note(plan(o))
		g.Expect(plan(o).Steps).To(BeEmpty())
	})
}

func TestOneAtATimeOldestFirst(t *testing.T) {
	g := NewWithT(t)
	second := failover("second", 0, switchover("quisec"))
	second.CreationTimestamp = metav1.NewTime(begun.Add(time.Second))
	o := world(failover("first", 0, switchover("quisec")), second)
	p := plan(o)
	g.Expect(statusOf(o, p, "first").Phase).To(Equal(v1alpha1.FailoverRequested))
	g.Expect(statusOf(o, p, "second")).To(And(HaveField("Phase", v1alpha1.FailoverPending), HaveField("Reason", "Waiting"),
		HaveField("Message", ContainSubstring("Failover first of group content is not completed"))))
	o.Failovers[0].Status = statusOf(o, p, "first")
	o.Votes[0].Answer = &votes.Answer{ID: "uid-first", Outcome: votes.OutcomeDone}
	p = plan(o)
	g.Expect(statusOf(o, p, "first").Outcome).To(Equal(v1alpha1.FailoverSucceeded))
	g.Expect(statusOf(o, p, "second").Phase).To(Equal(v1alpha1.FailoverRequested))
	g.Expect(asks(p)).To(HaveLen(1))
}

// However steps are lost and answers come, a Failover asks for one thing, and what completed stays so.
func TestAFailoverIsCarriedOutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := world(failover("f", 0, switchover("quisec")))
		ids := map[string]bool{}
		var ended *v1alpha1.FailoverStatus
		for i := range rapid.IntRange(1, 40).Draw(t, "rounds") {
			o.Now = o.Now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
			o.Group.Status.Replicas[1].ObservedAt = ptr.To(metav1.NewTime(o.Now))
			site := rapid.IntRange(0, 2).Draw(t, "site")
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				o.Votes[site].Err = errCut
			case 1:
				o.Votes[site].Err = nil
			case 2:
				if o.Votes[site].Request != nil {
					outcome := rapid.SampledFrom([]votes.AnswerOutcome{votes.OutcomeAccepted, votes.OutcomeDone,
						votes.OutcomeRefused}).
						Draw(t, "outcome")
					o.Votes[site].Answer = &votes.Answer{ID: o.Votes[site].Request.ID, Outcome: outcome, At: o.Now}
				}
			}
			for _, s := range plan(o).Steps {
				if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
					break
				}
				switch s := s.(type) {
				case SetStatus:
					o.Failovers[0].Status = s.Status
				case Ask:
					if o.Failovers[0].Status.Requested == nil {
						t.Fatal("asked for before the status says so")
					}
					ids[s.Request.ID+s.Request.Issued.String()] = true
					for k := range o.Votes {
						if o.Votes[k].Site == s.Voter {
							o.Votes[k].Request = &s.Request
						}
					}
				}
			}
			now := o.Failovers[0].Status
			if ended != nil && (now.Outcome != ended.Outcome || !now.Completed.Equal(ended.Completed)) {
				t.Fatalf("round %d: it had ended as %s and is %s", i, ended.Outcome, now.Outcome)
			}
			if now.Phase == v1alpha1.FailoverCompleted {
				ended = now.DeepCopy()
			}
		}
		if len(ids) > 1 {
			t.Fatalf("%d different requests were made of one Failover", len(ids))
		}
	})
}
