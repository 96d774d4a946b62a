// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// network: with the rights that `site join` grants a server's NetworkPolicy is made, follows what is declared, is put
// right when somebody changed it, and goes when it is not wanted.
func (b *bed) network(t *testing.T, name string) {
	g := NewWithT(t)
	var policy networkingv1.NetworkPolicy
	g.Eventually(get(t, b.site.Client, name, &policy), patient, often).Should(Succeed(), b.why(t, name))
	g.Expect(policy.Spec.PolicyTypes).To(Equal([]networkingv1.PolicyType{networkingv1.PolicyTypeIngress}))
	g.Eventually(b.restricted(t, name), patient, often).Should(And(
		HaveField("Reason", v1alpha1.ReasonPeersUnknown), HaveField("Message", ContainSubstring("a Site that is the hub"))),
		"the hub of this test is no Site")

	change := func(change func(*v1alpha1.SQLServer)) {
		var s v1alpha1.SQLServer
		g.Expect(get(t, b.hub.Client, name, &s)()).To(Succeed())
		before := client.MergeFrom(s.DeepCopy())
		change(&s)
		g.Expect(b.hub.Client.Patch(t.Context(), &s, before)).To(Succeed())
	}
	change(func(s *v1alpha1.SQLServer) {
		s.Spec.Network = &v1alpha1.ServerNetwork{Scrapers: []v1alpha1.NetworkClient{{CIDR: "10.9.0.0/16"}},
			Clients: []v1alpha1.NetworkClient{{CIDR: "10.8.0.0/16"}}}
	})
	b.declareHub(t, "10.103.0.0/16")
	ports := func() map[int32][]string {
		g.Expect(get(t, b.site.Client, name, &policy)()).To(Succeed())
		ranges := map[int32][]string{}
		for _, rule := range policy.Spec.Ingress {
			for _, from := range rule.From {
				if from.IPBlock != nil {
					ranges[rule.Ports[0].Port.IntVal] = append(ranges[rule.Ports[0].Port.IntVal], from.IPBlock.CIDR)
				}
			}
		}
		return ranges
	}
	wanted := map[int32][]string{1433: {"10.103.0.0/16", "10.8.0.0/16"}, 8443: {"10.103.0.0/16", "10.9.0.0/16"}}
	settled := func() {
		t.Helper()
		g.Eventually(func(g Gomega) {
			b.look(t, name)
			g.Expect(ports()).To(Equal(wanted))
			g.Expect(policy.Spec.Ingress).To(HaveLen(4))
			g.Expect(b.restricted(t, name)()).To(HaveField("Status", metav1.ConditionTrue))
		}, patient, often).Should(Succeed(), b.why(t, name))
	}
	settled()
	policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
	g.Expect(b.site.Client.Update(t.Context(), &policy)).To(Succeed())
	settled()

	change(func(s *v1alpha1.SQLServer) {
		s.Spec.Network = &v1alpha1.ServerNetwork{NetworkPolicy: v1alpha1.NetworkPolicyNone}
	})
	g.Eventually(func() bool { return apierrors.IsNotFound(get(t, b.site.Client, name, &policy)()) }, patient, often).
		Should(BeTrue(), b.why(t, name))
	change(func(s *v1alpha1.SQLServer) {
		s.Spec.Network = &v1alpha1.ServerNetwork{NetworkPolicy: v1alpha1.NetworkPolicyManaged}
	})
	g.Eventually(get(t, b.site.Client, name, &policy), patient, often).Should(Succeed(), b.why(t, name))
}

func (b *bed) restricted(t *testing.T, name string) func() metav1.Condition {
	return func() metav1.Condition {
		var s v1alpha1.SQLServer
		if err := get(t, b.hub.Client, name, &s)(); err != nil {
			return metav1.Condition{Message: err.Error()}
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionNetworkRestricted); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
}

// declareHub makes the hub a site by whose addresses the manager comes.
func (b *bed) declareHub(t *testing.T, ranges ...string) {
	t.Helper()
	hub := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "dublin"},
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, SourceRanges: ranges}}
	NewWithT(t).Expect(b.hub.Client.Create(t.Context(), hub)).To(Succeed())
}
