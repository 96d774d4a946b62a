// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Of pods of one name that are refused one after the other any event counts for a moment; of a pod that stays and can't
// start its own alone.
func TestWhatEventsSayOfAPodThatDoesNotStart(t *testing.T) {
	at := func(reason string, uid types.UID, ago time.Duration) corev1.Event {
		return corev1.Event{Reason: reason, Message: reason + " of " + string(uid),
			InvolvedObject: corev1.ObjectReference{UID: uid}, LastTimestamp: metav1.NewTime(start.Add(-ago))}
	}
	for name, c := range map[string]struct {
		events []corev1.Event
		uid    types.UID
		want   Unstarted
	}{
		"nothing": {},
		"a pod before it was refused": {events: []corev1.Event{at(sysctlForbidden, "before", 10*time.Second)}, uid: "now",
			want: Unstarted{Reason: sysctlForbidden, Message: "SysctlForbidden of before"}},
		"between two pods": {events: []corev1.Event{at(sysctlForbidden, "before", 10*time.Second)},
			want: Unstarted{Reason: sysctlForbidden, Message: "SysctlForbidden of before"}},
		"refused once": {events: []corev1.Event{at(sysctlForbidden, "before", time.Minute)}, uid: "now"},
		"its sandbox can't be made": {events: []corev1.Event{at(sandboxFailed, "now", 5*time.Minute)}, uid: "now",
			want: Unstarted{Reason: sandboxFailed, Message: "FailedCreatePodSandBox of now"}},
		"another pod's":  {events: []corev1.Event{at(sandboxFailed, "before", time.Second)}, uid: "now"},
		"of no pod":      {events: []corev1.Event{at(sandboxFailed, "", time.Second)}},
		"something else": {events: []corev1.Event{at("FailedScheduling", "now", time.Second)}, uid: "now"},
		"refused for good": {events: []corev1.Event{at(sandboxFailed, "now", time.Second),
			at(sysctlForbidden, "now", time.Second)}, uid: "now",
			want: Unstarted{Reason: sysctlForbidden, Message: "SysctlForbidden of now"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(unstarted(c.events, c.uid, start)).To(Equal(c.want))
		})
	}
}

// unstartedPod is the pod as its kubelet has it before it has started anything.
func (e *environ) unstartedPod() {
	e.o.Pod = e.o.Pod.DeepCopy()
	e.o.Pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	e.o.Engine = Engine{}
}

// Sysctls that no kubelet takes are told in its own words, whether there is a pod at the moment or not.
func TestSysctlsThatAKubeletRefusesAreTold(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.Pod = &v1alpha1.ServerPod{SecurityContext: &corev1.PodSecurityContext{
		Sysctls: []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}}}}
	e := modern(t, declared(s, Surroundings{}))
	e.settle(t, 100)
	e.unstartedPod()
	g.Expect(plan(e.d, e.o).Outcome.Reason).To(Equal(v1alpha1.ReasonPodPending))
	e.o.Unstarted = Unstarted{Reason: sysctlForbidden,
		Message: `forbidden sysctl: "net.core.somaxconn" not allowlisted`}
	told := And(HaveField("Reason", v1alpha1.ReasonPodRefused), HaveField("Progress", conditions.Stuck),
		HaveField("Message", And(ContainSubstring("net.core.somaxconn"), ContainSubstring("--allowed-unsafe-sysctls"))))
	g.Expect(plan(e.d, e.o).Outcome).To(told)
	e.o.Pod = nil
	g.Expect(plan(e.d, e.o).Outcome).To(told)
}

// A pod that does not start with its buffers is not waited for: what takes them away brings another pod at once. One
// that starts, with buffers that are merely others, is left alone.
func TestAPodThatHasNotStartedGetsRidOfItsBuffers(t *testing.T) {
	g := NewWithT(t)
	e := modern(t, declared(server(), linked(150*time.Millisecond, "1Gbit")))
	e.settle(t, 100)
	e.unstartedPod()
	e.o.Unstarted = Unstarted{Reason: sandboxFailed, Message: "open /proc/sys/net/ipv4/tcp_rmem: read-only file system"}
	p := plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonPodPending),
		HaveField("Message", And(ContainSubstring("read-only file system"), ContainSubstring("spec.network.tuning: None")))))

	e.d.Links[0].RoundTrip = 77 * time.Millisecond
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(ConsistOf(BeAssignableToTypeOf(ApplyObject{})))
	e.do(t, p.Steps[0])
	p = plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty(), "it may be about to start")
	g.Expect(restartPending(p).Reason).To(Equal(v1alpha1.ReasonBuffersAtNextStart))

	e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{Tuning: v1alpha1.TuningNone}
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(ConsistOf(BeAssignableToTypeOf(ApplyObject{})))
	e.do(t, p.Steps[0])
	pod := e.o.Pod.UID
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(ConsistOf(HaveField("UID", pod)))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRestarting))
	e.do(t, p.Steps[0])
	g.Expect(sysctlsOf(e.o.Pod.Spec)).To(BeEmpty())
	e.o.Unstarted = Unstarted{}
	p, _ = e.settle(t, 100)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
}

// What a pod was started with and does not have is told: what runs containers on a node may leave sysctls out.
func TestBuffersThatAPodDoesNotHaveAreTold(t *testing.T) {
	g := NewWithT(t)
	e := modern(t, declared(server(), linked(150*time.Millisecond, "1Gbit")))
	e.settle(t, 100)
	has := func(receive, send string) *agent.NetworkStatus {
		return &agent.NetworkStatus{ReceiveMemory: receive, SendMemory: send, CongestionControl: "cubic"}
	}
	condition := func() *metav1.Condition { return tunedCondition(e.d, e.o) }
	e.o.TCP = has(far, farSending)
	g.Expect(condition()).To(HaveValue(HaveField("Reason", v1alpha1.ReasonBuffersFromLinks)))
	e.o.TCP = has(far, "4096 16384 4194304")
	told := HaveValue(And(HaveField("Status", metav1.ConditionFalse),
		HaveField("Reason", v1alpha1.ReasonBuffersNotTaken),
		HaveField("Message", And(ContainSubstring(farSending), ContainSubstring("4096 16384 4194304")))))
	g.Expect(condition()).To(told)

	// It stays so while the agent does not answer.
	e.d.Server.Status.Tuning = describeTuning(nil, e.d, e.o)
	e.o.TCP = nil
	g.Expect(condition()).To(told)
	e.o.TCP = has("", "")
	g.Expect(condition()).To(HaveValue(HaveField("Reason", v1alpha1.ReasonBuffersFromLinks)), "nobody knows")
}
