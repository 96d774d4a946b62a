// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql/ledger"
)

// Every exported function that asks an engine is in the ledger, with the statements that it sends, and nothing else.
func TestEveryReadIsInTheLedger(t *testing.T) {
	functions := functionsHere(t)
	var found []string
	for name, f := range functions {
		if f.Recv == nil && ast.IsExported(name) && slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
			return types.ExprString(p.Type) == "Querier"
		}) {
			found = append(found, name)
		}
	}
	NewWithT(t).Expect(found).To(ContainElements("ReadGroup", "ReadReplicationServer"))
	listed := map[string]ledger.Read{}
	for _, r := range ledger.All().Reads {
		listed[r.Name] = r
		if !slices.Contains(found, r.Name) {
			t.Errorf("the ledger has %s, which asks no engine any more", r.Name)
		}
	}
	for _, name := range found {
		sends := slices.Sorted(maps.Keys(sent(name, functions, map[string]bool{})))
		if r, ok := listed[name]; !ok || !slices.Equal(slices.Sorted(slices.Values(r.Sends)), sends) {
			entry := "- name: " + name
			if len(sends) > 0 {
				entry += "\n  sends: [" + strings.Join(sends, ", ") + "]"
			}
			t.Errorf("internal/tsql/ledger/reads.yaml should say of %s, and make generate be run:\n%s", name, entry)
		}
	}
}

// functionsHere are the functions of this package, and its methods that are not exported.
func functionsHere(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	names, err := filepath.Glob("*.go")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	functions := map[string]*ast.FuncDecl{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && (f.Recv == nil || !f.Name.IsExported()) {
				functions[f.Name.Name] = f
			}
		}
	}
	return functions
}

// sent are the statements that a function makes, by itself or by functions of this package that it names.
func sent(name string, functions map[string]*ast.FuncDecl, seen map[string]bool) map[string]bool {
	out := map[string]bool{}
	f := functions[name]
	if f == nil || f.Body == nil || seen[name] {
		return out
	}
	seen[name] = true
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := x.X.(*ast.Ident); ok && of.Name == "tsql" {
				if _, known := ledger.All().Statement(x.Sel.Name); known {
					out[x.Sel.Name] = true
				}
				return false
			}
		case *ast.Ident:
			maps.Copy(out, sent(x.Name, functions, seen))
		}
		return true
	})
	return out
}
