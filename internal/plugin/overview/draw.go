// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"
	"strings"
)

// Mermaid is the graph as a Mermaid flowchart (mermaid.js.org/syntax/flowchart.html).
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	states := map[string][]string{}
	for _, site := range g.Sites {
		fmt.Fprintf(&b, "  subgraph site_%s[%s]\n", identifier(site.Name), mermaidText(siteTitle(site)))
		for _, n := range site.Servers {
			fmt.Fprintf(&b, "    %s[(%s)]\n", identifier(n.Name), mermaidText(append([]string{n.Name}, n.Lines...)...))
			if class := stateClass(n.State); class != "" {
				states[class] = append(states[class], identifier(n.Name))
			}
		}
		b.WriteString("  end\n")
	}
	for _, e := range g.Edges {
		left, right := mermaidArrow(e.Kind)
		fmt.Fprintf(&b, "  %s %s %s %s %s\n", identifier(e.From), left, mermaidText(e.Label), right, identifier(e.To))
	}
	for _, class := range []string{"notready", "unknown"} {
		if len(states[class]) > 0 {
			fmt.Fprintf(&b, "  classDef %s %s\n  class %s %s\n", class, map[string]string{
				"notready": "stroke:#c00,stroke-width:3px", "unknown": "stroke:#c90,stroke-width:3px,stroke-dasharray:4"}[class],
				strings.Join(states[class], ","), class)
		}
	}
	return b.String()
}

func siteTitle(s GraphSite) string {
	if s.Region == "" {
		return s.Name
	}
	return fmt.Sprintf("%s (%s)", s.Name, s.Region)
}

// stateClass of Ready's status; nothing was observed, or it is True, has none.
func stateClass(status string) string {
	return map[string]string{"False": "notready", "Unknown": "unknown"}[status]
}

func mermaidArrow(kind EdgeKind) (left, right string) {
	switch kind {
	case EdgeSynchronous:
		return "==", "==>"
	case EdgeAsynchronous, EdgeVotes:
		return "-.", ".->"
	}
	return "--", "-->"
}

// mermaidText quotes lines of text; quotes become entities.
func mermaidText(lines ...string) string {
	return `"` + strings.ReplaceAll(strings.Join(lines, "<br/>"), `"`, "#quot;") + `"`
}

// identifier is a name with letters, digits and underscores only. Names of servers and namespaces have no underscore,
// so that two stay two; a slash becomes two.
func identifier(name string) string {
	return strings.NewReplacer("/", "__", "-", "_", ".", "_").Replace(name)
}

// Dot is the graph in Graphviz' language (graphviz.org/doc/info/lang.html).
func (g Graph) Dot() string {
	var b strings.Builder
	b.WriteString("digraph geosql {\n  rankdir=LR;\n  node [shape=cylinder];\n")
	for _, site := range g.Sites {
		fmt.Fprintf(&b, "  subgraph %s {\n    label=%s;\n", dotText("cluster_"+site.Name), dotText(siteTitle(site)))
		for _, n := range site.Servers {
			style := map[string]string{"notready": ", color=red", "unknown": ", color=orange, style=dashed"}[stateClass(n.State)]
			fmt.Fprintf(&b, "    %s [label=%s%s];\n", dotText(n.Name), dotText(append([]string{n.Name}, n.Lines...)...), style)
		}
		b.WriteString("  }\n")
	}
	for _, e := range g.Edges {
		style := map[EdgeKind]string{EdgeSynchronous: "bold", EdgeAsynchronous: "dashed", EdgeVotes: "dotted",
			EdgeReplication: "solid"}[e.Kind]
		fmt.Fprintf(&b, "  %s -> %s [label=%s, style=%s];\n", dotText(e.From), dotText(e.To), dotText(e.Label), style)
	}
	b.WriteString("}\n")
	return b.String()
}

func dotText(lines ...string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, l := range lines {
		lines[i] = quoted.Replace(l)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
