// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/history"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
)

// stage is a drill in a world that the test decides; what is planned is noted and, like a manager does, put into the status.
type stage struct {
	t    *testing.T
	d    *v1alpha1.Drill
	w    *world
	now  time.Time
	plan Plan
}

var begin = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newStage(t *testing.T, faults ...v1alpha1.DrillFault) *stage {
	g := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"}}
	g.Spec.Replicas = []v1alpha1.Replica{{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit}, {Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true}}
	g.Status.Primary = "tukpub-0"
	d := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d", UID: "uid"}, Spec: v1alpha1.DrillSpec{RunID: "1", Faults: faults,
		Target: v1alpha1.DrillTarget{AvailabilityGroup: "content"}, Baseline: &metav1.Duration{Duration: 10 * time.Second}}}
	s := &stage{t: t, d: d, now: begin}
	s.w = &world{drill: d, target: &target{group: g, publisher: "tukpub", database: "Content", data: []v1alpha1.ServerName{"tukpub", "quisec"}, readable: []v1alpha1.ServerName{"quisec"},
		servers: []*v1alpha1.SQLServer{server("tukpub", "tukwila"), server("quisec", "quincy")}},
		members: map[v1alpha1.SiteName]*sites.Member{"tukwila": {}, "quincy": {}}, secret: true,
		login:  &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Name: "d-clients"}, Status: v1alpha1.LoginStatus{StatusBase: v1alpha1.StatusBase{Conditions: []metav1.Condition{{Type: "Ready", Status: "True"}}}}},
		pods:   map[v1alpha1.ServerName]*corev1.Pod{"tukpub": pod("one"), "quisec": pod("two")},
		latest: map[v1alpha1.SiteName]history.Newest{}, clients: map[v1alpha1.SiteName]*corev1.Pod{"tukwila": {}, "quincy": {}},
		frozen: map[v1alpha1.ServerName]int{}, objects: map[objectKey]seenObject{}, probes: map[string][]v1alpha1.ProbeFigures{},
		replicas: map[v1alpha1.ServerName]replicaState{"tukpub": role("PRIMARY"), "quisec": role("SECONDARY")},
	}
	s.w.resolved = drill.World{Namespace: "web", Drill: "d", RunID: "1", Group: "content", Servers: map[v1alpha1.ServerName]drill.Server{
		"tukpub": {Name: "tukpub", Site: "tukwila", Addresses: []string{"10.1.0.1"}, Services: map[v1alpha1.SiteName]string{"quincy": "10.12.0.1", "tukwila": "10.11.0.1"}},
		"quisec": {Name: "quisec", Site: "quincy", Addresses: []string{"10.2.0.1"}, Services: map[v1alpha1.SiteName]string{"quincy": "10.12.0.2", "tukwila": "10.11.0.2"}},
	}, Sites: map[v1alpha1.SiteName]drill.Site{"tukwila": {}, "quincy": {}}}
	return s
}

func server(name string, site v1alpha1.SiteName) *v1alpha1.SQLServer {
	return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SQLServerSpec{Site: site}}
}

func pod(uid types.UID) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: drill.EngineContainer, ContainerID: "c-" + string(uid)}}}}
}

func role(r string) replicaState {
	return replicaState{group: &mssql.Group{Role: r, States: []mssql.GroupDatabaseState{{Local: true, Database: "Content", State: "SYNCHRONIZED"}}}}
}

// look reconciles once after some time. The report is what the controller writes.
func (s *stage) look(after time.Duration) []Step {
	s.now = s.now.Add(after)
	s.w.now, s.w.next = s.now, *s.d.Status.DeepCopy()
	s.w.done = results{objectErr: map[objectKey]error{}, injected: map[string]time.Time{}, frozen: map[string]error{}}
	s.w.resolved.Roles = map[v1alpha1.FaultRole]v1alpha1.ServerName{}
	s.w.roles()
	for site := range s.w.clients {
		s.w.latest[site] = history.Newest{Acknowledged: history.Instant{Wall: s.now.UnixNano(), Monotonic: s.now.UnixNano()}}
	}
	s.plan = plan(s.w)
	for _, step := range s.plan.Steps {
		switch one := step.(type) {
		case Inject:
			s.w.done.injected[one.Fault] = s.now
			for _, o := range one.Objects {
				s.w.objects[objectKey{string(o.Site), o.GetKind(), o.GetName()}] = seenObject{exists: true, created: s.now}
			}
		case Freeze:
			s.w.done.injected[one.Fault] = s.now
			for _, server := range one.Servers {
				s.w.frozen[server] = 3
			}
		case RemoveObject:
			s.w.objects[keyOf(one.Object)] = seenObject{}
		case PrepareTables:
			zero := int64(0)
			s.w.next.RecordedAfter = &zero
		}
	}
	for i := range s.w.next.Faults {
		s.w.reportFault(&s.w.next, &s.w.next.Faults[i])
	}
	s.d.Status = s.w.next
	return s.plan.Steps
}

// until looks every second until the drill is in the phase.
func (s *stage) until(phase v1alpha1.DrillPhase) {
	s.t.Helper()
	for range 200 {
		if s.d.Status.Phase == phase {
			return
		}
		s.look(time.Second)
	}
	s.t.Fatalf("after 200 looks the drill is %s (%s), not %s", s.d.Status.Phase, s.d.Status.Message, phase)
}

func kill() v1alpha1.DrillFault {
	return v1alpha1.DrillFault{Name: "kill", Kind: v1alpha1.FaultPodKill, At: &metav1.Duration{Duration: 3 * time.Second}, Where: &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary}}
}

func cut() v1alpha1.DrillFault {
	return v1alpha1.DrillFault{Name: "cut", Kind: v1alpha1.FaultPartition, Duration: &metav1.Duration{Duration: 20 * time.Second}, Where: &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary}}
}

// A run goes through its phases; what a fault will consist of is in the status before anything is created.
func TestPhasesOfARun(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.until(v1alpha1.DrillBaseline)
	s.until(v1alpha1.DrillRunning)
	g.Expect(s.d.Status.Started.Sub(s.d.Status.Baseline.Time)).To(BeNumerically(">=", 10*time.Second))
	var said bool
	for s.d.Status.Faults[0].Injected == nil {
		steps := s.look(time.Second)
		for _, step := range steps {
			if _, ok := step.(Inject); ok {
				g.Expect(said).To(BeTrue(), "the status must name the objects before they are created")
			}
		}
		said = s.d.Status.Faults[0].State == v1alpha1.FaultInjecting && len(s.d.Status.Faults[0].Objects) == 1
	}
	g.Expect(s.d.Status.Faults[0].Injected.Sub(s.d.Status.Started.Time)).To(BeNumerically(">=", 3*time.Second))
	g.Expect(s.d.Status.Faults[0].Targets).To(Equal([]string{"tukpub"}))

	s.look(time.Second)
	g.Expect(s.d.Status.Faults[0].Effect.Status).To(Equal(metav1.ConditionFalse), "the pod is still the same")
	s.w.pods["tukpub"] = pod("another")
	s.until(v1alpha1.DrillRecovering)
	g.Expect(s.d.Status.Faults[0].Effect.Status).To(Equal(metav1.ConditionTrue))
	s.until(v1alpha1.DrillJudging)
	g.Expect(s.d.Status.Faults[0].Settled).NotTo(BeNil())
	s.look(time.Second)
	g.Expect(s.plan.Steps).To(ConsistOf(Gather{}))
}

// Roles that move between the saying and the doing are looked up anew, and said again.
func TestRolesThatMoveMeanwhile(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.until(v1alpha1.DrillRunning)
	for s.d.Status.Faults[0].State != v1alpha1.FaultInjecting {
		s.look(time.Second)
	}
	s.w.target.group.Status.Primary = "quisec-0"
	g.Expect(s.look(time.Second)).To(BeEmpty())
	g.Expect(s.d.Status.Faults[0].Targets).To(Equal([]string{"quisec"}))
	g.Expect(s.look(time.Second)).To(ContainElement(HaveField("Fault", "kill")))
}

// A manager that ended between creating the objects and saying so finds them.
func TestObjectsThatWereCreatedBefore(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	s.until(v1alpha1.DrillRunning)
	for s.d.Status.Faults[0].State != v1alpha1.FaultInjecting {
		s.look(time.Second)
	}
	created := s.now.Add(300 * time.Millisecond)
	for _, o := range s.d.Status.Faults[0].Objects {
		s.w.objects[keyOf(o)] = seenObject{exists: true, created: created}
	}
	g.Expect(s.look(time.Second)).To(BeEmpty(), "nothing is created twice")
	g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultActive))
	g.Expect(s.d.Status.Faults[0].Injected.Time).To(BeTemporally("~", created, time.Millisecond))
}

// A fault ends when its time is over, and is over when its objects are gone.
func TestFaultsAreTakenBack(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	s.until(v1alpha1.DrillRunning)
	for s.d.Status.Faults[0].State != v1alpha1.FaultActive {
		s.look(time.Second)
	}
	injected := s.d.Status.Faults[0].Injected.Time
	var removal []Step
	for len(removal) == 0 {
		removal = s.look(time.Second)
		g.Expect(s.now.Sub(injected)).To(BeNumerically("<", 25*time.Second))
	}
	g.Expect(s.now.Sub(injected)).To(BeNumerically(">=", 20*time.Second))
	g.Expect(removal).To(HaveLen(2), "one object at each end")
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillRunning))
	s.look(time.Second)
	g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoved))

	ways := func(failures int32) []v1alpha1.ProbeFigures {
		return []v1alpha1.ProbeFigures{{From: "tukpub", To: "quisec-0:1433", Attempts: 5, Failures: failures}}
	}
	s.d.Status.Faults[0].Effect.Before = ways(0)
	s.w.probes["cut"] = ways(5)
	s.until(v1alpha1.DrillRecovering)
	for range 10 {
		s.look(time.Second)
	}
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillRecovering), "its ways are still closed")
	g.Expect(s.d.Status.Message).To(ContainSubstring("cut is not seen to be over"))
	s.w.probes["cut"] = ways(0)
	for range 2 {
		s.look(time.Second)
	}
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillJudging))
	g.Expect(s.d.Status.Faults[0].Effect.After).To(Equal(ways(0)))
}

// Whatever ends a run early takes back what lasts and leaves out what waits, and a run that was ended does not pass.
func TestEndedEarly(t *testing.T) {
	late := kill()
	late.At = &metav1.Duration{Duration: 10 * time.Minute}
	for name, end := range map[string]func(*stage){
		"by a person":  func(s *stage) { s.d.Spec.Abort = true },
		"by its limit": func(s *stage) { s.now = s.now.Add(31 * time.Minute) },
		"by what is not sent": func(s *stage) {
			limit, queue := int64(100), int64(101)
			s.d.Spec.AbortWhen = &v1alpha1.DrillAbort{SendQueueKB: &limit}
			states := &s.w.replicas["tukpub"].group.States
			*states = append(*states, mssql.GroupDatabaseState{Server: "quisec-0", Database: "Content", SendQueueKB: &queue})
			s.w.replicas["quisec"] = replicaState{err: errors.New("silent")}
		},
		"by its queues": func(s *stage) {
			limit, queue := int64(100), int64(101)
			s.d.Spec.AbortWhen = &v1alpha1.DrillAbort{RedoQueueKB: &limit}
			s.w.replicas["quisec"].group.States[0].RedoQueueKB = &queue
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, cut(), late)
			s.d.Spec.Recovery = &metav1.Duration{Duration: 20 * time.Second}
			s.until(v1alpha1.DrillRunning)
			for s.d.Status.Faults[0].State != v1alpha1.FaultActive {
				s.look(time.Second)
			}
			end(s)
			g.Expect(s.look(time.Second)).To(HaveLen(2), "both objects of the fault that lasts")
			g.Expect(s.d.Status.AbortReason).NotTo(BeEmpty())
			g.Expect(s.d.Status.Faults[1].State).To(Equal(v1alpha1.FaultSkipped))
			s.until(v1alpha1.DrillJudging)
			j := drill.Judge(s.d.Spec, nil, drill.Measured{History: history.Verdict{Counts: history.Counts{Acknowledged: 1000}}, Read: []string{"quisec-0"}, Aborted: s.d.Status.AbortReason})
			g.Expect(j.Verdict).To(Equal(v1alpha1.VerdictInconclusive))
		})
	}
}

// A drill waits for what it needs, and says for what.
func TestWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage)
		reason string
	}{
		"no such group": {func(s *stage) { s.w.target.missing = "there is no group" }, conditions.ReasonTargetMissing},
		"no label":      {func(s *stage) { s.w.target.denied = "label it" }, conditions.ReasonNotAllowed},
		"another drill": {func(s *stage) { s.w.busy = "other" }, conditions.ReasonDrillWaiting},
		"not well":      {func(s *stage) { s.w.target.unwell = "not Ready" }, conditions.ReasonTargetUnwell},
		"a site is silent": {func(s *stage) {
			delete(s.w.members, "quincy")
			s.w.siteErr = map[v1alpha1.SiteName]error{"quincy": errors.New("silent")}
		}, conditions.ReasonSiteUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, kill())
			c.change(s)
			for range 3 {
				g.Expect(s.look(time.Second)).To(BeEmpty())
			}
			g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillPending))
			g.Expect(s.d.Status.Reason).To(Equal(c.reason))
		})
	}
}

// A dry run shows the clients and every object, and begins nothing.
func TestDryRunShowsEverything(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill(), cut())
	s.d.Spec.DryRun = true
	for range 3 {
		g.Expect(s.look(time.Second)).To(BeEmpty())
	}
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillCompleted))
	g.Expect(s.d.Status.Verdict).To(BeEmpty())
	var kinds []string
	for _, o := range s.d.Status.Plan {
		kinds = append(kinds, o.Fault+"@"+o.Site)
		g.Expect(o.Manifest).To(ContainSubstring("kind:"))
	}
	g.Expect(kinds).To(Equal([]string{"@", "@tukwila", "@quincy", "cut@tukwila", "cut@quincy", "kill@tukwila"}))
}

// A run that is over does not begin again until runID changes; then the former one is kept in short.
func TestRunsOnceForEachRunID(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.d.Status = v1alpha1.DrillStatus{RunID: "1", Phase: v1alpha1.DrillCompleted, Verdict: v1alpha1.VerdictPassed}
	g.Expect(s.look(time.Hour)).To(BeEmpty())
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillCompleted))
	s.d.Spec.RunID = "2"
	s.look(time.Second)
	g.Expect(s.d.Status.RunID).To(Equal("2"))
	g.Expect(s.d.Status.Verdict).To(BeEmpty())
	g.Expect(s.d.Status.History).To(ConsistOf(v1alpha1.DrillRunSummary{RunID: "1", Verdict: v1alpha1.VerdictPassed}))
}

// A drill that is deleted goes when nothing of it is left anywhere, and every site has said so.
func TestDeletionTakesEverythingBack(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t)
	s.w.swept = []left{{"quincy", pod("x")}}
	p := planDelete(s.w)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).To(HaveLen(1))
	s.w.swept, s.w.unswept = nil, []v1alpha1.SiteName{"dublin"}
	p = planDelete(s.w)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("dublin"))
	s.w.unswept = nil
	g.Expect(planDelete(s.w).Done).To(BeTrue())
}

// What was not well when the time for the recovery was over is part of what is judged.
func TestNotRecovered(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.d.Spec.Recovery = &metav1.Duration{Duration: 20 * time.Second}
	s.until(v1alpha1.DrillRunning)
	for s.d.Status.Faults[0].State != v1alpha1.FaultActive {
		s.look(time.Second)
	}
	s.w.pods["tukpub"] = pod("another")
	s.w.replicas["quisec"] = replicaState{err: errors.New("silent")}
	s.until(v1alpha1.DrillJudging)
	s.w.runs = &runSamples{}
	m := (&Reconciler{}).measured(s.w, &judged{now: s.now}, archive.Archive{})
	g.Expect(m.NotRecovered).To(ContainSubstring("quisec does not answer"))
}

// A runID that was used does not run again: the target would be broken unasked, and the first run's evidence would judge it.
func TestARunIDThatComesBack(t *testing.T) {
	for name, used := range map[string]func(*stage){
		"in the history": func(*stage) {},
		"with an archive": func(s *stage) {
			s.d.Status.History, s.w.archived = nil, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, kill())
			s.d.Status = v1alpha1.DrillStatus{RunID: "2", Phase: v1alpha1.DrillCompleted, Verdict: v1alpha1.VerdictPassed,
				History: []v1alpha1.DrillRunSummary{{RunID: "1", Verdict: v1alpha1.VerdictFailed}}}
			used(s)
			for range 5 {
				g.Expect(s.look(time.Second)).To(BeEmpty())
			}
			g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillPending))
			g.Expect(s.d.Status.Reason).To(Equal(conditions.ReasonRunOver))
			s.d.Spec.RunID, s.w.archived = "3", false
			s.until(v1alpha1.DrillPreparing)
		})
	}
}

// That nobody could look is no effect, and neither is a probe of readiness that fails.
func TestWhatCountsAsReplaced(t *testing.T) {
	changed := func(change func(*corev1.ContainerStatus)) func(*stage) {
		return func(s *stage) {
			s.w.pods["tukpub"] = pod("one")
			change(&s.w.pods["tukpub"].Status.ContainerStatuses[0])
		}
	}
	for name, c := range map[string]struct {
		kind   v1alpha1.DrillFaultKind
		change func(*stage)
		want   metav1.ConditionStatus
	}{
		"another pod":                {v1alpha1.FaultPodKill, func(s *stage) { s.w.pods["tukpub"] = pod("another") }, metav1.ConditionTrue},
		"no pod":                     {v1alpha1.FaultPodKill, func(s *stage) { s.w.pods["tukpub"] = nil }, metav1.ConditionTrue},
		"the site does not answer":   {v1alpha1.FaultPodKill, func(s *stage) { delete(s.w.pods, "tukpub") }, metav1.ConditionUnknown},
		"a new container of the pod": {v1alpha1.FaultPodKill, changed(func(c *corev1.ContainerStatus) { c.ContainerID = "c-2" }), metav1.ConditionFalse},
		"a new container":            {v1alpha1.FaultContainerKill, changed(func(c *corev1.ContainerStatus) { c.ContainerID = "c-2" }), metav1.ConditionTrue},
		"started again":              {v1alpha1.FaultContainerKill, changed(func(c *corev1.ContainerStatus) { c.RestartCount = 1 }), metav1.ConditionTrue},
		"readiness alone":            {v1alpha1.FaultContainerKill, changed(func(c *corev1.ContainerStatus) { c.Ready = true }), metav1.ConditionFalse},
		"containers not reported":    {v1alpha1.FaultContainerKill, func(s *stage) { s.w.pods["tukpub"] = pod("one"); s.w.pods["tukpub"].Status.ContainerStatuses = nil }, metav1.ConditionUnknown},
		"no longer ready":            {v1alpha1.FaultPodFailure, changed(func(c *corev1.ContainerStatus) { c.Ready = true }), metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := kill()
			if f.Kind = c.kind; f.Kind == v1alpha1.FaultPodFailure {
				f.Duration = &metav1.Duration{Duration: 20 * time.Second}
			}
			s := newStage(t, f)
			s.until(v1alpha1.DrillRunning)
			for s.d.Status.Faults[0].State != v1alpha1.FaultActive {
				s.look(time.Second)
			}
			c.change(s)
			s.look(time.Second)
			g.Expect(s.d.Status.Faults[0].Effect.Status).To(Equal(c.want), s.d.Status.Faults[0].Effect.Seen)
		})
	}
}

func freeze() v1alpha1.DrillFault {
	return v1alpha1.DrillFault{Name: "halt", Kind: v1alpha1.FaultFreeze, Duration: &metav1.Duration{Duration: 20 * time.Second}, Where: &v1alpha1.FaultPlace{Site: "quincy"}}
}

// A freeze at a site strikes its servers, and is over when none of them was seen stopped.
func TestAFreezeIsThawedUntilItIsSeen(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, freeze())
	s.until(v1alpha1.DrillRunning)
	for s.d.Status.Faults[0].State != v1alpha1.FaultActive {
		s.look(time.Second)
	}
	g.Expect(s.d.Status.Faults[0].Targets).To(Equal([]string{"site quincy"}))
	s.look(time.Second)
	g.Expect(s.d.Status.Faults[0].Effect.Status).To(Equal(metav1.ConditionTrue))
	thaw := ConsistOf(Thaw{Server: "quisec", Careless: true})
	g.Expect(planDelete(s.w).Steps).To(thaw)
	g.Expect(planDelete(s.w).Done).To(BeFalse(), "the engine is still stopped")
	g.Expect(s.look(20 * time.Second)).To(thaw)
	delete(s.w.frozen, "quisec")
	g.Expect(s.look(time.Second)).To(thaw, "nobody could look")
	g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoving))
	s.w.frozen["quisec"] = 0
	g.Expect(s.look(time.Second)).To(BeEmpty())
	g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoved))
	g.Expect(planDelete(s.w).Done).To(BeTrue())
}

// A fault of which one part alone could be done ends by its time; its other part is not done later.
func TestHalfAFaultEnds(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	s.until(v1alpha1.DrillRunning)
	for s.d.Status.Faults[0].State != v1alpha1.FaultInjecting {
		s.look(time.Second)
	}
	s.w.objects[keyOf(s.d.Status.Faults[0].Objects[0])] = seenObject{exists: true, created: s.now}
	steps := s.look(25 * time.Second)
	g.Expect(steps).To(HaveLen(2))
	g.Expect(steps).To(HaveEach(BeAssignableToTypeOf(RemoveObject{})))
}

// A copy that is SYNCHRONIZED has hardened its log; it has caught up when it has redone it. Nobody has caught up who was not
// asked.
func TestCaughtUp(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage)
		well   bool
	}{
		"all is well":      {func(*stage) {}, true},
		"a little to redo": {func(s *stage) { s.w.replicas["quisec"].group.States[0].RedoQueueKB = ptr.To[int64](64) }, true},
		"much to redo":     {func(s *stage) { s.w.replicas["quisec"].group.States[0].RedoQueueKB = ptr.To[int64](5000) }, false},
		"no more than before": {func(s *stage) {
			s.w.replicas["quisec"].group.States[0].RedoQueueKB = ptr.To[int64](5000)
			s.d.Status.Baseline, s.d.Status.Started = at(begin), at(begin.Add(time.Minute))
			s.w.runs = &runSamples{Samples: archive.Samples{Replicas: []archive.ReplicaSample{{At: begin.Add(time.Second), Server: "quisec", RedoQueueKB: ptr.To[int64](6000)}}}}
		}, true},
		"a replica was not asked": {func(s *stage) { delete(s.w.replicas, "quisec") }, false},
		"a part of the target is gone": {func(s *stage) {
			s.w.target = &target{missing: "there is no SQLServer quisec"}
			s.w.replicas = map[v1alpha1.ServerName]replicaState{}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t)
			c.change(s)
			well, text := s.w.synchronized()
			g.Expect(well).To(Equal(c.well), text)
		})
	}
}

func TestRowsThatAreNotRedoneYet(t *testing.T) {
	g := NewWithT(t)
	rows := func(server string, numbers ...int64) history.Replica {
		r := history.Replica{Server: server}
		for _, n := range numbers {
			r.Rows = append(r.Rows, history.RowID{Run: 1, Number: n})
		}
		return r
	}
	g.Expect(different([]history.Replica{rows("a", 1, 2), rows("b", 2, 1)})).To(BeEmpty())
	g.Expect(different([]history.Replica{rows("a", 1, 2), rows("b", 1)})).To(ContainSubstring("a and b differ"))
}

// Evidence that cannot be kept proves nothing to those who come later; what was seen to be wrong stays wrong.
func TestEvidenceThatIsNotKept(t *testing.T) {
	for verdict, want := range map[v1alpha1.DrillVerdict]v1alpha1.DrillVerdict{v1alpha1.VerdictPassed: v1alpha1.VerdictInconclusive, v1alpha1.VerdictFailed: v1alpha1.VerdictFailed} {
		g := NewWithT(t)
		j := &judged{Judgement: drill.Judgement{Verdict: verdict, Message: "x"}}
		j.notKept(&archive.TooLargeError{Size: 2, Limit: 1})
		g.Expect(j.Verdict).To(Equal(want))
		g.Expect(j.Message).To(ContainSubstring("not kept"))
	}
}

// Rules that are lost while a partition should last are no partition, though it was one for a while.
func TestAPartitionThatEndsEarly(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	ways := func(failures int32) []v1alpha1.ProbeFigures {
		return []v1alpha1.ProbeFigures{{From: "tukpub", To: "quisec-0:1433", Attempts: 5, Failures: failures}}
	}
	s.until(v1alpha1.DrillRunning)
	s.w.probes["cut"] = ways(0)
	for s.d.Status.Faults[0].State != v1alpha1.FaultActive {
		s.look(time.Second)
	}
	effect := func(failures int32) *v1alpha1.FaultEffect {
		s.w.probes["cut"] = ways(failures)
		s.look(time.Second)
		return s.d.Status.Faults[0].Effect
	}
	g.Expect(effect(5).Status).To(Equal(metav1.ConditionTrue))
	g.Expect(effect(0).Status).To(Equal(metav1.ConditionFalse))
	e := effect(5)
	g.Expect(e.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(e.Seen).To(ContainSubstring("did not last"))
}
