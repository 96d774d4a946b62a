// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/config"
)

func TestAnswersOfMSSQLConf(t *testing.T) {
	g := NewWithT(t)
	s, err := load(t, "[standin]\nanswers = hadr.offline-is-silent ,\n", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Answers.Has(config.OfflineIsSilent)).To(BeTrue())
	g.Expect(s.Warnings).To(BeEmpty(), "the setting is known")

	s, err = load(t, "", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Answers).To(BeEmpty())

	_, err = load(t, "[standin]\nanswers = hadr.offline-is-silent, hadr.offline-is-loud\n", nil)
	g.Expect(err).To(MatchError(And(
		ContainSubstring("standin.answers"), ContainSubstring(`"hadr.offline-is-loud"`),
		ContainSubstring("hadr.offline-is-silent"))))
}

// Each constant of answers.go can be named and is in docs/answers.md; nothing else can, or is.
func TestAnswersAreDocumented(t *testing.T) {
	g := NewWithT(t)
	file, err := parser.ParseFile(token.NewFileSet(), "answers.go", nil, parser.ParseComments)
	g.Expect(err).NotTo(HaveOccurred())
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Answer" {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(spec.Doc.Text()).NotTo(BeEmpty(), name)
		declared = append(declared, name)
		return true
	})
	g.Expect(declared).NotTo(BeEmpty())
	all, err := config.ParseAnswers("all")
	g.Expect(err).NotTo(HaveOccurred())
	known := []string{}
	for name := range all {
		known = append(known, string(name))
	}
	g.Expect(known).To(ConsistOf(declared))

	page, err := os.ReadFile("../docs/answers.md")
	g.Expect(err).NotTo(HaveOccurred())
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, row[1])
	}
	g.Expect(rows).To(Equal(declared), "the table of docs/answers.md has them in the order of answers.go")
}
