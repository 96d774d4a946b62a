// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// A package with a change of every kind, and tests that notice all of them but one, which comes to a bound.
const code = `package p

import "time"

const limit = 2 * 3

type box struct {
	n     int
	names map[string]int
}

func (b *box) grow(by int) bool {
	switch {
	case by > limit &&
		b.n != 1:
		b.n += by
	case by == 0:
		b.names["none"]++
	}
	return b.n >= by || by < 0
}

func odd(all []int) (n int) {
	for i := 0; i < len(all); i++ {
		if all[i]%2 == 0 {
			continue
		}
		n++
	}
	return n
}

func wait(n int) time.Duration { return time.Duration(n) * time.Second }

func forgotten(a, b string) bool { return a+b == "" }
`

const codeTests = `package p

import (
	"testing"
	"time"
)

func TestGrow(t *testing.T) {
	for _, c := range []struct {
		n, by, want int
		is          bool
	}{{2, 7, 9, true}, {1, 7, 1, false}, {2, 3, 2, false}, {3, 3, 3, true}, {0, -1, 0, true}, {-9, -1, -9, true},
		{-9, 1, -9, false}} {
		b := &box{n: c.n, names: map[string]int{}}
		if is := b.grow(c.by); is != c.is || b.n != c.want {
			t.Errorf("%+v: %t, %d", c, is, b.n)
		}
	}
	b := &box{n: 1, names: map[string]int{}}
	if b.grow(0); b.names["none"] != 1 {
		t.Error(b.names)
	}
}

func TestOdd(t *testing.T) {
	if odd([]int{2, 1, 4, 3, 5}) != 3 {
		t.Error("not 3")
	}
}

func TestWait(t *testing.T) {
	if wait(3) != 3*time.Second {
		t.Error("not 3 s")
	}
}
`

// checkout is a module with package p and a list, in which the test runs.
func checkout(t *testing.T, list string) {
	t.Helper()
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	g.Expect(os.Mkdir("p", 0o700)).To(Succeed())
	for name, content := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "p/p.go": code,
		"p/p_test.go": codeTests, "list": list} {
		g.Expect(os.WriteFile(filepath.FromSlash(name), []byte(content), 0o600)).To(Succeed())
	}
}

const bound = "p/p.go box.grow conditionals-boundary by > limit"

func TestMutants(t *testing.T) {
	g := NewWithT(t)
	const there, gone = "p/p.go odd invert-loopctrl continue", "p/p.go box.shrink invert-logical x"
	checkout(t, bound+"\n    No test is at the limit.\n"+there+"\n  a\n"+gone+"\n  b\n")
	var out strings.Builder
	err := run(&out, options{list: "list", uncovered: true, workers: 2, limit: time.Hour}, []string{"./p"})
	g.Expect(err).To(MatchError(ContainSubstring("an entry that names nothing goes")), out.String())
	for _, says := range []string{
		"p       22   86.4 %     9.1 %              4.5 %                     90.5 %          1",
		"survived: p/p.go box.grow conditionals-boundary by < 0    (p/p.go:20:25)",
		"no test runs it: p/p.go forgotten conditionals-negation a+b == \"\"    (p/p.go:35:47)",
		"noticed this time, see whether it is to be listed: " + there,
		"listed, and not there: " + gone,
	} {
		g.Expect(out.String()).To(ContainSubstring(says))
	}
	g.Expect(out.String()).NotTo(ContainSubstring("survived: " + bound))
}

// What was not tried before the time was over is no survivor, and nothing that is listed is missed.
func TestJudgeOfARunWithoutAnEnd(t *testing.T) {
	g := NewWithT(t)
	l := &list{reasons: map[string]string{bound: "why"}}
	m := &mutant{name: bound, file: "p/p.go"}
	g.Expect(l.judge("p", []*mutant{m}, true, false)).To(Equal(tally{untried: 1}))
	g.Expect(l.unexplained + l.stale).To(BeZero())
}

func TestLists(t *testing.T) {
	for list, fails := range map[string]string{
		bound + "\n":             "has no reason",
		"  why\n":                "a reason without a mutant",
		"a\n  why\na\n  again\n": "is there twice",
	} {
		g := NewWithT(t)
		file := filepath.Join(t.TempDir(), "list")
		g.Expect(os.WriteFile(file, []byte(list), 0o600)).To(Succeed())
		_, err := readList(file)
		g.Expect(err).To(MatchError(ContainSubstring(fails)))
	}
}
