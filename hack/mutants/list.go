// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// list is what is known of mutants that no test can notice, and what a run came to beside it.
type list struct {
	// reasons by mutant.
	reasons map[string]string
	// unexplained survivors, and stale entries, so far.
	unexplained, stale int
}

// readList reads entries: a line that is the mutant's name, then its reason in indented lines. Lines that begin with #
// are comments.
func readList(file string) (*list, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the explained mutants: %w", err)
	}
	defer func() { _ = f.Close() }()
	l, name := &list{reasons: map[string]string{}}, ""
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case strings.HasPrefix(lines.Text(), " "):
			if name == "" {
				return nil, fmt.Errorf("%s:%d: a reason without a mutant", file, n)
			}
			l.reasons[name] = strings.TrimSpace(l.reasons[name] + " " + text)
		default:
			if _, twice := l.reasons[text]; twice {
				return nil, fmt.Errorf("%s:%d: %q is there twice", file, n, text)
			}
			name = text
			l.reasons[name] = ""
		}
	}
	for name, reason := range l.reasons {
		if reason == "" {
			return nil, fmt.Errorf("%s: %q has no reason", file, name)
		}
	}
	return l, lines.Err()
}

// tally is what became of one package's mutants.
type tally struct {
	noticed, survived, unrun, untried, explained int
	// findings are lines for people.
	findings []string
}

// judge compares a package's mutants with the list. When all were meant, what is listed must be among them.
func (l *list) judge(folder string, mutants []*mutant, all, uncovered bool) (t tally) {
	there := map[string]bool{}
	for _, m := range mutants {
		there[m.name] = true
		_, listed := l.reasons[m.name]
		switch m.status {
		case noticed:
			t.noticed++
			if listed {
				t.findings = append(t.findings, "noticed this time, see whether it is to be listed: "+m.name)
			}
		case survived:
			t.survived++
			if listed {
				t.explained++
				continue
			}
			l.unexplained++
			t.findings = append(t.findings, fmt.Sprintf("survived: %s    (%s)", m.name, m.position()))
		case notRun:
			t.unrun++
			if listed {
				t.findings = append(t.findings, "no test runs it, see whether it is to be listed: "+m.name)
			} else if uncovered {
				t.findings = append(t.findings, fmt.Sprintf("no test runs it: %s    (%s)", m.name, m.position()))
			}
		case notTried:
			t.untried++
		}
	}
	for name := range l.reasons {
		if file, _, _ := strings.Cut(name, " "); all && path.Dir(file) == folder && !there[name] {
			l.stale++
			t.findings = append(t.findings, "listed, and not there: "+name)
		}
	}
	slices.Sort(t.findings)
	return t
}
