// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// apartWeight of 1 to 100: the greatest, since a node that is lost takes with it every replica on it.
const apartWeight = 100

// affinity is where the pod may and would run: where its volumes can live and the server's specification wants it, and
// apart from the other replicas of its groups. nil when nothing is asked for.
func affinity(d Desired, terms []corev1.NodeSelectorTerm) *corev1.Affinity {
	a := &corev1.Affinity{}
	if declared := d.shape.Affinity; declared != nil {
		a = declared.DeepCopy()
	}
	if len(terms) > 0 {
		if a.NodeAffinity == nil {
			a.NodeAffinity = &corev1.NodeAffinity{}
		}
		need := &a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if *need == nil {
			*need = &corev1.NodeSelector{NodeSelectorTerms: terms}
		} else {
			(*need).NodeSelectorTerms = both(terms, (*need).NodeSelectorTerms)
		}
	}
	if neighbours := d.neighbours(); len(neighbours) > 0 {
		if a.PodAntiAffinity == nil {
			a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		apart(d, neighbours, a.PodAntiAffinity)
	}
	if a.NodeAffinity == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return nil
	}
	return a
}

// both are terms of which any matches a node that one of each side matches.
func both(left, right []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
	var product []corev1.NodeSelectorTerm
	for _, l := range left {
		for _, r := range right {
			product = append(product, corev1.NodeSelectorTerm{
				MatchExpressions: slices.Concat(l.MatchExpressions, r.MatchExpressions),
				MatchFields:      slices.Concat(l.MatchFields, r.MatchFields),
			})
		}
	}
	return product
}

func apart(d Desired, neighbours []v1alpha1.ServerName, a *corev1.PodAntiAffinity) {
	var names []string
	for _, n := range neighbours {
		names = append(names, string(n))
	}
	term := corev1.PodAffinityTerm{
		TopologyKey: corev1.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: v1alpha1.LabelNamespace, Operator: metav1.LabelSelectorOpIn, Values: []string{d.Server.Namespace}},
			{Key: v1alpha1.LabelServer, Operator: metav1.LabelSelectorOpIn, Values: names},
		}},
	}
	if d.apartRequired() {
		a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, term)
		return
	}
	a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.WeightedPodAffinityTerm{Weight: apartWeight, PodAffinityTerm: term})
}

func (d Desired) apartRequired() bool {
	return d.scheduling().ReplicaAntiAffinity == v1alpha1.AntiAffinityRequired
}

// neighbours are the other replicas of the server's groups at its site, sorted: one node would take them all along.
func (d Desired) neighbours() []v1alpha1.ServerName {
	var names []v1alpha1.ServerName
	for i := range d.servers {
		s := &d.servers[i]
		if s.Spec.Site == d.Server.Spec.Site && slices.Contains(d.Partners, v1alpha1.ServerName(s.Name)) {
			names = append(names, v1alpha1.ServerName(s.Name))
		}
	}
	slices.Sort(names)
	return names
}

// occupied are the nodes of the neighbours by what their status says, where the pod has to be on another one.
func (d Desired) occupied() map[string]string {
	if !d.apartRequired() {
		return nil
	}
	nodes, neighbours := map[string]string{}, d.neighbours()
	for i := range d.servers {
		s := &d.servers[i]
		if p := s.Status.Placement; p != nil && p.Node != "" && slices.Contains(neighbours, v1alpha1.ServerName(s.Name)) {
			nodes[p.Node] = s.Name
		}
	}
	return nodes
}

// Spread says in words from which replicas the pod keeps apart, and how strongly; empty when there are none at its
// site.
func Spread(d Desired) string {
	neighbours := d.neighbours()
	if len(neighbours) == 0 {
		return ""
	}
	names := list(neighbours)
	groups := strings.Join(d.Groups, ", ")
	if d.apartRequired() {
		return fmt.Sprintf("its pod needs another node than %s of the same site (group %s): "+
			"scheduling.replicaAntiAffinity is Required, and without one it waits", names, groups)
	}
	return fmt.Sprintf("its pod prefers another node than %s of the same site (group %s): "+
		"scheduling.replicaAntiAffinity is %s", names, groups, cmp.Or(d.scheduling().ReplicaAntiAffinity,
		v1alpha1.AntiAffinityPreferred))
}
