// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
)

func TestElectionsOfTheAgentsAreRecorded(t *testing.T) {
	g := NewWithT(t)
	o := world()
	o.tell(7)
	o.Votes[1].Timelines = []votes.Timeline{
		{Term: 1, Cause: votes.CauseInitial, To: "tukpub-0", Outcome: votes.OutcomeDone},
		{
			Term:      4,
			Cause:     votes.CauseSwitchover,
			RequestID: "uid-f",
			From:      "tukpub-0",
			To:        "quisec-0",
			Outcome:   votes.OutcomeDone,
		},
		{
			Term:    5,
			Cause:   votes.CauseAutomatic,
			From:    "quisec-0",
			To:      "tukpub-0",
			Outcome: votes.OutcomeDone,
			Message: "the holder was silent",
		},
		{Term: 6, Cause: votes.CauseFailover, From: "tukpub-0", To: "dubasy-0", Outcome: votes.OutcomeAccepted,
			Lost: &votes.LostRange{Databases: []votes.LostDatabase{{Name: "Content", FromLSN: "7"}}}},
		{Term: 7, Cause: votes.CauseAutomatic, To: "quisec-0", Outcome: votes.OutcomeAccepted},
	}
	o.Failovers = []v1alpha1.Failover{failover("f", time.Hour, switchover("quisec"))}
	o.Failovers[0].Status.Phase = v1alpha1.FailoverCompleted
	var made []v1alpha1.Failover
	for _, s := range plan(o).Steps {
		if r, ok := s.(Record); ok {
			made = append(made, *r.Failover)
		}
	}
	g.Expect(made).To(HaveLen(3), "not the first term, and not the one that a Failover asked for")
	g.Expect(made[0]).
		To(And(HaveField("Name", "content-5"), HaveField("Spec.Kind", v1alpha1.FailoverFailover),
			HaveField("Spec.To", v1alpha1.ServerName("tukpub"))))
	g.Expect(made[0].OwnerReferences).To(HaveLen(1))
	o.Failovers = append(o.Failovers, made...)
	p := plan(o)
	g.Expect(statusOf(o, p, "content-5")).
		To(And(HaveField("Phase", v1alpha1.FailoverCompleted), HaveField("Outcome", v1alpha1.FailoverSucceeded),
			HaveField("Cause", "Automatic"), HaveField("Term", int64(5)), HaveField("Message", "the holder was silent")))
	g.Expect(statusOf(o, p, "content-6")).
		To(And(HaveField("Outcome", v1alpha1.FailoverFailed), HaveField("Lost.Known", false),
			HaveField("Lost.Databases", HaveLen(1))), "term 7 has begun")
	g.Expect(statusOf(o, p, "content-7").Phase).To(Equal(v1alpha1.FailoverRunning))
	g.Expect(busy(p)).To(BeTrue())

	// The old primary has come back and is quarantined: now it is known where its log ends, and stays so.
	lost := And(
		HaveField("Known", true),
		HaveField("Databases", ConsistOf(And(HaveField("FromLSN", "7"), HaveField("ToLSN", "9")))),
	)
	o.Votes[2].Record.Notes.Apart =
		`[{"server":"tukpub-0","term":6,"databases":[{"name":"Content","fromLSN":"7","toLSN":"9"}]}]`
	later := statusOf(o, plan(o), "content-6")
	g.Expect(later.Lost).To(lost)
	for i := range o.Failovers {
		if o.Failovers[i].Name == "content-6" {
			o.Failovers[i].Status = later
		}
	}
	o.Votes[2].Record.Notes.Apart =
		`[{"server":"tukpub-0","term":9,"databases":[{"name":"Content","fromLSN":"8","toLSN":"12"}]}]`
	g.Expect(statusOf(o, plan(o), "content-6").Lost).To(lost)
	for _, s := range p.Steps {
		g.Expect(s).NotTo(BeAssignableToTypeOf(Record{}), "each is recorded once")
		g.Expect(s).NotTo(BeAssignableToTypeOf(Ask{}), "a record is never carried out")
	}
}

// An election whose primary served until the next one began has not failed because a lost replica never came back.
func TestAnElectionThatPromotedHasNotFailed(t *testing.T) {
	g := NewWithT(t)
	at := ptr.To(metav1.NewMicroTime(begun))
	o := world(
		failover(
			"content-4",
			time.Hour,
			v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, RecordedTerm: ptr.To[int64](4)},
		),
	)
	served := votes.Timeline{
		Term:       4,
		Cause:      votes.CauseAutomatic,
		From:       "tukpub-0",
		To:         "quisec-0",
		Promoted:   at,
		FirstWrite: at,
		Outcome:    votes.OutcomeAccepted,
	}
	o.tell(4, served)
	g.Expect(statusOf(o, plan(o), "content-4").Phase).
		To(Equal(v1alpha1.FailoverRunning), "replicas are not synchronized yet")
	o.tell(5, served)
	g.Expect(statusOf(o, plan(o), "content-4")).
		To(And(HaveField("Phase", v1alpha1.FailoverCompleted), HaveField("Outcome", v1alpha1.FailoverSucceeded),
			HaveField("Message", ContainSubstring("before every replica was synchronized"))))
}

// A holder that goes on in a higher term, above what a rival claimed in vain, is no election: its own goes on until all
// are synchronized.
func TestAHigherTermOfTheSameHolderIsNoElection(t *testing.T) {
	g := NewWithT(t)
	at := ptr.To(metav1.NewMicroTime(begun))
	o := world(
		failover(
			"content-4",
			time.Hour,
			v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, RecordedTerm: ptr.To[int64](4)},
		),
	)
	serves := votes.Timeline{
		Term:     4,
		Cause:    votes.CauseAutomatic,
		From:     "tukpub-0",
		To:       "quisec-0",
		Promoted: at,
		Outcome:  votes.OutcomeAccepted,
	}
	vain := votes.Timeline{
		Term:    5,
		Cause:   votes.CauseAutomatic,
		From:    "quisec-0",
		To:      "tukpub-0",
		Outcome: votes.OutcomeAccepted,
	}
	o.tell(6, serves, vain)
	for i := range o.Votes {
		o.Votes[i].Record.State, o.Votes[i].Record.Holder = votes.StateHeld, votes.Holder{Server: "quisec-0"}
	}
	p := plan(o)
	g.Expect(statusOf(o, p, "content-4").Phase).To(Equal(v1alpha1.FailoverRunning))
	g.Expect(busy(p)).To(BeTrue())
	o.Failovers = append(
		o.Failovers,
		failover(
			"content-5",
			time.Hour,
			v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, RecordedTerm: ptr.To[int64](5)},
		),
	)
	g.Expect(statusOf(o, plan(o), "content-5")).
		To(HaveField("Outcome", v1alpha1.FailoverFailed), "what came to nothing is over")
	for i := range o.Votes {
		o.Votes[i].Record.Holder = votes.Holder{Server: "tukpub-0"}
	}
	g.Expect(statusOf(o, plan(o), "content-4").Phase).
		To(Equal(v1alpha1.FailoverCompleted), "somebody else holds the votes")
}

// A site that is lost for days must not keep its failover under way, nor the controller at its heels; what it
// synchronizes in the end is still taken down.
func TestAnElectionIsOverThoughAReplicaIsLost(t *testing.T) {
	g := NewWithT(t)
	o := world(
		failover(
			"content-4",
			time.Hour,
			v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, RecordedTerm: ptr.To[int64](4)},
		),
	)
	promoted := ptr.To(metav1.NewMicroTime(o.Now.Add(-settleFor)))
	serves := votes.Timeline{
		Term:       4,
		Cause:      votes.CauseAutomatic,
		From:       "tukpub-0",
		To:         "quisec-0",
		Promoted:   promoted,
		FirstWrite: promoted,
		Outcome:    votes.OutcomeAccepted,
	}
	o.tell(4, serves)
	p := plan(o)
	g.Expect(statusOf(o, p, "content-4").Phase).To(Equal(v1alpha1.FailoverRunning))
	g.Expect(busy(p)).To(BeTrue())

	o.Now = o.Now.Add(time.Second)
	p = plan(o)
	over := statusOf(o, p, "content-4")
	g.Expect(over).To(And(
		HaveField("Phase", v1alpha1.FailoverCompleted),
		HaveField("Outcome", v1alpha1.FailoverSucceeded),
		HaveField(
			"Message",
			ContainSubstring("not every replica is synchronized"),
		),
		HaveField("Timeline.AllSynchronized", BeNil()),
	))
	g.Expect(busy(p)).To(BeFalse())

	// One that is PRIMARY while commits wait for replicas does not serve.
	waits := serves
	waits.FirstWrite = nil
	o.tell(4, waits)
	g.Expect(statusOf(o, plan(o), "content-4")).To(And(HaveField("Phase", v1alpha1.FailoverCompleted),
		HaveField("Message", And(ContainSubstring("not been seen able to commit"), Not(ContainSubstring("serves"))))))
	o.tell(4, serves)

	o.Failovers[0].Status = over
	o.Now = o.Now.Add(time.Hour)
	serves.Outcome, serves.AllSynchronized = votes.OutcomeDone, ptr.To(metav1.NewMicroTime(o.Now))
	o.tell(4, serves)
	g.Expect(statusOf(o, plan(o), "content-4")).
		To(And(HaveField("Phase", v1alpha1.FailoverCompleted), HaveField("Completed", Equal(over.Completed)),
			HaveField("Timeline.AllSynchronized", Not(BeNil()))))
}

func TestOnlyTheNewestRecordsAreKept(t *testing.T) {
	g := NewWithT(t)
	o := world()
	for term := int64(1); term <= recordsKept+2; term++ {
		f := failover(
			fmt.Sprintf("content-%d", term),
			time.Hour,
			v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, RecordedTerm: ptr.To(term)},
		)
		f.Status.Phase = v1alpha1.FailoverCompleted
		condition(&f, &f.Status)
		o.Failovers = append(o.Failovers, f)
	}
	mine := failover("mine", 2*time.Hour, switchover("quisec"))
	mine.Status.Phase = v1alpha1.FailoverCompleted
	o.Failovers = append(o.Failovers, mine)
	g.Expect(dropped(plan(o))).To(Equal([]string{"content-1", "content-2"}))
}

func dropped(p reconcile.Plan) []string {
	var names []string
	for _, s := range p.Steps {
		if d, ok := s.(DropRecord); ok {
			names = append(names, d.Failover.Name)
		}
	}
	return names
}

// So are those that servers ask for to be restarted or drained: neither a person's, nor a drill's, nor one that is
// under way goes.
func TestOnlyTheNewestSwitchoversOfRestartsAreKept(t *testing.T) {
	g := NewWithT(t)
	o := world()
	add := func(name string, labels map[string]string, phase v1alpha1.FailoverPhase) {
		f := failover(name, time.Hour, switchover("quisec"))
		f.CreationTimestamp = metav1.NewTime(begun.Add(time.Duration(len(o.Failovers)) * time.Second))
		f.Labels, f.Status.Phase = labels, phase
		condition(&f, &f.Status)
		o.Failovers = append(o.Failovers, f)
	}
	ours := map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelGroup: "content"}
	add("mine", nil, v1alpha1.FailoverCompleted)
	add(
		"drilled",
		map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelDrill: "monthly"},
		v1alpha1.FailoverCompleted,
	)
	for i := range recordsKept + 2 {
		add(fmt.Sprintf("content-restart-tukpub-%08d", i), ours, v1alpha1.FailoverCompleted)
	}
	add("content-drain-tukpub-7", ours, v1alpha1.FailoverRunning)
	g.Expect(dropped(plan(o))).To(Equal([]string{"content-restart-tukpub-00000000", "content-restart-tukpub-00000001"}))
	o.Failovers[len(o.Failovers)-1].Status.Phase = v1alpha1.FailoverCompleted
	g.Expect(dropped(plan(o))).To(HaveLen(3))
}
