// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// widen adds to a coverage profile what Go's own has no blocks for, and gremlins would therefore call not covered: the
// conditions of cases, which run where their switch does, and declarations of packages, which always do.
func widen(profile, module string) error {
	content, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	covered := map[string][]block{}
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n")[1:] {
		file, rest, _ := strings.Cut(line, ":")
		var b block
		var statements, count int
		_, err := fmt.Sscanf(
			rest,
			"%d.%d,%d.%d %d %d",
			&b.from.line,
			&b.from.column,
			&b.to.line,
			&b.to.column,
			&statements,
			&count,
		)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", profile, line, err)
		}
		if covered[file] = append(covered[file], b); count == 0 {
			covered[file] = covered[file][:len(covered[file])-1]
		}
	}
	added := strings.TrimRight(string(content), "\n") + "\n"
	for file, blocks := range covered {
		extra, err := unlisted(filepath.FromSlash(strings.TrimPrefix(file, module+"/")), blocks)
		if err != nil {
			return err
		}
		for _, b := range extra {
			added += fmt.Sprintf("%s:%d.%d,%d.%d 1 1\n", file, b.from.line, b.from.column, b.to.line, b.to.column)
		}
	}
	return os.WriteFile(profile, []byte(added), 0o600)
}

type point struct{ line, column int }

func (p point) before(other point) bool {
	return p.line < other.line || p.line == other.line && p.column <= other.column
}

// block is a part of a file.
type block struct{ from, to point }

// unlisted are the parts of a file that run and are in no block.
func unlisted(file string, covered []block) (extra []block, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) point { return point{set.Position(p).Line, set.Position(p).Column} }
	runs := func(p point) bool {
		return slices.ContainsFunc(
			slices.Concat(covered, extra),
			func(b block) bool { return b.from.before(p) && p.before(b.to) },
		)
	}
	for _, d := range parsed.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			extra = append(extra, block{at(g.Pos()), at(g.End())})
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			s, ok := n.(*ast.SwitchStmt)
			if !ok || !runs(at(s.Pos())) {
				return true
			}
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					extra = append(extra, block{at(e.Pos()), at(e.End())})
				}
			}
			return true
		})
	}
	return extra, nil
}
