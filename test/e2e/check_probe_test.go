// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/plugin/check"
	"geosql.dev/operator/test/e2e/bed"
)

// probeLabel is on all that a probe makes.
const probeLabel = "geosql.dev/probe"

// The check's pods find out how two sites reach each other, over the WAN as it is declared; they find a policy that
// keeps pods from connecting, and a node that takes shorter packets than the pods'. Each time nothing of them stays.
func TestCheckProbesTheWayBetweenSites(t *testing.T) {
	turn := bed.Disturbs(t, 240)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	g := NewWithT(t)
	found, err := probeSites(t, b)
	t.Logf("%+v, %v", found, err)
	for _, site := range []string{"quincy", "dublin"} {
		for _, looked := range []string{"dns", "reach", "round-trip", "packets"} {
			g.Expect(found).To(ContainElement(And(HaveField("Cluster", site), HaveField("Check", looked),
				HaveField("Level", check.OK))), "%s of %s", looked, site)
		}
	}
	g.Expect(found).NotTo(ContainElement(HaveField("Check", "probe")))

	shut := keepProbesIn(t, b)
	// What enforces policies does so some time after the pod runs.
	g.Eventually(func() []check.Finding {
		found, err = probeSites(t, b)
		return found
	}, 2*time.Minute).Should(ContainElement(And(HaveField("Cluster", "quincy"), HaveField("Check", "reach"),
		HaveField("Level", check.Problem), HaveField("Says", ContainSubstring("1433, 5022, 8443, 8444")),
		HaveField("Change", ContainSubstring("policy of namespace "+namespace)))))
	g.Expect(err).To(HaveOccurred(), "a problem ends it with status 1")
	g.Expect(found).To(ContainElement(And(HaveField("Cluster", "dublin"), HaveField("Check", "reach"),
		HaveField("Level", check.OK))), "the way back is open")
	shut()

	turn.Alone()
	b.ResetWan(t)
	narrow(t, b, "1400")
	found, _ = probeSites(t, b)
	g.Expect(found).To(ContainElement(And(HaveField("Cluster", "quincy"), HaveField("Check", "packets"),
		HaveField("Level", check.Warning), HaveField("Change", ContainSubstring("an MTU of 1400")))))
}

// probeSites runs the plugin as a person does, between quincy and dublin, the hub, and sees that nothing of it stays.
func probeSites(t *testing.T, b *bed.Bed) ([]check.Finding, error) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(b.Cache, "bin-project", "kubectl-geosql"), "check", "quincy",
		"--kubeconfig", b.Site("quincy").Kubeconfig, "--context", "kind-quincy", "--hub-context", "kind-"+b.Hub().Name,
		"--namespaces", namespace, "--probe", "-o", "json")
	out, err := command.Output()
	var answer struct{ Findings []check.Finding }
	g.Expect(json.Unmarshal(out, &answer)).To(Succeed(), "%s, %v", out, err)
	for _, site := range []string{"quincy", "dublin"} {
		for _, list := range []client.ObjectList{
			&corev1.PodList{}, &corev1.ServiceList{}, &networkingv1.NetworkPolicyList{}} {
			g.Expect(b.Site(site).Client.List(t.Context(), list, client.HasLabels{probeLabel})).To(Succeed())
			g.Expect(list).To(HaveField("Items", BeEmpty()), "%T at %s", list, site)
		}
	}
	return answer.Findings, err
}

// keepProbesIn has quincy's probes connect to nobody, but for DNS; what is returned ends that.
func keepProbesIn(t *testing.T, b *bed.Bed) func() {
	t.Helper()
	dns := intstr.FromInt32(53)
	udp := corev1.ProtocolUDP
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e2e-probes-stay"},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: probeLabel, Operator: metav1.LabelSelectorOpExists}}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{Ports: []networkingv1.NetworkPolicyPort{{Port: &dns, Protocol: &udp}}}},
		},
	}
	at := b.Site("quincy").Client
	NewWithT(t).Expect(at.Create(t.Context(), policy)).To(Succeed())
	end := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		NewWithT(t).Expect(client.IgnoreNotFound(at.Delete(ctx, policy))).To(Succeed())
	}
	t.Cleanup(end)
	return end
}

// narrow has quincy's nodes send packets of so many bytes at most to dublin's pods, and tell who sends longer ones.
func narrow(t *testing.T, b *bed.Bed, most string) {
	t.Helper()
	for _, node := range b.Site("quincy").Nodes {
		routes := func(more string) {
			b.NodeExec(t, node, "sh", "-ec", fmt.Sprintf(`
				ip route show root %s | sed 's/ mtu .*//' > /run/e2e-routes
				test -s /run/e2e-routes
				while read -r route; do ip route replace $route %s; done < /run/e2e-routes`,
				b.Site("dublin").PodSubnet, more))
		}
		t.Cleanup(func() { routes("") })
		routes("mtu " + most)
	}
}
