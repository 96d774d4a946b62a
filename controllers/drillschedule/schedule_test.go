// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drillschedule_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/drillschedule"
	"geosql.dev/operator/test/support/apiserver"
)

// hub is a schedule of every hour with a clock that the test sets.
type hub struct {
	t   *testing.T
	c   client.Client
	now time.Time
	r   *drillschedule.Reconciler
}

var start = time.Date(2026, 11, 20, 11, 30, 0, 0, time.UTC)

func newHub(t *testing.T, change func(*v1alpha1.DrillScheduleSpec)) *hub {
	s := &v1alpha1.DrillSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "hourly", UID: "u", Generation: 1,
			CreationTimestamp: metav1.NewTime(start)},
		Spec: v1alpha1.DrillScheduleSpec{
			Schedule: "0 * * * *",
			Template: v1alpha1.DrillTemplate{Labels: map[string]string{"team": "db"},
				Spec: v1alpha1.DrillSpec{RunID: "x", Target: v1alpha1.DrillTarget{AvailabilityGroup: "content"}}},
		},
	}
	if change != nil {
		change(&s.Spec)
	}
	h := &hub{t: t, now: start}
	h.c = fake.NewClientBuilder().
		WithScheme(apiserver.Scheme).
		WithStatusSubresource(&v1alpha1.DrillSchedule{}, &v1alpha1.Drill{}).
		WithObjects(s).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(
			ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption,
		) error {
			// As an API server does.
			o.SetUID(types.UID(o.GetName()))
			return c.Create(ctx, o, options...)
		}}).
		Build()
	h.r = drillschedule.New(h.c, h.c, events.NewFakeRecorder(100), func() time.Time { return h.now })
	return h
}

// at sets the clock and reconciles until nothing changes any more.
func (h *hub) at(clock string) *v1alpha1.DrillSchedule {
	h.t.Helper()
	g := NewWithT(h.t)
	hour, err := time.Parse("15:04", clock)
	g.Expect(err).NotTo(HaveOccurred())
	h.now = time.Date(2026, 11, 20, hour.Hour(), hour.Minute(), 0, 0, time.UTC)
	name := types.NamespacedName{Namespace: "web", Name: "hourly"}
	for range 3 {
		_, err := h.r.Frame().
			Reconcile(h.t.Context(), mcreconcile.Request{Request: crreconcile.Request{NamespacedName: name}})
		g.Expect(err).NotTo(HaveOccurred())
	}
	s := &v1alpha1.DrillSchedule{}
	g.Expect(h.c.Get(h.t.Context(), name, s)).To(Succeed())
	return s
}

func (h *hub) drills() map[string]v1alpha1.Drill {
	var list v1alpha1.DrillList
	NewWithT(h.t).Expect(h.c.List(h.t.Context(), &list)).To(Succeed())
	drills := map[string]v1alpha1.Drill{}
	for _, d := range list.Items {
		drills[d.Name] = d
	}
	return drills
}

// finish ends a drill.
func (h *hub) finish(name string, verdict v1alpha1.DrillVerdict) {
	d := h.drills()[name]
	d.Status.Phase, d.Status.Verdict = v1alpha1.DrillCompleted, verdict
	d.Status.Completed = ptr.To(metav1.NewMicroTime(h.now))
	NewWithT(h.t).Expect(h.c.Status().Update(h.t.Context(), &d)).To(Succeed())
}

// A drill is made when its time comes, once, with a runID of its own, and none while it runs.
func TestOneAtATime(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, nil)
	s := h.at("11:59")
	g.Expect(h.drills()).To(BeEmpty())
	g.Expect(s.Status.Next.UTC().Format("15:04")).To(Equal("12:00"))
	s = h.at("12:01")
	g.Expect(h.drills()).To(HaveLen(1))
	d := h.drills()["hourly-202611201200"]
	g.Expect(d.Spec.RunID).To(Equal("202611201200"))
	g.Expect(d.Labels).To(And(HaveKeyWithValue("team", "db"), HaveKeyWithValue(v1alpha1.LabelDrillSchedule, "hourly")))
	g.Expect(s.Status.Active).To(Equal(d.Name))
	d.Status.Phase = v1alpha1.DrillRunning
	g.Expect(h.c.Status().Update(t.Context(), &d)).To(Succeed())
	s = h.at("13:01")
	g.Expect(h.drills()).To(HaveLen(1), "the first still runs")
	g.Expect(s.Status.Missed).To(BeEquivalentTo(1))
	h.finish(d.Name, v1alpha1.VerdictPassed)
	s = h.at("13:30")
	g.Expect(h.drills()).To(HaveLen(1), "what was missed is not made up for")
	g.Expect(s.Status.LastVerdict).To(Equal(v1alpha1.VerdictPassed))
	g.Expect(s.Status.LastPassed).NotTo(BeNil())
	h.at("14:00")
	g.Expect(h.drills()).To(HaveKey("hourly-202611201400"))
}

// A drill that waits until it is too late for it holds up no later one, and begins at no other time.
func TestADrillThatWaitsTooLong(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, nil)
	h.at("12:01")
	d := h.drills()["hourly-202611201200"]
	g.Expect(d.Spec.BeginBefore.UTC().Format("15:04")).To(Equal("12:10"))
	d.Status.Phase = v1alpha1.DrillPending
	g.Expect(h.c.Status().Update(t.Context(), &d)).To(Succeed())
	g.Expect(h.at("12:09").Status.Active).To(Equal(d.Name))
	g.Expect(h.at("12:11").Status.Active).To(BeEmpty())
	s := h.at("13:01")
	g.Expect(s.Status.Missed).To(BeZero())
	g.Expect(h.drills()).To(HaveKey("hourly-202611201300"))
}

// A schedule whose status is of a clock that was a year ahead goes on with the clock as it is.
func TestAClockThatWasAhead(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, nil)
	s := h.at("11:40")
	s.Status.LastScheduled = &metav1.Time{Time: start.Add(365 * 24 * time.Hour)}
	g.Expect(h.c.Status().Update(t.Context(), s)).To(Succeed())
	h.at("11:50")
	g.Expect(h.drills()).To(BeEmpty())
	h.at("12:01")
	g.Expect(h.drills()).To(HaveKey("hourly-202611201200"))
}

// The times of a schedule that is edited count from when it is: none that has passed makes a drill.
func TestAScheduleThatIsEdited(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, nil)
	s := h.at("11:40")
	s.Spec.Schedule, s.Generation = "50 11,12 * * *", s.Generation+1
	g.Expect(h.c.Update(t.Context(), s)).To(Succeed())
	h.at("11:52")
	g.Expect(h.drills()).To(BeEmpty())
	h.at("12:51")
	g.Expect(h.drills()).To(HaveLen(1))
}

// A time that was missed by more than the deadline, or that came while the schedule was suspended, makes no drill.
func TestTooLateOrSuspended(t *testing.T) {
	g := NewWithT(t)
	h := newHub(
		t,
		func(s *v1alpha1.DrillScheduleSpec) { s.StartingDeadline = &metav1.Duration{Duration: 5 * time.Minute} },
	)
	s := h.at("14:06")
	g.Expect(h.drills()).To(BeEmpty())
	g.Expect(s.Status.Missed).To(BeEquivalentTo(3))

	h = newHub(t, func(s *v1alpha1.DrillScheduleSpec) { s.Suspend = true })
	s = h.at("12:01")
	g.Expect(h.drills()).To(BeEmpty())
	g.Expect(s.Status.Next).To(BeNil())
	s.Spec.Suspend = false
	g.Expect(h.c.Update(t.Context(), s)).To(Succeed())
	h.at("12:02")
	g.Expect(h.drills()).To(BeEmpty())
	h.at("13:00")
	g.Expect(h.drills()).To(HaveLen(1))
}

// The newest of those that are over are kept, those that passed and the others apart.
func TestHistoryLimits(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, func(s *v1alpha1.DrillScheduleSpec) {
		s.PassedHistoryLimit, s.OtherHistoryLimit = ptr.To[int32](1), ptr.To[int32](1)
	})
	for _, one := range []struct {
		clock   string
		verdict v1alpha1.DrillVerdict
	}{{"12:00", v1alpha1.VerdictFailed}, {"13:00", v1alpha1.VerdictPassed}, {"14:00", v1alpha1.VerdictInconclusive},
		{"15:00", v1alpha1.VerdictPassed}} {
		h.at(one.clock)
		h.finish("hourly-20261120"+one.clock[:2]+"00", one.verdict)
	}
	copied := h.drills()["hourly-202611201200"]
	copied.ObjectMeta = metav1.ObjectMeta{Namespace: "web", Name: "a-copy", Labels: copied.Labels}
	g.Expect(h.c.Create(t.Context(), &copied)).To(Succeed())
	h.finish("a-copy", v1alpha1.VerdictFailed)
	h.at("15:30")
	g.Expect(h.drills()).To(HaveLen(3))
	g.Expect(h.drills()).To(HaveKey("a-copy"), "it has the schedule's label, and is a person's")
	g.Expect(h.drills()).To(And(HaveKey("hourly-202611201500"), HaveKey("hourly-202611201400")))
}

// A manager that ended between making a drill and saying so makes no other, and nothing was missed.
func TestDrillThatWasMadeBefore(t *testing.T) {
	g := NewWithT(t)
	h := newHub(t, nil)
	s := h.at("12:05")
	g.Expect(h.drills()).To(HaveLen(1))
	s.Status.LastScheduled = nil
	g.Expect(h.c.Status().Update(t.Context(), s)).To(Succeed())
	s = h.at("12:06")
	g.Expect(h.drills()).To(HaveLen(1))
	g.Expect(s.Status.Missed).To(BeZero())
	g.Expect(s.Status.LastScheduled.UTC()).To(Equal(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
}
