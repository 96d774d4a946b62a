// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// program is the tests of one package, built with all mutants of the one that is changed.
type program struct {
	binary, dir string
	// tests that are run for a mutant, those that take little time first.
	tests []*test
	// arguments that all tests get.
	arguments []string
}

// test is one test function.
type test struct {
	name string
	// later: it takes long, and is run once the others have passed.
	later bool
	// reaches has the numbers of the mutants that it comes to.
	reaches map[int]bool
	took    time.Duration
}

// plan is what of a package is changed, and what is run for it.
type plan struct {
	// files is a pattern of names.
	files string
	// later is an expression for the names of tests that take long, laterArguments what they get besides.
	later          string
	laterArguments []string
	// beside are folders of packages whose tests, without later ones, are run too.
	beside []string
}

// noFailFile has a property test that fails leave no file in the checkout.
const noFailFile = "-rapid.nofailfile"

// build makes the tests of a package out of the changed source.
func build(scratch, overlay, folder string) (*program, error) {
	p := &program{dir: filepath.FromSlash(folder)}
	p.binary = filepath.Join(scratch, strings.ReplaceAll(folder, "/", "-")+".test")
	arguments := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", p.binary, "./" + folder}
	out, err := exec.Command("go", arguments...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("building the tests of %s: %w\n%s", folder, err, out)
	}
	if usage, _ := exec.Command(p.binary, "-help").CombinedOutput(); bytes.Contains(usage, []byte(noFailFile)) {
		p.arguments = []string{noFailFile}
	}
	return p, nil
}

// find lists the tests and runs each by itself to see what it comes to. They pass as long as no mutant is at work.
func (p *program) find(ctx context.Context, scratch string, plan plan, withLater bool) error {
	listed, err := p.run(ctx, "", nil, "-test.list", ".")
	if err != nil {
		return fmt.Errorf("listing the tests of %s: %w\n%s", p.dir, err, listed)
	}
	for _, name := range strings.Fields(listed) {
		t := &test{name: name, reaches: map[int]bool{}, later: plan.isLater(name)}
		if strings.HasPrefix(name, "Benchmark") || t.later && !withLater {
			continue
		}
		seen := filepath.Join(scratch, "seen")
		_ = os.Remove(seen)
		begin := time.Now()
		if out, err := p.run(ctx, "", []string{envSeen + "=" + seen}, p.argumentsOf(plan, t)...); err != nil {
			return fmt.Errorf("%s of %s fails by itself, and nothing is changed: %w\n%s", name, p.dir, err, out)
		}
		t.took = time.Since(begin)
		content, err := os.ReadFile(seen)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, id := range strings.Fields(string(content)) {
			n, err := strconv.Atoi(id)
			if err != nil {
				return err
			}
			t.reaches[n] = true
		}
		p.tests = append(p.tests, t)
	}
	slices.SortStableFunc(p.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	return nil
}

func (p plan) isLater(test string) bool {
	return p.later != "" && regexp.MustCompile(p.later).MatchString(test)
}

// argumentsOf are the arguments with which these tests, all later or none, are run.
func (p *program) argumentsOf(plan plan, tests ...*test) []string {
	names := make([]string, 0, len(tests))
	limit := 20 * time.Second
	for _, t := range tests {
		names = append(names, regexp.QuoteMeta(t.name))
		limit += 8 * t.took
	}
	if tests[0].took == 0 { // it has not been run yet
		limit = 10 * time.Minute
	}
	arguments := append(slices.Clone(p.arguments), "-test.failfast", "-test.timeout", limit.String(),
		"-test.run", "^("+strings.Join(names, "|")+")$")
	if tests[0].later {
		arguments = append(arguments, plan.laterArguments...)
	}
	return arguments
}

// run starts the program in its package's folder.
func (p *program) run(ctx context.Context, mutant string, env []string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, p.binary, arguments...)
	c.Dir, c.Env = p.dir, append(os.Environ(), append(env, envMutant+"="+mutant)...)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	return string(out), err
}

// try runs the tests that come to a mutant, first those that take little time, and says what became of it. Tests that
// take too long have noticed it.
func try(ctx context.Context, programs []*program, plan plan, m *mutant) status {
	result := notRun
	for _, later := range []bool{false, true} {
		for _, p := range programs {
			var tests []*test
			for _, t := range p.tests {
				if t.later == later && t.reaches[m.id] {
					tests = append(tests, t)
				}
			}
			if len(tests) == 0 {
				continue
			}
			result = survived
			_, err := p.run(ctx, strconv.Itoa(m.id), nil, p.argumentsOf(plan, tests...)...)
			if ctx.Err() != nil {
				return notTried
			}
			if err != nil {
				return noticed
			}
		}
	}
	return result
}

// chosen are those whose names have a text in them.
func chosen(mutants []*mutant, text string) (some []*mutant) {
	for _, m := range mutants {
		if strings.Contains(m.name, text) {
			some = append(some, m)
		}
	}
	return some
}

// forEach does something to each mutant, to so many at once.
func forEach(mutants []*mutant, workers int, do func(*mutant)) {
	next := make(chan *mutant)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for m := range next {
				do(m)
			}
		})
	}
	for _, m := range mutants {
		next <- m
	}
	close(next)
	group.Wait()
}

// writeOverlay leaves the changed files in scratch and what go build is to be told of them, and returns the mutants.
func (s *source) writeOverlay(scratch, files string) (overlay string, mutants []*mutant, err error) {
	ids, replaced := 0, map[string]string{}
	place := func(name, text string) error {
		file := filepath.Join(scratch, name)
		replaced[filepath.Join(s.dir, name)] = file
		return os.WriteFile(file, []byte(text), 0o600)
	}
	for name := range s.files {
		if changed, err := filepath.Match(files, name); err != nil || !changed {
			continue
		}
		r := &rewriter{source: s, name: name, next: &ids}
		if err := place(name, r.rewrite()); err != nil {
			return "", nil, err
		}
		mutants = append(mutants, r.mutants...)
	}
	if err := place(helperFile, helpers(s.name)); err != nil {
		return "", nil, err
	}
	nameAll(mutants)
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(scratch, "overlay.json")
	return overlay, mutants, os.WriteFile(overlay, content, 0o600)
}
