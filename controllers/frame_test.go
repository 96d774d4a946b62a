// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// verbs are the files that every kind has, each with the verb that it declares, as a function or a method of that name
// or of one that begins with it. Each means the same in all kinds.
var verbs = []struct{ file, verb string }{
	{"desired.go", "desire"}, {"observe.go", "observe"}, {"plan.go", "plan"}, {"apply.go", "apply"},
	{"report.go", "report"},
}

// byGroup is the kind that goes by group, not by object, and so reconciles by itself: its package says why. Each of its
// Failovers is asked for and reported as a step of the group's plan.
const byGroup = "failover"

var (
	// writes are the methods that change something in a cluster or at an engine.
	writes = []string{"Create", "Update", "Patch", "Delete", "DeleteAllOf", "Apply", "Exec"}
	// clocks make a plan another one although the world is the same.
	clocks = []string{"Now", "Since", "Until"}
	// common are the types that all kinds share.
	common = []string{"Plan", "Execute", "world"}
	desire = regexp.MustCompile(`^[dD]esire([A-Z]|$)`)
)

// A reader who knows one kind finds the same things in the same places of any other.
func TestEveryKindHasTheSameFrame(t *testing.T) {
	g := NewWithT(t)
	folders, err := filepath.Glob("*/controller.go")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(folders)).To(BeNumerically(">=", 13))
	for _, folder := range folders {
		kind := filepath.Dir(folder)
		t.Run(kind, func(t *testing.T) {
			NewWithT(t).Expect(inspect(t, kind)).To(BeEmpty())
		})
	}
}

// inspect says which rules a kind's folder breaks.
func inspect(t *testing.T, kind string) (broken []string) {
	set, parsed := sources(t, kind)
	for _, v := range verbs {
		if kind == byGroup && (v.verb == "desire" || v.verb == "report") {
			continue
		}
		i := slices.IndexFunc(parsed, func(f *ast.File) bool { return base(set, f) == v.file })
		if i < 0 || !slices.ContainsFunc(parsed[i].Decls, func(d ast.Decl) bool { return declares(d, v.verb) }) {
			broken = append(broken, fmt.Sprintf("there is no %s that declares %s", v.file, v.verb))
		}
	}
	for _, file := range parsed {
		name := strings.TrimSuffix(base(set, file), ".go")
		verb, _, _ := strings.Cut(name, "_")
		say := func(at ast.Node, format string, args ...any) {
			broken = append(broken, fmt.Sprintf("%s: %s", set.Position(at.Pos()), fmt.Sprintf(format, args...)))
		}
		declared(file, verb, say)
		called(file, "context", []string{"Background", "TODO"}, say) // what ends with the look has to end it
		switch verb {
		case "plan":
			for _, x := range file.Imports {
				if x.Path.Value == `"context"` {
					say(x, "a plan asks nobody: it needs no context")
				}
			}
			called(file, "time", clocks, say)
		case "observe":
			called(file, "", writes, say)
		}
	}
	return broken
}

// base is the name of a file without its folder.
func base(set *token.FileSet, file *ast.File) string {
	return filepath.Base(set.Position(file.Pos()).Filename)
}

// declares tells that a declaration is a kind's verb: of its name, or of one that goes on with another word.
func declares(d ast.Decl, verb string) bool {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return false
	}
	rest, is := strings.CutPrefix(strings.ToLower(f.Name.Name[:1])+f.Name.Name[1:], verb)
	return is && (rest == "" || strings.ToUpper(rest[:1]) == rest[:1])
}

// sources are the files of a kind's folder, without tests.
func sources(t *testing.T, kind string) (set *token.FileSet, parsed []*ast.File) {
	g := NewWithT(t)
	paths, err := filepath.Glob(filepath.Join(kind, "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	set = token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		g.Expect(err).NotTo(HaveOccurred())
		parsed = append(parsed, file)
	}
	return set, parsed
}

// declared says which declarations of a file belong elsewhere.
func declared(file *ast.File, verb string, say func(ast.Node, string, ...any)) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case desire.MatchString(d.Name.Name) && verb != "desired":
				say(d, "%s belongs into desired.go", d.Name.Name)
			case d.Name.Name == "proceed":
				say(d, "reconcile.Plan has StopIfSteps")
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if x, ok := s.(*ast.TypeSpec); ok && slices.Contains(common, x.Name.Name) {
					say(x, "type %s: reconcile.Plan, mssql.Execute, Desired and Observed are those of all kinds", x.Name.Name)
				}
			}
		}
	}
}

// called says where a file calls methods of these names, or functions of a package.
func called(file *ast.File, of string, names []string, say func(ast.Node, string, ...any)) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			if x, named := s.X.(*ast.Ident); of == "" || named && x.Name == of {
				say(call, "%s must not be called here", s.Sel.Name)
			}
		}
		return true
	})
}
