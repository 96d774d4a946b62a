// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// Pods of a flat network have addresses of their own; with NodePort they need not, but NetworkPolicies must tell sites
// apart. What is declared is what there is.
func TestAddressesOfSites(t *testing.T) {
	const flat, ports = v1alpha1.ExposureFlatNetwork, v1alpha1.ExposureNodePort
	site := func(name string, exposure v1alpha1.ExposureType, ranges ...string) place {
		return placeOf(name, v1alpha1.SiteSpec{Exposure: v1alpha1.Exposure{Type: exposure}, SourceRanges: ranges})
	}
	nodes := []corev1.Node{fitNode()} // pods in 10.102.3.0/24, the node at 192.0.2.7
	silent := []corev1.Node{{}}
	for what, c := range map[string]struct {
		here  place
		other place
		check string
		level Level
		says  string
	}{
		"apart": {here: site("quincy", flat, "10.102.0.0/16").look(nodes),
			other: site("dublin", flat, "10.103.0.0/16")},
		"the default is flat": {here: site("quincy", "", "10.102.0.0/16"), other: site("dublin", "", "10.103.0.0/16")},
		"declared ranges overlap": {site("quincy", "", "10.96.0.0/12"), site("dublin", "", "10.103.0.0/16"), "addresses",
			Problem, "10.96.0.0/12 here and 10.103.0.0/16 at dublin overlap"},
		"pods overlap with what another declares": {site("quincy", flat, "10.102.0.0/16").look(nodes),
			site("dublin", flat, "10.102.3.0/25"), "addresses", Problem, "overlap"},
		"pods overlap with pods that were seen": {site("quincy", flat).look(nodes), site("dublin", flat).look(nodes),
			"addresses", Problem, "overlap"},
		"behind nodes pods may overlap": {here: site("quincy", ports, "192.0.2.0/24").look(nodes),
			other: site("dublin", ports, "198.51.100.0/24").look(nodes)},
		"behind load balancers pods may overlap": {
			here:  site("quincy", v1alpha1.ExposureLoadBalancer, "192.0.2.0/24").look(nodes),
			other: site("dublin", v1alpha1.ExposureLoadBalancer, "198.51.100.0/24").look(nodes)},
		"behind nodes, by the same ranges": {site("quincy", ports, "192.0.2.0/24").look(nodes),
			site("dublin", ports, "192.0.2.0/28"), "addresses", Warning, "take the one site's pods for the other's"},
		"nothing is declared": {site("quincy", flat), site("dublin", flat, "10.103.0.0/16"), "source-ranges", Warning,
			"PeersUnknown"},
		"pods beyond what is declared": {site("quincy", flat, "10.104.0.0/16").look(nodes),
			site("dublin", flat, "10.103.0.0/16"), "source-ranges", Warning, "10.102.3.0/24 are here and not in 10.104.0.0/16"},
		"less is declared than the pods have": {site("quincy", flat, "10.102.3.0/25").look(nodes),
			site("dublin", flat, "10.103.0.0/16"), "source-ranges", Warning, "10.102.3.0/24"},
		"nodes beyond what is declared": {site("quincy", ports, "10.102.0.0/16").look(nodes),
			site("dublin", flat, "10.103.0.0/16"), "source-ranges", Warning, "192.0.2.7"},
		"nodes that tell nothing": {site("quincy", flat, "10.102.0.0/16").look(silent),
			site("dublin", flat, "10.103.0.0/16"), "source-ranges", Unknown, "do not tell"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			all := judgeNetwork(c.here, []place{c.other})
			g.Expect(all).NotTo(BeEmpty())
			if c.check == "" {
				g.Expect(bad(all)).To(BeEmpty())
				return
			}
			g.Expect(bad(all)).To(ContainElement(And(HaveField("Cluster", "quincy"), HaveField("Check", c.check),
				HaveField("Level", c.level), HaveField("Says", ContainSubstring(c.says)), Or(
					HaveField("Change", Not(BeEmpty())), HaveField("Level", Unknown)))))
		})
	}
}

// What the hub says of a site counts: a message with what to do is a problem, what nobody looked at is unknown.
func TestWhatTheHubSaysOfASite(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "why"}
	}
	ready := condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSiteReady)
	for what, c := range map[string]struct {
		conditions []metav1.Condition
		change     func(*v1alpha1.Site)
		level      Level
		says       string
	}{
		"ready":             {conditions: []metav1.Condition{ready}},
		"nobody has looked": {level: Unknown, says: "does the operator run?"},
		"a declaration too young": {conditions: []metav1.Condition{ready},
			change: func(s *v1alpha1.Site) { s.Generation = 2 }, level: Unknown, says: "newest declaration"},
		"silent": {conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionUnknown,
			v1alpha1.ReasonSiteUnreachable)}, level: Problem, says: v1alpha1.ReasonSiteUnreachable + ": why"},
		"stalled": {conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse,
			v1alpha1.ReasonOtherHub), condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonOtherHub)},
			level: Problem, says: v1alpha1.ReasonOtherHub},
		"credentials that end": {conditions: []metav1.Condition{ready, condition(v1alpha1.ConditionCredentialsValid,
			metav1.ConditionFalse, v1alpha1.ReasonCredentialsExpireSoon)}, level: Warning, says: "CredentialsValid is False"},
		"credentials that nobody read": {conditions: []metav1.Condition{ready, condition(
			v1alpha1.ConditionCredentialsValid, metav1.ConditionUnknown, v1alpha1.ReasonConnecting)}, level: Unknown,
			says: "CredentialsValid"},
		"lost": {change: func(s *v1alpha1.Site) { s.Spec.Lifecycle = v1alpha1.SiteLost }, level: Warning, says: "lost"},
		"a hub without an address": {conditions: []metav1.Condition{ready},
			change: func(s *v1alpha1.Site) { s.Spec.KubeconfigSecretRef = nil }, level: Warning, says: "hub's API server"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			s := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"},
				Spec: v1alpha1.SiteSpec{KubeconfigSecretRef: &v1alpha1.SecretReference{Name: "quincy"}}}
			s.Status.Conditions = c.conditions
			if c.change != nil {
				c.change(s)
			}
			found := bad(judgeSite(s))
			if c.level == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(ConsistOf(And(HaveField("Level", c.level), HaveField("Says", ContainSubstring(c.says)))))
		})
	}
}
