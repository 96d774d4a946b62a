// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/reconcile/conditions"
)

var (
	digest1 = "sha256:" + strings.Repeat("1", 64)
	digest2 = "sha256:" + strings.Repeat("2", 64)
)

// runs is what the kubelet says that the engine's container runs.
func (e *environ) runs(imageID string) {
	e.o.Pod = e.o.Pod.DeepCopy()
	e.o.Pod.Status.ContainerStatuses[0].ImageID = imageID
}

// declares gives the server another image.
func (e *environ) declares(image string) {
	e.d.Server = e.d.Server.DeepCopy()
	e.d.Server.Spec.Image = image
}

// requests writes the annotation that asks for an update.
func (e *environ) requests(value string) {
	e.d.Server = e.d.Server.DeepCopy()
	e.d.Server.Annotations = map[string]string{v1alpha1.UpdateAnnotation: value}
}

// image is that of the pod's template.
func (e *environ) image() string { return e.o.StatefulSet.Spec.Template.Spec.Containers[0].Image }

func restarted(done []string) (n int) {
	for _, step := range done {
		if strings.HasPrefix(step, "restart pod") {
			n++
		}
	}
	return n
}

// settledAlone is a server of no group that runs.
func settledAlone(t *testing.T) *environ {
	t.Helper()
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	return e
}

// A node that pulls a tag anew, or another node, changes no version: the pod's template has the digest that ran first,
// and nothing is restarted for it.
func TestATagKeepsItsDigest(t *testing.T) {
	g := NewWithT(t)
	e := settledAlone(t)
	g.Expect(e.image()).To(Equal("mssql:2022"))
	e.runs("docker.io/library/mssql@" + digest1)
	for range 2 {
		_, done := e.settle(t, 100)
		g.Expect(restarted(done)).To(BeZero())
		g.Expect(e.image()).To(Equal("mssql@" + digest1))
		e.startPod() // the node was lost, say
		e.runs("docker.io/library/mssql@" + digest1)
	}

	e.declares("mssql:2022b")
	_, done := e.settle(t, 100)
	g.Expect(restarted(done)).To(Equal(1))
	g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql:2022b"))
	e.runs("docker.io/library/mssql@" + digest2)
	_, done = e.settle(t, 100)
	g.Expect(restarted(done)).To(BeZero())
	g.Expect(e.image()).To(Equal("mssql@" + digest2))

	e.declares("mssql:2022")
	_, done = e.settle(t, 100)
	g.Expect(restarted(done)).To(Equal(1), "another tag is another image, though it be of the same repository")
	g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql:2022"))
}

// What was loaded into a node by hand has no digest that another node could pull, and where nobody may pull there is
// only what was loaded.
func TestAnImageThatNobodyPullsHasNoDigest(t *testing.T) {
	g := NewWithT(t)
	e := settledAlone(t)
	e.runs(digest1)
	_, done := e.settle(t, 100)
	g.Expect(done).To(BeEmpty())
	e.d.Server.Spec.ImagePullPolicy = corev1.PullNever
	e.settle(t, 100)
	e.runs("docker.io/library/mssql@" + digest1)
	_, done = e.settle(t, 100)
	g.Expect(done).To(BeEmpty())
	g.Expect(e.image()).To(Equal("mssql:2022"))
}

// A person asks for what the tag names now: once for each value, and a digest has nothing else to give.
func TestAnUpdateIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	e := settledAlone(t)
	e.runs("docker.io/library/mssql@" + digest1)
	e.settle(t, 100)
	for _, digest := range []string{digest2, digest1} {
		e.requests("for " + digest)
		_, done := e.settle(t, 100)
		g.Expect(restarted(done)).To(Equal(1))
		g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql:2022"), "the tag is looked up")
		e.runs("docker.io/library/mssql@" + digest)
		_, done = e.settle(t, 100)
		g.Expect(restarted(done)).To(BeZero(), "once")
		g.Expect(e.image()).To(Equal("mssql@" + digest))
	}
	e.d.Server.Annotations = nil
	_, done := e.settle(t, 100)
	g.Expect(done).To(BeEmpty(), "that it was taken away asks for nothing")

	e.declares("mssql@" + digest1)
	e.settle(t, 100)
	e.requests("again")
	_, done = e.settle(t, 100)
	g.Expect(restarted(done)).To(BeZero())
}

// What waits for a request or for a quiet hour is brought by nothing else: not by another restart, not by a lost node.
// A group goes by its strictest server.
func TestWhenAnImageIsTaken(t *testing.T) {
	night := []v1alpha1.MaintenanceWindow{{Schedule: "0 3 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	own := func(change func(*v1alpha1.SQLServerSpec)) func(*environ) {
		return func(e *environ) { change(&e.d.Server.Spec) }
	}
	peer := func(change func(*v1alpha1.SQLServerSpec)) func(*environ) {
		return func(e *environ) {
			s := v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: "quisec"}}
			change(&s.Spec)
			e.d.servers, e.d.Partners = append(e.d.servers, s), []v1alpha1.ServerName{"quisec"}
		}
	}
	onRequest := func(s *v1alpha1.SQLServerSpec) { s.UpdatePolicy = v1alpha1.UpdateOnRequest }
	atNight := func(s *v1alpha1.SQLServerSpec) { s.MaintenanceWindows = night }
	for name, c := range map[string]struct {
		change  func(*environ)
		hour    int
		request bool
		reason  string
	}{
		"as soon as it is declared":     {change: func(*environ) {}},
		"on request":                    {change: own(onRequest), reason: v1alpha1.ReasonUpdateAwaitsRequest},
		"when it was asked for":         {change: own(onRequest), request: true},
		"another server's policy":       {change: peer(onRequest), reason: v1alpha1.ReasonUpdateAwaitsRequest},
		"by day":                        {change: own(atNight), hour: 12, reason: v1alpha1.ReasonUpdateAwaitsWindow},
		"by night":                      {change: own(atNight), hour: 3},
		"another server's window":       {change: peer(atNight), hour: 12, reason: v1alpha1.ReasonUpdateAwaitsWindow},
		"by day, when it was asked for": {change: own(atNight), hour: 12, request: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := settledAlone(t)
			e.runs("docker.io/library/mssql@" + digest1)
			e.settle(t, 100)
			e.o.Now = time.Date(2026, 11, 21, c.hour, 30, 0, 0, time.UTC)
			c.change(e)
			e.declares("mssql:2022b")
			if c.request {
				e.requests("now")
			}
			if c.reason == "" {
				_, done := e.settle(t, 100)
				g.Expect(restarted(done)).To(Equal(1))
				g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql:2022b"))
				return
			}
			p, done := e.settle(t, 100)
			g.Expect(done).To(BeEmpty())
			g.Expect(waits(p).Why).To(BeEmpty(), "it keeps nobody from a restart")
			condition := imageCondition(e.d, e.o)
			g.Expect(condition.Status).To(Equal(metav1.ConditionFalse))
			g.Expect(condition.Reason).To(Equal(c.reason))
			g.Expect(condition.Message).To(ContainSubstring("kubectl geosql update tukpub"))
			e.d.Server.Spec.Startup.TraceFlags = nil
			_, done = e.settle(t, 100)
			g.Expect(restarted(done)).To(Equal(1))
			g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql@"+digest1), "another restart brings no update")
		})
	}
}

// Data that a later major version wrote are kept from an engine that can't open them, by what the claim says when the
// hub was rebuilt and knows nothing.
func TestALowerVersionIsNotUsed(t *testing.T) {
	g := NewWithT(t)
	e := settledAlone(t)
	g.Expect(e.o.Claims[placement.RoleData].Annotations[annotationWrittenBy]).To(Equal("16.0.4000.0"))
	g.Expect(e.o.Claims[placement.RoleLog].Annotations).NotTo(HaveKey(annotationWrittenBy))
	e.declares("mssql:2019-CU32")
	p, done := e.settle(t, 100)
	g.Expect(done).To(BeEmpty())
	g.Expect(e.image()).To(Equal("mssql:2022"))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonVersionLower))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("SQL Server 2019"), ContainSubstring("16.0.4000.0"),
		ContainSubstring("goes on with mssql:2022")))
	g.Expect(imageCondition(e.d, e.o).Reason).To(Equal(v1alpha1.ReasonVersionLower))
	e.requests("now")
	_, done = e.settle(t, 100)
	g.Expect(done).To(BeEmpty(), "also when somebody asks for it")

	e.o.StatefulSet, e.o.Pod, e.o.Engine = nil, nil, Engine{}
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(BeEmpty(), "no pod is made")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDataNewer))

	e.declares("mssql:2025-CU1")
	for _, step := range plan(e.d, e.o).Steps {
		e.do(t, step)
	}
	g.Expect(e.image()).To(Equal("mssql:2025-CU1"))
}

// Of an image whose version no tag tells, the engine itself refuses the data: what wrote them is said then.
func TestAnotherImageThatDoesNotStart(t *testing.T) {
	g := NewWithT(t)
	e := settledAlone(t)
	e.d.Server.Status.Image = "mssql:2022"
	ends := func() string {
		e.o.Engine = Engine{}
		e.o.Pod = e.o.Pod.DeepCopy()
		e.o.Pod.Status.ContainerStatuses[0].State =
			corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashLoop}}
		return plan(e.d, e.o).Outcome.Message
	}
	g.Expect(ends()).NotTo(ContainSubstring("wrote the data"), "it is the image that wrote them")
	e.declares("own:1")
	e.settle(t, 100)
	g.Expect(ends()).To(ContainSubstring("16.0.4000.0 of image mssql:2022 wrote the data, and the pod is of image own:1"))
}

// A registry may forget a digest: what helps then is said, and needs no quiet hour.
func TestADigestThatIsGone(t *testing.T) {
	g := NewWithT(t)
	e := settledAlone(t)
	e.runs("docker.io/library/mssql@" + digest1)
	e.settle(t, 100)
	e.startPod()
	e.o.Engine = Engine{}
	e.o.Pod.Status.ContainerStatuses[0].State =
		corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	e.d.Server.Spec.UpdatePolicy = v1alpha1.UpdateOnRequest
	p := plan(e.d, e.o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonImagePullFailed))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("what mssql:2022 named"),
		ContainSubstring("kubectl geosql update tukpub")))
	e.requests("now")
	for range 3 {
		for _, step := range plan(e.d, e.o).Steps {
			e.do(t, step)
		}
	}
	g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql:2022"))
}

// That a tag has moved is said by what a node or another server shows of it; nobody's engine changes for it.
func TestATagThatMoved(t *testing.T) {
	image := func(names ...string) func(*environ) {
		return func(e *environ) {
			e.o.Cluster.Nodes[1].Status.Images = []corev1.ContainerImage{{Names: names}}
		}
	}
	other := func(id string) func(*environ) {
		return func(e *environ) {
			s := v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: "quisec"}}
			s.Spec.Image, s.Status.Image, s.Status.ImageID = "mssql:2022", "mssql:2022", id
			e.d.servers = []v1alpha1.SQLServer{s}
		}
	}
	for name, c := range map[string]struct {
		change func(*environ)
		says   string
	}{
		"a node has it at another digest": {image("docker.io/library/mssql@"+digest2, "docker.io/library/mssql:2022"),
			"on node tukwila-worker2 it names " + digest2},
		"all have the same":              {change: image("docker.io/library/mssql@"+digest1, "docker.io/library/mssql:2022")},
		"another server runs another":    {other("docker.io/library/mssql@" + digest2), "quisec runs " + digest2},
		"another server runs the same":   {change: other("docker.io/library/mssql@" + digest1)},
		"of another server nobody knows": {change: other("")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := settledAlone(t)
			e.runs("docker.io/library/mssql@" + digest1)
			e.settle(t, 100)
			c.change(e)
			_, done := e.settle(t, 100)
			g.Expect(done).To(BeEmpty())
			condition := imageCondition(e.d, e.o)
			if c.says == "" {
				g.Expect(condition.Reason).To(Equal(v1alpha1.ReasonImageAsDeclared))
				g.Expect(condition.Status).To(Equal(metav1.ConditionTrue))
				return
			}
			g.Expect(condition.Reason).To(Equal(v1alpha1.ReasonTagMoved))
			g.Expect(condition.Message).To(ContainSubstring(c.says))
		})
	}
}

// The others of a group keep their image while the first that has another one is not well with it, and say what to do.
func TestAnUpdateStops(t *testing.T) {
	updated := func(ill time.Duration) v1alpha1.SQLServer {
		s := v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: "quisec", Generation: 2}}
		s.Spec.Image, s.Status.Image = "mssql:2022b", "mssql:2022b"
		s.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "restarted; in group content it lags",
				LastTransitionTime: metav1.NewTime(start.Add(-ill))},
			{Type: v1alpha1.ConditionImageCurrent, Status: metav1.ConditionTrue, ObservedGeneration: 2},
		}
		return s
	}
	for name, c := range map[string]struct {
		ill    time.Duration
		reason string
		says   string
	}{
		"it has just restarted": {time.Minute, v1alpha1.ReasonUpdating, "1 of the 2 servers"},
		"it does not come up":   {stoppedAfter, v1alpha1.ReasonUpdateStopped, "declare the former image again"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := settledAlone(t)
			e.declares("mssql:2022b")
			e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			e.hosts(Turn{Group: "content", Declared: true, Primary: "tukpub", Holder: "quisec"})
			e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
			e.d.Partners, e.d.servers = []v1alpha1.ServerName{"quisec"}, []v1alpha1.SQLServer{updated(c.ill)}
			g.Expect(restarts(plan(e.d, e.o))).To(BeZero(), "it is quisec's turn")
			condition := imageCondition(e.d, e.o)
			g.Expect(condition.Reason).To(Equal(c.reason))
			g.Expect(condition.Message).To(ContainSubstring(c.says))
		})
	}
}

// Asynchronous copies come before synchronous ones, and the primary after all that are to have the image, though they
// wait for a request.
func TestTheOrderOfAnUpdate(t *testing.T) {
	g := NewWithT(t)
	s := &v1alpha1.SQLServer{}
	s.Spec.Image, s.Status.Image = "mssql:2022b", "mssql:2022"
	_, behind := lagging(s, true)
	g.Expect(behind).To(BeTrue(), "it is to have another image")
	_, behind = lagging(s, false)
	g.Expect(behind).To(BeFalse(), "which keeps nobody from another restart")
	s.Status.Image = ""
	_, behind = lagging(s, true)
	g.Expect(behind).To(BeFalse(), "it has not told")
	for reason, want := range map[string][2]bool{
		v1alpha1.ReasonRestartNeeded: {false, true}, v1alpha1.ReasonNodeCordoned: {true, false},
		v1alpha1.ReasonSidecarOutdated: {}, v1alpha1.ReasonPromisesOnDataVolume: {},
		v1alpha1.ReasonBuffersAtNextStart: {},
	} {
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRestartPending, Status: metav1.ConditionTrue,
			Reason: reason}}
		leaving, behind := lagging(s, true)
		g.Expect([2]bool{leaving, behind}).To(Equal(want), reason)
	}

	e := settledAlone(t)
	e.outdated(Turn{Group: "content", Declared: true, Primary: "quisec", Asynchronous: []v1alpha1.ServerName{"farsec"}})
	p := plan(e.d, e.o)
	g.Expect(restarts(p)).To(BeZero())
	g.Expect(restartPending(p).Message).To(ContainSubstring("asynchronous copies come first: farsec"))
	e.o.Turns[0].Asynchronous = nil
	g.Expect(restarts(plan(e.d, e.o))).To(Equal(1))
}

// Servers that ran before a release that tells images apart are restarted for nothing.
func TestAnEarlierReleasesStatefulSetIsRead(t *testing.T) {
	g := NewWithT(t)
	g.Expect(imageOfSet(nil)).To(BeZero())
	set := &appsv1.StatefulSet{}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: ContainerEngine, Image: "mssql:2022"}}
	g.Expect(imageOfSet(set)).To(Equal(engineImage{use: "mssql:2022", declared: "mssql:2022"}))
}
