// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const source = `package p

const limit = 2 * 3

type box struct{ n int }

func (b *box) grow(by int) bool {
	switch {
	case by > 3:
		b.n += by
	case by > 3 && b.n > 1:
		b.n--
	}
	return by > 3
}
`

// checkout is a folder with p/p.go and a list, in which the test runs.
func checkout(t *testing.T, log, list string) {
	t.Helper()
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	g.Expect(os.Mkdir("p", 0o700)).To(Succeed())
	for name, content := range map[string]string{"p/p.go": source, "log": log, "list": list} {
		g.Expect(os.WriteFile(filepath.FromSlash(name), []byte(content), 0o600)).To(Succeed())
	}
}

const log = `Starting...
Gathering coverage... done in 1s
  NOT VIABLE ARITHMETIC_BASE at p.go:3:17
       LIVED CONDITIONALS_NEGATION at p.go:14:12
      KILLED CONDITIONALS_NEGATION at p.go:9:10
   TIMED OUT REMOVE_SELF_ASSIGNMENTS at p.go:10:7
       LIVED INVERT_LOGICAL at p.go:11:14
 NOT COVERED INCREMENT_DECREMENT at p.go:12:6
`

const finished = "\nMutation testing completed in 3 seconds\n"

func TestReport(t *testing.T) {
	const second, chained = "p/p.go box.grow conditionals-negation by > 3 #2",
		"p/p.go box.grow invert-logical by > 3 && b.n > 1"
	for name, c := range map[string]struct {
		log, list string
		fails     string
		says      []string
	}{
		"nothing is explained": {log: log + finished, fails: "each survivor is a missing test",
			says: []string{"survived: " + second + "    (p/p.go:14:12)", "survived: " + chained + "    (p/p.go:11:14)",
				"no test runs it: p/p.go box.grow increment-decrement b.n--",
				"p        5   40.0 %    40.0 %             20.0 %                     50.0 %          0"}},
		"all is": {log: log + finished, list: "# why\n" + second + "\n    for a reason\n    of two lines\n\n" + chained +
			"\n  too\n", says: []string{"50.0 %          2"}},
		"what is listed is noticed": {log: log + finished, list: second + "\n  a\n" + chained +
			"\n  b\np/p.go box.grow conditionals-negation by > 3\n  c\n",
			says: []string{"noticed this time, see whether it is to be listed: p/p.go box.grow conditionals-negation by > 3\n"}},
		"what is listed is not there": {log: log + finished, list: second + "\n  a\n" + chained +
			"\n  b\np/p.go box.shrink conditionals-negation by > 3\n  c\n",
			fails: "an entry that names nothing goes",
			says:  []string{"listed, and not there: p/p.go box.shrink conditionals-negation by > 3\n"}},
		"a run without an end": {log: log, list: second + "\n  a\n" + chained +
			"\n  b\np/p.go box.shrink invert-logical x\n  c\n", fails: "within their time", says: []string{"not finished: p\n"}},
		"a run that was interrupted": {log: log +
			"\nShutting down gracefully...\n\n       LIVED CONDITIONALS_NEGATION at p.go:11:10\n",
			list: second + "\n  a\n" + chained + "\n  b\n", fails: "within their time", says: []string{"p        5   40.0 %"}},
		"an entry of no reason": {log: log + finished, list: second + "\n", fails: "has no reason"},
		"a reason of no entry":  {log: log + finished, list: "  why\n", fails: "a reason without a mutant"},
		"an entry that is twice": {log: log + finished, list: second + "\n  a\n" + second + "\n  b\n",
			fails: "is there twice"},
		"source of another day": {log: strings.ReplaceAll(log, "p.go:14:12", "p.go:14:13") + finished,
			fails: "was it written to since"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			checkout(t, c.log, c.list)
			var out strings.Builder
			err := run(&out, "list", true, []string{"./p=log"})
			if c.fails == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.fails)))
			}
			for _, says := range c.says {
				g.Expect(out.String()).To(ContainSubstring(says))
			}
		})
	}
}

// Go's profile has no blocks for the conditions of cases and for declarations; those of a switch that does not run are
// left out.
func TestWiden(t *testing.T) {
	for count, want := range map[string]string{
		"1": "m/p/p.go:3.1,3.20 1 1\nm/p/p.go:5.1,5.25 1 1\nm/p/p.go:9.7,9.13 1 1\nm/p/p.go:11.7,11.24 1 1\n",
		"0": "m/p/p.go:3.1,3.20 1 1\nm/p/p.go:5.1,5.25 1 1\n",
	} {
		g := NewWithT(t)
		profile := "mode: set\nm/p/p.go:7.35,8.9 1 " + count + "\nm/p/p.go:9.13,10.10 1 0\n"
		checkout(t, profile, "")
		g.Expect(widen("log", "m")).To(Succeed())
		g.Expect(os.ReadFile("log")).To(BeEquivalentTo(profile + want))
	}
}
