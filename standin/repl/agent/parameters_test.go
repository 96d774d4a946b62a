// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/repl/internal/sources"
)

// Every documented parameter of an agent is read by what it may call, refused, or known to have nothing to change; and
// the tables of the latter two have no others.
func TestNoAgentParameterIsPassedOver(t *testing.T) {
	g := NewWithT(t)
	s, err := sources.Read(".")
	g.Expect(err).NotTo(HaveOccurred())
	for _, table := range []string{"refusedArguments", "idleArguments"} {
		delete(s.Texts, table)
	}
	var problems []string
	documented := map[string]bool{}
	for kind, run := range map[string]string{"distrib": "runDistribution", "logread": "runLogReader",
		"snapshot": "runSnapshot"} {
		info, ok := catalog.AgentParameters(kind)
		g.Expect(ok).To(BeTrue(), kind)
		reads := func(name string) bool {
			for _, role := range []string{"Publisher", "Distributor", "Subscriber"} {
				if suffix, found := strings.CutPrefix(name, "-"+role); found &&
					slices.Contains([]string{"SecurityMode", "Login", "Password"}, suffix) {
					name = suffix // the agent puts the role before it
				}
			}
			return s.Mentions([]string{run}, name, map[string]bool{}) ||
				s.Mentions([]string{run}, strings.ToLower(name), map[string]bool{})
		}
		idle := strings.Fields(idleArguments[kind])
		for _, name := range idle {
			if _, ok := info.Parameter(name); !ok {
				problems = append(problems, kind+" has no "+name)
			}
		}
		for _, p := range info.Parameters {
			documented[strings.ToLower(p.Name)] = true
			_, refused := refusedArguments[strings.ToLower(p.Name)]
			isIdle := slices.Contains(idle, p.Name)
			if refused && isIdle || !refused && !isIdle && !reads(p.Name) {
				problems = append(problems, kind+" does nothing with "+p.Name)
			}
		}
	}
	for name := range refusedArguments {
		if !documented[name] {
			problems = append(problems, "no agent has "+name)
		}
	}
	slices.Sort(problems)
	g.Expect(problems).To(BeEmpty())
}
