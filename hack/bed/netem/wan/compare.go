// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/shape"
)

// LinkStatus is one ordered pair of sites: what was asked and what is in force.
type LinkStatus struct {
	From  string     `json:"from"`
	To    string     `json:"to"`
	Asked shape.Rule `json:"asked"`
	// InForce is the rule that all nodes of From have; nil if they differ or
	// one of them has none.
	InForce *shape.Rule `json:"inForce"`
	// Emulators are those at work on the nodes of From.
	Emulators []Emulator `json:"emulators"`
	// Problem says why the link is not as asked; empty if it is.
	Problem string `json:"problem,omitempty"`
	// Sent and Dropped count frames of all nodes of From, LateP99 is the
	// worst node's.
	Sent    uint64        `json:"sent"`
	Dropped uint64        `json:"dropped"`
	LateP99 time.Duration `json:"lateP99"`
}

// Compare sets what is in force against the plan, for each ordered pair.
func Compare(sites []Site, asked Asked, statuses []NodeStatus) []LinkStatus {
	nodes := make([]Node, 0, len(statuses))
	for _, status := range statuses {
		nodes = append(nodes, status.Node)
	}
	plan := Plan(sites, nodes, asked)
	var links []LinkStatus
	for _, from := range sites {
		for _, to := range sites {
			if from.Name == to.Name {
				continue
			}
			link := LinkStatus{From: from.Name, To: to.Name, Asked: asked.Link(from.Name, to.Name).Effective()}
			link.compare(plan, statuses)
			links = append(links, link)
		}
	}
	return links
}

func (l *LinkStatus) compare(plan map[string][]emulator.Class, statuses []NodeStatus) {
	var problems []string
	var rules []shape.Rule
	for _, status := range statuses {
		if status.Node.Site != l.From {
			continue
		}
		if status.Err != nil {
			problems = append(problems, status.Err.Error())
			continue
		}
		if !slices.Contains(l.Emulators, status.Emulator) {
			l.Emulators = append(l.Emulators, status.Emulator)
		}
		rule, problem := l.compareNode(plan[status.Node.Name], status)
		rules = append(rules, rule)
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	if len(rules) == 0 && len(problems) == 0 && !l.Asked.Transparent() {
		problems = append(problems, fmt.Sprintf("no node of %s runs", l.From))
	}
	rules = slices.Compact(rules)
	if len(rules) == 1 {
		l.InForce = &rules[0]
	}
	l.Problem = strings.Join(problems, "; ")
}

func (l *LinkStatus) compareNode(planned []emulator.Class, status NodeStatus) (shape.Rule, string) {
	named := func(name string) func(emulator.Class) bool {
		return func(c emulator.Class) bool { return c.Name == name }
	}
	var actual emulator.ClassStatus
	for _, class := range status.Classes {
		if class.Name == l.To {
			actual = class
		}
	}
	l.Sent += actual.Sent
	l.Dropped += actual.Dropped
	l.LateP99 = max(l.LateP99, actual.LateP99)
	if !sameRule(actual.Rule, l.Asked, status.Emulator) {
		return actual.Rule, fmt.Sprintf("%s has %q: run wan reapply", status.Node.Name, actual.Rule)
	}
	i := slices.IndexFunc(planned, named(l.To))
	if i >= 0 && status.Emulator != Kernel && !slices.Equal(actual.To, planned[i].To) {
		return actual.Rule, fmt.Sprintf("%s shapes other addresses than those of %s: run wan reapply", status.Node.Name, l.To)
	}
	return actual.Rule, ""
}

// sameRule compares a rule in force with the one asked. The kernel's netem
// cannot tell a cut link's shape, and counts in microseconds.
func sameRule(actual, asked shape.Rule, used Emulator) bool {
	if used == Kernel {
		if asked.Cut {
			return actual.Cut
		}
		asked.Delay, asked.Jitter = asked.Delay.Truncate(time.Microsecond), asked.Jitter.Truncate(time.Microsecond)
	}
	return actual == asked
}

// PrintTable writes the links as a table.
func PrintTable(out io.Writer, links []LinkStatus) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FROM\tTO\tASKED\tIN FORCE\tEMULATOR\tSENT\tDROPPED\tLATE P99\tPROBLEM")
	for _, link := range links {
		inForce := "-"
		if link.InForce != nil {
			inForce = link.InForce.String()
		}
		var emulators []string
		for _, used := range link.Emulators {
			emulators = append(emulators, string(used))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", link.From, link.To, link.Asked, inForce,
			strings.Join(emulators, ", "), link.Sent, link.Dropped, link.LateP99.Round(time.Microsecond), link.Problem)
	}
	return table.Flush()
}
