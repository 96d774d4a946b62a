// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// tuning has a release that knows of links come to a server that runs, and another server declared after it.
func (b *bed) tuning(t *testing.T, running string) {
	g := NewWithT(t)
	const receive, send = "4096 131072 37748736", "4096 16384 37748736"
	var pod corev1.Pod
	var before appsv1.StatefulSet
	g.Expect(get(t, b.site.Client, running+"-0", &pod)()).To(Succeed())
	g.Expect(get(t, b.site.Client, running, &before)()).To(Succeed())
	g.Expect(before.Spec.Template.Spec.SecurityContext.Sysctls).To(BeEmpty())
	uid := pod.UID

	var nodes corev1.NodeList
	g.Expect(b.site.Client.List(t.Context(), &nodes)).To(Succeed())
	for _, node := range nodes.Items {
		node.Status.NodeInfo.KubeletVersion, node.Status.NodeInfo.KernelVersion = "v1.36.3", "6.1.0"
		g.Expect(b.site.Client.Status().Update(t.Context(), &node)).To(Succeed())
	}
	g.Eventually(func() error {
		var site v1alpha1.Site
		if err := b.hub.Client.Get(t.Context(), client.ObjectKey{Name: "tukwila"}, &site); err != nil {
			return err
		}
		site.Spec.Links = []v1alpha1.SiteLink{{To: "dublin", Bandwidth: "1Gbit",
			RoundTrip: &metav1.Duration{Duration: 150 * time.Millisecond}}}
		return b.hub.Client.Update(t.Context(), &site)
	}, patient, often).Should(Succeed())

	var s v1alpha1.SQLServer
	status := func() (*v1alpha1.TuningStatus, error) {
		err := get(t, b.hub.Client, running, &s)()
		return s.Status.Tuning, err
	}
	g.Eventually(status, patient, often).Should(And(Not(BeNil()), HaveField("Next", HaveValue(Equal(
		v1alpha1.TCPBuffers{Receive: receive, Send: send})))), b.why(t, running))
	g.Expect(s.Status.Tuning.Arithmetic).To(Equal("2 x 1Gbit x 150ms / 8 = 37500000 bytes, in whole MiB 36Mi"))
	g.Expect(s.Status.Tuning.Pod).To(BeNil())
	g.Eventually(func() (string, error) {
		err := get(t, b.hub.Client, running, &s)()
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestartPending)
		if err != nil || c == nil {
			return "", err
		}
		return c.Reason, nil
	}, patient, often).Should(Equal(v1alpha1.ReasonBuffersAtNextStart))
	var after appsv1.StatefulSet
	g.Expect(get(t, b.site.Client, running, &after)()).To(Succeed())
	g.Expect(after.Spec.Template.Annotations).To(Equal(before.Spec.Template.Annotations))
	g.Expect(get(t, b.site.Client, running+"-0", &pod)()).To(Succeed())
	g.Expect(pod.UID).To(Equal(uid))
	g.Expect(pod.DeletionTimestamp).To(BeNil())

	b.create(t, "tuned", nil)
	g.Eventually(get(t, b.site.Client, "tuned", &after), patient, often).Should(Succeed(), b.why(t, "tuned"))
	// A kubelet would refuse them. What it tells is of a time that does not pass while the test runs.
	g.Expect(b.site.Client.Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tuned-0.1"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "web", Name: "tuned-0",
			UID: "before"},
		Type: corev1.EventTypeWarning, Reason: "SysctlForbidden", Message: "forbidden sysctl: not allowlisted",
		LastTimestamp: metav1.NewTime(time.Now().Add(time.Hour))})).To(Succeed())
	g.Eventually(b.ready(t, "tuned"), patient, often).Should(And(Satisfy(reason(v1alpha1.ReasonPodRefused)),
		HaveField("Message", ContainSubstring("not allowlisted"))), b.why(t, "tuned"))
	b.startPod(t, "tuned")
	g.Expect(get(t, b.site.Client, "tuned-0", &pod)()).To(Succeed())
	g.Expect(pod.Spec.SecurityContext.Sysctls).To(ConsistOf(
		corev1.Sysctl{Name: "net.ipv4.tcp_rmem", Value: receive}, corev1.Sysctl{Name: "net.ipv4.tcp_wmem", Value: send}))
	g.Eventually(func() (*v1alpha1.TuningStatus, error) {
		err := get(t, b.hub.Client, "tuned", &s)()
		return s.Status.Tuning, err
	}, patient, often).Should(And(Not(BeNil()), HaveField("Pod", Not(BeNil()))), b.why(t, "tuned"))
	g.Expect(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionNetworkTuned)).To(HaveValue(
		HaveField("Reason", v1alpha1.ReasonBuffersFromLinks)))
}
