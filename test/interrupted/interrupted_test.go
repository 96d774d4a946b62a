// SPDX-License-Identifier: Apache-2.0

//go:build integration

package interrupted_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

const (
	// soakVariable asks for every moment of every write instead of a sample.
	soakVariable = "GEOSQL_SOAK"
	// seedVariable repeats a sample that was printed.
	seedVariable = "GEOSQL_SEED"
)

// patient is how long the end state may take.
const patient = 3 * time.Minute

// quiet is how long a manager must live with everything ready before a run is over.
const quiet = 4 * time.Second

// A manager that dies around statements and writes to the API server ends where one ends that lives.
func TestTheEndIsTheSameWhereverTheManagerDies(t *testing.T) {
	g := NewWithT(t)
	chosen, seed := sampled, os.Getenv(seedVariable)
	if os.Getenv(soakVariable) != "" {
		chosen = always
	}
	if seed == "" {
		seed = strconv.FormatUint(rand.Uint64(), 36)
	}
	// A failure's output is long, and a summary may show its end alone.
	t.Cleanup(func() { t.Logf("%s with %s=%s", chosen, seedVariable, seed) })
	calm := stage.New(t)
	g.Expect(run(t, calm, never, seed, scene{declared: declared()})).To(BeZero())
	want := state(t, calm)
	killed := stage.New(t)
	deaths := run(t, killed, chosen, seed, scene{declared: declared()})
	t.Logf("%d writes, the manager died %d times", len(lines(t, killed, seen)), deaths)
	g.Eventually(func() []string { return difference(want, state(t, killed)) }, patient, time.Second).
		Should(BeEmpty(), func() string { return killed.Logged(t) })

	// Nearly whatever the calm manager wrote was a place to die at: some is written only if something is late.
	left := spared(t, killed, lines(t, calm, seen), chosen, seed)
	t.Logf("chosen writes at which no manager died: %q", left)
	g.Expect(deaths).To(BeNumerically(">", 10))
	g.Expect(len(left)).To(BeNumerically("<=", 2+deaths/10))
}

// state is what the stages are compared by, with what the copies' rows come to.
func state(t *testing.T, b *stage.Stage) []string {
	t.Helper()
	all := b.State(t)
	for _, server := range []v1alpha1.ServerName{"tukpub", "quisec", "dubsub"} {
		rows := b.Query(t, server, "Content",
			"SELECT COUNT(*), SUM(CAST(Id AS bigint)), SUM(CAST(LEN(Body) AS bigint)) FROM dbo.Article", 3)
		all = append(all, fmt.Sprintf("%s has rows: %v", server, rows))
	}
	return all
}

// spared are the writes that were chosen and at which no manager died. One moment of a write is enough: what was
// carried out although its answer was not seen is not written again, and has no later moment.
func spared(t *testing.T, b *stage.Stage, writes []string, k killing, seed string) []string {
	t.Helper()
	var died, spared []string
	for _, m := range moments {
		died = append(died, lines(t, b, m)...)
	}
	for _, write := range writes {
		if len(places(k, seed, write)) > 0 && !slices.Contains(died, write) {
			spared = append(spared, write)
		}
	}
	return spared
}

// difference are the lines that only one of two has, marked with - and +.
func difference(want, got []string) []string {
	var d []string
	for _, l := range want {
		if !slices.Contains(got, l) {
			d = append(d, "- "+l)
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			d = append(d, "+ "+l)
		}
	}
	return d
}

// scene is what a manager has to bring about.
type scene struct {
	declared []client.Object
	// of is what the writes have in their names at which it may die; empty for all.
	of string
	// meanwhile is done from time to time, and says what is to be waited for, empty when nothing is; nil for neither.
	meanwhile func() string
}

// run declares everything and starts manager after manager until all is ready and one has lived for a while. It returns
// how many were killed.
func run(t *testing.T, b *stage.Stage, k killing, seed string, s scene) (deaths int) {
	t.Helper()
	g := NewWithT(t)
	fill(t, b)
	for _, obj := range s.declared {
		g.Expect(b.Hub.Client.Create(t.Context(), obj)).To(Succeed())
	}
	began := time.Now()
	defer func() { t.Logf("%s: ready after %s and %d deaths", k, time.Since(began).Round(time.Second), deaths) }()
	deadline := time.Now().Add(8 * time.Minute)
	if k == always {
		deadline = time.Now().Add(25 * time.Minute)
	}
	last := ""
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		manager := b.StartManager(t, config{Killing: k, Seed: seed, Ledger: b.File(ledger), Of: s.of})
		lastKill := time.Now()
		alive := true
		for alive {
			select {
			case byKill := <-manager.Ended():
				if !byKill || k == never {
					t.Fatalf("a manager ended by itself: %s\n%s", manager.State(), b.Logged(t))
				}
				deaths++
				alive = false
			case <-look.C:
				waiting := b.Waiting(t)
				if s.meanwhile != nil {
					waiting += s.meanwhile()
				}
				if waiting != last && k == always {
					last = waiting
					t.Logf("%s %d deaths: %s", time.Since(began).Round(time.Second), deaths, waiting)
				}
				if waiting == "" && time.Since(lastKill) > quiet {
					manager.Kill()
					return deaths
				}
				if time.Now().After(deadline) {
					t.Fatalf("not ready after %d deaths:\n%s\n%s", deaths, waiting, b.Logged(t))
				}
			}
		}
	}
}
