// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/checkout"
)

// pages are all documents of the repository, by their path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "standin/*.md", "standin/docs/*.md", "model/*.md",
		"hack/bed/*.md", "hack/bed/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(checkout.Root(), pattern))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(names).NotTo(BeEmpty(), pattern)
		for _, name := range names {
			data, err := os.ReadFile(name)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			page, err := filepath.Rel(checkout.Root(), name)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			found[page] = string(data)
		}
	}
	return found
}

// home is the folder in which a page's commands are run and from which it names files.
func home(page string) string {
	if strings.HasPrefix(page, "standin/") {
		return filepath.Join(checkout.Root(), "standin")
	}
	return checkout.Root()
}

// documented are the commands in the shell blocks of a page, continued lines joined and comments cut off, and those
// that its text shows between backticks.
func documented(text string) []string {
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" {
				commands = append(commands, line)
			}
		}
	}
	for _, inline := range regexp.MustCompile("`(kubectl geosql [^`]+)`").FindAllStringSubmatch(text, -1) {
		commands = append(commands, strings.Join(strings.Fields(inline[1]), " "))
	}
	return commands
}

// Every command of the plugin that a document shows exists, with its flags and, in a shell block, its arguments; every
// file that a command names is there.
func TestDocumentedCommandsExist(t *testing.T) {
	seen := 0
	for page, content := range pages(t) {
		for _, text := range documented(content) {
			g := NewWithT(t)
			words := strings.Fields(text)
			for i, word := range words {
				if i > 0 && words[i-1] == "-f" && word != "-" {
					g.Expect(filepath.Join(home(page), word)).To(BeAnExistingFile(), "%s: %s", page, text)
				}
			}
			if !strings.HasPrefix(text, "kubectl geosql ") || words[2] == "..." {
				continue
			}
			seen++
			command, rest, err := newRoot().Find(words[2:])
			g.Expect(err).NotTo(HaveOccurred(), "%s: %s", page, text)
			g.Expect(command.ParseFlags(rest)).To(Succeed(), "%s: %s", page, text)
			if strings.Contains(content, "`"+text+"`") {
				continue // the text may name a command without its arguments
			}
			g.Expect(command.Runnable()).To(BeTrue(), "%s: %s", page, text)
			g.Expect(command.ValidateArgs(command.Flags().Args())).To(Succeed(), "%s: %s", page, text)
		}
	}
	NewWithT(t).Expect(seen).To(BeNumerically(">", 50))
}

// rules are all rules of make in a folder.
func rules(t *testing.T, folder string) string {
	t.Helper()
	makefiles, err := filepath.Glob(filepath.Join(folder, "make", "*.mk"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var all strings.Builder
	for _, name := range append(makefiles, filepath.Join(folder, "Makefile")) {
		data, err := os.ReadFile(name)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		all.Write(data)
	}
	return all.String()
}

// What removes the leavings of tests from the bed runs where there is a bed, and before its tests: in `make test` it failed on
// every machine without clusters, and took the objects of a run of `make e2e` beside it.
func TestTheBedIsClearedWhereThereIsOne(t *testing.T) {
	g := NewWithT(t)
	cleared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):(.*)\n((?:\t.*\n)+)`).FindAllStringSubmatch(rules(t,
		checkout.Root()), -1) {
		target, recipe := m[1], m[3]
		needs, _, _ := strings.Cut(m[2], "##")
		if cleared[target] = strings.Contains(recipe, "hack/clear-tests"); cleared[target] {
			g.Expect(strings.Fields(needs)).To(ContainElement("bed"), "make %s", target)
		}
	}
	g.Expect(cleared).To(And(HaveKeyWithValue("e2e", true), HaveKeyWithValue("test", false)))
}

// Every make target that a document shows exists.
func TestDocumentedTargetsExist(t *testing.T) {
	for page, text := range pages(t) {
		rules := rules(t, home(page))
		for _, m := range regexp.MustCompile("(?m)(?:^|`|&& )make ([a-z][a-z0-9-]*)").FindAllStringSubmatch(text, -1) {
			NewWithT(t).Expect(rules).To(MatchRegexp(`(?m)^`+m[1]+`:`), "%s: make %s", page, m[1])
		}
	}
}
