// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"
)

var (
	zoneValues = []string{"a", "b", "c"}
	rackValues = []string{"1", "2"}
)

func drawCluster(t *rapid.T) Cluster {
	var c Cluster
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		n := node(fmt.Sprintf("node%d", i), nil)
		if rapid.Bool().Draw(t, "zoned") {
			n.Labels["zone"] = rapid.SampledFrom(zoneValues).Draw(t, "zone")
		}
		if rapid.Bool().Draw(t, "racked") {
			n.Labels["rack"] = rapid.SampledFrom(rackValues).Draw(t, "rack")
		}
		n.Spec.Unschedulable = rapid.IntRange(0, 4).Draw(t, "cordon") == 0
		if rapid.IntRange(0, 4).Draw(t, "taint") == 0 {
			n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		}
		c.Nodes = append(c.Nodes, n)
	}
	for i := range 3 {
		s := class(fmt.Sprintf("class%d", i))
		for range rapid.IntRange(0, 3).Draw(t, "terms") {
			var term corev1.TopologySelectorTerm
			for key, values := range map[string][]string{"zone": zoneValues, "rack": rackValues} {
				if rapid.Bool().Draw(t, key) {
					term.MatchLabelExpressions = append(term.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{
						Key: key, Values: rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, len(values), rapid.ID[string]).Draw(t,
							"values"),
					})
				}
			}
			if len(term.MatchLabelExpressions) > 0 {
				s.AllowedTopologies = append(s.AllowedTopologies, term)
			}
		}
		c.Classes = append(c.Classes, s)
	}
	return c
}

func drawRequest(t *rapid.T) Request {
	r := Request{}
	for _, role := range []Role{RoleData, RoleLog, RoleTempDB, RoleBackup} {
		r.Volumes = append(r.Volumes, Volume{
			Role: role, Class: fmt.Sprintf("class%d", rapid.IntRange(0, 2).Draw(t, "class")), Size: resource.MustParse("1Gi"),
		})
	}
	if rapid.Bool().Draw(t, "select") {
		r.NodeSelector = map[string]string{"zone": rapid.SampledFrom(zoneValues).Draw(t, "selected")}
	}
	return r
}

// serves is the specification, written without regard to how Decide does it.
func serves(n corev1.Node, r Request, classes []storagev1.StorageClass) bool {
	for key, value := range r.NodeSelector {
		if n.Labels[key] != value {
			return false
		}
	}
	for _, v := range r.Volumes {
		c := classes[slices.IndexFunc(classes, func(c storagev1.StorageClass) bool { return c.Name == v.Class })]
		ok := len(c.AllowedTopologies) == 0
		for _, term := range c.AllowedTopologies {
			all := true
			for _, e := range term.MatchLabelExpressions {
				value, has := n.Labels[e.Key]
				all = all && has && slices.Contains(e.Values, value)
			}
			ok = ok || all
		}
		if !ok {
			return false
		}
	}
	return true
}

// A node matches the terms exactly when every volume's class and the selector allow it; the candidates are those of
// them that take pods; and there is an error exactly when there are none.
func TestDecideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster, request := drawCluster(t), drawRequest(t)
		decision, err := Decide(request, cluster)
		var none *NoNodeError
		if errors.As(err, &none) != (len(decision.Candidates) == 0) {
			t.Fatalf("candidates %v with error %v", decision.Candidates, err)
		}
		possible := false
		for _, n := range cluster.Nodes {
			want := serves(n, request, cluster.Classes)
			possible = possible || want
			takes := want && !n.Spec.Unschedulable && len(n.Spec.Taints) == 0
			if slices.Contains(decision.Candidates, n.Name) != takes {
				t.Fatalf("node %s (%v): candidate %v, want %v; %s", n.Name, n.Labels, !takes, takes, decision.Reason)
			}
			matches := len(decision.Terms) == 0
			if !matches {
				selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: decision.Terms})
				if err != nil {
					t.Fatalf("the terms are not valid: %v", err)
				}
				matches = selector.Match(&n)
			}
			// Terms that exclude each other leave the user's selector alone: then the pod is not made at all.
			if want && !matches {
				t.Fatalf("node %s (%v) can serve all volumes and does not match %v", n.Name, n.Labels, decision.Terms)
			}
			if matches && !want && possible {
				t.Fatalf("node %s (%v) matches %v and can't serve all volumes", n.Name, n.Labels, decision.Terms)
			}
		}
		if len(decision.Reason) == 0 || len(decision.Reason) > 4096 {
			t.Fatalf("reason of %d characters", len(decision.Reason))
		}
	})
}

// The decision does not depend on the order in which the cluster lists its nodes.
func TestDecideOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster, request := drawCluster(t), drawRequest(t)
		first, _ := Decide(request, cluster)
		shuffled := cluster
		shuffled.Nodes = rapid.Permutation(cluster.Nodes).Draw(t, "order")
		second, _ := Decide(request, shuffled)
		if !slices.Equal(first.Candidates, second.Candidates) || first.Reason != second.Reason {
			t.Fatalf("%v became %v", first, second)
		}
	})
}
