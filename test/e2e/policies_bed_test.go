// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/e2e/bed"
)

// refused is what a connection attempt ends with that a NetworkPolicy forbids, on this bed; "" is one that is taken.
const refused = "Connection refused"

// connects tries a connection from a pod and returns what it ends with: "" when it was taken, refused, or other words.
func connects(t *testing.T, from *bed.Shell, host string, port int32) func() (string, error) {
	return func() (string, error) {
		return from.Run(t.Context(), fmt.Sprintf(
			"out=$(timeout 5 bash -c ': </dev/tcp/%s/%d' 2>&1) && exit 0; case $out in *'%s'*) echo '%s' ;; "+
				"*) echo \"other: $out\" ;; esac", host, port, refused, refused))
	}
}

// The bed's network enforces NetworkPolicies: a connection that one forbids is refused, and taken once none does.
func TestBedEnforcesNetworkPolicies(t *testing.T) {
	bed.Beside(t, 20)
	b := bed.Open(t, client.Options{})
	site := b.Site("tukwila")
	namespace := b.Namespace(t, "policy")
	listens := site.StartShell(t,
		site.ShellPod(t, namespace, "listens", "exec socat TCP-LISTEN:5022,fork,reuseaddr SYSTEM:true"))
	stranger := site.StartShell(t, site.ShellPod(t, namespace, "stranger", "exec sleep infinity"))
	abroad := b.Site("quincy").StartShell(t, b.Site("quincy").ShellPod(t, namespace, "stranger", "exec sleep infinity"))
	for _, from := range []*bed.Shell{stranger, abroad} {
		NewWithT(t).Eventually(connects(t, from, listens.Pod.Status.PodIP, 5022)).
			WithTimeout(20*time.Second).Should(BeEmpty(), "from %s, without a policy", from.Site.Name)
	}
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "listens"},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "listens"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}
	NewWithT(t).Expect(site.Client.Create(t.Context(), policy)).To(Succeed())
	for _, from := range []*bed.Shell{stranger, abroad} {
		NewWithT(t).Eventually(connects(t, from, listens.Pod.Status.PodIP, 5022)).
			WithTimeout(20*time.Second).Should(Equal(refused), "from %s", from.Site.Name)
	}
	NewWithT(t).Expect(site.Client.Delete(t.Context(), policy)).To(Succeed())
	NewWithT(t).Eventually(connects(t, stranger, listens.Pod.Status.PodIP, 5022)).
		WithTimeout(20 * time.Second).Should(BeEmpty())
}
