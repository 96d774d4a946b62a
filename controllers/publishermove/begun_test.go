// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// cameBack is a move that was carried out, without its status.
func cameBack() (Desired, Observed) {
	d, o := lostSite()
	d.Move.UID, d.Move.Status = "second", v1alpha1.PublisherMoveStatus{}
	o.Begun = reconcile.Read(Begun{Noted: true, By: "first"})
	return d, o
}

// A move that was carried out and comes back without its status - a backup, a repository, a hub made anew - is not
// carried out again, and what it says stays so.
func TestAMoveThatComesBackIsNotCarriedOutAgain(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*Desired, *Observed)
		ready metav1.ConditionStatus
		says  string
	}{
		"publishing has moved on since, and the publisher of now is silent": {func(*Desired, *Observed) {},
			metav1.ConditionFalse, "make one of another name"},
		"the publisher of now answers": {func(_ *Desired, o *Observed) { o.Answering = []string{"tukpub-0"} },
			metav1.ConditionFalse, "make one of another name"},
		"the Publication names it, and nobody answers": {func(d *Desired, o *Observed) {
			d.Publication.Spec.MovedBy, d.Publication.Spec.Publisher.Server = "move", "dubsub"
			d.Subscriptions = d.Subscriptions[1:]
			o.Begun, o.To = reconcile.NotRead[Begun](silent), replication.Server{Err: silent}
		}, metav1.ConditionTrue, "dubsub-0 publishes articles"},
		"the Publication names it, for another server": {func(d *Desired, _ *Observed) {
			d.Publication.Spec.MovedBy, d.Publication.Spec.Publisher.Server = "move", "elsewhere"
		}, metav1.ConditionFalse, "not to dubsub: nothing is done. Make one of another name"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := cameBack()
			c.edit(&d, &o)
			for range 3 {
				p := plan(d, o)
				g.Expect(p.Steps).To(BeEmpty())
				g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveCompleted))
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCarriedOut))
				g.Expect(p.Outcome.Ready).To(Equal(c.ready))
				g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
				d.Move.Status = describe(d, o, p)
				g.Expect(d.Move.Status.Estimate).To(BeNil())
			}
		})
	}
}

// The note is written before the first step, and nothing is done while nobody knows whether there is one.
func TestTheNoteComesBeforeTheFirstStep(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d = begun(d)
	o.Begun = reconcile.Read(Begun{})
	g.Expect(describeAll(plan(d, o).Steps)).To(ConsistOf(ContainSubstring("sp_addextendedproperty")))
	o.Begun = reconcile.NotRead[Begun](silent)
	p := plan(d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionUnknown))

	o.Begun = reconcile.Read(Begun{Noted: true, By: "first"})
	g.Expect(plan(d, o).Steps).NotTo(BeEmpty(), "its own record says how far it is")

	other := d.Move.DeepCopy()
	g.Expect(noteName(other)).To(Equal(noteName(d.Move)))
	other.Spec.To = "quisub"
	g.Expect(noteName(other)).NotTo(Equal(noteName(d.Move)), "the same name may ask for something else")
	other = d.Move.DeepCopy()
	other.Name = "another"
	g.Expect(noteName(other)).NotTo(Equal(noteName(d.Move)))
}

// A copy that has come back with a record of the former publisher, and did not switch itself, says so also when it is
// looked at again.
func TestACompletedMoveSwitchedByItsOwnRecord(t *testing.T) {
	g := NewWithT(t)
	d, o := cameBack()
	d.Move.Status.Phase = v1alpha1.MoveCompleted
	d.Move.Status.From = &v1alpha1.ServerOrGroup{Server: "tukpub"}
	d.Move.Status.Timeline = &v1alpha1.MoveTimeline{}
	p := plan(d, o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCarriedOut))
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
	d.Move.Status.Timeline.Switched = &metav1.MicroTime{Time: o.Now}
	g.Expect(plan(d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonMoved))
}

// What a move has ended with stays so when another one moves the publication, and when what it named is gone.
func TestATerminalStateStays(t *testing.T) {
	for name, move := range map[string]func() (Desired, Observed){
		"carried out before": func() (Desired, Observed) {
			d, o := cameBack()
			d.Publication.Spec.MovedBy, d.Publication.Spec.Publisher.Server = "move", "dubsub"
			return d, o
		},
		"carried out before, to another server": func() (Desired, Observed) {
			d, o := cameBack()
			d.Publication.Spec.MovedBy, d.Publication.Spec.Publisher.Server = "move", "elsewhere"
			return d, o
		},
		"begun before": cameBack,
		"moved": func() (Desired, Observed) {
			d, o := lostSite()
			d.Move.Status.Phase = v1alpha1.MoveCompleted
			d.Move.Status.Timeline = &v1alpha1.MoveTimeline{Switched: &metav1.MicroTime{Time: o.Now}}
			return d, o
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := move()
			ended := plan(d, o)
			d.Move.Status = describe(d, o, ended)
			g.Expect(d.Move.Status.Phase).To(Equal(v1alpha1.MoveCompleted))
			conditions.Set(&d.Move.Status.StatusBase, 1, ended.Outcome)
			d.Publication.Spec.MovedBy, d.Publication.Spec.Publisher.Server = "later", "blupub"
			p := plan(d, o)
			g.Expect(p.Outcome).To(Equal(ended.Outcome))
			p = plan(Desired{Move: d.Move}, Observed{})
			g.Expect(p.Outcome).To(Equal(ended.Outcome), "nothing that it named is there any more")
		})
	}
}
