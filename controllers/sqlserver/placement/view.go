// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// view is the cluster as one request sees it: for every node, why it is excluded.
type view struct {
	request Request
	cluster Cluster
	groups  []group
	nodes   []corev1.Node
	// byNode are the reasons against the node itself (cordoned, tainted, not selected), by node name.
	byNode map[string]string
	// byGroup are the nodes that a group allows, and the reason against each other node, by group index.
	byGroup []map[string]string
}

func newView(request Request, cluster Cluster, groups []group) *view {
	v := &view{request: request, cluster: cluster, groups: groups, byNode: map[string]string{}}
	v.nodes = slices.Clone(cluster.Nodes)
	slices.SortFunc(v.nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range v.nodes {
		if why := v.nodeExcluded(&v.nodes[i]); why != "" {
			v.byNode[v.nodes[i].Name] = why
		}
	}
	for _, g := range groups {
		excluded := map[string]string{}
		for i := range v.nodes {
			if why := v.groupExcludes(g, &v.nodes[i]); why != "" {
				excluded[v.nodes[i].Name] = why
			}
		}
		v.byGroup = append(v.byGroup, excluded)
	}
	return v
}

func (v *view) candidates() []string {
	var names []string
	for _, n := range v.nodes {
		if v.byNode[n.Name] != "" {
			continue
		}
		if slices.ContainsFunc(v.byGroup, func(excluded map[string]string) bool { return excluded[n.Name] != "" }) {
			continue
		}
		names = append(names, n.Name)
	}
	return names
}
