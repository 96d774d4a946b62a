// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mutant is one place of the code that was changed.
type mutant struct {
	// name tells the mutant wherever its line moves: file, function, kind of change, the expression, and a number where
	// the function has several alike.
	name string
	// status as gremlins has it, position FILE:LINE:COLUMN.
	status, position string
}

// change is a line of gremlins' log.
type change struct {
	kind, status, file string
	line, column       int
}

// logged is such a line. The log is read and not gremlins' JSON, which there is none of when a run did not come to its
// end.
var logged = regexp.MustCompile(`^ *([A-Z ]+) ([A-Z_]+) at (\S+\.go):(\d+):(\d+)$`)

// readResults reads what became of a package's mutants, and whether all of them were reached. The source must be as it
// was.
func readResults(folder, log string) (mutants []mutant, finished bool, err error) {
	content, err := os.ReadFile(log)
	if err != nil {
		return nil, false, fmt.Errorf("reading the results of %s: %w", folder, err)
	}
	var changes []change
	for _, text := range strings.Split(string(content), "\n") {
		if strings.HasPrefix(text, "Shutting down") {
			break // what is under way then ends by a signal, which looks as if it had survived
		}
		if m := logged.FindStringSubmatch(text); m != nil {
			line, _ := strconv.Atoi(m[4])
			column, _ := strconv.Atoi(m[5])
			changes = append(
				changes,
				change{status: m[1], kind: m[2], file: path.Join(folder, m[3]), line: line, column: column},
			)
		}
	}
	// They are numbered in the order of the source, whatever the order in which workers ended.
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	places, alike := map[string]map[[2]int]place{}, map[string]int{}
	for _, c := range changes {
		if places[c.file] == nil {
			if places[c.file], err = readPlaces(c.file); err != nil {
				return nil, false, err
			}
		}
		position := fmt.Sprintf("%s:%d:%d", c.file, c.line, c.column)
		at, ok := places[c.file][[2]int{c.line, c.column}]
		if !ok {
			return nil, false, fmt.Errorf("%s has nothing to change: was it written to since the run?", position)
		}
		name := strings.Join(
			[]string{c.file, at.function, strings.ReplaceAll(strings.ToLower(c.kind), "_", "-"), at.expression},
			" ",
		)
		if alike[name]++; alike[name] > 1 {
			name = fmt.Sprintf("%s #%d", name, alike[name])
		}
		mutants = append(mutants, mutant{name: name, status: c.status, position: position})
	}
	return mutants, strings.Contains(string(content), "\nMutation testing completed"), nil
}

// place is where an operator or a keyword stands.
type place struct{ function, expression string }

// readPlaces finds every operator and keyword that gremlins may change, by line and column.
func readPlaces(file string) (map[[2]int]place, error) {
	source, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		return nil, err
	}
	text := func(n ast.Node) string {
		return shorten(string(source[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset]))
	}
	places := map[[2]int]place{}
	for _, d := range parsed.Decls {
		function := "-"
		if f, ok := d.(*ast.FuncDecl); ok {
			function = nameOf(f)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			at, expression := token.NoPos, ""
			switch n := n.(type) {
			case *ast.BinaryExpr:
				at, expression = n.OpPos, text(last(n.X, n.Op))+" "+n.Op.String()+" "+text(n.Y)
			case *ast.UnaryExpr:
				at, expression = n.OpPos, text(n)
			case *ast.AssignStmt:
				at, expression = n.TokPos, text(n)
			case *ast.IncDecStmt:
				at, expression = n.TokPos, text(n)
			case *ast.BranchStmt:
				at, expression = n.TokPos, text(n)
			}
			if at.IsValid() {
				p := set.Position(at)
				places[[2]int{p.Line, p.Column}] = place{function, expression}
			}
			return true
		})
	}
	return places, nil
}

// last is the operand beside an operator: of a && b && c the second && has b.
func last(x ast.Expr, op token.Token) ast.Expr {
	if b, ok := x.(*ast.BinaryExpr); ok && b.Op == op {
		return b.Y
	}
	return x
}

// nameOf is a function's name, a method's with its receiver's type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.Ident:
			return u.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// shorten makes one line of source, without the middle of a long one.
func shorten(source string) string {
	const most = 64
	text := []rune(strings.Join(strings.Fields(source), " "))
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most/2]) + "…" + string(text[len(text)-most/2:])
}
