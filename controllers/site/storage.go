// SPDX-License-Identifier: Apache-2.0

package site

import (
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// classNodes returns the nodes on which volumes of a class can live: those that a term of allowedTopologies selects
// and, for a CSI driver that runs on some node, those on which it runs.
func classNodes(s *storage, class *storagev1.StorageClass) []string {
	drivers := driverNodes(s, class.Provisioner)
	var nodes []string
	for i := range s.nodes {
		node := &s.nodes[i]
		if !allowedBy(class, node) || (drivers != nil && !drivers[node.Name]) {
			continue
		}
		nodes = append(nodes, node.Name)
	}
	sort.Strings(nodes)
	if len(nodes) > maxNodes {
		nodes = nodes[:maxNodes]
	}
	return nodes
}

// driverNodes are the nodes on which a CSI driver runs, nil for a provisioner that registers on none.
func driverNodes(s *storage, provisioner string) map[string]bool {
	var nodes map[string]bool
	for _, n := range s.csiNodes {
		if slices.ContainsFunc(n.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == provisioner }) {
			if nodes == nil {
				nodes = map[string]bool{}
			}
			nodes[n.Name] = true
		}
	}
	return nodes
}

// allowedBy reports whether allowedTopologies let volumes live on a node: terms are alternatives, the expressions of a
// term all hold.
func allowedBy(class *storagev1.StorageClass, node *corev1.Node) bool {
	if len(class.AllowedTopologies) == 0 {
		return true
	}
	return slices.ContainsFunc(class.AllowedTopologies, func(term corev1.TopologySelectorTerm) bool {
		for _, e := range term.MatchLabelExpressions {
			if !slices.Contains(e.Values, node.Labels[e.Key]) {
				return false
			}
		}
		return true
	})
}

// classCapacity sums what the driver publishes for the class on the nodes that the class allows; nil when it publishes
// nothing.
func classCapacity(s *storage, class *storagev1.StorageClass) *resource.Quantity {
	var sum *resource.Quantity
	for i := range s.capacities {
		c := &s.capacities[i]
		if c.StorageClassName != class.Name || c.Capacity == nil || !servesAllowed(s, class, c) {
			continue
		}
		if sum == nil {
			sum = &resource.Quantity{Format: c.Capacity.Format}
		}
		sum.Add(*c.Capacity)
	}
	return sum
}

func servesAllowed(s *storage, class *storagev1.StorageClass, c *storagev1.CSIStorageCapacity) bool {
	selector, err := metav1.LabelSelectorAsSelector(c.NodeTopology)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool {
		return allowedBy(class, &n) && selector.Matches(labels.Set(n.Labels))
	})
}
