// SPDX-License-Identifier: Apache-2.0

// Command mutants changes one condition, operator or loop control of a package at a time (a mutant), runs against each
// the tests that come to it, and compares those that no test noticed with a list of what is explained. All mutants of a
// package are in one build of its tests: the environment says which one is at work. It fails when one survived that is
// not on the list, and when an entry of the list names nothing. hack/mutate starts it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// options are what is asked for.
type options struct {
	list, only string
	uncovered  bool
	workers    int
	// limit is for each package.
	limit time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.list, "list", "hack/mutate.d/equivalent.txt", "`file` with the mutants that are explained")
	flag.StringVar(&o.only, "only", "", "try those mutants alone whose names have this `text` in them")
	flag.BoolVar(&o.uncovered, "uncovered", false, "list the mutants that no test runs, too")
	flag.IntVar(&o.workers, "workers", 2, "mutants at once, each on one processor")
	flag.DurationVar(&o.limit, "limit", time.Hour, "for each package; one that is not finished by then is a failure")
	flag.Parse()
	if flag.NArg() == 0 || o.workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: mutants [flags] FOLDER...")
		os.Exit(2)
	}
	if err := run(os.Stdout, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// planOf says what of a package is changed, and what is run for it.
func planOf(folder string) plan {
	const searches = `^(TestSchedules|TestNothingIsLost|TestBrokenOnPurpose)`
	p := plan{files: "*.go"}
	switch {
	case filepath.Dir(folder) == "controllers":
		p.files = "plan*.go"
	case folder == "internal/election/keeper":
		p.later, p.laterArguments = searches, []string{"-rapid.checks=25"}
	case folder == "internal/election/votes", folder == "internal/election/ballot":
		// The rules of the election are made of all three, and many are told only by the whole of it.
		p.later, p.beside = searches, []string{"internal/election/keeper"}
	}
	return p
}

// run changes packages, given as their folders, and reports of all of them.
func run(w io.Writer, o options, packages []string) error {
	explained, err := readList(o.list)
	if err != nil {
		return err
	}
	var rows strings.Builder
	table := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "package\tmutants\tnoticed\tsurvived\tno test runs them\tnoticed of those that run\texplained\t")
	findings, unfinished := []string(nil), 0
	for _, p := range packages {
		folder := filepath.ToSlash(filepath.Clean(p))
		begin := time.Now()
		mutants, err := tryAll(w, o, folder)
		if err != nil {
			return err
		}
		t := explained.judge(folder, mutants, o.only == "", o.uncovered)
		if t.untried > 0 {
			unfinished++
			t.findings = append(t.findings, fmt.Sprintf("not finished: %s, %d not tried", folder, t.untried))
		}
		findings = append(findings, t.findings...)
		all := t.noticed + t.survived + t.unrun
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t\n", folder, all, percent(t.noticed, all),
			percent(t.survived, all), percent(t.unrun, all), percent(t.noticed, t.noticed+t.survived), t.explained)
		fmt.Fprintf(w, "mutate: %s: %d of %d noticed, in %.0f s\n", folder, t.noticed, all, time.Since(begin).Seconds())
		for _, f := range t.findings {
			fmt.Fprintln(w, "  "+f)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", rows.String())
	for _, f := range findings {
		fmt.Fprintln(w, f)
	}
	if bad := explained.unexplained + explained.stale; bad > 0 {
		return errors.New(
			"each survivor is a missing test, or belongs on " + o.list + " with its reason; an entry that names nothing goes",
		)
	}
	if unfinished > 0 {
		return errors.New("not all packages came to their end within their time")
	}
	return nil
}

// tryAll builds the tests of a package with all of its mutants, and tries each.
func tryAll(w io.Writer, o options, folder string) ([]*mutant, error) {
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	plan, begin := planOf(folder), time.Now()
	s, err := readSource(folder)
	if err != nil {
		return nil, err
	}
	overlay, mutants, err := s.writeOverlay(scratch, plan.files)
	if err != nil {
		return nil, err
	}
	var programs []*program
	for i, of := range append([]string{folder}, plan.beside...) {
		p, err := build(scratch, overlay, of)
		if err != nil {
			return nil, err
		}
		if err := p.find(ctx, scratch, plan, i == 0); err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	fmt.Fprintf(w, "mutate: %s: %d mutants, built after %.0f s, at most %s\n", folder, len(mutants),
		time.Since(begin).Seconds(), o.limit)
	if o.only != "" {
		mutants = chosen(mutants, o.only)
	}
	forEach(mutants, o.workers, func(m *mutant) { m.status = try(ctx, programs, plan, m) })
	return mutants, nil
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
