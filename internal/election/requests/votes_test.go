// SPDX-License-Identifier: Apache-2.0

package requests_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
)

var errCut = errors.New("cut")

// A request is issued after every one that is there, so that the agents take it for the newest; one that cannot be read
// says nothing.
func TestARequestIsIssuedAfterThoseThatAreThere(t *testing.T) {
	issued := func(after time.Duration) *votes.Request { return ptr.To(ask("a", after)) }
	for name, c := range map[string]struct {
		votes requests.Votes
		after time.Duration
	}{
		"none is there":          {requests.Votes{{Site: "a"}, {Site: "b", Err: errCut}}, 0},
		"an older one":           {requests.Votes{{Site: "a", Request: issued(-time.Second)}}, 0},
		"one of the same moment": {requests.Votes{{Site: "a", Request: issued(0)}}, time.Millisecond},
		"one of a clock ahead": {requests.Votes{{Site: "a", Request: issued(time.Hour)},
			{Site: "b", Request: issued(time.Minute)}}, time.Hour + time.Millisecond},
		"one that cannot be read": {requests.Votes{{Site: "a", Err: errCut, Request: issued(time.Hour)}}, 0},
		"a newer one at the second": {requests.Votes{{Site: "a", Request: issued(0)},
			{Site: "b", Request: issued(time.Minute)}}, time.Minute + time.Millisecond},
		"an answer to one of a clock ahead": {requests.Votes{{Site: "a", Request: issued(0),
			Answer: &votes.Answer{ID: "b", Issued: begun.Add(time.Hour)}}}, time.Hour + time.Millisecond},
		"an answer that cannot be read": {requests.Votes{
			{Site: "a", Err: errCut, Answer: &votes.Answer{ID: "b", Issued: begun.Add(time.Hour)}}}, 0},
		"an answer of an earlier release": {requests.Votes{{Site: "a", Answer: &votes.Answer{ID: "b"}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			// A status keeps microseconds: the request that is written again is the same.
			NewWithT(t).Expect(c.votes.Issue(begun.Add(time.Nanosecond))).To(Equal(begun.Add(c.after)))
		})
	}
}

// An answer to another request that counts before it overtakes one; its own does not, whatever time that says.
func TestWhichRequestIsOvertaken(t *testing.T) {
	for name, c := range map[string]struct {
		vote requests.Vote
		want bool
	}{
		"no answer":                     {requests.Vote{}, false},
		"to a newer one":                {requests.Vote{Answer: &votes.Answer{ID: "b", Issued: begun.Add(1)}}, true},
		"to an older one":               {requests.Vote{Answer: &votes.Answer{ID: "b", Issued: begun.Add(-1)}}, false},
		"of the same moment":            {requests.Vote{Answer: &votes.Answer{ID: "b", Issued: begun}}, true},
		"of the same moment, the lower": {requests.Vote{Answer: &votes.Answer{ID: "A", Issued: begun}}, false},
		"its own":                       {requests.Vote{Answer: &votes.Answer{ID: "a", Issued: begun.Add(1)}}, false},
		"of an earlier release":         {requests.Vote{Answer: &votes.Answer{ID: "b"}}, false},
		"that cannot be read": {
			requests.Vote{Err: errCut, Answer: &votes.Answer{ID: "b", Issued: begun.Add(1)}}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(requests.Votes{{}, c.vote}.Overtaken("a", begun)).To(Equal(c.want))
		})
	}
}

func TestARequestIsCarriedByAnyVoterThatAnswers(t *testing.T) {
	g := NewWithT(t)
	votes := requests.Votes{
		{Site: "a"},
		{Site: "b", Request: ptr.To(ask("a", 0))},
		{Site: "c", Err: errCut, Request: ptr.To(ask("c", 0))},
	}
	g.Expect(votes.Carries("a")).To(BeTrue())
	g.Expect(votes.Carries("b")).To(BeFalse())
	g.Expect(votes.Carries("c")).To(BeFalse(), "what cannot be read says nothing")
	g.Expect(requests.Votes(nil).Carries("a")).To(BeFalse())
}

// A pause counts at any voter that answers; a vote that was never anybody's counts only where all are so.
func TestWhatVotersSayCountsOnlyWhereTheyAnswer(t *testing.T) {
	g := NewWithT(t)
	held, never := votes.Record{Term: 4}, votes.Record{}
	g.Expect(requests.Votes{{Err: errCut, Paused: true}, {}}.Paused()).To(BeFalse())
	g.Expect(requests.Votes{{}, {Paused: true}}.Paused()).To(BeTrue())
	fresh := requests.Votes{{Site: "a", Record: never}, {Site: "b", Record: never}, {Site: "c", Err: errCut, Record: held}}
	g.Expect(fresh.Counts(fresh[0])).To(BeTrue())
	g.Expect(fresh.Counts(fresh[2])).To(BeFalse())
	g.Expect(fresh.Majority()).To(BeTrue())
	lost := requests.Votes{{Site: "a", Record: never}, {Site: "b", Record: held}, {Site: "c", Err: errCut}}
	g.Expect(lost.Counts(lost[0])).To(BeFalse())
	g.Expect(lost.Counts(lost[1])).To(BeTrue())
	g.Expect(lost.Majority()).To(BeFalse())
}

// A final answer leads whatever its time; of two that are alike in that the newer one.
func TestTheAnswerThatLeads(t *testing.T) {
	answer := func(outcome votes.AnswerOutcome, after time.Duration) *votes.Answer {
		return &votes.Answer{ID: "r", Outcome: outcome, At: begun.Add(after)}
	}
	accepted, done := votes.OutcomeAccepted, votes.OutcomeDone
	for name, c := range map[string]struct {
		answers []*votes.Answer
		leads   int
	}{
		"the final one, though older":      {[]*votes.Answer{answer(accepted, 1), answer(done, 0)}, 1},
		"the final one that comes first":   {[]*votes.Answer{answer(done, 0), answer(accepted, 1)}, 0},
		"the newer of two accepted":        {[]*votes.Answer{answer(accepted, 0), answer(accepted, 1)}, 1},
		"the newer of two accepted, first": {[]*votes.Answer{answer(accepted, 1), answer(accepted, 0)}, 0},
		"the newer of two final": {[]*votes.Answer{answer(done, 0), answer(votes.OutcomeFailed, 1),
			nil}, 1},
		"the first of two that are of one time": {[]*votes.Answer{answer(done, 1), answer(votes.OutcomeFailed, 1)}, 0},
		"the one that is there":                 {[]*votes.Answer{nil, answer(accepted, 1)}, 1},
		"the one behind that of another request": {[]*votes.Answer{{ID: "q", Outcome: done, At: begun.Add(time.Hour)},
			answer(accepted, 1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var votes requests.Votes
			for _, a := range c.answers {
				votes = append(votes, requests.Vote{Answer: a})
			}
			NewWithT(t).Expect(votes.Answer("r")).To(BeIdenticalTo(c.answers[c.leads]))
		})
	}
}

// Each moment that a timeline has reached makes it the farther one, and its end more than all of them.
func TestTheTimelineThatHasComeFarthest(t *testing.T) {
	at := ptr.To(metav1.NewMicroTime(begun))
	all := votes.Timeline{
		Term:            4,
		RequestID:       "r",
		Suspected:       at,
		Claimed:         at,
		Fenced:          at,
		Promoted:        at,
		FirstWrite:      at,
		AllSynchronized: at,
		Lost:            &votes.LostRange{},
		Outcome:         votes.OutcomeAccepted,
	}
	for name, lacks := range map[string]func(*votes.Timeline){
		"suspected":        func(t *votes.Timeline) { t.Suspected = nil },
		"claimed":          func(t *votes.Timeline) { t.Claimed = nil },
		"fenced":           func(t *votes.Timeline) { t.Fenced = nil },
		"promoted":         func(t *votes.Timeline) { t.Promoted = nil },
		"first write":      func(t *votes.Timeline) { t.FirstWrite = nil },
		"all synchronized": func(t *votes.Timeline) { t.AllSynchronized = nil },
		"lost":             func(t *votes.Timeline) { t.Lost = nil },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			less := all
			lacks(&less)
			g.Expect(requests.Votes{{Timelines: []votes.Timeline{less}},
				{Timelines: []votes.Timeline{all}}}.TimelineOf("r")).
				To(HaveValue(Equal(all)))
			g.Expect(requests.Votes{{Timelines: []votes.Timeline{all}},
				{Timelines: []votes.Timeline{less}}}.TimelineOf("r")).
				To(HaveValue(Equal(all)))
		})
	}
	g := NewWithT(t)
	ended := votes.Timeline{Term: 4, RequestID: "r", Outcome: votes.OutcomeFailed}
	unsaid := all
	unsaid.Outcome = ""
	g.Expect(requests.Votes{{Timelines: []votes.Timeline{all}},
		{Timelines: []votes.Timeline{ended}}}.TimelineOf("r")).
		To(HaveValue(Equal(ended)))
	g.Expect(requests.Votes{{Timelines: []votes.Timeline{ended}},
		{Timelines: []votes.Timeline{unsaid}}}.TimelineOf("r")).
		To(HaveValue(Equal(ended)))
	farther := ended
	farther.Suspected = at
	g.Expect(requests.Votes{{Timelines: []votes.Timeline{ended}},
		{Timelines: []votes.Timeline{farther}}}.TimelineOf("r")).
		To(HaveValue(Equal(farther)), "of two that have ended")
	first := votes.Timeline{Term: 4, RequestID: "r", From: "first"}
	again := votes.Timeline{Term: 4, RequestID: "r", From: "again"}
	g.Expect(requests.Votes{{Timelines: []votes.Timeline{first}},
		{Timelines: []votes.Timeline{again}}}.TimelineOf("r")).
		To(HaveField("From", "first"), "as far as the other")

	votes := requests.Votes{{Err: errCut, Timelines: []votes.Timeline{{Term: 9, RequestID: "r"}}},
		{
			Timelines: []votes.Timeline{
				{Term: 7},
				{Term: 3, RequestID: "r"},
				{Term: 5, RequestID: "r"},
				{Term: 6},
				{Term: 12},
				{Term: 10},
				{Term: 11},
				{Term: 8},
			},
		}}
	var terms []int64
	for _, line := range votes.Timelines() {
		terms = append(terms, line.Term)
	}
	g.Expect(terms).To(Equal([]int64{3, 5, 6, 7, 8, 10, 11, 12}), "oldest first, and nothing of a voter that is cut off")
	g.Expect(votes.TimelineOf("r")).To(HaveField("Term", int64(5)), "the newest of its terms")
}

// A replica that a forced failover left apart is told of by the voters that answer.
func TestQuarantinedReplicasAreThoseOfVotersThatAnswer(t *testing.T) {
	g := NewWithT(t)
	apart := votes.Record{Notes: votes.Notes{Apart: `[{"server":"tukpub-0","term":4}]`}}
	g.Expect(requests.Votes{{Err: errCut, Record: apart}}.Quarantined()).To(BeEmpty())
	g.Expect(requests.Votes{{}, {Record: apart}}.Quarantined()).To(ConsistOf(HaveField("Server", "tukpub-0")))
}

// What a Lease has is read, and what it has not is nothing.
func TestALeaseIsReadWithItsNotes(t *testing.T) {
	g := NewWithT(t)
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	g.Expect(requests.Of(lease)).
		To(And(HaveField("Err", BeNil()), HaveField("Request", BeNil()), HaveField("Answer", BeNil()),
			HaveField("Timelines", BeEmpty()), HaveField("Paused", false)))
	ask("a", 0).Annotate(lease.Annotations)
	lease.Annotations[votes.AnnotationAnswer] = `{"id":"r","outcome":"Done"}`
	lease.Annotations[votes.AnnotationTimelines] = `[{"term":4},{"term":5}]`
	vote := requests.Of(lease)
	g.Expect(vote.Request).To(HaveField("ID", "a"))
	g.Expect(vote.Answer).To(And(HaveField("ID", "r"), HaveField("Outcome", votes.OutcomeDone)))
	g.Expect(vote.Timelines).To(HaveExactElements(HaveField("Term", int64(4)), HaveField("Term", int64(5))))
}

// What refuses a write for good is not asked again; a Lease that is always changed in between is given up at last.
func TestAWriteThatIsRefusedIsNotRepeated(t *testing.T) {
	group := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for name, c := range map[string]struct {
		err   error
		times int
	}{
		"forbidden":       {apierrors.NewForbidden(group, "content", errCut), 1},
		"always changing": {apierrors.NewConflict(group, "content", errCut), 12},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := 0
			f := fake.NewClientBuilder().
				WithScheme(clientgoscheme.Scheme).
				WithObjects(votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})).
				WithInterceptorFuncs(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
					...client.PatchOption) error {
					asked++
					return c.err
				}}).
				Build()
			g.Expect(requests.Write(t.Context(), f, f, "web", "content", ask("a", 0))).
				To(MatchError(And(ContainSubstring("write the request on Lease web/"), ContainSubstring("cut"))))
			g.Expect(asked).To(Equal(c.times))
		})
	}
	t.Run("a voter that cannot be read", func(t *testing.T) {
		g := NewWithT(t)
		f := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return errCut
			}}).Build()
		g.Expect(requests.Read(t.Context(), f, "web", "content").Err).
			To(And(MatchError(errCut), MatchError(ContainSubstring("read Lease web/"))))
		g.Expect(requests.Write(t.Context(), f, f, "web", "content", ask("a", 0))).To(MatchError(errCut))
	})
	t.Run("a Lease that is not there", func(t *testing.T) {
		f := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
		NewWithT(t).Expect(requests.Read(t.Context(), f, "web", "content").Err).To(Equal(votes.ErrAbsent))
	})
	t.Run("one of the same moment is newer", func(t *testing.T) {
		g := NewWithT(t)
		lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
		lease.Annotations = nil
		f := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(lease).Build()
		g.Expect(requests.Write(t.Context(), f, f, "web", "content", ask("a", 0))).
			To(Succeed(), "a Lease without annotations")
		g.Expect(requests.Write(t.Context(), f, f, "web", "content", ask("b", 0))).To(MatchError(requests.ErrNewer))
	})
	t.Run("a newer one was answered, which stands at another voter", func(t *testing.T) {
		g := NewWithT(t)
		lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
		last := ask("a", time.Second)
		lease.Annotations[votes.AnnotationAnswer] = votes.EncodeNote(votes.Answer{ID: last.ID, Issued: last.Issued})
		f := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(lease).Build()
		g.Expect(requests.Write(t.Context(), f, f, "web", "content", ask("b", 0))).To(MatchError(requests.ErrNewer))
		g.Expect(requests.Write(t.Context(), f, f, "web", "content", ask("c", time.Minute))).To(Succeed())
		own := ask("a", 0)
		g.Expect(requests.Write(t.Context(), f, f, "web", "content", own)).To(MatchError(requests.ErrNewer), "behind c")
	})
	t.Run("its own answer is there already", func(t *testing.T) {
		g := NewWithT(t)
		lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
		lease.Annotations[votes.AnnotationAnswer] = votes.EncodeNote(votes.Answer{ID: "a", Issued: begun.Add(time.Second)})
		f := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(lease).Build()
		g.Expect(requests.Write(t.Context(), f, f, "web", "content", ask("a", 0))).To(Succeed())
	})
}

// A Lease that cannot be read is another than the same one that can; an object that is none has no meaning.
func TestAnUnreadableLeaseMeansSomething(t *testing.T) {
	g := NewWithT(t)
	before := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	before.Spec.HolderIdentity = ptr.To("tukpub-0/pod/engine/n1")
	spoilt := before.DeepCopy()
	spoilt.Spec.HolderIdentity = ptr.To("nobody knows who")
	g.Expect(requests.Moved().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: spoilt})).To(BeTrue())
	g.Expect(requests.Of(spoilt).Err).To(HaveOccurred())
	again := spoilt.DeepCopy()
	again.Spec.RenewTime = ptr.To(metav1.NewMicroTime(begun))
	g.Expect(requests.Moved().Update(event.UpdateEvent{ObjectOld: spoilt, ObjectNew: again})).To(BeFalse())
	g.Expect(requests.Moved().Update(event.UpdateEvent{ObjectOld: &corev1.Secret{}, ObjectNew: &corev1.ConfigMap{}})).
		To(BeFalse())
}
