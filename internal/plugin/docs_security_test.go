// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	quoted   = regexp.MustCompile("`[^`]*`")
	bold     = regexp.MustCompile(`\*\*[^*]*\*\*`)
	proof    = regexp.MustCompile(`\([^()]*\)$`)
)

// claims of a page's text: each sentence of an item of a list, and each row of a table but its head.
func claims(text string) (sentences, rows []string) {
	item, inTable := "", false
	end := func() {
		for s := range strings.SplitSeq(item+" ", ". ") {
			if s = strings.TrimSpace(s); s != "" {
				sentences = append(sentences, s)
			}
		}
		item = ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch row := strings.HasPrefix(line, "|"); {
		case row && inTable && !strings.HasPrefix(line, "|-"):
			rows = append(rows, line)
		case strings.HasPrefix(line, "- "):
			end()
			item = strings.TrimPrefix(line, "- ")
		case item != "" && strings.HasPrefix(line, "  "):
			item += " " + strings.TrimSpace(line)
		default:
			end()
		}
		inTable = strings.HasPrefix(line, "|")
	}
	end()
	return sentences, rows
}

// unproved are the claims that name neither a test nor that there is none: a sentence at its end, in parentheses, a row
// in its last cell.
func unproved(text string) []string {
	var bare []string
	says := func(s string) bool { return testName.MatchString(s) || strings.Contains(s, "not tested") }
	sentences, rows := claims(text)
	for _, s := range sentences {
		shown := quoted.ReplaceAllStringFunc(bold.ReplaceAllString(s, ""), func(code string) string {
			return testName.FindString(code) // the parentheses of code are none of the sentence's
		})
		if shown = strings.TrimSpace(shown); shown != "" && !says(proof.FindString(shown)) {
			bare = append(bare, s)
		}
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if !says(cells[len(cells)-1]) {
			bare = append(bare, row)
		}
	}
	return bare
}

// What the page on security claims of rights, credentials and attackers has a test, or says that it has none; and each
// test that it names, in whatever form, is one.
func TestDocumentedSecurityNamesItsTests(t *testing.T) {
	g := NewWithT(t)
	const example = "- It is so (`TestA`). It is so, too.\n- **Bold.** `f()` is\n  open (not tested).\n- None\n\n" +
		"| who | test |\n|---|---|\n| a | `TestB` |\n| `TestC` | |\n"
	g.Expect(unproved(example)).To(Equal([]string{"It is so, too", "None", "| `TestC` | |"}))

	text := pages(t)[filepath.Join("docs", "security.md")]
	claimed, network, found := strings.Cut(text, "\n## The network\n")
	g.Expect(found).To(BeTrue())
	sentences, rows := claims(claimed)
	g.Expect(len(sentences)).To(BeNumerically(">", 50))
	g.Expect(len(rows)).To(BeNumerically(">", 30))
	g.Expect(unproved(claimed)).To(BeEmpty())

	tests, _ := sources(t)
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(tests, -1) {
		there[m[1]] = true
	}
	for _, name := range testName.FindAllString(claimed+network, -1) {
		g.Expect(there).To(HaveKey(name))
	}
}
