// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"

	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// maxNames bounds how many nodes one clause lists.
	maxNames = 8
	// maxReason bounds the whole explanation: what status.placement.reason takes.
	maxReason = 4096
)

// explain says for each class which nodes it allows, what excludes nodes for other reasons, and the conclusion.
func (v *view) explain(candidates []string) string {
	var clauses []string
	for i, g := range v.groups {
		clauses = append(clauses, v.explainGroup(g, v.byGroup[i]))
	}
	for _, n := range v.nodes {
		if why := v.byNode[n.Name]; why != "" && len(clauses) < len(v.groups)+maxNames {
			clauses = append(clauses, "node "+n.Name+" "+why)
		}
	}
	clauses = append(clauses, v.conclusion(candidates))
	return conditions.Shorten(strings.Join(clauses, "; "), maxReason)
}

// explainGroup lists the nodes that the class allows, and of those it does not allow the ones for which there is more
// to say than its topology.
func (v *view) explainGroup(g group, excluded map[string]string) string {
	var allows, details []string
	for _, n := range v.nodes {
		switch why := excluded[n.Name]; why {
		case "":
			allows = append(allows, n.Name)
		case "not in allowedTopologies", "the volume is elsewhere":
		default:
			details = append(details, n.Name+": "+why)
		}
	}
	verb := " allows "
	if g.bound != nil {
		verb = " is on "
	}
	clause := g.name() + verb
	switch {
	case len(allows) == 0:
		clause += "no node"
	case len(allows) == len(v.nodes) && len(allows) > 1:
		clause += "every node"
	default:
		clause += nameList(allows)
	}
	if len(details) > 0 {
		clause += " (" + nameList(details) + ")"
	}
	return clause
}

func (v *view) conclusion(candidates []string) string {
	if len(candidates) > 0 {
		return "candidates: " + nameList(candidates)
	}
	if len(v.nodes) == 0 {
		return "the site has no nodes"
	}
	needs := make([]string, len(v.groups))
	for i, g := range v.groups {
		needs[i] = fmt.Sprintf("%s (%s)", roleList(g.roles()), g.className)
	}
	last := len(needs) - 1
	if last > 0 {
		needs = []string{strings.Join(needs[:last], ", ") + " and " + needs[last]}
	}
	return "no node can serve " + strings.Join(needs, "")
}

func nameList(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
