// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
)

// note does what Remember says.
func (o *Observed) note(p reconcile.Plan) (noted int) {
	for _, s := range p.Steps {
		r, ok := s.(Remember)
		if !ok {
			continue
		}
		for i := range o.Votes {
			if v := &o.Votes[i]; v.Site == r.Voter {
				annotations := map[string]string{}
				votes.NoteCarriedOut(annotations, v.CarriedOut)
				if votes.NoteCarriedOut(annotations, r.CarriedOut) {
					noted++
				}
				v.CarriedOut, _ = votes.ParseCarriedOut(annotations)
			}
		}
	}
	return noted
}

func done(f v1alpha1.Failover, outcome v1alpha1.FailoverOutcome) v1alpha1.Failover {
	at := metav1.NewMicroTime(begun.Add(-time.Hour))
	f.Status.Phase, f.Status.Outcome, f.Status.Requested, f.Status.Completed = v1alpha1.FailoverCompleted, outcome, &at,
		&at
	return f
}

// A Failover, Pause or Resume that was carried out and comes back without its status - a backup, a repository, a hub
// made anew - is not carried out again: the votes remember it.
func TestWhatComesBackIsNotCarriedOutAgain(t *testing.T) {
	for name, spec := range map[string]v1alpha1.FailoverSpec{
		"a switchover": switchover("quisec"),
		"a pause":      {Kind: v1alpha1.FailoverPause},
		"a resume":     {Kind: v1alpha1.FailoverResume},
		"a failover that may lose data": {Kind: v1alpha1.FailoverFailover, To: "quisec", AllowDataLoss: true,
			ExpectedTerm: ptr.To[int64](3)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := world(done(failover("f", time.Hour, spec), v1alpha1.FailoverSucceeded))
			g.Expect(o.note(plan(o))).To(Equal(3), "every voter is told")
			g.Expect(o.note(plan(o))).To(BeZero(), "once")

			back := failover("f", 0, spec)
			back.UID = "another"
			o.Failovers = []v1alpha1.Failover{back}
			o.Votes[0].Err, o.Votes[2].Err = errCut, errCut // one voter's word is enough
			p := plan(o)
			g.Expect(asks(p)).To(BeEmpty())
			g.Expect(statusOf(o, p, "f")).
				To(And(
					HaveField("Phase", v1alpha1.FailoverCompleted),
					HaveField("Outcome", v1alpha1.FailoverSuperseded),
					HaveField(
						"Reason",
						v1alpha1.ReasonCarriedOut,
					),
					HaveField("Message", ContainSubstring("make one of another name")),
				))

			other := back
			other.Name = "f2"
			o = world(other)
			o.Group.Status.Primary = map[bool]string{true: "", false: "tukpub-0"}[spec.Kind == v1alpha1.FailoverFailover]
			g.Expect(statusOf(o, plan(o), "f2").Outcome).To(BeEmpty(), "one of another name is another request")
		})
	}
}

// What was refused has changed nothing, and may be asked for again under its name; the same name may ask for something
// else.
func TestWhatWasRefusedMayBeAskedForAgain(t *testing.T) {
	g := NewWithT(t)
	for _, outcome := range []v1alpha1.FailoverOutcome{v1alpha1.FailoverRefused, v1alpha1.FailoverExpired,
		v1alpha1.FailoverSuperseded} {
		o := world(done(failover("f", time.Hour, switchover("quisec")), outcome))
		g.Expect(o.note(plan(o))).To(BeZero(), string(outcome))
	}
	o := world(done(failover("f", time.Hour, switchover("quisec")), v1alpha1.FailoverFailed))
	g.Expect(o.note(plan(o))).To(Equal(3))
	again := failover("f", 0, switchover("tukpub"))
	again.UID = types.UID("another")
	o.Failovers, o.Group.Status.Primary = []v1alpha1.Failover{again}, "quisec-0"
	g.Expect(statusOf(o, plan(o), "f").Reason).NotTo(Equal(v1alpha1.ReasonCarriedOut))
}

// The term in which somebody decided is looked at first: in another one nothing else is waited for.
func TestTheExpectedTermIsJudgedFirst(t *testing.T) {
	g := NewWithT(t)
	spec := switchover("quisec")
	spec.ExpectedTerm = ptr.To[int64](2)
	older := failover("older", time.Minute, switchover("quisec"))
	o := world(older, failover("f", 0, spec))
	g.Expect(statusOf(o, plan(o), "f")).
		To(And(HaveField("Outcome", v1alpha1.FailoverSuperseded),
			HaveField("Message", ContainSubstring("decided on in term 2"))))
}

func TestTheNewestAreRemembered(t *testing.T) {
	g := NewWithT(t)
	var all []votes.CarriedOut
	for i := range 70 {
		all = append(
			all,
			votes.CarriedOut{Name: "f", ID: string(rune('a' + i)), At: begun.Add(time.Duration(i) * time.Second)},
		)
	}
	annotations := map[string]string{votes.AnnotationCarriedOut: "nonsense"}
	g.Expect(votes.NoteCarriedOut(annotations, all)).To(BeTrue())
	kept, err := votes.ParseCarriedOut(annotations)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(Equal(all[6:]))
}
