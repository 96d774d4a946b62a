// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

// documented are the commands in the shell blocks of a document, continued lines joined and comments cut off.
func documented(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", file))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(data), -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" {
				commands = append(commands, line)
			}
		}
	}
	NewWithT(t).Expect(commands).NotTo(BeEmpty(), file)
	return commands
}

// Every command of the plugin that a document shows exists, with its flags and arguments; every file it names is there.
func TestDocumentedCommandsExist(t *testing.T) {
	for _, file := range []string{"README.md", "docs/user-guide.md", "docs/drills.md", "docs/failover.md", "docs/runbooks/lost-site.md", "docs/runbooks/quarantined-replica.md"} {
		for _, text := range documented(t, file) {
			words := strings.Fields(text)
			for i, word := range words {
				if i > 0 && words[i-1] == "-f" {
					_, err := os.Stat(filepath.Join("..", "..", word))
					NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s: %s", file, text)
				}
			}
			if !strings.HasPrefix(text, "kubectl geosql ") {
				continue
			}
			g := NewWithT(t)
			root := &cobra.Command{Use: "kubectl-geosql"}
			for _, command := range commands {
				root.AddCommand(command())
			}
			command, rest, err := root.Find(words[2:])
			g.Expect(err).NotTo(HaveOccurred(), "%s: %s", file, text)
			g.Expect(command.Runnable()).To(BeTrue(), "%s: %s", file, text)
			g.Expect(command.ParseFlags(rest)).To(Succeed(), "%s: %s", file, text)
			g.Expect(command.ValidateArgs(command.Flags().Args())).To(Succeed(), "%s: %s", file, text)
		}
	}
}

// Every make target that a document shows exists.
func TestDocumentedTargetsExist(t *testing.T) {
	makefiles, err := filepath.Glob("../../make/*.mk")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var rules strings.Builder
	for _, name := range append(makefiles, "../../Makefile") {
		data, err := os.ReadFile(name)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		rules.Write(data)
	}
	for _, file := range []string{"README.md", "docs/user-guide.md", "CONTRIBUTING.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", file))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, m := range regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z0-9-]*)").FindAllStringSubmatch(string(data), -1) {
			NewWithT(t).Expect(rules.String()).To(MatchRegexp(`(?m)^`+m[1]+`:`), "%s: make %s", file, m[1])
		}
	}
}
