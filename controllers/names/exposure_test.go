// SPDX-License-Identifier: Apache-2.0

//go:build integration

package names_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
)

// expose changes how a site's servers are reached from others.
func expose(t *testing.T, hub *apiserver.Server, site string, how v1alpha1.Exposure) {
	t.Helper()
	g := NewWithT(t)
	var s v1alpha1.Site
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKey{Name: site}, &s)).To(Succeed())
	before := client.MergeFrom(s.DeepCopy())
	s.Spec.Exposure = how
	g.Expect(hub.Client.Patch(t.Context(), &s, before)).To(Succeed())
}

// balance gives a server's Service addresses, or none, as a cloud does.
func balance(t *testing.T, at *apiserver.Server, server string, addresses ...string) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		var s corev1.Service
		if err := at.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: server + "-0-lb"}, &s); err != nil {
			return err
		}
		s.Status.LoadBalancer.Ingress = nil
		for _, a := range addresses {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: a})
		}
		return at.Client.Status().Update(t.Context(), &s)
	}, patient, often).Should(Succeed())
}

// service reads a Service of the namespace.
func service(t *testing.T, at *apiserver.Server, name string) (*corev1.Service, error) {
	t.Helper()
	s := &corev1.Service{}
	err := at.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: name}, s)
	return s, err
}

// Two sites whose pods have the same addresses lead to each other's load balancers: once these have addresses, and to
// others when they get others, without the manager too. What opened a server goes when nobody leads there.
func TestServersBehindLoadBalancers(t *testing.T) {
	g := NewWithT(t)
	a := newApart(t)
	how := v1alpha1.Exposure{Type: v1alpha1.ExposureLoadBalancer, LoadBalancer: &v1alpha1.LoadBalancerExposure{
		Annotations: map[string]string{"example.com/internal": "true"}, Class: "example.com/nlb",
		SourceRanges: []string{"198.51.100.0/24"}}}
	expose(t, a.hub, "tukwila", how)
	expose(t, a.hub, "quincy", how)
	server := declare(t, a.hub, "tukpub", "tukwila")
	declare(t, a.hub, "quisec", "quincy")
	place(t, a.tukwila, "tukpub", "10.244.0.7")
	place(t, a.quincy, "quisec", "10.244.0.7")
	said := func() metav1.Condition {
		if err := a.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(server), server); err != nil {
			return metav1.Condition{Message: err.Error()}
		}
		if c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionNamesReady); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
	g.Eventually(said, patient, often).Should(And(HaveField("Reason", v1alpha1.ReasonLoadBalancerPending),
		HaveField("Message", ContainSubstring("Service web/tukpub-0-lb at site tukwila has waited"))))
	g.Expect(leads(t, a.quincy, "tukpub-0")()).To(BeEmpty(), "what waits leads nowhere")
	made, err := service(t, a.tukwila, "tukpub-0-lb")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.Annotations).To(HaveKeyWithValue("example.com/internal", "true"))
	g.Expect(made.Spec.LoadBalancerClass).To(HaveValue(Equal("example.com/nlb")))
	g.Expect(made.Spec.LoadBalancerSourceRanges).To(Equal([]string{"198.51.100.0/24"}))
	balance(t, a.tukwila, "tukpub", "192.0.2.7")
	balance(t, a.quincy, "quisec", "192.0.2.71")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("192.0.2.7"))
	g.Eventually(leads(t, a.tukwila, "quisec-0"), patient, often).Should(Equal("192.0.2.71"))
	g.Eventually(said, patient, often).Should(HaveField("Reason", v1alpha1.ReasonNamesPublished))

	// An annotation that is declared no more goes, and the cloud's stays.
	made, err = service(t, a.tukwila, "tukpub-0-lb")
	g.Expect(err).NotTo(HaveOccurred())
	before := client.MergeFrom(made.DeepCopy())
	made.Annotations["example.com/id"] = "lb-7"
	g.Expect(a.tukwila.Client.Patch(t.Context(), made, before)).To(Succeed())
	how.LoadBalancer.Annotations = map[string]string{"example.com/pool": "wan"}
	expose(t, a.hub, "tukwila", how)
	g.Eventually(func() map[string]string {
		s, _ := service(t, a.tukwila, "tukpub-0-lb")
		return s.Annotations
	}, patient, often).Should(And(HaveKey("example.com/pool"), HaveKey("example.com/id"),
		Not(HaveKey("example.com/internal"))))

	// To ports of nodes: the load balancer goes when Quincy does not lead there any more. The pod's node has no address at
	// first, so that it leads there yet.
	expose(t, a.hub, "tukwila", v1alpha1.Exposure{Type: v1alpha1.ExposureNodePort})
	g.Eventually(func() error {
		_, err := service(t, a.tukwila, "tukpub-0-node")
		return err
	}, patient, often).Should(Succeed())
	g.Expect(leads(t, a.quincy, "tukpub-0")()).To(Equal("192.0.2.7"))
	_, err = service(t, a.tukwila, "tukpub-0-lb")
	g.Expect(err).NotTo(HaveOccurred())
	onNode(t, a.tukwila, "tukpub", "10.100.0.21")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.100.0.21"))
	gone := func(name string) func() bool {
		return func() bool {
			_, err := service(t, a.tukwila, name)
			return apierrors.IsNotFound(err)
		}
	}
	g.Eventually(gone("tukpub-0-lb"), patient, often).Should(BeTrue())
	// And back: ports serve until there is an address.
	expose(t, a.hub, "tukwila", how)
	g.Eventually(said, patient, often).Should(HaveField("Reason", v1alpha1.ReasonLoadBalancerPending))
	g.Expect(leads(t, a.quincy, "tukpub-0")()).To(Equal("10.100.0.21"))
	balance(t, a.tukwila, "tukpub", "192.0.2.8")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("192.0.2.8"))
	g.Eventually(gone("tukpub-0-node"), patient, often).Should(BeTrue())

	a.stopManager()
	balance(t, a.tukwila, "tukpub", "192.0.2.9")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("192.0.2.9"), "without the manager")
	a.stopManager = a.startManager(t)
	g.Expect(a.hub.Client.Delete(t.Context(), server)).To(Succeed())
	g.Eventually(gone("tukpub-0-lb"), patient, often).Should(BeTrue())
	g.Expect(leads(t, a.quincy, "tukpub-0")()).To(ContainSubstring("not found"), "its name went before")
}

// A class that is left out stays, and all else is written: Kubernetes takes none out. With another class the Service is
// made anew, and serves until then.
func TestTheClassOfALoadBalancerChanges(t *testing.T) {
	g := NewWithT(t)
	a := newApart(t)
	of := func(class, pool string) {
		expose(t, a.hub, "tukwila", v1alpha1.Exposure{Type: v1alpha1.ExposureLoadBalancer,
			LoadBalancer: &v1alpha1.LoadBalancerExposure{Class: class,
				Annotations: map[string]string{"example.com/pool": pool}}})
	}
	is := func() corev1.Service {
		s, err := service(t, a.tukwila, "tukpub-0-lb")
		if err != nil {
			return corev1.Service{}
		}
		return *s
	}
	of("example.com/nlb", "wan")
	declare(t, a.hub, "tukpub", "tukwila")
	place(t, a.tukwila, "tukpub", "10.244.0.7")
	balance(t, a.tukwila, "tukpub", "192.0.2.7")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("192.0.2.7"))
	first := is()
	of("", "lan")
	g.Eventually(is, patient, often).Should(
		HaveField("ObjectMeta.Annotations", HaveKeyWithValue("example.com/pool", "lan")))
	g.Expect(is().Spec.LoadBalancerClass).To(HaveValue(Equal("example.com/nlb")))
	g.Expect(leads(t, a.quincy, "tukpub-0")()).To(Equal("192.0.2.7"))
	of("example.com/other", "lan")
	g.Eventually(is, patient, often).Should(And(
		HaveField("Spec.LoadBalancerClass", HaveValue(Equal("example.com/other"))),
		HaveField("ObjectMeta.UID", Not(Equal(first.UID)))))
	balance(t, a.tukwila, "tukpub", "192.0.2.8")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("192.0.2.8"))
}

// onNode gives the server's pod a node with an address.
func onNode(t *testing.T, at *apiserver.Server, server, address string) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		pod := &corev1.Pod{}
		if err := at.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: server + "-0"}, pod); err != nil {
			return err
		}
		pod.Status.HostIP, pod.Status.HostIPs = address, []corev1.HostIP{{IP: address}}
		return at.Client.Status().Update(t.Context(), pod)
	}, patient, often).Should(Succeed())
}
