// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
)

// sources are this package's declarations: the texts and names in each, and which declaration serves a procedure.
type sources struct {
	texts, names map[string][]string
	procedures   map[string][]string
}

func readSources(t *testing.T) sources {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob("*.go")
	g.Expect(err).NotTo(HaveOccurred())
	s := sources{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "parameters.go" || name == "allowed.go" {
			continue
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		g.Expect(err).NotTo(HaveOccurred())
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				s.read(d.Name.Name, d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						s.read(v.Names[0].Name, v)
					}
				}
			}
		}
	}
	return s
}

func (s sources) read(name string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == gotoken.STRING {
				s.texts[name] = append(s.texts[name], text)
			}
		case *ast.Ident:
			s.names[name] = append(s.names[name], n.Name)
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "procedure" && f.Sel.Name != "change" || len(n.Args) != 5 {
				break
			}
			if lit, ok := n.Args[1].(*ast.BasicLit); ok {
				procedure, _ := strconv.Unquote(lit.Value)
				s.procedures[procedure] = []string{"serve " + procedure}
				s.read("serve "+procedure, n.Args[4])
			}
		}
		return true
	})
}

// mentions tells whether a declaration, or one that it names, has a text.
func (s sources) mentions(from []string, text string, seen map[string]bool) bool {
	for _, name := range from {
		if seen[name] {
			continue
		}
		seen[name] = true
		if slices.Contains(s.texts[name], text) || s.mentions(s.names[name], text, seen) {
			return true
		}
	}
	return false
}

// Every documented parameter of a procedure is read by what serves the procedure, refused, or known to have nothing to
// change; and the tables of the latter two have no others.
func TestNoParameterIsPassedOver(t *testing.T) {
	g := NewWithT(t)
	s := readSources(t)
	g.Expect(len(s.procedures)).To(BeNumerically(">", 80))
	var problems []string
	for name, from := range s.procedures {
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
			read := s.mentions(from, p.Name, map[string]bool{})
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

// Every documented parameter of an agent is read by what it may call, refused, or known to have nothing to change; and
// the tables of the latter two have no others.
func TestNoAgentParameterIsPassedOver(t *testing.T) {
	g := NewWithT(t)
	s := readSources(t)
	for _, table := range []string{"refusedArguments", "idleArguments", "systemProfiles", "logReaderDefaults",
		"distributionDefaults"} {
		delete(s.texts, table)
	}
	var problems []string
	documented := map[string]bool{}
	for agent, run := range map[string]string{"distrib": "runDistribution", "logread": "runLogReader",
		"snapshot": "runSnapshot"} {
		info, ok := catalog.AgentParameters(agent)
		g.Expect(ok).To(BeTrue(), agent)
		reads := func(name string) bool {
			for _, role := range []string{"Publisher", "Distributor", "Subscriber"} {
				if suffix, found := strings.CutPrefix(name, "-"+role); found &&
					slices.Contains([]string{"SecurityMode", "Login", "Password"}, suffix) {
					name = suffix // the agent puts the role before it
				}
			}
			return s.mentions([]string{run}, name, map[string]bool{}) ||
				s.mentions([]string{run}, strings.ToLower(name), map[string]bool{})
		}
		idle := strings.Fields(idleArguments[agent])
		for _, name := range idle {
			if _, ok := info.Parameter(name); !ok {
				problems = append(problems, agent+" has no "+name)
			}
		}
		for _, p := range info.Parameters {
			documented[strings.ToLower(p.Name)] = true
			_, refused := refusedArguments[strings.ToLower(p.Name)]
			isIdle := slices.Contains(idle, p.Name)
			if refused && isIdle || !refused && !isIdle && !reads(p.Name) {
				problems = append(problems, agent+" does nothing with "+p.Name)
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

func isDocumented(procedure, parameter string) bool {
	info, ok := catalog.Procedure(procedure)
	return ok && slices.ContainsFunc(info.Parameters, func(p catalog.ParameterInfo) bool { return p.Name == parameter })
}
