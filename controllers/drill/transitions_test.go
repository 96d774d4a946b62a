// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/reconcile"
)

// slowDisk is a fault whose effect nothing measures.
func slowDisk() v1alpha1.DrillFault {
	return v1alpha1.DrillFault{Name: "disk", Kind: v1alpha1.FaultDiskDelay, Duration: lasting(20 * time.Second),
		Where: &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary},
		Disk:  &v1alpha1.DiskFault{Volume: "data", Delay: *lasting(time.Second)}}
}

func move() v1alpha1.DrillFault {
	return v1alpha1.DrillFault{Name: "move", Kind: v1alpha1.FaultSwitchover, To: "quisec"}
}

// What a fault does next follows from its state and what is seen of it, in each of its states.
func TestWhatFollowsOfWhatIsSeen(t *testing.T) {
	objects := func(s *stage, seen func(i int) seenObject) {
		for i, o := range s.d.Status.Faults[0].Objects {
			s.w.objects[keyOf(o)] = seen(i)
		}
	}
	there := func(s *stage) seenObject { return seenObject{exists: true, created: s.now} }
	nobody := func(s *stage) { s.promoted("") }
	for name, c := range map[string]struct {
		fault  v1alpha1.DrillFault
		state  v1alpha1.FaultState
		change func(*stage)
		after  time.Duration
		seen   sight
		next   v1alpha1.FaultState
		steps  []reconcile.Step
	}{
		"too early": {fault: kill(), state: v1alpha1.FaultWaiting, after: time.Second, seen: seenEarly,
			next: v1alpha1.FaultWaiting},
		"its time has come": {fault: kill(), state: v1alpha1.FaultWaiting, after: 4 * time.Second, seen: seenDue,
			next: v1alpha1.FaultInjecting},
		"nobody plays its role": {fault: kill(), state: v1alpha1.FaultWaiting, change: nobody, after: 4 * time.Second,
			seen: seenUnresolved, next: v1alpha1.FaultWaiting},
		"nobody has for long": {fault: kill(), state: v1alpha1.FaultWaiting, change: nobody, after: 24 * time.Second,
			seen: seenExpired, next: v1alpha1.FaultSkipped},
		"as said, and not done": {fault: kill(), state: v1alpha1.FaultInjecting, after: time.Second, seen: seenReady,
			next: v1alpha1.FaultInjecting, steps: []reconcile.Step{Inject{}}},
		"a freeze": {fault: freeze(), state: v1alpha1.FaultInjecting, after: time.Second, seen: seenReady,
			next: v1alpha1.FaultInjecting, steps: []reconcile.Step{Freeze{}}},
		"another plays its role": {fault: kill(), state: v1alpha1.FaultInjecting,
			change: func(s *stage) { s.promoted("quisec") }, after: time.Second,
			seen: seenMoved, next: v1alpha1.FaultInjecting},
		"nobody plays it any more": {fault: kill(), state: v1alpha1.FaultInjecting, change: nobody, after: time.Second,
			seen: seenUnresolved, next: v1alpha1.FaultInjecting},
		"not done in time": {fault: kill(), state: v1alpha1.FaultInjecting, after: time.Minute, seen: seenExpired,
			next: v1alpha1.FaultRemoving, steps: []reconcile.Step{RemoveObject{}}},
		"all of it is there": {fault: cut(), state: v1alpha1.FaultInjecting,
			change: func(s *stage) { objects(s, func(int) seenObject { return there(s) }) }, after: time.Second,
			seen: seenComplete, next: v1alpha1.FaultActive},
		"a part of it is there": {fault: cut(), state: v1alpha1.FaultInjecting,
			change: func(s *stage) { s.w.objects[keyOf(s.d.Status.Faults[0].Objects[0])] = there(s) }, after: time.Second,
			seen: seenReady, next: v1alpha1.FaultInjecting, steps: []reconcile.Step{Inject{}}},
		"a part of it was, for its time": {fault: cut(), state: v1alpha1.FaultInjecting,
			change: func(s *stage) { s.w.objects[keyOf(s.d.Status.Faults[0].Objects[0])] = there(s) }, after: 21 * time.Second,
			seen: seenOver, next: v1alpha1.FaultRemoving, steps: []reconcile.Step{RemoveObject{}, RemoveObject{}}},
		"it lasts": {fault: slowDisk(), state: v1alpha1.FaultActive, after: time.Second, seen: seenLasting,
			next: v1alpha1.FaultActive},
		"its time is over": {fault: slowDisk(), state: v1alpha1.FaultActive, after: 21 * time.Second, seen: seenOver,
			next: v1alpha1.FaultRemoving, steps: []reconcile.Step{RemoveObject{}}},
		"done at once, not seen": {fault: kill(), state: v1alpha1.FaultActive, after: time.Second, seen: seenLasting,
			next: v1alpha1.FaultActive},
		"done at once, seen": {fault: kill(), state: v1alpha1.FaultActive,
			change: func(s *stage) { s.w.pods["tukpub"] = pod("x") }, after: time.Second, seen: seenOver,
			next: v1alpha1.FaultRemoving, steps: []reconcile.Step{RemoveObject{}}},
		"done at once, looked for long enough": {fault: kill(), state: v1alpha1.FaultActive, after: momentWithin +
			time.Second,
			seen: seenOver, next: v1alpha1.FaultRemoving, steps: []reconcile.Step{RemoveObject{}}},
		"an election that ended": {fault: move(), state: v1alpha1.FaultActive, change: func(s *stage) {
			objects(s, func(int) seenObject { return seenObject{exists: true, created: s.now, outcome: "Succeeded"} })
		}, after: time.Second, seen: seenOver, next: v1alpha1.FaultRemoved},
		"its objects stay": {fault: slowDisk(), state: v1alpha1.FaultRemoving,
			change: func(s *stage) { objects(s, func(int) seenObject { return there(s) }) }, after: time.Second,
			seen: seenLeft, next: v1alpha1.FaultRemoving, steps: []reconcile.Step{RemoveObject{}}},
		"nobody could look at its objects": {fault: slowDisk(), state: v1alpha1.FaultRemoving,
			change: func(s *stage) { objects(s, func(int) seenObject { return seenObject{err: fmt.Errorf("silent")} }) },
			after:  time.Second, seen: seenLeft, next: v1alpha1.FaultRemoving, steps: []reconcile.Step{RemoveObject{}}},
		"its objects are gone": {fault: slowDisk(), state: v1alpha1.FaultRemoving, after: time.Second, seen: seenGone,
			next: v1alpha1.FaultRemoved},
		"they never were": {fault: slowDisk(), state: v1alpha1.FaultRemoving,
			change: func(s *stage) { s.d.Status.Faults[0].Injected = nil }, after: time.Second,
			seen: seenNever, next: v1alpha1.FaultSkipped},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, c.fault)
			s.at(c.state)
			if c.change != nil {
				c.change(s)
			}
			s.pass(c.after)
			p := newPlanner(s.w)
			o, _ := occurrence(s.d.Spec, c.fault.Name)
			p.noteSeen(&p.s.Faults[0], o)
			g.Expect(p.see(&p.s.Faults[0], o).sight).To(Equal(c.seen))
			steps := s.look(0)
			planned := reconcile.Noted[decided](s.plan)
			g.Expect(planned.Status.Faults[0].State).To(Equal(c.next), planned.Status.Faults[0].Message)
			if planned.Then[c.fault.Name] != "" {
				g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultActive), "once it is done")
			}
			g.Expect(kindsOf(steps)).To(Equal(kindsOf(c.steps)))
		})
	}
}

// kindsOf steps.
func kindsOf(steps []reconcile.Step) []string {
	var list []string
	for _, s := range steps {
		list = append(list, fmt.Sprintf("%T", s))
	}
	return list
}

// No fault goes back to a state that it has left, whatever is seen of it, every one that is not over can be ended
// early, and nothing is done of one that the status did not name before.
func TestTransitionsOnlyGoOn(t *testing.T) {
	order := []v1alpha1.FaultState{
		v1alpha1.FaultWaiting,
		v1alpha1.FaultInjecting,
		v1alpha1.FaultActive,
		v1alpha1.FaultRemoving,
		v1alpha1.FaultRemoved,
		v1alpha1.FaultSkipped,
	}
	over := order[4:]
	for _, state := range order {
		g := NewWithT(t)
		g.Expect(transitions[state] == nil).To(Equal(slices.Contains(over, state)), "%s", state)
		ends := false
		for seen, to := range transitions[state] {
			about := fmt.Sprintf("%s, %s", state, seen)
			g.Expect(slices.Index(order, to.next)).To(BeNumerically(">=", slices.Index(order, state)), about)
			if to.then != "" {
				g.Expect(slices.Index(order, to.then)).To(BeNumerically(">", slices.Index(order, to.next)), about)
				g.Expect(to.step).To(Equal(injectFault), about)
			}
			if to.step == injectFault {
				g.Expect(state).To(Equal(v1alpha1.FaultInjecting), about)
			}
			if to.next == v1alpha1.FaultInjecting && state == v1alpha1.FaultWaiting {
				g.Expect(to.step).To(Equal(declareFault), about)
			}
			ends = ends || slices.Contains(over, to.next) || seen == seenAborted && to.next == v1alpha1.FaultRemoving
		}
		g.Expect(ends).To(Equal(!slices.Contains(over, state)), "%s can be ended", state)
	}
}

// Whatever is seen, one world has one plan, which leaves it as it is (each look of a stage checks that), no fault goes
// back, and what is created has been in the status before.
func TestPlansOfAnyWorld(t *testing.T) {
	order := []v1alpha1.FaultState{
		"",
		v1alpha1.FaultWaiting,
		v1alpha1.FaultInjecting,
		v1alpha1.FaultActive,
		v1alpha1.FaultRemoving,
		v1alpha1.FaultRemoved,
		v1alpha1.FaultSkipped,
	}
	rapid.Check(t, func(t *rapid.T) {
		all := []v1alpha1.DrillFault{kill(), cut(), freeze(), slowDisk(), move(),
			{Name: "busy", Kind: v1alpha1.FaultCPUStress, Duration: lasting(20 * time.Second),
				Where: &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary}},
			literal("PodChaos", `{"action":"pod-kill","selector":{"labelSelectors":{"a":"b"}}}`)}
		name := func(f v1alpha1.DrillFault) string { return f.Name }
		s := newStage(t, rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 3, name).Draw(t, "faults")...)
		s.w.machine, s.w.figures = fault.Machine{Processors: 2, Memory: 1 << 30}, map[string][]v1alpha1.EffectFigure{}
		s.until(v1alpha1.DrillRunning)
		for range rapid.IntRange(1, 25).Draw(t, "looks") {
			disturb(t, s)
			before := s.d.Status.DeepCopy()
			for _, step := range s.look(time.Duration(rapid.IntRange(1, 25).Draw(t, "seconds")) * time.Second) {
				saidBefore(t, before, step)
			}
			for i, f := range before.Faults {
				if now := s.d.Status.Faults[i].State; slices.Index(order, now) < slices.Index(order, f.State) {
					t.Fatalf("fault %s went back from %s to %s", f.Name, f.State, now)
				}
			}
		}
	})
}

// saidBefore fails unless the objects that a step creates are in the status from before it.
func saidBefore(t *rapid.T, s *v1alpha1.DrillStatus, step reconcile.Step) {
	inject, ok := step.(Inject)
	if !ok {
		return
	}
	i := slices.IndexFunc(s.Faults, func(f v1alpha1.FaultStatus) bool { return f.Name == inject.Fault })
	said := names(s.Faults[i].Objects)
	for _, name := range names(objectsOf(fault.Resolved{Objects: inject.Objects})) {
		if !slices.Contains(said, name) {
			t.Fatalf("%s of fault %s is created, and the status names %v", name, inject.Fault, said)
		}
	}
}

// disturb changes something of a stage's world by chance.
func disturb(t *rapid.T, s *stage) {
	server := rapid.SampledFrom([]v1alpha1.ServerName{"tukpub", "quisec"}).Draw(t, "server")
	f := &s.d.Status.Faults[rapid.IntRange(0, len(s.d.Status.Faults)-1).Draw(t, "fault")]
	n := rapid.Int64Range(0, 5).Draw(t, "n")
	rapid.SampledFrom([]func(){
		func() {},
		func() { s.w.pods[server] = pod(pod("another").UID) },
		func() { s.w.pods[server] = rapid.SampledFrom([]*corev1.Pod{nil, runs("pause", false)}).Draw(t, "pod") },
		func() { delete(s.w.pods, server) },
		func() { s.w.replicas[server] = replicaState{err: fmt.Errorf("silent")} },
		func() { s.w.replicas[server] = role("PRIMARY") },
		func() { s.promoted(server) },
		func() { s.w.target.group.Status.Primary = string(server) + "-0" },
		func() { s.w.target.group.Status.Primary = "" },
		func() { s.w.frozen[server] = int(n) },
		func() { delete(s.w.frozen, server) },
		func() {
			s.w.probes[f.Name] = []v1alpha1.ProbeFigures{{From: "tukpub", To: "quisec-0:1433", Attempts: 5, Failures: int32(n)}}
		},
		func() {
			s.w.figures[f.Name] = []v1alpha1.EffectFigure{{Server: string(server), Measure: v1alpha1.MeasureProcessors,
				During: ptr.To(300 * n)}}
		},
		func() { s.w.daemons = map[v1alpha1.SiteName]daemons{"tukwila": {2, int32(n)}} },
		func() { s.d.Spec.Abort = n == 5 },
		func() {
			for _, o := range f.Objects {
				s.w.objects[keyOf(o)] = rapid.SampledFrom([]seenObject{{}, {err: fmt.Errorf("silent")},
					{exists: true, created: s.now}, {exists: true, created: s.now, outcome: "Refused"},
					{exists: true, created: s.now, injected: true, selected: []string{"tukpub-0"}},
				}).Draw(t, "object")
			}
		},
	}).Draw(t, "change")()
}
