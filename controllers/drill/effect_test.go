// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/verdict"
)

func lasting(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// at brings a drill's first fault into a state.
func (s *stage) at(state v1alpha1.FaultState) *v1alpha1.FaultStatus {
	s.t.Helper()
	s.until(v1alpha1.DrillRunning)
	for range 200 {
		if s.d.Status.Faults[0].State == state {
			return &s.d.Status.Faults[0]
		}
		s.look(time.Second)
	}
	s.t.Fatalf("the fault is %s, not %s", s.d.Status.Faults[0].State, state)
	return nil
}

// effect after one more look.
func (s *stage) effect() v1alpha1.FaultEffect {
	s.look(time.Second)
	return *s.d.Status.Faults[0].Effect
}

// Stressors are measured before, during and after; a fault whose stressors end early, or stay, does not pass.
func TestStressIsMeasured(t *testing.T) {
	g := NewWithT(t)
	s := newStage(
		t,
		v1alpha1.DrillFault{
			Name:     "busy",
			Kind:     v1alpha1.FaultCPUStress,
			Duration: lasting(20 * time.Second),
			CPU:      &v1alpha1.CPUFault{Workers: 1, Load: 100},
			Where:    &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
		},
	)
	s.w.machine = fault.Machine{Processors: 2, Memory: 1 << 30}
	used := func(milli int64) {
		s.w.figures = map[string][]v1alpha1.EffectFigure{
			"busy": {{Server: "tukpub", Measure: v1alpha1.MeasureProcessors, During: ptr.To(milli)}},
		}
	}
	used(10)
	s.at(v1alpha1.FaultActive)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionFalse), "no more than before")
	used(900)
	e := s.effect()
	g.Expect(e.Status).To(Equal(metav1.ConditionTrue), e.Seen)
	g.Expect(e.Figures).
		To(ConsistOf(v1alpha1.EffectFigure{Server: "tukpub", Measure: v1alpha1.MeasureProcessors, Before: ptr.To[int64](10),
			During: ptr.To[int64](900)}))
	s.w.figures = nil
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue), "that nobody could look says nothing")
	used(20)
	e = s.effect()
	g.Expect(e.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(e.Seen).To(HavePrefix(endedEarly))
	used(850)
	s.until(v1alpha1.DrillRecovering)
	for range 10 {
		s.look(time.Second)
	}
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillRecovering), "the stressors are at work still")
	used(0)
	s.until(v1alpha1.DrillJudging)
	g.Expect(s.d.Status.Faults[0].Effect.Figures[0].After).To(HaveValue(BeZero()))
}

// A slow disk is Chaos Mesh's IOChaos, which many installations cannot do. Whoever reads the report sees whether it was
// not injected at all, or injected and not measured; in neither case does the drill pass.
func TestADiskDelayIsNeverTakenForSeen(t *testing.T) {
	for name, c := range map[string]struct {
		injected bool
		status   metav1.ConditionStatus
		says     string
	}{
		"not injected":              {false, metav1.ConditionFalse, "Chaos Mesh has not injected it: IOChaos"},
		"injected and not measured": {true, metav1.ConditionUnknown, "nothing measures the effect of a DiskDelay"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(
				t,
				v1alpha1.DrillFault{Name: "slow", Kind: v1alpha1.FaultDiskDelay, Duration: lasting(20 * time.Second),
					Disk: &v1alpha1.DiskFault{
						Volume: "data",
						Delay:  *lasting(time.Second),
					}, Where: &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary}},
			)
			f := s.at(v1alpha1.FaultActive)
			g.Expect(f.Objects).To(ConsistOf(HaveField("Kind", "IOChaos")))
			seen := s.w.objects[keyOf(f.Objects[0])]
			seen.injected = c.injected
			s.w.objects[keyOf(f.Objects[0])] = seen
			e := s.effect()
			g.Expect(e.Status).To(Equal(c.status))
			g.Expect(e.Seen).To(HavePrefix(c.says))
			s.until(v1alpha1.DrillJudging)
			j := verdict.Judge(s.d.Spec, nil, verdict.Measured{Faults: s.d.Status.Faults, Read: []string{"TUKPUB-0"}})
			g.Expect(j.Objectives).
				To(ContainElement(And(HaveField("Name", "effect"), HaveField("Verdict", v1alpha1.VerdictInconclusive),
					HaveField("Evidence", ContainSubstring(c.says)))))
		})
	}
}

// Whoever reads that a failover was refused reads why.
func TestWhyAFailoverWasRefused(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, v1alpha1.DrillFault{Name: "force", Kind: v1alpha1.FaultFailover, To: "quisec", AllowDataLoss: true})
	f := s.at(v1alpha1.FaultActive)
	failover := f.Objects[0]
	site := &unstructured.Unstructured{
		Object: map[string]any{
			"status": map[string]any{"outcome": "Refused", "reason": "SilentReplicas", "message": "dubsec does not answer"},
		},
	}
	site.SetGroupVersionKind(schema.FromAPIVersionAndKind(failover.APIVersion, failover.Kind))
	site.SetNamespace(failover.Namespace)
	site.SetName(failover.Name)
	r := &Reconciler{direct: fake.NewClientBuilder().WithObjects(site).Build()}
	s.w.objects[keyOf(failover)] = r.object(t.Context(), s.w, failover)
	e := s.effect()
	g.Expect(e.Status).To(Equal(metav1.ConditionUnknown), "whether service has moved clients tell")
	g.Expect(e.Operator).To(HaveSuffix("ended as Refused (SilentReplicas: dubsec does not answer)"))
}

// A clock that was wrong before is no effect: what counts is what the fault changed.
func TestClocksAreComparedWithBefore(t *testing.T) {
	g := NewWithT(t)
	s := newStage(
		t,
		v1alpha1.DrillFault{
			Name:        "late",
			Kind:        v1alpha1.FaultClockOffset,
			Duration:    lasting(20 * time.Second),
			ClockOffset: lasting(-time.Minute),
			Where:       &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
		},
	)
	off := func(ms int64) {
		s.w.figures = map[string][]v1alpha1.EffectFigure{
			"late": {{Server: "tukpub", Measure: v1alpha1.MeasureClock, During: ptr.To(ms)}},
		}
	}
	off(-60_000)
	s.at(v1alpha1.FaultActive)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionFalse))
	off(-120_000)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
}

// Loss that is not there any more while it should last is noticed.
func TestLossThatEndsEarly(t *testing.T) {
	g := NewWithT(t)
	s := newStage(
		t,
		v1alpha1.DrillFault{
			Name:     "lossy",
			Kind:     v1alpha1.FaultNetwork,
			Duration: lasting(time.Minute),
			Network:  &v1alpha1.NetworkFault{Loss: 10},
			Where:    &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
		},
	)
	sent := func(resent int64) {
		s.w.probes["lossy"] = []v1alpha1.ProbeFigures{
			{
				From:     "tukpub",
				To:       "quisec-0:8443",
				Attempts: 1,
				Transfer: &v1alpha1.TransferFigures{Segments: 400, Resent: resent, KilobitsPerSecond: 1000},
			},
		}
	}
	sent(0)
	s.at(v1alpha1.FaultActive)
	sent(40)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
	sent(0)
	e := s.effect()
	g.Expect(e.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(e.Seen).To(HavePrefix(endedEarly))
	g.Expect(e.During[0].Transfer.Segments).To(BeEquivalentTo(800), "all looks count together")
}

func runs(id string, ready bool) *corev1.Pod {
	p := pod("one")
	p.Status.ContainerStatuses[0].ContainerID, p.Status.ContainerStatuses[0].Ready = id, ready
	return p
}

// A pod fails when something else runs in it, for as long as it should; that a probe fails once is no effect.
func TestPodFailureIsLookedAt(t *testing.T) {
	g := NewWithT(t)
	s := newStage(
		t,
		v1alpha1.DrillFault{
			Name:     "fail",
			Kind:     v1alpha1.FaultPodFailure,
			Duration: lasting(30 * time.Second),
			Where:    &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
		},
	)
	s.w.pods["tukpub"] = runs("engine", true)
	s.at(v1alpha1.FaultActive)
	s.w.pods["tukpub"] = runs("engine", false)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionFalse), "the same container that is not ready for a moment")
	s.w.pods["tukpub"] = runs("pause", false)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
	s.w.pods["tukpub"] = runs("engine-2", true)
	g.Expect(s.effect().Seen).To(HavePrefix(endedEarly))
}

// literal is an object at Tukwila.
func literal(kind, spec string) v1alpha1.DrillFault {
	return v1alpha1.DrillFault{
		Name:      "own",
		Kind:      v1alpha1.FaultChaosMesh,
		ChaosMesh: &v1alpha1.LiteralChaos{Site: "tukwila", Kind: kind, Spec: runtime.RawExtension{Raw: []byte(spec)}},
	}
}

// An object given literally is measured at the pods that Chaos Mesh has selected; with none it has no effect.
func TestLiteralObjectsAreMeasured(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, literal("PodChaos", `{"action":"pod-kill","selector":{"labelSelectors":{"a":"b"}}}`))
	s.at(v1alpha1.FaultActive)
	s.w.pods["tukpub"] = pod("another")
	e := s.effect()
	g.Expect(e.Status).To(Equal(metav1.ConditionFalse), "Chaos Mesh has not done that")
	g.Expect(e.Seen).To(ContainSubstring("selected no pod"))
	key := keyOf(s.d.Status.Faults[0].Objects[0])
	s.w.objects[key] = seenObject{exists: true, created: s.now, selected: []string{"tukpub-0"}}
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))

	s = newStage(t, literal("DNSChaos", `{"action":"error","duration":"20s","selector":{"labelSelectors":{"a":"b"}}}`))
	s.at(v1alpha1.FaultActive)
	s.w.objects[keyOf(s.d.Status.Faults[0].Objects[0])] = seenObject{
		exists:   true,
		injected: true,
		created:  s.now,
		selected: []string{"tukpub-0"},
	}
	e = s.effect()
	g.Expect(e.Status).To(Equal(metav1.ConditionUnknown), "that Chaos Mesh says so is no measurement")
	g.Expect(e.Seen).To(ContainSubstring("nothing measures"))
	s.until(v1alpha1.DrillRecovering)
}

// An object given literally ends at its time by itself; that it is seen no more then is no early end, and before is.
func TestLiteralObjectsEndByThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		after, took time.Duration
		want        metav1.ConditionStatus
	}{
		"early":                    {3 * time.Second, time.Second, metav1.ConditionFalse},
		"at its time":              {21 * time.Second, time.Second, metav1.ConditionTrue},
		"looked at until its time": {15 * time.Second, 8 * time.Second, metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(
				t,
				literal(
					"StressChaos",
					`{"stressors":{"memory":{"workers":1,"size":"64MB"}},"duration":"20s","selector":{"labelSelectors":{"a":"b"}}}`,
				),
			)
			held := func(kb int64) {
				s.w.figures = map[string][]v1alpha1.EffectFigure{
					"own": {{Server: "tukpub", Measure: v1alpha1.MeasureMemory, During: ptr.To(kb)}},
				}
			}
			held(0)
			f := s.at(v1alpha1.FaultActive)
			s.w.objects[keyOf(f.Objects[0])] = seenObject{exists: true, created: s.now, selected: []string{"tukpub-0"}}
			held(65_000)
			g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
			held(0)
			s.w.asked = s.now.Add(c.after - time.Second + c.took)
			s.look(c.after - time.Second)
			g.Expect(s.d.Status.Faults[0].Effect.Status).To(Equal(c.want), s.d.Status.Faults[0].Effect.Seen)
		})
	}
}

// What is kept of a fault on the network was seen within its time: a look that goes on beyond it meets one end of the
// way without it.
func TestLooksBeyondAFaultsTime(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	ways := func(failures int32) []v1alpha1.ProbeFigures {
		return []v1alpha1.ProbeFigures{{From: "tukpub", To: "quisec-0:1433", Attempts: 5, Failures: failures}}
	}
	f := s.at(v1alpha1.FaultActive)
	s.d.Status.Faults[0].Effect.Before = ways(0)
	ends := f.Injected.Add(s.d.Spec.Faults[0].Duration.Duration)
	s.w.probes["cut"] = ways(5)
	s.look(time.Second)
	s.w.probes["cut"], s.w.asked = ways(2), ends.Add(time.Second)
	s.look(ends.Sub(s.now) - time.Second)
	g.Expect(s.d.Status.Faults[0].Effect.During).To(Equal(ways(5)))
	g.Expect(s.d.Status.Faults[0].Effect.Status).To(Equal(metav1.ConditionTrue))
}

// A frozen engine that its agent kills, since it must not keep its votes, was frozen; one that just goes on was not for
// long. The kubelet tells of the new container some seconds after it runs.
func TestFrozenEnginesThatAreKilled(t *testing.T) {
	for name, c := range map[string]struct {
		now, later *corev1.Pod
		want       metav1.ConditionStatus
	}{
		"killed":                    {runs("engine-2", true), runs("engine-2", true), metav1.ConditionTrue},
		"killed, and heard of late": {runs("engine", true), runs("engine-2", true), metav1.ConditionTrue},
		"thawed":                    {runs("engine", true), runs("engine", true), metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(
				t,
				v1alpha1.DrillFault{
					Name:     "freeze",
					Kind:     v1alpha1.FaultFreeze,
					Duration: lasting(60 * time.Second),
					Where:    &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
				},
			)
			s.w.pods["tukpub"] = runs("engine", true)
			s.at(v1alpha1.FaultActive)
			g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
			s.w.pods["tukpub"], s.w.frozen["tukpub"] = c.now, 0
			g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
			s.w.pods["tukpub"] = c.later
			s.look(kubeletTells)
			g.Expect(s.d.Status.Faults[0].Effect.Status).To(Equal(c.want))
		})
	}
}

// A role that moves to another server of the same site before the fault is done makes another fault of it, though its
// objects have the same names.
func TestRolesThatMoveWithinASite(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.w.target.servers[1].Spec.Site = "tukwila"
	other := s.w.resolved.Servers["quisec"]
	other.Site = "tukwila"
	s.w.resolved.Servers["quisec"] = other
	s.at(v1alpha1.FaultInjecting)
	s.promoted("quisec")
	g.Expect(s.look(time.Second)).To(BeEmpty())
	g.Expect(s.d.Status.Faults[0].Effect.Identity).To(ConsistOf(HavePrefix("quisec ")))
	steps := s.look(time.Second)
	g.Expect(steps).To(ContainElement(HaveField("Fault", "kill")))
}

// An object of the same name that another run has made is not this run's.
func TestObjectsOfOtherRuns(t *testing.T) {
	g := NewWithT(t)
	r, err := fault.Resolve(
		newStage(t).w.resolved,
		drill.Expand([]v1alpha1.DrillFault{literal("PodChaos",
			`{"action":"pod-kill","selector":{"labelSelectors":{"a":"b"}}}`)})[0],
	)
	g.Expect(err).NotTo(HaveOccurred())
	mine := r.Objects[0]
	others := mine.DeepCopy()
	others.SetLabels(drill.Labels("web", "d-1", ""))
	g.Expect(ours(t.Context(), fake.NewClientBuilder().WithObjects(mine.DeepCopy()).Build(), mine)).To(Succeed())
	g.Expect(ours(t.Context(), fake.NewClientBuilder().WithObjects(others).Build(), mine)).
		To(MatchError(ContainSubstring("not this run's")))
	going := mine.DeepCopy()
	going.SetFinalizers([]string{"chaos-mesh/records"})
	c := fake.NewClientBuilder().WithObjects(going).Build()
	g.Expect(c.Delete(t.Context(), going, client.GracePeriodSeconds(0))).To(Succeed())
	g.Expect(ours(t.Context(), c, mine)).To(MatchError(ContainSubstring("being deleted")))
}

// A partition that Chaos Mesh put into force in its last second was seen, and not for the time that it should last.
func TestAFaultThatIsInForceForAMoment(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	ways := func(failures int32) {
		s.w.probes["cut"] = []v1alpha1.ProbeFigures{{From: "quisec", To: "tukpub-0:1433", Attempts: 5, Failures: failures}}
	}
	s.until(v1alpha1.DrillRunning)
	ways(0)
	f := s.at(v1alpha1.FaultActive)
	for s.now.Sub(f.Injected.Time) < 18*time.Second {
		g.Expect(s.effect().Status).To(Equal(metav1.ConditionFalse))
		f = &s.d.Status.Faults[0]
	}
	ways(5)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
	ways(0)
	s.until(v1alpha1.DrillJudging)
	j := verdict.Judge(s.d.Spec, nil, verdict.Measured{Faults: s.d.Status.Faults, Read: []string{"TUKPUB-0"}})
	g.Expect(j.Objectives).To(ContainElement(And(HaveField("Name", "effect"),
		HaveField("Verdict", v1alpha1.VerdictInconclusive),
		HaveField("Evidence", ContainSubstring("in force for 2s of 20s")))))
}

// An engine of which one process runs on is not frozen.
func TestAnEngineThatIsFrozenInPart(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, v1alpha1.DrillFault{Name: "freeze", Kind: v1alpha1.FaultFreeze, Duration: lasting(20 * time.Second),
		Where: &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary}})
	s.at(v1alpha1.FaultActive)
	s.w.frozen, s.w.runOn = map[v1alpha1.ServerName]int{"tukpub": 1}, map[v1alpha1.ServerName]int{"tukpub": 1}
	g.Expect(s.effect()).To(And(HaveField("Status", metav1.ConditionFalse),
		HaveField("Seen", "1 of 2 processes of the engine of tukpub run")))
	s.w.frozen, s.w.runOn = map[v1alpha1.ServerName]int{"tukpub": 2}, nil
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
}
