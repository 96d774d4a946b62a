// SPDX-License-Identifier: Apache-2.0

// Command conditions-doc writes docs/reference/conditions.md: a table of the types and reasons of conditions, made of
// the constants of api/v1alpha1 and their comments. `make generate` runs it.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const head = `<!-- Written by make generate from api/v1alpha1; change it there. -->
# Conditions

Every kind has three conditions, which follow kstatus:

`

const middle = `
` + "`Unknown`" + ` is not an error and not health: it says that something cannot be seen, such as a site that does not answer. The
message of a condition says what is waited for, or what to do. Reasons that begin with "Unknown:" or "Stalled:" go with that
condition.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conditions-doc: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: conditions-doc FILE")
	}
	shared, err := blocks("api/v1alpha1/shared_types.go")
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(head)
	for _, b := range shared {
		if slices.ContainsFunc(b.constants, func(c constant) bool { return c.value == "Ready" }) {
			b.write(&text, "Condition")
		}
	}
	text.WriteString(middle)
	files, err := sources()
	if err != nil {
		return err
	}
	for _, file := range files {
		found, err := blocks(file)
		if err != nil {
			return err
		}
		for _, b := range found {
			column := "Reason"
			if strings.HasPrefix(b.constants[0].name, "Condition") {
				column = "Condition"
			}
			fmt.Fprintf(&text, "\n## %s\n\n", strings.TrimSuffix(b.title, "."))
			b.write(&text, column)
		}
	}
	return os.WriteFile(args[0], []byte(text.String()), 0o644)
}

// first are the files whose reasons a reader meets first: those of all kinds, then servers, groups, and what people ask
// of them.
var first = []string{
	"reasons.go",
	"site_reasons.go",
	"sqlserver_reasons.go",
	"availabilitygroup_reasons.go",
	"failover_reasons.go",
	"replication_reasons.go",
	"publishermove_reasons.go",
	"login_reasons.go",
	"topology_reasons.go",
}

// sources are the files with the constants, in the order of the document.
func sources() ([]string, error) {
	names, err := filepath.Glob("api/v1alpha1/*reasons.go")
	if err != nil {
		return nil, err
	}
	rank := func(name string) int {
		if i := slices.Index(first, filepath.Base(name)); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
	return names, nil
}

// block is a group of constants under one comment.
type block struct {
	title     string
	constants []constant
}

type constant struct{ name, value, meaning string }

func (b block) write(out *strings.Builder, column string) {
	fmt.Fprintf(out, "| %s | Meaning |\n| --- | --- |\n", column)
	for _, c := range b.constants {
		fmt.Fprintf(out, "| `%s` | %s |\n", c.value, strings.ReplaceAll(c.meaning, "|", `\|`))
	}
}

// blocks of a file's string constants that have comments.
func blocks(file string) ([]block, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var found []block
	for _, d := range parsed.Decls {
		declaration, ok := d.(*ast.GenDecl)
		if !ok || declaration.Tok != token.CONST {
			continue
		}
		b := block{title: sentence(declaration.Doc)}
		for _, s := range declaration.Specs {
			c, ok := read(s.(*ast.ValueSpec), declaration)
			if ok &&
				(strings.HasPrefix(c.name, "Reason") || strings.HasPrefix(c.name, "Condition")) {
				b.constants = append(b.constants, c)
			}
		}
		if len(b.constants) > 0 {
			if !declaration.Lparen.IsValid() {
				b.title = "Condition type " + b.constants[0].value
			}
			found = append(found, b)
		}
	}
	return found, nil
}

// read a constant: its comment begins with its name, then "is", or a status in parentheses, or a colon.
func read(s *ast.ValueSpec, in *ast.GenDecl) (constant, bool) {
	c := constant{name: s.Names[0].Name}
	if !ast.IsExported(c.name) || len(s.Values) != 1 {
		return c, false
	}
	literal, ok := s.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return c, false
	}
	c.value, _ = strconv.Unquote(literal.Value)
	doc := s.Doc
	if doc == nil && !in.Lparen.IsValid() {
		doc = in.Doc
	}
	text := strings.TrimSpace(strings.TrimPrefix(sentence(doc), c.name))
	text = strings.TrimSpace(strings.TrimPrefix(text, ":"))
	for _, status := range []string{"Unknown", "Stalled"} {
		if rest, ok := strings.CutPrefix(text, "("+status+"):"); ok {
			text = status + ": " + strings.TrimSpace(rest)
		}
	}
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	c.meaning = text
	return c, text != ""
}

// sentence is a comment on one line.
func sentence(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
