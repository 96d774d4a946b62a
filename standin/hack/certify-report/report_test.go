// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// event is a line of `go test -json`.
func event(action, test, output string) string {
	return `{"Action":"` + action + `","Test":"` + test + `","Output":"` + output + `"}` + "\n"
}

func ended(verdict, test, output string) string {
	return event("run", test, "") + event("output", test, output) + event(verdict, test, "")
}

func answer(test, statement, text string) string {
	return `{"Test":"` + test + `","Statement":"` + statement + `","Answer":"` + text + `"}` + "\n"
}

func TestReport(t *testing.T) {
	g := NewWithT(t)
	suite, results := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	write(
		suite,
		"a_test.go",
		"package a\n\n// TestTells goes by docs/told.md and [MS-TDS] 2.2.1.7.\nfunc TestTells(t *testing.T) {}\n\nfunc "+
			"TestHas(t *testing.T) {}\n",
	)
	skipped := ended("skip", "TestSkips", "a_test.go:7: needs its own server")
	write(
		results,
		"standin.json",
		ended("pass", "TestTells", "")+ended("pass", "TestHas", "")+skipped+ended("pass", "TestProbes", ""),
	)
	write(
		results,
		"server.json",
		ended("fail", "TestTells", "a_test.go:3: got 2")+ended("pass", "TestHas", "")+skipped+ended("pass", "TestProbes", ""),
	)
	probed := `{"Test":"TestProbes","Statement":"SELECT 9","Answer":"ANSWER","Question":"Which?","Document":"docs/open.md"}` + "\n"
	write(
		results,
		"standin.jsonl",
		answer(
			"TestTells",
			"SELECT 1",
			"1",
		)+answer(
			"TestTells",
			"SELECT 1",
			"1",
		)+answer(
			"TestHas",
			"SELECT @@SPID",
			"51",
		)+strings.Replace(
			probed,
			"ANSWER",
			"nine",
			1,
		),
	)
	write(
		results,
		"server.jsonl",
		answer(
			"TestTells",
			"SELECT 1",
			"1",
		)+answer(
			"TestTells",
			"SELECT 1",
			"2",
		)+answer(
			"TestTells",
			"SELECT 3",
			"3",
		)+answer(
			"TestHas",
			"SELECT @@SPID",
			"60",
		)+strings.Replace(
			probed,
			"ANSWER",
			"neuf",
			1,
		),
	)
	documents, err := readDocuments(suite)
	g.Expect(err).NotTo(HaveOccurred())
	a, err := readSide(filepath.Join(results, "standin"))
	g.Expect(err).NotTo(HaveOccurred())
	b, err := readSide(filepath.Join(results, "server"))
	g.Expect(err).NotTo(HaveOccurred())
	var out strings.Builder
	g.Expect(compare(a, b, documents).print(&out, "real")).To(Succeed())
	text := out.String()
	g.Expect(text).
		To(HavePrefix("# The stand-in beside real\n\nTests: 2 passed by both, 1 not, 1 skipped. Statements: 1 answered " +
			"alike, 1 differently where no check depends on it. Probes: 1.\n"))
	differences, rest, found := strings.Cut(text, "## Answered differently, where no check depends on it (1)")
	g.Expect(found).To(BeTrue(), text)
	g.Expect(differences).
		To(And(
			ContainSubstring("### TestTells: stand-in pass, real fail\nby docs/told.md, [MS-TDS] 2.2.1.7\n"),
			ContainSubstring(
				"    SELECT 1\n  stand-in: 1\n  real:     2\n",
			),
			ContainSubstring("    SELECT 3\n  stand-in: (not asked)\n  real:     3\n"),
			ContainSubstring("a_test.go:3: got 2"),
		))
	free, rest, found := strings.Cut(rest, "## Probes: what no document settles (1)")
	g.Expect(found).To(BeTrue(), text)
	g.Expect(free).
		To(ContainSubstring("### TestHas, by no document that it names\n\n    SELECT @@SPID\n  stand-in: 51\n  " +
			"real:     60\n"))
	g.Expect(rest).
		To(And(ContainSubstring("Which? (docs/open.md)\n\n    SELECT 9\n  stand-in: nine\n  real:     neuf\n"),
			ContainSubstring("- needs its own server: TestSkips\n"),
			ContainSubstring("- TestHas, by no document that it names\n")))
}

func TestReportOfWhatIsNotThere(t *testing.T) {
	g := NewWithT(t)
	_, err := readSide(filepath.Join(t.TempDir(), "server"))
	g.Expect(err).To(MatchError(os.ErrNotExist))
	_, err = readDocuments(t.TempDir())
	g.Expect(err).To(MatchError(os.ErrNotExist))
}
