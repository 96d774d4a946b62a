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
	"k8s.io/utils/dump"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/workload/history"
)

// stage is a drill in a world that the test decides; what is planned is noted and, like a manager does, put into the
// status.
type stage struct {
	t    tester
	d    *v1alpha1.Drill
	w    *Observed
	now  time.Time
	plan reconcile.Plan
}

// tester is what a stage needs of a test, or of a round of a property.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

var begin = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newStage(t tester, faults ...v1alpha1.DrillFault) *stage {
	g := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"}}
	g.Spec.Replicas = []v1alpha1.Replica{
		{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
		{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
	}
	g.Status.Primary = "tukpub-0"
	d := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d", UID: "uid"},
		Spec: v1alpha1.DrillSpec{RunID: "1", Faults: faults,
			Target: v1alpha1.DrillTarget{AvailabilityGroup: "content"}, Baseline: &metav1.Duration{Duration: 10 * time.Second}},
	}
	s := &stage{t: t, d: d, now: begin}
	s.w = &Observed{
		Desired: Desired{drill: d},
		target: &target{
			group:     g,
			publisher: "tukpub",
			database:  "Content",
			data:      []v1alpha1.ServerName{"tukpub", "quisec"},
			readable:  []v1alpha1.ServerName{"quisec"},
			servers:   []*v1alpha1.SQLServer{server("tukpub", "tukwila"), server("quisec", "quincy")},
		},
		members: map[v1alpha1.SiteName]*sites.Member{"tukwila": {}, "quincy": {}},
		secret:  true,
		login: &v1alpha1.Login{
			ObjectMeta: metav1.ObjectMeta{Name: "d-clients"},
			Status: v1alpha1.LoginStatus{
				StatusBase: v1alpha1.StatusBase{Conditions: []metav1.Condition{{Type: "Ready", Status: "True"}}},
			},
		},
		pods:     map[v1alpha1.ServerName]*corev1.Pod{"tukpub": pod("one"), "quisec": pod("two")},
		latest:   map[v1alpha1.SiteName]history.Newest{},
		clients:  map[v1alpha1.SiteName]*corev1.Pod{"tukwila": {}, "quincy": {}},
		frozen:   map[v1alpha1.ServerName]int{},
		objects:  map[objectKey]seenObject{},
		probes:   map[string][]v1alpha1.ProbeFigures{},
		replicas: map[v1alpha1.ServerName]replicaState{"tukpub": role("PRIMARY"), "quisec": role("SECONDARY")},
	}
	s.w.resolved = fault.World{
		Namespace: "web",
		Drill:     "d",
		RunID:     "1",
		Group:     "content",
		Term:      3,
		Servers: map[v1alpha1.ServerName]fault.Server{
			"tukpub": {
				Name:      "tukpub",
				Site:      "tukwila",
				Addresses: []string{"10.1.0.1"},
				Services:  map[v1alpha1.SiteName]string{"quincy": "10.12.0.1", "tukwila": "10.11.0.1"},
			},
			"quisec": {
				Name:      "quisec",
				Site:      "quincy",
				Addresses: []string{"10.2.0.1"},
				Services:  map[v1alpha1.SiteName]string{"quincy": "10.12.0.2", "tukwila": "10.11.0.2"},
			},
		},
		Sites: map[v1alpha1.SiteName]fault.Site{"tukwila": {}, "quincy": {}},
	}
	return s
}

func server(name string, site v1alpha1.SiteName) *v1alpha1.SQLServer {
	return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SQLServerSpec{Site: site}}
}

func pod(uid types.UID) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: uid},
		Status: corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{{Name: fault.EngineContainer, ContainerID: "c-" + string(uid)}},
		},
	}
}

// role is what a replica says of which all is well, and a primary of the others.
func role(r string) replicaState {
	g := &mssql.Group{Role: r, States: []mssql.GroupDatabaseState{
		{Local: true, Database: "Content", State: "SYNCHRONIZED"}}}
	for _, other := range []string{"tukpub-0", "quisec-0"} {
		if none := int64(0); r == "PRIMARY" {
			g.States = append(g.States, mssql.GroupDatabaseState{Server: other, Database: "Content",
				State: "SYNCHRONIZED", SendQueueKB: &none, RedoQueueKB: &none})
		}
	}
	return replicaState{group: g}
}

// promoted makes a server primary by the word of both; none with "".
func (s *stage) promoted(server v1alpha1.ServerName) {
	s.w.target.group.Status.Primary = ""
	for name := range s.w.replicas {
		s.w.replicas[name] = role("RESOLVING")
		if server != "" {
			s.w.replicas[name] = role("SECONDARY")
		}
	}
	if server != "" {
		s.w.target.group.Status.Primary = string(server) + "-0"
		s.w.replicas[server] = role("PRIMARY")
	}
}

// pass lets some time pass.
func (s *stage) pass(after time.Duration) {
	s.now = s.now.Add(after)
	s.w.now = s.now
	s.w.resolved.Roles = map[v1alpha1.FaultRole]v1alpha1.ServerName{}
	s.w.roles()
	for site := range s.w.clients {
		s.w.latest[site] = history.Newest{Acknowledged: history.Instant{Wall: s.now.UnixNano(), Monotonic: s.now.UnixNano()}}
	}
}

// look reconciles once after some time. The report is what the controller writes.
func (s *stage) look(after time.Duration) []reconcile.Step {
	s.t.Helper()
	s.pass(after)
	s.plan = s.planned()
	done := newResults()
	for _, step := range s.plan.Steps {
		switch one := step.(type) {
		case Inject:
			done.injected[one.Fault] = s.now
			for _, o := range one.Objects {
				s.w.objects[objectKey{string(o.Site), o.GetKind(), o.GetName()}] = seenObject{exists: true, created: s.now}
			}
		case Freeze:
			done.injected[one.Fault] = s.now
			for _, server := range one.Servers {
				s.w.frozen[server] = 3
			}
		case RemoveObject:
			s.w.objects[keyOf(one.Object)] = seenObject{}
		case PrepareTables:
			zero := int64(0)
			done.after = &zero
		}
	}
	s.d.Status = *reported(s.plan, done)
	return s.plan.Steps
}

// planned is the plan, which is the same when it is made again, and leaves the world as it was.
func (s *stage) planned() reconcile.Plan {
	s.t.Helper()
	before := dump.ForHash(s.w)
	first := plan(s.w.Desired, s.w)
	if again := plan(s.w.Desired, s.w); dump.ForHash(again) != dump.ForHash(first) {
		s.t.Fatalf("of one world there are two plans:\n%s\n%s", dump.Pretty(first), dump.Pretty(again))
	}
	if after := dump.ForHash(s.w); after != before {
		s.t.Fatalf("planning changed what was read, from\n%s\nto\n%s", before, after)
	}
	return first
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
	return v1alpha1.DrillFault{
		Name:  "kill",
		Kind:  v1alpha1.FaultPodKill,
		At:    &metav1.Duration{Duration: 3 * time.Second},
		Where: &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
	}
}

func cut() v1alpha1.DrillFault {
	return v1alpha1.DrillFault{
		Name:     "cut",
		Kind:     v1alpha1.FaultPartition,
		Duration: &metav1.Duration{Duration: 20 * time.Second},
		Where:    &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
	}
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
	s.promoted("quisec")
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
	var removal []reconcile.Step
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

// A drill that waits until it is too late for it ends without having begun, whatever is well by then.
func TestADrillThatCannotBeginInTime(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.d.Spec.BeginBefore = &metav1.Time{Time: begin.Add(10 * time.Minute)}
	s.w.target.unwell = "AvailabilityGroup content is not Ready"
	s.look(time.Second)
	g.Expect(s.d.Status.Phase).To(Equal(v1alpha1.DrillPending))
	s.w.target.unwell = ""
	g.Expect(s.look(10 * time.Minute)).To(BeEmpty())
	g.Expect(s.d.Status).To(And(HaveField("Phase", v1alpha1.DrillCompleted),
		HaveField("Verdict", v1alpha1.VerdictInconclusive), HaveField("Accepted", BeNil()),
		HaveField("Message", And(ContainSubstring("2026-11-20T12:10:00Z"), ContainSubstring("is not Ready")))))
	s = newStage(t, kill())
	s.d.Spec.BeginBefore = &metav1.Time{Time: begin.Add(10 * time.Minute)}
	s.until(v1alpha1.DrillRunning)
	s.look(10 * time.Minute)
	g.Expect(s.d.Status.AbortReason).To(BeEmpty(), "it began in time")
}

// Clients who were served at each look have not ceased to be when nobody can ask them; that they are not seen for long
// ends the run.
func TestClientsThatCannotBeAsked(t *testing.T) {
	g := NewWithT(t)
	f := cut()
	f.Duration = &metav1.Duration{Duration: 20 * time.Minute}
	s := newStage(t, f)
	s.d.Spec.AbortWhen = &v1alpha1.DrillAbort{UnservedFor: &metav1.Duration{Duration: 3 * time.Minute}}
	s.until(v1alpha1.DrillRunning)
	for range 60 {
		s.look(10 * time.Second)
	}
	s.w.clients, s.w.latest = nil, map[v1alpha1.SiteName]history.Newest{"tukwila": {}, "quincy": {}}
	s.look(10 * time.Second)
	g.Expect(s.d.Status.AbortReason).To(BeEmpty())
	s.look(3 * time.Minute)
	g.Expect(s.d.Status.AbortReason).To(ContainSubstring("no client was seen to be served for 3m10s"))
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
		"by what a silent one has to redo": func(s *stage) {
			limit, queue := int64(100), int64(101)
			s.d.Spec.AbortWhen = &v1alpha1.DrillAbort{RedoQueueKB: &limit}
			states := &s.w.replicas["tukpub"].group.States
			*states = append(*states, mssql.GroupDatabaseState{Server: "quisec-0", Database: "Content", RedoQueueKB: &queue})
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
			j := verdict.Judge(
				s.d.Spec,
				nil,
				verdict.Measured{
					History: history.Verdict{Counts: history.Counts{Acknowledged: 1000}},
					Read:    []string{"quisec-0"},
					Aborted: s.d.Status.AbortReason,
				},
			)
			g.Expect(j.Verdict).To(Equal(v1alpha1.VerdictInconclusive))
		})
	}
}

// A run that was ended early is no pass, and is not waited for as one that may be: a server that is silent holds it up
// no longer than its faults need to be taken back, also when it is the recovery that was too long.
func TestEndedEarlyWithASilentServer(t *testing.T) {
	for name, end := range map[string]func(*stage){
		"while a fault lasts": func(s *stage) { s.d.Spec.Abort = true },
		"in the recovery": func(s *stage) {
			s.until(v1alpha1.DrillRecovering)
			s.look(50 * time.Second)
			s.now = s.d.Status.Accepted.Add(31 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, cut())
			s.d.Spec.Recovery = &metav1.Duration{Duration: time.Hour}
			s.until(v1alpha1.DrillRunning)
			for s.d.Status.Faults[0].State != v1alpha1.FaultActive {
				s.look(time.Second)
			}
			s.w.replicas["quisec"] = replicaState{err: errors.New("silent")}
			end(s)
			s.look(time.Second)
			g.Expect(s.d.Status.AbortReason).NotTo(BeEmpty())
			ended := s.now
			s.until(v1alpha1.DrillJudging)
			g.Expect(s.now.Sub(ended)).To(BeNumerically("<=", 62*time.Second))
			g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoved))
			g.Expect(s.d.Status.Timeline).To(ContainElement(HaveField("Event", eventNotRecovered)))
		})
	}
}

// What cannot be gathered of a run that was ended early is not asked for as long as what may make a pass.
func TestEndedEarlyIsGatheredSoon(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	s.until(v1alpha1.DrillJudging)
	g.Expect(s.w.gatherUntil()).To(Equal(lastMoment(s.w).Add(judgeWithin)))
	s.w.drill.Status.AbortReason = "a person asked for it"
	g.Expect(s.w.gatherUntil()).To(Equal(lastMoment(s.w).Add(endedWithin)))
}

// A drill waits for what it needs, and says for what.
func TestWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage)
		reason string
	}{
		"no such group": {func(s *stage) { s.w.target.missing = "there is no group" },
			v1alpha1.ReasonTargetMissing},
		"no label": {func(s *stage) { s.w.target.denied = "label it" }, v1alpha1.ReasonNotAllowed},
		"rights that nobody granted": {func(
			s *stage) {
			s.w.ungranted = map[v1alpha1.SiteName]string{"quincy": "create pods"}
		}, v1alpha1.ReasonDrillsNotGranted},
		"rights of which nothing is known": {func(s *stage) { s.w.unasked = "silent" }, v1alpha1.ReasonSiteUnreachable},
		"another drill":                    {func(s *stage) { s.w.busy = "other" }, v1alpha1.ReasonDrillWaiting},
		"not well": {func(s *stage) { s.w.target.unwell = "not Ready" },
			v1alpha1.ReasonTargetUnwell},
		"a site is silent": {func(s *stage) {
			delete(s.w.members, "quincy")
			s.w.siteErr = map[v1alpha1.SiteName]error{"quincy": errors.New("silent")}
		}, v1alpha1.ReasonSiteUnreachable},
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
	g.Expect(kinds).To(Equal([]string{"@", "@", "@tukwila", "@quincy", "cut@tukwila", "cut@quincy", "kill@tukwila"}))
	g.Expect(s.d.Status.Message).To(Equal("7 objects would be created"))
	g.Expect(s.d.Status.Plan[0].Manifest).To(And(ContainSubstring("kind: Secret"), ContainSubstring("password: REDACTED")))
}

// What a site says against a literal fault is said once, however often the fault is repeated.
func TestDryRunSaysWhatASiteRefuses(t *testing.T) {
	g := NewWithT(t)
	own := literal(
		"NetworkChaos",
		`{"action":"delay","mode":"all","selector":{},"duration":"5s","rate":{"rate":"1mbps"}}`,
	)
	own.Every, own.Times = lasting(time.Minute), 3
	s := newStage(t, own)
	s.d.Spec.DryRun, s.w.tried = true, map[string]error{
		"own": errors.New("site tukwila refuses it: unknown field \"spec.rate\""),
	}
	s.look(time.Second)
	s.look(time.Second)
	g.Expect(s.d.Status.Message).
		To(Equal("7 objects would be created; fault own: site tukwila refuses it: unknown field \"spec.rate\""))
}

// A dry run that has more to show than a status can keep says how much there is.
func TestDryRunSaysWhatItDoesNotShow(t *testing.T) {
	g := NewWithT(t)
	often := cut()
	often.Every, often.Times = lasting(time.Minute), 100
	again := often
	again.Name = "again"
	s := newStage(t, often, again)
	s.d.Spec.DryRun = true
	s.look(time.Second)
	s.look(time.Second)
	g.Expect(s.d.Status.Message).To(Equal("404 objects would be created, of which the first 256 are shown"))
	g.Expect(s.d.Status.Plan).To(HaveLen(256))
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
	p := planDelete(s.w.Desired, s.w)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).To(HaveLen(1))
	s.w.swept, s.w.unswept = nil, []v1alpha1.SiteName{"dublin"}
	p = planDelete(s.w.Desired, s.w)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("dublin"))
	s.w.unswept = nil
	g.Expect(planDelete(s.w.Desired, s.w).Done).To(BeTrue())
}
