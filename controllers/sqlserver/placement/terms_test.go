// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// spread is a class that is allowed in any of the topologies, each of which has values by label.
func spread(name string, topologies ...map[string][]string) storagev1.StorageClass {
	c := class(name)
	for _, t := range topologies {
		var term corev1.TopologySelectorTerm
		for key, values := range t {
			term.MatchLabelExpressions = append(
				term.MatchLabelExpressions,
				corev1.TopologySelectorLabelRequirement{Key: key, Values: values},
			)
		}
		c.AllowedTopologies = append(c.AllowedTopologies, term)
	}
	return c
}

// numbered are topologies with one value each of a label.
func numbered(label string, n int) (topologies []map[string][]string) {
	for i := range n {
		topologies = append(topologies, map[string][]string{label: {fmt.Sprintf("%02d", i)}})
	}
	return topologies
}

func TestTerms(t *testing.T) {
	twice := spread("twice", map[string][]string{"zone": {"a", "b"}})
	twice.AllowedTopologies[0].MatchLabelExpressions = append(twice.AllowedTopologies[0].MatchLabelExpressions,
		corev1.TopologySelectorLabelRequirement{Key: "zone", Values: []string{"b", "c"}})
	never := spread("never", map[string][]string{"zone": {"a"}}, map[string][]string{"zone": {"d"}})
	never.AllowedTopologies[0].MatchLabelExpressions = append(never.AllowedTopologies[0].MatchLabelExpressions,
		corev1.TopologySelectorLabelRequirement{Key: "zone", Values: []string{"c"}})
	for name, c := range map[string]struct {
		classes  []storagev1.StorageClass
		selector map[string]string
		terms    []corev1.NodeSelectorTerm
		count    int
	}{
		"a label that is named twice must match both": {classes: []storagev1.StorageClass{twice},
			terms: []corev1.NodeSelectorTerm{in("zone", "b")}},
		"a topology that can never match is none": {classes: []storagev1.StorageClass{never},
			terms: []corev1.NodeSelectorTerm{in("zone", "d")}},
		"a class that can never match leaves the others": {
			classes: []storagev1.StorageClass{spread("none", map[string][]string{"zone": {}}),
				spread("c", map[string][]string{"zone": {"a"}})},
			selector: map[string]string{"disk": "nvme"},
			terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"nvme"}},
				{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
			}}}},
		"values are sorted, and each there once": {classes: []storagev1.StorageClass{spread("c",
			map[string][]string{"zone": {"b", "a", "b"}})}, terms: []corev1.NodeSelectorTerm{in("zone", "a", "b")}},
		"the same by two ways is one": {
			classes: []storagev1.StorageClass{spread("c", map[string][]string{"zone": {"a"}},
				map[string][]string{"zone": {"b"}}),
				spread("d", map[string][]string{"zone": {"a"}}, map[string][]string{"zone": {"a", "b"}})},
			terms: []corev1.NodeSelectorTerm{in("zone", "a"), in("zone", "b")}},
		"a class without topologies leaves the others": {
			classes: []storagev1.StorageClass{class("any"), spread("c", map[string][]string{"zone": {"a"}})},
			terms:   []corev1.NodeSelectorTerm{in("zone", "a")}},
		"what excludes itself leaves the selector": {
			classes: []storagev1.StorageClass{spread("c", map[string][]string{"zone": {"a"}}),
				spread("d", map[string][]string{"zone": {"b"}})},
			selector: map[string]string{"disk": "nvme"}, terms: []corev1.NodeSelectorTerm{in("disk", "nvme")}},
		"64 are listed": {classes: []storagev1.StorageClass{spread("c", numbered("rack", 8)...),
			spread("d", numbered("zone", 8)...)}, count: 64},
		"65 are left to the scheduler": {classes: []storagev1.StorageClass{spread("c", numbered("rack", 13)...),
			spread("d", numbered("zone", 5)...)},
			selector: map[string]string{"disk": "nvme"}, terms: []corev1.NodeSelectorTerm{in("disk", "nvme")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var volumes []Volume
			for i, s := range c.classes {
				volumes = append(volumes, Volume{Role: []Role{RoleData, RoleLog}[i], Class: s.Name})
			}
			decision, _ := Decide(Request{Volumes: volumes, NodeSelector: c.selector}, Cluster{Classes: c.classes})
			if c.count > 0 {
				g.Expect(decision.Terms).To(HaveLen(c.count))
				return
			}
			g.Expect(decision.Terms).To(Equal(c.terms))
		})
	}
}
