// SPDX-License-Identifier: Apache-2.0

//go:build drivers

package drivers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	document   = "../../docs/drivers.md"
	tableBegin = "<!-- results of make test-drivers: begin -->\n"
	tableEnd   = "<!-- results of make test-drivers: end -->\n"
)

// checkTable compares the table in docs/drivers.md with what was found, or writes it.
func checkTable(t *testing.T, dir string, all map[string]results) {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(document)
	g.Expect(err).NotTo(HaveOccurred())
	before, rest, ok := strings.Cut(string(text), tableBegin)
	g.Expect(ok).To(BeTrue(), "%s lacks the line %q", document, tableBegin)
	_, after, ok := strings.Cut(rest, tableEnd)
	g.Expect(ok).To(BeTrue(), "%s lacks the line %q", document, tableEnd)
	found := before + tableBegin + table(t, dir, all) + tableEnd + after
	if os.Getenv("GEOSQL_WRITE_DRIVERS") != "" {
		g.Expect(os.WriteFile(document, []byte(found), 0o644)).To(Succeed())
		return
	}
	g.Expect(found).
		To(Equal(string(text)),
			"the table of results is not what was found; GEOSQL_WRITE_DRIVERS=1 make test-drivers writes it")
}

func table(t *testing.T, dir string, all map[string]results) string {
	t.Helper()
	columns := append([]driver{{name: "go-mssqldb", title: "go-mssqldb", version: "GO_MSSQLDB"}}, drivers...)
	versions := pinned(t, dir)
	var b strings.Builder
	b.WriteString("| |")
	for _, d := range columns {
		fmt.Fprintf(&b, " %s %s |", d.title, versions[d.version])
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	var notes []string
	for _, c := range checkNames {
		fmt.Fprintf(&b, "| %s |", c.title)
		for _, d := range columns {
			r := all[d.name].checks[c.name]
			switch r.Result {
			case "pass":
				b.WriteString(" yes |")
			case "absent":
				fmt.Fprintf(&b, " – (%s) |", r.Detail)
			default:
				b.WriteString(" **no** |")
			}
		}
		b.WriteString("\n")
	}
	for _, d := range columns {
		byReason := map[string][]string{}
		for name, reason := range all[d.name].skips {
			byReason[reason] = append(byReason[reason], name)
		}
		for reason, names := range byReason {
			sort.Strings(names)
			notes = append(notes, fmt.Sprintf("- %s leaves out %s: %s.\n", d.title, strings.Join(names, ", "), reason))
		}
	}
	sort.Strings(notes)
	b.WriteString("\nValues that a driver itself cannot carry:\n\n" + strings.Join(notes, ""))
	return b.String()
}

// pinned are the versions of versions.env, and the driver that Debian gives under the empty name.
func pinned(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range []string{"versions.env", filepath.Join(dir, "debian.env")} {
		text, err := os.ReadFile(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, line := range strings.Split(string(text), "\n") {
			if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
				out[name] = value
			}
		}
	}
	out[""] = out["FREETDS"]
	return out
}
