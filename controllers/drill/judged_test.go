// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/workload/history"
)

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

// How long replicas were waited for is told by the last look at them, not by when the verdict was made.
func TestHowLongReplicasWereWaitedFor(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, cut())
	s.d.Spec.Objectives.RedoCatchUp = lasting(2 * time.Minute)
	s.at(v1alpha1.FaultActive)
	s.d.Spec.Abort = true
	s.w.replicas["quisec"] = replicaState{err: errors.New("silent")}
	for s.d.Status.Phase != v1alpha1.DrillJudging {
		s.look(5 * time.Second)
		for _, o := range s.d.Status.Faults[0].Objects {
			s.w.objects[keyOf(o)] = seenObject{}
		}
	}
	s.w.runs = &runSamples{}
	checked := history.Check(history.Evidence{Faults: (&Reconciler{}).faults(s.w, instants())})
	j := &judged{now: s.now.Add(10 * time.Minute), verdict: checked}
	m := (&Reconciler{}).measured(s.w, j, archive.Archive{})
	g.Expect(m.Waited).To(And(BeNumerically(">=", time.Minute), BeNumerically("<", 80*time.Second)))
	g.Expect(verdict.Judge(s.d.Spec, nil, m).Objectives).To(ContainElement(And(HaveField("Name", "redoCatchUp"),
		HaveField("Verdict", v1alpha1.VerdictInconclusive))))
}

// Where two servers say that they are primary, the group's status names neither. The rows of both count: what one of
// them acknowledged the other may lack.
func TestEveryPrimaryIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		roles  map[v1alpha1.ServerName]string
		unread []string
	}{
		"one primary": {"tukpub-0", map[v1alpha1.ServerName]string{"tukpub": "PRIMARY", "quisec": "SECONDARY"},
			[]string{"tukpub", "quisec"}},
		"two": {"", map[v1alpha1.ServerName]string{"tukpub": "PRIMARY", "quisec": "PRIMARY"},
			[]string{"tukpub", "quisec"}},
		"none": {"", map[v1alpha1.ServerName]string{"tukpub": "RESOLVING", "quisec": "SECONDARY"},
			[]string{"quisec"}},
		"the former does not read": {"quisec-0", map[v1alpha1.ServerName]string{"tukpub": "RESOLVING", "quisec": "PRIMARY"},
			[]string{"quisec"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t)
			s.until(v1alpha1.DrillJudging)
			s.w.runs, s.w.target.group.Status.Primary = &runSamples{}, c.status
			for server, r := range c.roles {
				s.w.replicas[server] = role(r)
			}
			s.w.resolved.Roles = map[v1alpha1.FaultRole]v1alpha1.ServerName{}
			s.w.roles()
			unread := s.w.unread(nil)
			g.Expect(unread).To(ConsistOf(c.unread))
			g.Expect(s.w.unread([]history.Replica{{Server: c.unread[0] + "-0"}})).To(ConsistOf(c.unread[1:]))
			// What was kept is judged as it was kept, whoever is primary when that is done.
			s.w.replicas = map[v1alpha1.ServerName]replicaState{}
			s.w.target.readable, s.w.resolved.Roles = nil, nil
			kept := archive.Archive{Bounds: archive.Bounds{Unread: unread}}
			g.Expect((&Reconciler{}).measured(s.w, &judged{now: s.now}, kept).Unread).To(Equal(unread))
		})
	}
}

// Copies that differ are read again only while one of them may still be redoing.
func TestWhoStillRedoes(t *testing.T) {
	suspended := role("SECONDARY")
	suspended.group.States[0].Suspended = true
	for name, c := range map[string]struct {
		tukpub, quisec replicaState
		want           bool
	}{
		"a secondary":           {role("PRIMARY"), role("SECONDARY"), true},
		"one that is suspended": {role("PRIMARY"), suspended, false},
		"two primaries":         {role("PRIMARY"), role("PRIMARY"), false},
		"a former primary":      {role("RESOLVING"), role("PRIMARY"), false},
		"one that is silent":    {role("PRIMARY"), replicaState{err: errors.New("silent")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.w.replicas = map[v1alpha1.ServerName]replicaState{"tukpub": c.tukpub, "quisec": c.quisec}
			NewWithT(t).Expect(s.w.redoes()).To(Equal(c.want))
		})
	}
}

// A runID that was used does not run again: the target would be broken unasked, and the first run's evidence would
// judge it.
func TestARunIDThatComesBack(t *testing.T) {
	for name, used := range map[string]func(*stage){
		"in the history": func(*stage) {},
		"with an archive": func(s *stage) {
			s.d.Status.History, s.w.archived = nil, true
		},
		"with another UID, known at one of the target's sites": func(s *stage) {
			s.d.Status = v1alpha1.DrillStatus{}
			s.w.begun = map[v1alpha1.SiteName]reconcile.Reading[[]begunRun]{"quincy": reconcile.Read([]begunRun{{ID: "1",
				UID: "the former one's"}}),
				"tukwila": reconcile.NotRead[[]begunRun](errors.New("silent"))}
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
			g.Expect(s.d.Status.Reason).To(Equal(v1alpha1.ReasonRunOver))
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
		"another pod": {v1alpha1.FaultPodKill, func(s *stage) { s.w.pods["tukpub"] = pod("another") },
			metav1.ConditionTrue},
		"no pod": {v1alpha1.FaultPodKill, func(s *stage) { s.w.pods["tukpub"] = nil },
			metav1.ConditionTrue},
		"the site does not answer": {v1alpha1.FaultPodKill, func(s *stage) { delete(s.w.pods, "tukpub") },
			metav1.ConditionUnknown},
		"a new container of the pod": {v1alpha1.FaultPodKill,
			changed(func(c *corev1.ContainerStatus) { c.ContainerID = "c-2" }), metav1.ConditionFalse},
		"a new container": {v1alpha1.FaultContainerKill,
			changed(func(c *corev1.ContainerStatus) { c.ContainerID = "c-2" }), metav1.ConditionTrue},
		"started again": {v1alpha1.FaultContainerKill,
			changed(func(c *corev1.ContainerStatus) { c.RestartCount = 1 }), metav1.ConditionTrue},
		"readiness alone": {v1alpha1.FaultContainerKill,
			changed(func(c *corev1.ContainerStatus) { c.Ready = true }), metav1.ConditionFalse},
		"containers not reported": {v1alpha1.FaultContainerKill,
			func(s *stage) { s.w.pods["tukpub"] = pod("one"); s.w.pods["tukpub"].Status.ContainerStatuses = nil },
			metav1.ConditionUnknown},
		"another that is not ready": {v1alpha1.FaultPodFailure,
			changed(func(c *corev1.ContainerStatus) { c.ContainerID = "c-2" }), metav1.ConditionTrue},
		"another that is ready": {v1alpha1.FaultPodFailure,
			changed(func(c *corev1.ContainerStatus) { c.ContainerID, c.Ready = "c-2", true }), metav1.ConditionFalse},
		"the same, not ready": {v1alpha1.FaultPodFailure, changed(func(c *corev1.ContainerStatus) { c.Ready = false }),
			metav1.ConditionFalse},
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
	return v1alpha1.DrillFault{
		Name:     "halt",
		Kind:     v1alpha1.FaultFreeze,
		Duration: &metav1.Duration{Duration: 20 * time.Second},
		Where:    &v1alpha1.FaultPlace{Site: "quincy"},
	}
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
	thaw := ConsistOf(Thaw{Server: "quisec", BestEffort: true})
	g.Expect(planDelete(s.w.Desired, s.w).Steps).To(thaw)
	g.Expect(planDelete(s.w.Desired, s.w).Done).To(BeFalse(), "the engine is still stopped")
	g.Expect(s.look(20 * time.Second)).To(thaw)
	delete(s.w.frozen, "quisec")
	g.Expect(s.look(time.Second)).To(thaw, "nobody could look")
	g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoving))
	s.w.frozen["quisec"] = 0
	g.Expect(s.look(time.Second)).To(BeEmpty())
	g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoved))
	g.Expect(planDelete(s.w.Desired, s.w).Done).To(BeTrue())
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

// A copy that is SYNCHRONIZED has hardened its log; it has caught up when it has redone it, and when its primary has
// sent all that there is. Nobody has caught up who was not asked.
func TestCaughtUp(t *testing.T) {
	ofQuisec := func(s *stage) *mssql.GroupDatabaseState { return &s.w.replicas["tukpub"].group.States[2] }
	for name, c := range map[string]struct {
		change func(*stage)
		well   bool
	}{
		"all is well":      {func(*stage) {}, true},
		"a little to redo": {func(s *stage) { s.w.replicas["quisec"].group.States[0].RedoQueueKB = ptr.To[int64](64) }, true},
		"much to redo": {func(s *stage) { s.w.replicas["quisec"].group.States[0].RedoQueueKB = ptr.To[int64](5000) },
			false},
		"no more than before": {func(s *stage) {
			s.w.replicas["quisec"].group.States[0].RedoQueueKB = ptr.To[int64](5000)
			s.d.Status.Baseline, s.d.Status.Started = at(begin), at(begin.Add(time.Minute))
			s.w.runs = &runSamples{Samples: archive.Samples{Replicas: []archive.ReplicaSample{{At: begin.Add(time.Second),
				Server: "quisec", RedoQueueKB: ptr.To[int64](6000)}}}}
		}, true},
		"much to send": {func(s *stage) { ofQuisec(s).SendQueueKB = ptr.To[int64](500_000) }, false},
		"much to send to an asynchronous one": {func(s *stage) {
			s.w.target.group.Spec.Replicas[1].AvailabilityMode = v1alpha1.AsynchronousCommit
			s.w.replicas["quisec"].group.States[0].State, ofQuisec(s).State = "SYNCHRONIZING", "SYNCHRONIZING"
			ofQuisec(s).SendQueueKB = ptr.To[int64](500_000)
		}, false},
		"an asynchronous one": {func(s *stage) {
			s.w.target.group.Spec.Replicas[1].AvailabilityMode = v1alpha1.AsynchronousCommit
			s.w.replicas["quisec"].group.States[0].State, ofQuisec(s).State = "SYNCHRONIZING", "SYNCHRONIZING"
		}, true},
		"an asynchronous one that does not follow": {func(s *stage) {
			s.w.target.group.Spec.Replicas[1].AvailabilityMode = v1alpha1.AsynchronousCommit
			s.w.replicas["quisec"].group.States[0].State = "NOT SYNCHRONIZING"
		}, false},
		"no more to send than before": {func(s *stage) {
			ofQuisec(s).SendQueueKB = ptr.To[int64](5000)
			s.d.Status.Baseline, s.d.Status.Started = at(begin), at(begin.Add(time.Minute))
			s.w.runs = &runSamples{Samples: archive.Samples{Replicas: []archive.ReplicaSample{{At: begin.Add(time.Second),
				Server: "quisec", SendQueueKB: ptr.To[int64](6000)}}}}
		}, true},
		"what is to be sent is not known": {func(s *stage) { ofQuisec(s).SendQueueKB = nil }, false},
		"the primary takes it for behind": {func(s *stage) { ofQuisec(s).State = "NOT SYNCHRONIZING" }, false},
		"the primary says nothing of it": {func(s *stage) {
			g := s.w.replicas["tukpub"].group
			g.States = g.States[:1]
		}, false},
		"the primary says nothing of one of its databases": {func(s *stage) {
			g := s.w.replicas["tukpub"].group
			g.States = append(g.States, mssql.GroupDatabaseState{Local: true, Database: "Orders", State: "SYNCHRONIZED"})
		}, false},
		"it has one of the databases alone": {func(s *stage) {
			none := int64(0)
			g := s.w.replicas["tukpub"].group
			g.States = append(g.States, mssql.GroupDatabaseState{Local: true, Database: "Orders", State: "SYNCHRONIZED"},
				mssql.GroupDatabaseState{Server: "quisec-0", Database: "Orders", State: "SYNCHRONIZED", SendQueueKB: &none})
		}, false},
		"the primary is not connected with it": {func(s *stage) {
			s.w.replicas["tukpub"].group.Replicas = []mssql.GroupReplica{{Server: "QUISEC-0", Connected: "DISCONNECTED"}}
		}, false},
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
	for judgement, want := range map[v1alpha1.DrillVerdict]v1alpha1.DrillVerdict{
		v1alpha1.VerdictPassed: v1alpha1.VerdictInconclusive, v1alpha1.VerdictFailed: v1alpha1.VerdictFailed,
	} {
		g := NewWithT(t)
		j := &judged{Judgement: verdict.Judgement{Verdict: judgement, Message: "x"}}
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

// A look that is over after a fault's time, and does not see it, is no sight of it: it may have ended meanwhile.
func TestALookThatIsOverAfterTheFaultsTime(t *testing.T) {
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
	s.w.probes["cut"] = ways(5)
	s.look(time.Second)
	f := &s.d.Status.Faults[0]
	g.Expect(f.Effect.Status).To(Equal(metav1.ConditionTrue))
	seen := f.Effect.Until.Time
	s.w.probes["cut"], s.w.asked = ways(0), f.Injected.Add(cut().Duration.Duration)
	s.look(time.Second)
	f = &s.d.Status.Faults[0]
	g.Expect(f.Effect.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(f.Effect.Until.Time).To(BeTemporally("==", seen))
}

// Replicas are seen synchronized when they have been read, not when the look at them began.
func TestWhenReplicasWereSeenSynchronized(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	f := s.at(v1alpha1.FaultActive)
	s.w.pods["tukpub"] = pod("another")
	for f.State != v1alpha1.FaultRemoved {
		s.look(time.Second)
		f = &s.d.Status.Faults[0]
	}
	g.Expect(f.Settled).To(BeNil())
	s.w.read = s.now.Add(21 * time.Second)
	s.look(time.Second)
	g.Expect(s.d.Status.Faults[0].Settled.Time).To(BeTemporally("==", s.w.read))
	g.Expect(s.d.Status.Timeline).To(ContainElement(And(HaveField("Event", "Synchronized"),
		HaveField("Time.Time", BeTemporally("==", s.w.read)))))
}
