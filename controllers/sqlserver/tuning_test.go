// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/reconcile"
)

// linked are the Sites of the server's and of another site, with a link that the first declares.
func linked(roundTrip time.Duration, bandwidth string) Surroundings {
	link := v1alpha1.SiteLink{To: "dublin", Bandwidth: bandwidth, RoundTrip: &metav1.Duration{Duration: roundTrip}}
	return Surroundings{Sites: []v1alpha1.Site{
		{ObjectMeta: metav1.ObjectMeta{Name: "tukwila"}, Spec: v1alpha1.SiteSpec{Links: []v1alpha1.SiteLink{link}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "dublin"}}}}
}

// nodesRun has all nodes tell what they run.
func (e *environ) nodesRun(kubelet, kernel string) {
	for i := range e.o.Cluster.Nodes {
		e.o.Cluster.Nodes[i].Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: kubelet, KernelVersion: kernel,
			OperatingSystem: "linux"}
	}
}

// modern is a site whose nodes take the sysctls.
func modern(t *testing.T, d Desired) *environ {
	t.Helper()
	e := newEnviron(t, d)
	e.nodesRun("v1.36.3", "6.1.0-18-cloud-amd64")
	return e
}

const (
	far        = "4096 131072 37748736" // 36 MiB
	farSending = "4096 16384 37748736"
)

func TestWhichBuffersAPodGets(t *testing.T) {
	window := func(size string) func(*environ) {
		return func(e *environ) {
			e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{ReceiveWindow: ptr.To(resource.MustParse(size))}
		}
	}
	own := func(sysctls ...corev1.Sysctl) func(*environ) {
		return func(e *environ) {
			e.d.Server.Spec.Pod = &v1alpha1.ServerPod{SecurityContext: &corev1.PodSecurityContext{Sysctls: sysctls}}
		}
	}
	second := func(change func(*corev1.NodeSystemInfo)) func(*environ) {
		return func(e *environ) { change(&e.o.Cluster.Nodes[1].Status.NodeInfo) }
	}
	long := linked(150*time.Millisecond, "1Gbit")
	theirs := linked(150*time.Millisecond, "1Gbit")
	theirs.Sites[1].Spec.Links = []v1alpha1.SiteLink{{To: "tukwila", Bandwidth: "1Gbit",
		RoundTrip: &metav1.Duration{Duration: 150 * time.Millisecond}}}
	theirs.Sites[0].Spec.Links = nil
	for name, c := range map[string]struct {
		around        Surroundings
		change        func(*environ)
		receive, send string
		reason, says  string
	}{
		"twice the product of the link": {around: long, receive: far, send: farSending},
		"said in so many words": {around: long, receive: far, send: farSending, change: func(e *environ) {
			e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{Tuning: v1alpha1.TuningFromLinks}
		}},
		"a link that the other site declares": {around: theirs, receive: far, send: farSending},
		"a short link": {around: linked(4*time.Millisecond, "1Gbit"), reason: v1alpha1.ReasonBuffersOfKernel,
			says: "2 x 1Gbit x 4ms / 8 = 1000000 bytes, which the kernel's own 4Mi hold"},
		"a link without bandwidth": {around: linked(150*time.Millisecond, ""), reason: v1alpha1.ReasonBuffersOfKernel,
			says: "no Site declares a link of site tukwila with roundTrip and bandwidth"},
		"no link": {reason: v1alpha1.ReasonBuffersOfKernel, says: "no Site declares"},
		"not wanted": {around: long, reason: v1alpha1.ReasonBuffersOfKernel, says: "tuning is None",
			change: func(e *environ) {
				e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{Tuning: v1alpha1.TuningNone}
			}},
		"the window of old": {around: long, receive: "4096 131072 131072", send: farSending,
			change: window("64Ki")},
		"a window and no link":            {change: window("1Mi"), receive: "4096 131072 2097152"},
		"a window that went by admission": {change: window("1Gi"), receive: "4096 131072 67108864"},
		"an old kubelet on any node": {around: long, reason: v1alpha1.ReasonBuffersNotSafe,
			says:   "node tukwila-worker2 runs Kubernetes v1.31.9 on kernel 6.1.0-18-cloud-amd64",
			change: second(func(n *corev1.NodeSystemInfo) { n.KubeletVersion = "v1.31.9" })},
		"an old kernel": {around: long, reason: v1alpha1.ReasonBuffersNotSafe, says: "on kernel 4.14.336-253.554.amzn2",
			change: second(func(n *corev1.NodeSystemInfo) { n.KernelVersion = "4.14.336-253.554.amzn2.x86_64" })},
		"a kernel that is new enough": {around: long, receive: far, send: farSending,
			change: second(func(n *corev1.NodeSystemInfo) { n.KernelVersion = "4.18.0-553.el8_10.x86_64" })},
		"the first version that has them": {around: long, receive: far, send: farSending,
			change: func(e *environ) { e.nodesRun("v1.32.0-eks-5d632ec", "4.15") }},
		"kernels that receive with more of their own": {around: linked(77*time.Millisecond, "1Gbit"),
			send: "4096 16384 19922944", change: func(e *environ) { e.nodesRun("v1.36.3", "6.18.44-fc-v669") }},
		"one of the kernels": {around: linked(77*time.Millisecond, "1Gbit"), receive: "4096 131072 19922944",
			send:   "4096 16384 19922944",
			change: second(func(n *corev1.NodeSystemInfo) { n.KernelVersion = "6.18.44-fc-v669" })},
		"a link that takes more than such kernels have": {around: long, receive: far, send: farSending,
			change: func(e *environ) { e.nodesRun("v1.36.3", "6.18.44-fc-v669") }},
		"a small window for such a kernel": {around: long, receive: "4096 131072 131072", send: farSending,
			change: func(e *environ) {
				e.nodesRun("v1.36.3", "6.18.44-fc-v669")
				window("64Ki")(e)
			}},
		"what any kernel receives with": {around: linked(200*time.Millisecond, "100Mbit"), send: "4096 16384 6291456"},
		"a node that has told nothing": {around: long, reason: v1alpha1.ReasonBuffersNotSafe, says: "unknown version",
			change: second(func(n *corev1.NodeSystemInfo) { *n = corev1.NodeSystemInfo{} })},
		"no node": {around: long, reason: v1alpha1.ReasonBuffersNotSafe, says: "no node of the site is known",
			change: func(e *environ) { e.o.Cluster.Nodes = nil }},
		"a node for other pods": {around: long, receive: far, send: farSending,
			change: second(func(n *corev1.NodeSystemInfo) {
				n.OperatingSystem, n.KubeletVersion = "windows", "v1.31.0"
			})},
		"one that the server declares itself": {around: long, receive: "4096 131072 1048576", send: farSending,
			change: own(corev1.Sysctl{Name: receiveMemory, Value: "4096 131072 1048576"})},
		"in Kubernetes' other form": {around: long, receive: "4096 131072 1048576", send: farSending,
			change: own(corev1.Sysctl{Name: "net/ipv4/tcp_rmem", Value: "4096 131072 1048576"})},
		"both": {around: long, receive: "1 2 3", send: "4 5 6", reason: v1alpha1.ReasonBuffersDeclared,
			change: own(corev1.Sysctl{Name: receiveMemory, Value: "1 2 3"}, corev1.Sysctl{Name: sendMemory, Value: "4 5 6"})},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := modern(t, declared(server(), c.around))
			if c.change != nil {
				c.change(e)
			}
			set := statefulSet(e.d, e.o, must(previewDecision(e.d), nil))
			g.Expect(buffersOf(set.Spec.Template.Spec)).To(Equal(v1alpha1.TCPBuffers{Receive: c.receive, Send: c.send}))
			decided := tuningOf(e.d, e.o)
			g.Expect(decided.reason).To(Equal(c.reason))
			g.Expect(decided.why).To(ContainSubstring(c.says))
		})
	}
}

// A server that runs takes what a release, or a Site, says of its buffers with its next start: its StatefulSet is
// written, its pod is not touched, and what waits is said. A new image of the sidecar does not wait for it.
func TestServersThatRunAreNotRestartedForBuffers(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), linked(150*time.Millisecond, "1Gbit")))
	e.settle(t, 100)
	g.Expect(sysctlsOf(e.o.Pod.Spec)).To(BeEmpty(), "as a release before has made it")
	pod, hashes := e.o.Pod.UID, e.o.StatefulSet.Spec.Template.Annotations
	waiting := func(says string) {
		t.Helper()
		p, done := e.settle(t, 1)
		g.Expect(done).To(HaveLen(1), "%q", done)
		g.Expect(e.o.Pod.UID).To(Equal(pod))
		g.Expect(e.o.StatefulSet.Spec.Template.Annotations).To(Equal(hashes), "nothing tells of another template")
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
		g.Expect(restartPending(p)).To(And(HaveField("Status", metav1.ConditionTrue),
			HaveField("Reason", v1alpha1.ReasonBuffersAtNextStart), HaveField("Message", ContainSubstring(says))))
		g.Expect(tunedCondition(e.d, e.o)).To(HaveValue(And(HaveField("Status", metav1.ConditionTrue),
			HaveField("Reason", v1alpha1.ReasonBuffersAtNextStart), HaveField("Message", ContainSubstring(says)))))
	}
	started := func() {
		t.Helper()
		e.startPod()
		p, done := e.settle(t, 1)
		g.Expect(done).To(BeEmpty())
		g.Expect(restartPending(p).Status).To(Equal(metav1.ConditionFalse))
		pod = e.o.Pod.UID
	}
	condition := func(status metav1.ConditionStatus, reason, says string) {
		t.Helper()
		g.Expect(tunedCondition(e.d, e.o)).To(HaveValue(And(HaveField("Status", status), HaveField("Reason", reason),
			HaveField("Message", ContainSubstring(says)))))
	}
	condition(metav1.ConditionFalse, v1alpha1.ReasonBuffersNotSafe, "of an unknown version")

	e.nodesRun("v1.32.1", "5.15.0")
	waiting(far)
	g.Expect(describeTuning(nil, e.d, e.o)).To(Equal(&v1alpha1.TuningStatus{Link: "dublin",
		Arithmetic: "2 x 1Gbit x 150ms / 8 = 37500000 bytes, in whole MiB 36Mi",
		Next:       &v1alpha1.TCPBuffers{Receive: far, Send: farSending}}))
	e.d.AgentImage = "geosql:2"
	_, done := e.settle(t, 1)
	g.Expect(done).To(ContainElement(ContainSubstring("replace the sidecar")))
	g.Expect(e.o.Pod.UID).To(Equal(pod))
	hashes = e.o.StatefulSet.Spec.Template.Annotations

	started()
	condition(metav1.ConditionTrue, v1alpha1.ReasonBuffersFromLinks, "the link to dublin: 2 x 1Gbit x 150ms")
	g.Expect(describeTuning(nil, e.d, e.o).Pod).To(Equal(&v1alpha1.TCPBuffers{Receive: far, Send: farSending}))

	e.d.Links[0].RoundTrip = 77 * time.Millisecond
	waiting("4096 131072 19922944")
	started()
	e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{ReceiveWindow: ptr.To(resource.MustParse("64Ki"))}
	waiting("4096 131072 131072")
	started()
	e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{Tuning: v1alpha1.TuningNone}
	waiting("the kernel's own buffers")
	started()
	g.Expect(sysctlsOf(e.o.Pod.Spec)).To(BeEmpty())
	condition(metav1.ConditionTrue, v1alpha1.ReasonBuffersOfKernel, "tuning is None")
}

// What waits for a start that is due anyway hides nothing: a server whose node is cordoned says so, and one that waits
// for its turn to restart is waited for by the others.
func TestBuffersThatWaitHideNoOtherReason(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), linked(150*time.Millisecond, "1Gbit")))
	e.settle(t, 100)
	e.nodesRun("v1.36.3", "6.1.0")
	e.hosts(Turn{Group: "content", Declared: true, Primary: "quisec", Holder: "dubcfg"})
	e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
	p, _ := e.settle(t, 100)
	g.Expect(restartPending(p).Reason).To(Equal(v1alpha1.ReasonBuffersAtNextStart))

	e.o.Cluster.Nodes[0].Spec.Unschedulable = true
	p = plan(e.d, e.o)
	g.Expect(restartPending(p)).To(And(HaveField("Reason", v1alpha1.ReasonNodeCordoned),
		HaveField("Message", ContainSubstring(far))))
	e.o.Cluster.Nodes[0].Spec.Unschedulable = false

	e.o.Engine.TempDB[0].Path = "/var/opt/mssql/data/tempdb.mdf"
	delete(e.o.StatefulSet.Annotations, annotationRestarted)
	p = plan(e.d, e.o)
	g.Expect(waits(p).Why).To(And(ContainSubstring(far), ContainSubstring("it is the turn of dubcfg")))
	g.Expect(restartPending(p).Reason).To(Equal(v1alpha1.ReasonRestartNeeded))
}

// No order of what a pod waits for lets a reason that asks for nothing hide another one: groups go by the reason.
func TestWhatAsksForNothingStandsBehind(t *testing.T) {
	const idle, outdated = v1alpha1.ReasonBuffersAtNextStart, v1alpha1.ReasonSidecarOutdated
	const promises, drain = v1alpha1.ReasonPromisesOnDataVolume, v1alpha1.ReasonNodeCordoned
	for name, c := range map[string]struct {
		reasons []string
		want    string
	}{
		"alone":                              {[]string{idle}, idle},
		"two of them":                        {[]string{promises, idle}, promises},
		"before another sidecar":             {[]string{idle, outdated}, outdated},
		"after another sidecar":              {[]string{outdated, idle}, outdated},
		"after a restart":                    {[]string{"", idle}, ""},
		"before a restart":                   {[]string{idle, ""}, ""},
		"another sidecar and a drain":        {[]string{outdated, drain}, drain},
		"a drain, and what asks for nothing": {[]string{drain, idle}, drain},
	} {
		t.Run(name, func(t *testing.T) {
			var p reconcile.Plan
			for _, reason := range c.reasons {
				pend(&p, "why", reason)
			}
			NewWithT(t).Expect(waits(p).Reason).To(Equal(c.want))
		})
	}
}

// A pod that is kept as it was made, since what is declared of it is not taken, has the buffers of its links all the
// same: they change with its next start, and are taken away where a node would refuse them.
func TestAKeptPodHasTheBuffersOfItsLinks(t *testing.T) {
	g := NewWithT(t)
	e := modern(t, declared(server(), linked(150*time.Millisecond, "1Gbit")))
	e.settle(t, 100)
	pod := e.o.Pod.UID
	g.Expect(buffersOf(e.o.Pod.Spec).Receive).To(Equal(far))
	zoned := server()
	zoned.Spec.Pod = &v1alpha1.ServerPod{Env: []corev1.EnvVar{{Name: "TZ", Value: "Europe/Dublin"}}}
	for _, c := range []struct {
		around  Surroundings
		kubelet string
		receive string
	}{
		{linked(150*time.Millisecond, "1Gbit"), "v1.36.3", far},
		{linked(77*time.Millisecond, "1Gbit"), "v1.36.3", "4096 131072 19922944"},
		{linked(77*time.Millisecond, "1Gbit"), "v1.31.9", ""},
	} {
		e.d = declared(zoned.DeepCopy(), c.around)
		e.nodesRun(c.kubelet, "6.1.0")
		p, _ := e.settle(t, 1)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPodKept))
		g.Expect(buffersOf(e.o.StatefulSet.Spec.Template.Spec).Receive).To(Equal(c.receive))
		g.Expect(e.o.Pod.UID).To(Equal(pod))
	}
}

// What a site's policies take is seen by what its API server refuses: the pod is made without then, until the
// specification says something else of it.
func TestAPodThatIsRefusedIsMadeWithoutBuffers(t *testing.T) {
	g := NewWithT(t)
	e := modern(t, declared(server(), linked(150*time.Millisecond, "1Gbit")))
	e.settle(t, 100)
	g.Expect(buffersOf(e.o.Pod.Spec).Receive).To(Equal(far))
	e.o.Pod, e.o.Engine = nil, Engine{}
	p := plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty(), "it is about to be made")
	e.o.Refusal = "pods \"tukpub-0\" is forbidden"
	p = plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty(), "which may be of a pod before")
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonPodRefused),
		HaveField("Message", ContainSubstring("It is tried without the sysctls net.ipv4.tcp_rmem"))))

	// The next look finds in the status what this one has said.
	e.d.Server.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonPodRefused}}
	e.d = declared(e.d.Server, linked(150*time.Millisecond, "1Gbit"))
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(HaveLen(1))
	e.do(t, p.Steps[0])
	g.Expect(sysctlsOf(e.o.Pod.Spec)).To(BeEmpty())
	e.o.Refusal = ""
	e.d.PodRefused = false
	p, _ = e.settle(t, 100)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(sysctlsOf(e.o.StatefulSet.Spec.Template.Spec)).To(BeEmpty(), "it stays so")
	g.Expect(restartPending(p).Status).To(Equal(metav1.ConditionFalse))
	g.Expect(tunedCondition(e.d, e.o)).To(HaveValue(And(HaveField("Status", metav1.ConditionFalse),
		HaveField("Reason", v1alpha1.ReasonBuffersRefused), HaveField("Message", ContainSubstring("namespace web")))))

	e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{Tuning: v1alpha1.TuningFromLinks}
	p, _ = e.settle(t, 100)
	g.Expect(restartPending(p).Reason).To(Equal(v1alpha1.ReasonBuffersAtNextStart), "somebody asks for it again")
	g.Expect(e.o.StatefulSet.Annotations).NotTo(HaveKey(annotationRefusedBuffers))
}

// What the kernel has is the agent's word: it stays while the agent of the same pod does not answer.
func TestWhatTheKernelHasIsTold(t *testing.T) {
	g := NewWithT(t)
	e := modern(t, declared(server(), linked(150*time.Millisecond, "1Gbit")))
	e.settle(t, 100)
	e.o.TCP = &agent.NetworkStatus{ReceiveMemory: far, SendMemory: farSending, CongestionControl: "cubic"}
	kernel := &v1alpha1.TCPKernel{Receive: far, Send: farSending, CongestionControl: "cubic"}
	last := describeTuning(nil, e.d, e.o)
	g.Expect(last.Kernel).To(Equal(kernel))
	e.o.TCP = nil
	g.Expect(describeTuning(last, e.d, e.o).Kernel).To(Equal(kernel))
	e.o.Pod = e.o.Pod.DeepCopy()
	e.o.Pod.Spec.SecurityContext.Sysctls = nil
	g.Expect(describeTuning(last, e.d, e.o).Kernel).To(BeNil(), "another pod")
	e.o.Pod = nil
	g.Expect(describeTuning(last, e.d, e.o).Kernel).To(BeNil())
}
