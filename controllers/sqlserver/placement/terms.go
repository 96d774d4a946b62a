// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// maxTerms bounds the node affinity. Topologies that multiply beyond it are left to the scheduler, which knows the
// classes too.
const maxTerms = 64

// labelSets is a term in the making: for each label the values that are allowed.
type labelSets map[string][]string

// terms multiplies the allowed topologies of all classes: within a class any term may match, across classes all must.
// Bound volumes are left out: the scheduler enforces their affinity by itself, and with them the pod's template would
// change once the first volume is bound.
func terms(groups []group, selector map[string]string) []corev1.NodeSelectorTerm {
	product := []labelSets{selectorSets(selector)}
	for _, g := range groups {
		if g.class == nil || g.bound != nil && g.class.Name != g.className {
			continue
		}
		alternatives := classSets(g.class.AllowedTopologies)
		if len(alternatives) == 0 {
			continue
		}
		var next []labelSets
		for _, left := range product {
			for _, right := range alternatives {
				if both, ok := intersect(left, right); ok {
					next = append(next, both)
				}
			}
		}
		product = distinct(next)
		if len(product) == 0 || len(product) > maxTerms {
			return selectorTerms(selector)
		}
	}
	return toTerms(product)
}

func selectorSets(selector map[string]string) labelSets {
	sets := labelSets{}
	for key, value := range selector {
		sets[key] = []string{value}
	}
	return sets
}

// selectorTerms is the user's selector alone.
func selectorTerms(selector map[string]string) []corev1.NodeSelectorTerm {
	return toTerms([]labelSets{selectorSets(selector)})
}

func classSets(topologies []corev1.TopologySelectorTerm) []labelSets {
	var alternatives []labelSets
	for _, t := range topologies {
		sets := labelSets{}
		possible := true
		for _, e := range t.MatchLabelExpressions {
			values := sorted(e.Values)
			if have, ok := sets[e.Key]; ok {
				values = common(have, values)
			}
			sets[e.Key] = values
			possible = possible && len(values) > 0
		}
		if possible {
			alternatives = append(alternatives, sets)
		}
	}
	return alternatives
}

// intersect is the nodes that match both; false when no label can.
func intersect(a, b labelSets) (labelSets, bool) {
	both := maps.Clone(a)
	for key, values := range b {
		if have, ok := both[key]; ok {
			values = common(have, values)
		}
		if len(values) == 0 {
			return nil, false
		}
		both[key] = values
	}
	return both, true
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(v string) bool { return !slices.Contains(b, v) })
}

func sorted(values []string) []string {
	s := slices.Clone(values)
	slices.Sort(s)
	return slices.Compact(s)
}

func distinct(all []labelSets) []labelSets {
	var kept []labelSets
	for _, sets := range all {
		equal := func(other labelSets) bool { return maps.EqualFunc(sets, other, slices.Equal[[]string]) }
		if !slices.ContainsFunc(kept, equal) {
			kept = append(kept, sets)
		}
	}
	return kept
}

// toTerms writes the terms with their labels sorted. A term without labels matches every node: then there are none.
func toTerms(product []labelSets) []corev1.NodeSelectorTerm {
	var result []corev1.NodeSelectorTerm
	for _, sets := range product {
		if len(sets) == 0 {
			return nil
		}
		var term corev1.NodeSelectorTerm
		for _, key := range slices.Sorted(maps.Keys(sets)) {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: key, Operator: corev1.NodeSelectorOpIn, Values: sets[key],
			})
		}
		result = append(result, term)
	}
	return result
}
