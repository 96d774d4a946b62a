// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drillschedule_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/drillschedule"
	"geosql.dev/operator/internal/drill"
)

// repeating is a schedule that makes so many drills, one after another.
func repeating(times int32, change func(*v1alpha1.DrillScheduleSpec)) func(*v1alpha1.DrillScheduleSpec) {
	return func(s *v1alpha1.DrillScheduleSpec) {
		s.Schedule, s.Repeat = "", &v1alpha1.DrillRepeat{Times: times, Seed: 42}
		s.Template.Spec.Faults = []v1alpha1.DrillFault{{Name: "kill", Kind: v1alpha1.FaultPodKill},
			{Name: "stop", Kind: v1alpha1.FaultFreeze, Duration: &metav1.Duration{Duration: 10 * time.Second}}}
		if change != nil {
			change(s)
		}
	}
}

// end ends a drill in which clients went so long without service.
func (h *hub) end(name string, verdict v1alpha1.DrillVerdict, rto time.Duration, lost int64) {
	d := h.drills()[name]
	d.Status.Counts = &v1alpha1.DrillCounts{Lost: lost}
	d.Status.Figures = []v1alpha1.FaultClientFigures{
		{Fault: "kill", Client: "quincy", RTO: &metav1.Duration{Duration: rto}},
	}
	NewWithT(h.t).Expect(h.c.Status().Update(h.t.Context(), &d)).To(Succeed())
	h.finish(name, verdict)
}

// Drills are made one after another, each as it is drawn, and summed up.
func TestRepeatedDrills(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, repeating(3, nil))
	s := h.at("11:40")
	g.Expect(h.drills()).To(HaveLen(1))
	d := h.drills()["hourly-001"]
	drawn := drill.Drawn(s.Spec.Template.Spec, *s.Spec.Repeat, 1)
	g.Expect(d.Spec.Faults).To(Equal(drawn.Faults))
	g.Expect(d.Spec.RunID).To(Equal("42-001"))
	g.Expect(d.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationDrillSeed, "42/1"))
	g.Expect(d.Spec.BeginBefore.UTC().Format("15:04")).To(Equal("11:50"))
	g.Expect(s.Status).To(And(HaveField("Active", "hourly-001"), HaveField("Next", BeNil())))
	g.Expect(s.Status.Repeated).To(HaveValue(And(HaveField("Seed", int64(42)), HaveField("Made", int32(1)),
		HaveField("LossAtMost", ""), HaveField("RTO", BeNil()))))
	h.at("11:45")
	g.Expect(h.drills()).To(HaveLen(1), "the first still runs")
	for i, name := range []string{"hourly-001", "hourly-002", "hourly-003"} {
		h.end(name, v1alpha1.VerdictPassed, time.Duration(10*(i+1))*time.Second, 0)
		s = h.at(fmt.Sprintf("11:5%d", i))
	}
	g.Expect(h.drills()).To(HaveLen(3), "none more")
	g.Expect(s.Status.Active).To(BeEmpty())
	g.Expect(s.Status.Repeated).To(HaveValue(And(HaveField("Made", int32(3)), HaveField("Passed", int32(3)),
		HaveField("Told", int32(3)), HaveField("Lost", BeZero()), HaveField("LossAtMost", "63.2"),
		HaveField("Deleted", BeZero()), HaveField("Stopped", ""))))
	g.Expect(s.Status.Repeated.RTO).To(HaveValue(And(HaveField("Drills", int32(3)),
		HaveField("Least.Duration", 10*time.Second), HaveField("Median.Duration", 20*time.Second),
		HaveField("Most.Duration", 30*time.Second))))
	g.Expect(s.Status.Conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionReady),
		HaveField("Reason", v1alpha1.ReasonRepeated), HaveField("Message", ContainSubstring("at most 63.2 %")))))
}

// A drill that did not pass is the last one, unless it is declared that others follow; what is declared later counts.
func TestAfterWhichDrillNoOtherFollows(t *testing.T) {
	for name, c := range map[string]struct {
		after   v1alpha1.DrillStopAfter
		verdict v1alpha1.DrillVerdict
		drills  int
	}{
		"failed, by default":       {"", v1alpha1.VerdictFailed, 1},
		"inconclusive, by default": {"", v1alpha1.VerdictInconclusive, 1},
		"no verdict, by default":   {"", "", 1},
		"failed":                   {v1alpha1.StopAfterFailed, v1alpha1.VerdictFailed, 1},
		"inconclusive":             {v1alpha1.StopAfterFailed, v1alpha1.VerdictInconclusive, 2},
		"never":                    {v1alpha1.StopNever, v1alpha1.VerdictFailed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHub(t, repeating(3, func(s *v1alpha1.DrillScheduleSpec) { s.Repeat.StopAfter = c.after }))
			h.at("11:40")
			h.finish("hourly-001", c.verdict)
			s := h.at("11:45")
			g.Expect(h.drills()).To(HaveLen(c.drills))
			if c.drills > 1 {
				return
			}
			g.Expect(s.Status.Repeated.Stopped).To(ContainSubstring("hourly-001"))
			g.Expect(s.Status.Conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionStalled),
				HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonRepeatStopped))))
			s.Spec.Repeat.StopAfter = v1alpha1.StopNever
			g.Expect(h.c.Update(t.Context(), s)).To(Succeed())
			s = h.at("11:50")
			g.Expect(h.drills()).To(HaveLen(2))
			g.Expect(s.Status.Repeated.Stopped).To(BeEmpty())
		})
	}
}

// A drill that waits until it is too late is the last one, too; with Failed it is followed.
func TestARepeatedDrillThatDoesNotBegin(t *testing.T) {
	for after, drills := range map[v1alpha1.DrillStopAfter]int{"": 1, v1alpha1.StopAfterFailed: 2} {
		g := NewWithT(t)
		h := newHub(t, repeating(3, func(s *v1alpha1.DrillScheduleSpec) { s.Repeat.StopAfter = after }))
		h.at("11:40")
		d := h.drills()["hourly-001"]
		d.Status.Phase = v1alpha1.DrillPending
		g.Expect(h.c.Status().Update(t.Context(), &d)).To(Succeed())
		g.Expect(h.at("11:49").Status.Active).To(Equal(d.Name))
		s := h.at("11:51")
		g.Expect(h.drills()).To(HaveLen(drills), "after %q", after)
		g.Expect(s.Status.Repeated.Inconclusive).To(BeEquivalentTo(1))
	}
}

// A manager that ended between any two steps makes none twice, and leaves none out; nor is one made again that was
// deleted.
func TestRepeatedDrillsOutliveTheManager(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, repeating(4, nil))
	s := h.at("11:40")
	// It ended before it could say that it made the first.
	s.Status.Repeated, s.Status.Active = nil, ""
	g.Expect(h.c.Status().Update(t.Context(), s)).To(Succeed())
	s = h.at("11:41")
	g.Expect(h.drills()).To(HaveLen(1))
	g.Expect(s.Status.Repeated.Made).To(BeEquivalentTo(1))
	h.end("hourly-001", v1alpha1.VerdictPassed, time.Second, 0)
	h.at("11:42")
	// It ended after the second, which somebody deletes.
	d := h.drills()["hourly-002"]
	g.Expect(h.c.Delete(t.Context(), &d)).To(Succeed())
	s = h.at("11:43")
	g.Expect(h.drills()).To(And(HaveLen(2), HaveKey("hourly-003")))
	g.Expect(s.Status.Repeated).To(HaveValue(And(HaveField("Made", int32(3)), HaveField("Deleted", int32(1)))))
}

// While it is suspended no drill is made; that of a number is made alone where it is the first.
func TestSuspendedAndAlone(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, repeating(1, func(s *v1alpha1.DrillScheduleSpec) { s.Suspend, s.Repeat.First = true, 17 }))
	s := h.at("11:40")
	g.Expect(h.drills()).To(BeEmpty())
	s.Spec.Suspend = false
	g.Expect(h.c.Update(t.Context(), s)).To(Succeed())
	h.at("11:41")
	g.Expect(h.drills()).To(And(HaveLen(1), HaveKey("hourly-017")))
	h.finish("hourly-017", v1alpha1.VerdictPassed)
	h.at("11:42")
	g.Expect(h.drills()).To(HaveLen(1))
	g.Expect(ptr.Deref(h.at("11:43").Status.Repeated, v1alpha1.RepeatedDrills{}).Made).To(BeEquivalentTo(1))
}

// A drill that could not be made is made the next time: its number is not left out.
func TestARepeatedDrillThatIsRefused(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, repeating(2, nil))
	refusing := interceptor.NewClient(h.c.(client.WithWatch), interceptor.Funcs{Create: func(context.Context,
		client.WithWatch, client.Object, ...client.CreateOption) error {
		return errors.New("refused")
	}})
	r := drillschedule.New(refusing, h.c, events.NewFakeRecorder(100), func() time.Time { return h.now })
	name := types.NamespacedName{Namespace: "web", Name: "hourly"}
	for range 3 {
		_, err := r.Frame().Reconcile(t.Context(), mcreconcile.Request{Request: crreconcile.Request{NamespacedName: name}})
		g.Expect(err).NotTo(HaveOccurred())
	}
	s := &v1alpha1.DrillSchedule{}
	g.Expect(h.c.Get(t.Context(), name, s)).To(Succeed())
	g.Expect(s.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("refused"))))
	g.Expect(h.drills()).To(BeEmpty())
	s = h.at("11:45")
	g.Expect(h.drills()).To(And(HaveLen(1), HaveKey("hourly-001")))
	g.Expect(s.Status.Repeated).To(HaveValue(And(HaveField("Made", int32(1)), HaveField("Deleted", BeZero()))))
}

// Drills that the clock made before the schedule repeated are not counted, and do not stop it.
func TestDrillsFromBeforeItRepeated(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, nil)
	s := h.at("12:01")
	h.end("hourly-202611201200", v1alpha1.VerdictFailed, time.Hour, 3)
	repeating(1, nil)(&s.Spec)
	g.Expect(h.c.Update(t.Context(), s)).To(Succeed())
	s = h.at("12:05")
	g.Expect(h.drills()).To(HaveKey("hourly-001"))
	g.Expect(s.Status.Repeated).To(HaveValue(And(HaveField("Made", int32(1)), HaveField("Failed", BeZero()),
		HaveField("Lost", BeZero()), HaveField("Deleted", BeZero()))))
}

// A drill that has the name and is another's, or was drawn otherwise, is not counted as made: the condition says what
// is in the way, and it is made once nothing is.
func TestARepeatedDrillWhoseNameIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		take func(*v1alpha1.Drill)
		says string
	}{
		"by a person's": {func(d *v1alpha1.Drill) { d.Labels, d.OwnerReferences = nil, nil }, "is not of this schedule"},
		"by an earlier schedule's": {func(d *v1alpha1.Drill) { d.OwnerReferences[0].UID = "earlier" },
			"is not of this schedule"},
		"by one of another seed": {func(d *v1alpha1.Drill) {
			d.Annotations[v1alpha1.AnnotationDrillSeed] = "41/1"
		}, "41/1"},
		"by one that nobody drew": {func(d *v1alpha1.Drill) { d.Annotations = nil }, "is not of seed and number 42/1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHub(t, repeating(2, nil))
			h.at("11:40")
			other := h.drills()["hourly-001"]
			g.Expect(h.c.Delete(t.Context(), &other)).To(Succeed())
			other.ResourceVersion = ""
			c.take(&other)
			g.Expect(h.c.Create(t.Context(), &other)).To(Succeed())
			h.finish("hourly-001", v1alpha1.VerdictPassed)
			s := &v1alpha1.DrillSchedule{}
			g.Expect(h.c.Get(t.Context(), types.NamespacedName{Namespace: "web", Name: "hourly"}, s)).To(Succeed())
			s.Status.Repeated, s.Status.Active = nil, ""
			g.Expect(h.c.Status().Update(t.Context(), s)).To(Succeed())

			s = h.at("11:41")
			g.Expect(s.Status.Repeated).To(BeNil())
			g.Expect(s.Status.Active).To(BeEmpty())
			g.Expect(s.Status.Conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionReady),
				HaveField("Status", metav1.ConditionFalse), HaveField("Message", And(ContainSubstring("hourly-001"),
					ContainSubstring(c.says), ContainSubstring("delete it, or let spec.repeat.first"))))))
			g.Expect(h.c.Delete(t.Context(), &other)).To(Succeed())
			s = h.at("11:42")
			g.Expect(h.drills()["hourly-001"].Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationDrillSeed, "42/1"))
			g.Expect(s.Status.Repeated).To(HaveValue(HaveField("Made", int32(1))))
			g.Expect(s.Status.Active).To(Equal("hourly-001"))
		})
	}
}

// A drill that this schedule made and does not see yet, since it is being deleted say, is made: its number is not drawn
// a second time. A person's at the time of a drill by the clock is not it, and the time stays due.
func TestADrillThatIsThereAlready(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, repeating(2, nil))
	s := h.at("11:40")
	d := h.drills()["hourly-001"]
	d.Finalizers = []string{v1alpha1.Finalizer}
	g.Expect(h.c.Update(t.Context(), &d)).To(Succeed())
	g.Expect(h.c.Delete(t.Context(), &d)).To(Succeed())
	s.Status.Repeated = nil
	g.Expect(h.c.Status().Update(t.Context(), s)).To(Succeed())
	s = h.at("11:41")
	g.Expect(s.Status.Repeated).To(HaveValue(HaveField("Made", int32(2))))
	g.Expect(h.drills()).To(HaveKey("hourly-002"))

	h = newHub(t, nil)
	persons := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "hourly-202611201200"}}
	g.Expect(h.c.Create(t.Context(), persons)).To(Succeed())
	s = h.at("12:01")
	g.Expect(s.Status.LastScheduled).To(BeNil())
	g.Expect(s.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("is not of this schedule"))))
}
