// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/repl/internal/sources"
)

// Every documented parameter of a procedure is read by what serves the procedure, refused, or known to have nothing to
// change; and the tables of the latter two have no others.
func TestNoParameterIsPassedOver(t *testing.T) {
	g := NewWithT(t)
	s, err := sources.Read(".", "agent", "article", "profile", "stored", "tables")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(s.Procedures)).To(BeNumerically(">", 80))
	var problems []string
	for name, from := range s.Procedures {
		info, documented := catalog.Procedure(name)
		if !documented {
			continue
		}
		for _, p := range info.Parameters {
			if p.Internal {
				continue
			}
			_, refused := refusedParameters[name][p.Name]
			idle := slices.Contains(strings.Fields(idleParameters[name]), p.Name)
			read := s.Mentions(from, p.Name, map[string]bool{})
			switch {
			case read && idle:
				problems = append(problems, name+" reads "+p.Name)
			case !read && refused == idle:
				problems = append(problems, name+" does nothing with "+p.Name)
			}
		}
	}
	for name, list := range refusedParameters {
		for parameter := range list {
			if !isDocumented(name, parameter) {
				problems = append(problems, name+" has no "+parameter)
			}
		}
	}
	for name, list := range idleParameters {
		for _, parameter := range strings.Fields(list) {
			if !isDocumented(name, parameter) {
				problems = append(problems, name+" has no "+parameter)
			}
		}
	}
	slices.Sort(problems)
	g.Expect(problems).To(BeEmpty())
}

func isDocumented(procedure, parameter string) bool {
	info, ok := catalog.Procedure(procedure)
	return ok && slices.ContainsFunc(info.Parameters, func(p catalog.ParameterInfo) bool { return p.Name == parameter })
}
