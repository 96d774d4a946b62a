// SPDX-License-Identifier: Apache-2.0

package requests_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
)

var begun = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func ask(id string, after time.Duration) votes.Request {
	return votes.Request{ID: id, Kind: votes.RequestSwitchover, To: "quisec-0", Issued: begun.Add(after)}
}

// renew changes the Lease as its holder does once per second.
func renew(ctx context.Context, c client.Client) error {
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	if err := c.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil {
		return err
	}
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now()))
	return c.Update(ctx, lease)
}

func TestARequestIsWrittenBetweenRenewals(t *testing.T) {
	g := NewWithT(t)
	conflicts := 3
	c := fake.NewClientBuilder().
		WithScheme(clientgoscheme.Scheme).
		WithObjects(votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object,
			patch client.Patch, opts ...client.PatchOption) error {
			if conflicts > 0 {
				conflicts--
				if err := renew(ctx, c); err != nil {
					return err
				}
			}
			return c.Patch(ctx, obj, patch, opts...)
		}}).
		Build()
	g.Expect(requests.Write(t.Context(), c, c, "web", "content", ask("a", 0))).To(Succeed())
	g.Expect(conflicts).To(BeZero())
	vote := requests.Read(t.Context(), c, "web", "content")
	g.Expect(vote.Request).To(HaveValue(HaveField("ID", "a")))
	g.Expect(vote.Record).
		To(And(HaveField("State", votes.StateReleased), HaveField("InitialPrimary", "tukpub-0")), "the vote is left alone")

	g.Expect(requests.Write(t.Context(), c, c, "web", "content", ask("a", 0))).To(Succeed(), "once more does no harm")
	g.Expect(requests.Write(t.Context(), c, c, "web", "content", ask("older", -time.Second))).
		To(MatchError(requests.ErrNewer))
	g.Expect(requests.Write(t.Context(), c, c, "web", "content", ask("newer", time.Second))).To(Succeed())
	g.Expect(requests.Read(t.Context(), c, "web", "content").Request).To(HaveValue(HaveField("ID", "newer")))
	g.Expect(requests.Write(t.Context(), c, c, "web", "other", ask("a", 0))).
		To(MatchError(votes.ErrAbsent), "a Lease that is missing is never made")
	g.Expect(requests.Write(t.Context(), c, c, "web", "content", votes.Request{ID: "x"})).NotTo(Succeed())
}

// What people wrote into an annotation and nobody can read must hide neither the vote nor a new request.
func TestUnreadableAnnotationsHideNothing(t *testing.T) {
	g := NewWithT(t)
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	lease.Annotations[votes.AnnotationRequest], lease.Annotations[votes.AnnotationAnswer],
		lease.Annotations[votes.AnnotationTimelines] = "{", "{", "{"
	lease.Annotations[votes.AnnotationPaused] = "true"
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(lease).Build()
	vote := requests.Read(t.Context(), c, "web", "content")
	g.Expect(vote.Err).NotTo(HaveOccurred())
	g.Expect(vote).To(And(HaveField("Request", BeNil()), HaveField("Answer", BeNil()), HaveField("Paused", true)))
	g.Expect(requests.Write(t.Context(), c, c, "web", "content", ask("a", 0))).To(Succeed())
}

func TestVotesTogether(t *testing.T) {
	g := NewWithT(t)
	at := func(s int) *metav1.MicroTime {
		return ptr.To(metav1.NewMicroTime(begun.Add(time.Duration(s) * time.Second)))
	}
	cut := errors.New("cut")
	told := requests.Votes{
		{
			Site:      "a",
			Record:    votes.Record{Term: 4, State: votes.StateHeld},
			Answer:    &votes.Answer{ID: "r", Outcome: votes.OutcomeAccepted, At: begun.Add(time.Hour)},
			Timelines: []votes.Timeline{{Term: 4, RequestID: "r", Promoted: at(1), Outcome: votes.OutcomeAccepted}},
		},
		{
			Site:   "b",
			Record: votes.Record{Term: 4, State: votes.StateReleased},
			Answer: &votes.Answer{ID: "r", Outcome: votes.OutcomeDone, At: begun},
			Paused: true,
			Timelines: []votes.Timeline{
				{Term: 3},
				{Term: 4, RequestID: "r", Promoted: at(1), Outcome: votes.OutcomeDone},
			},
		},
		{
			Site:   "c",
			Err:    cut,
			Record: votes.Record{Term: 9},
			Answer: &votes.Answer{ID: "r", Outcome: votes.OutcomeFailed, At: begun.Add(2 * time.Hour)},
		},
	}
	leading, known := told.Leading()
	g.Expect(known).To(BeTrue())
	g.Expect(leading).To(HaveField("State", votes.StateHeld))
	g.Expect(told.Answer("r")).
		To(HaveValue(HaveField("Outcome", votes.OutcomeDone)),
			"a final answer leads; a voter that is cut off says nothing")
	g.Expect(told.Answer("other")).To(BeNil())
	g.Expect(told.Timelines()).To(HaveLen(2))
	g.Expect(told.TimelineOf("r")).
		To(HaveValue(HaveField("Outcome", votes.OutcomeDone)), "the copy that has come farthest")
	g.Expect(told.TimelineOf("")).To(BeNil())
	g.Expect(told.Paused()).To(BeTrue())
	told[1].Err = cut
	_, known = told.Leading()
	g.Expect(known).To(BeFalse())
	told[1] = requests.Vote{Site: "b", Record: votes.Record{State: votes.StateReleased}}
	_, known = told.Leading()
	g.Expect(known).
		To(BeFalse(),
			"a Lease that has never had a vote stands where one was lost: an answer may be at the voter that is cut off")
	told[0].Record = told[1].Record
	_, known = told.Leading()
	g.Expect(known).To(BeTrue(), "a group that is new")
}

func TestOnlyChangesThatMeanSomethingWake(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*coordinationv1.Lease)
		wakes  bool
	}{
		"a renewal": {func(l *coordinationv1.Lease) {
			l.Spec.RenewTime, l.Spec.HolderIdentity = ptr.To(metav1.NowMicro()), ptr.To("tukpub-0/pod/engine/n2")
		}, false},
		"another term":   {func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = ptr.To[int32](2) }, true},
		"another holder": {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = ptr.To("quisec-0/pod/engine/n1") }, true},
		"an answer":      {func(l *coordinationv1.Lease) { l.Annotations[votes.AnnotationAnswer] = "{}" }, true},
		"a timeline":     {func(l *coordinationv1.Lease) { l.Annotations[votes.AnnotationTimelines] = "[]" }, true},
		"a pause":        {func(l *coordinationv1.Lease) { l.Annotations[votes.AnnotationPaused] = "true" }, true},
		"a label":        {func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
			before.Spec.HolderIdentity = ptr.To("tukpub-0/pod/engine/n1")
			after := before.DeepCopy()
			c.change(after)
			NewWithT(
				t,
			).Expect(requests.Moved().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).
				To(Equal(c.wakes))
		})
	}
}

func TestTheLossIsEstimatedFromWhatWasSeen(t *testing.T) {
	g := NewWithT(t)
	at := func(s int) *metav1.Time { return ptr.To(metav1.NewTime(begun.Add(time.Duration(s) * time.Second))) }
	database := func(commit *metav1.Time, loss *metav1.Duration) []v1alpha1.ReplicaDatabaseStatus {
		return []v1alpha1.ReplicaDatabaseStatus{{Name: "Content", LastCommitTime: commit, EstimatedDataLoss: loss}}
	}
	group := &v1alpha1.AvailabilityGroup{Status: v1alpha1.AvailabilityGroupStatus{Replicas: []v1alpha1.ReplicaStatus{
		{Server: "tukpub-0", Role: "Unknown", Databases: database(at(60), nil)},
		{Server: "quisec-0", Role: "SECONDARY", Databases: database(at(50), nil)},
		{Server: "dubasy-0", Role: "SECONDARY", Databases: database(at(20), &metav1.Duration{Duration: time.Minute})},
		{Server: "dubnew-0", Role: "SECONDARY", Databases: database(nil, nil)},
	}}}
	loss := func(server string) *metav1.Duration { return requests.Largest(requests.EstimateLoss(group, server)) }
	g.Expect(loss("quisec")).
		To(HaveValue(HaveField("Duration", 10*time.Second)), "by the last commit that the silent primary was seen with")
	g.Expect(loss("dubasy-0")).To(HaveValue(HaveField("Duration", time.Minute)), "what the primary's own row says")
	g.Expect(loss("dubnew")).To(BeNil(), "a commit time that is not known is no time")
	g.Expect(loss("other")).To(BeNil())
	g.Expect(requests.Best(group)).To(Equal("quisec-0"), "the newest of those that answer")
}

// Everything that a Lease tells is read of it, and what was carried out is known by name, and by what was asked for,
// once it comes back as another object.
func TestEverythingThatALeaseTells(t *testing.T) {
	g := NewWithT(t)
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	request := ask("a", 0)
	answer := votes.Answer{ID: "a", Outcome: votes.OutcomeDone, At: begun}
	lines := []votes.Timeline{{Term: 3, RequestID: "a", To: "quisec-0"}}
	done := votes.CarriedOut{Name: "move", Spec: "hash", ID: "a", At: begun}
	request.Annotate(lease.Annotations)
	lease.Annotations[votes.AnnotationAnswer] = votes.EncodeNote(answer)
	lease.Annotations[votes.AnnotationTimelines] = votes.EncodeNote(lines)
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(lease).Build()
	g.Expect(requests.Remember(t.Context(), c, c, "web", "content", []votes.CarriedOut{done})).To(Succeed())
	vote := requests.Read(t.Context(), c, "web", "content")
	g.Expect(vote.Err).NotTo(HaveOccurred())
	g.Expect(vote.Request).To(HaveValue(Equal(request)))
	g.Expect(vote.Answer).To(HaveValue(Equal(answer)))
	g.Expect(vote.Timelines).To(Equal(lines))
	g.Expect(vote.CarriedOut).To(Equal([]votes.CarriedOut{done}))
	g.Expect(vote.Paused).To(BeFalse())
	g.Expect(requests.Remember(t.Context(), c, c, "web", "other", nil)).To(MatchError(votes.ErrAbsent))

	cut := vote
	cut.Err = errors.New("cut")
	for name, t := range map[string]struct {
		votes          requests.Votes
		name, spec, id string
		known          bool
	}{
		"as another object":         {requests.Votes{{}, vote}, "move", "hash", "b", true},
		"as this one":               {requests.Votes{{}, vote}, "move", "hash", "a", false},
		"of another name":           {requests.Votes{vote}, "other", "hash", "b", false},
		"for something else":        {requests.Votes{vote}, "move", "other", "b", false},
		"by one that is cut off":    {requests.Votes{cut}, "move", "hash", "b", false},
		"by one behind that":        {requests.Votes{cut, vote}, "move", "hash", "b", true},
		"by nobody that there were": {nil, "move", "hash", "b", false},
	} {
		told := t.votes.CarriedOut(t.name, t.spec, t.id)
		if t.known {
			g.Expect(told).To(HaveValue(Equal(done)), name)
		} else {
			g.Expect(told).To(BeNil(), name)
		}
	}
}
