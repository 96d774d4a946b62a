// SPDX-License-Identifier: Apache-2.0

// Command mutate-report prints what gremlins found in each package, and compares the mutants that no test noticed with
// a list of those that are explained. It fails when one is not on the list, and when an entry of the list names
// nothing. hack/mutate makes what it reads.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

func main() {
	list := flag.String("list", "hack/mutate.d/equivalent.txt", "`file` with the mutants that are explained")
	uncovered := flag.Bool("uncovered", false, "list the mutants that no test runs, too")
	profile := flag.String(
		"widen",
		"",
		"add to this coverage `profile` what gremlins is to change, too, and do nothing else;\n"+
			"the argument is the module's path",
	)
	flag.Parse()
	if *profile != "" {
		exitWith(widen(*profile, flag.Arg(0)))
	}
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: mutate-report [-list FILE] [-uncovered] FOLDER=LOG...")
		os.Exit(2)
	}
	exitWith(run(os.Stdout, *list, *uncovered, flag.Args()))
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate-report:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run reports of packages, given as FOLDER=LOG of gremlins.
func run(w io.Writer, listFile string, uncovered bool, packages []string) error {
	explained, err := readList(listFile)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "package\tmutants\tnoticed\tsurvived\tno test runs them\tnoticed of those that run\texplained\t")
	findings, unfinished := []string(nil), 0
	for _, p := range packages {
		folder, results, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("%q is not FOLDER=LOG", p)
		}
		folder = filepath.ToSlash(filepath.Clean(folder))
		mutants, finished, err := readResults(folder, results)
		if err != nil {
			return err
		}
		if !finished {
			unfinished++
			findings = append(findings, "not finished: "+folder)
		}
		t := explained.judge(folder, mutants, finished, uncovered)
		findings = append(findings, t.findings...)
		all := t.noticed + t.survived + t.unrun
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t\n", folder, all, percent(t.noticed, all),
			percent(t.survived, all), percent(t.unrun, all), percent(t.noticed, t.noticed+t.survived), t.explained)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, f := range findings {
		fmt.Fprintln(w, f)
	}
	if bad := explained.unexplained + explained.stale; bad > 0 {
		return errors.New(
			"each survivor is a missing test, or belongs on " + listFile + " with its reason; an entry that names nothing goes",
		)
	}
	if unfinished > 0 {
		return errors.New("not all packages came to their end within their time")
	}
	return nil
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
