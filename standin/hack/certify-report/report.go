// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// answered is a statement with the answers of both servers; "" where one was not asked.
type answered struct {
	entry
	standin, server string
}

// differing is a test that one server does not pass, or neither.
type differing struct {
	test            string
	standin, server string
	statements      []answered
	said            []string
}

type skip struct{ test, why string }

type report struct {
	documents   map[string][]string
	agreeing    []string
	alike       int
	differences []differing
	// free are statements that were answered differently where both pass the test: no check depends on the difference.
	free   []answered
	skips  []skip
	probes []answered
}

// compare finds the same statements of both sides by their test, text and turn.
func compare(standin, server side, documents map[string][]string) *report {
	r := &report{documents: documents}
	statements := pair(standin.entries, server.entries)
	for _, test := range server.order {
		a, b := standin.verdicts[test], server.verdicts[test]
		if b == "" {
			b = "no end"
		}
		var here []answered
		for _, s := range statements[test] {
			switch {
			case s.Question != "":
				r.probes = append(r.probes, s)
			case s.standin != s.server:
				here = append(here, s)
			default:
				r.alike++
			}
		}
		switch {
		case a == "skip" || b == "skip":
			why := server.said[test]
			if b != "skip" {
				why = standin.said[test]
			}
			r.skips = append(r.skips, skip{test, strings.Join(why, " ")})
		case a == "pass" && b == "pass":
			r.agreeing = append(r.agreeing, test)
			r.free = append(r.free, here...)
		default:
			r.differences = append(
				r.differences,
				differing{test: test, standin: a, server: b, statements: here, said: server.said[test]},
			)
		}
	}
	return r
}

func pair(standin, server []entry) map[string][]answered {
	type key struct {
		test, statement string
		turn            int
	}
	out, places := map[string][]answered{}, map[key]int{}
	for n, entries := range [][]entry{standin, server} {
		turns := map[key]int{}
		for _, e := range entries {
			k := key{test: e.Test, statement: e.Statement}
			turns[k]++
			k.turn = turns[k]
			at, known := places[k]
			if !known {
				at = len(out[e.Test])
				places[k] = at
				out[e.Test] = append(out[e.Test], answered{entry: e})
			}
			if n == 0 {
				out[e.Test][at].standin = e.Answer
			} else {
				out[e.Test][at].server = e.Answer
			}
		}
	}
	return out
}

// longest is how much of an answer is printed.
const longest = 1000

func shown(answer string) string {
	if answer == "" {
		return "(not asked)"
	}
	if runes := []rune(answer); len(runes) > longest {
		return fmt.Sprintf("%s ... (%d characters)", string(runes[:longest]), len(runes))
	}
	return answer
}

func (r *report) print(out io.Writer, name string) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"# The stand-in beside %s\n\nTests: %d passed by both, %d not, %d skipped. Statements: %d answered alike, %d "+
			"differently where no check depends on it. Probes: %d.\n",
		name,
		len(r.agreeing),
		len(r.differences),
		len(r.skips),
		r.alike,
		len(r.free),
		len(r.probes),
	)
	width := max(len(name), len("stand-in")) + 1
	answers := func(s answered) {
		fmt.Fprintf(
			&b,
			"\n    %s\n  %-*s %s\n  %-*s %s\n",
			strings.ReplaceAll(s.Statement, "\n", "\n    "),
			width,
			"stand-in:",
			shown(s.standin),
			width,
			name+":",
			shown(s.server),
		)
	}
	fmt.Fprintf(&b, "\n## Differences (%d)\n", len(r.differences))
	for _, d := range r.differences {
		fmt.Fprintf(&b, "\n### %s: stand-in %s, %s %s\nby %s\n", d.test, d.standin, name, d.server, r.document(d.test))
		for _, s := range d.statements {
			answers(s)
		}
		fmt.Fprintf(&b, "\n  the test at %s said:\n    %s\n", name, strings.Join(d.said[:min(len(d.said), 40)], "\n    "))
	}
	fmt.Fprintf(&b, "\n## Answered differently, where no check depends on it (%d)\n", len(r.free))
	last := ""
	for _, s := range r.free {
		if s.Test != last {
			last = s.Test
			fmt.Fprintf(&b, "\n### %s, by %s\n", s.Test, r.document(s.Test))
		}
		answers(s)
	}
	fmt.Fprintf(&b, "\n## Probes: what no document settles (%d)\n", len(r.probes))
	for _, s := range r.probes {
		fmt.Fprintf(&b, "\n%s (%s)\n", s.Question, s.Document)
		answers(s)
	}
	fmt.Fprintf(&b, "\n## Skipped (%d)\n\n", len(r.skips))
	reasons := map[string][]string{}
	for _, s := range r.skips {
		why := s.why[len(place.FindString(s.why)):]
		reasons[why] = append(reasons[why], s.test)
	}
	for _, why := range sorted(reasons) {
		fmt.Fprintf(&b, "- %s: %s\n", why, strings.Join(reasons[why], ", "))
	}
	fmt.Fprintf(&b, "\n## Passed by both (%d)\n\n", len(r.agreeing))
	for _, test := range r.agreeing {
		fmt.Fprintf(&b, "- %s, by %s\n", test, r.document(test))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// place is where in the suite a line of output comes from, with what was logged before.
var place = regexp.MustCompile(`^.*_test\.go:\d+: `)

func (r *report) document(test string) string {
	if d := r.documents[test]; len(d) > 0 {
		return strings.Join(d, ", ")
	}
	return "no document that it names"
}

func sorted(m map[string][]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
