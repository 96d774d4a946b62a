// SPDX-License-Identifier: Apache-2.0

// Package sources tells what the declarations of packages mention, for the tests that nothing documented is passed
// over.
package sources

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Sources are the declarations of packages.
type Sources struct {
	// Texts and Names are those in each declaration.
	Texts, Names map[string][]string
	// Procedures are the declarations that serve a procedure.
	Procedures map[string][]string
}

// Read reads the packages in folders.
func Read(folders ...string) (Sources, error) {
	s := Sources{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err == nil {
			err = s.readFiles(files)
		}
		if err != nil {
			return s, fmt.Errorf("read the sources of %s: %w", folder, err)
		}
	}
	return s, nil
}

func (s Sources) readFiles(files []string) error {
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "parameters.go" || name == "allowed.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
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
	return nil
}

func (s Sources) read(name string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				s.Texts[name] = append(s.Texts[name], text)
			}
		case *ast.Ident:
			s.Names[name] = append(s.Names[name], n.Name)
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "procedure" && f.Sel.Name != "change" || len(n.Args) != 5 {
				break
			}
			if lit, ok := n.Args[1].(*ast.BasicLit); ok {
				procedure, _ := strconv.Unquote(lit.Value)
				s.Procedures[procedure] = []string{"serve " + procedure}
				s.read("serve "+procedure, n.Args[4])
			}
		}
		return true
	})
}

// Mentions tells whether a declaration, or one that it names, has a text.
func (s Sources) Mentions(from []string, text string, seen map[string]bool) bool {
	for _, name := range from {
		if seen[name] {
			continue
		}
		seen[name] = true
		if slices.Contains(s.Texts[name], text) || s.Mentions(s.Names[name], text, seen) {
			return true
		}
	}
	return false
}
