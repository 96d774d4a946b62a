// SPDX-License-Identifier: Apache-2.0

//go:build integration

package interrupted_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

const (
	// soakVariable asks for every moment of every write instead of a sample.
	soakVariable = "GEOSQL_SOAK"
	// seedVariable repeats a sample that was printed.
	seedVariable = "GEOSQL_SEED"
)

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
	calm := newBed(t)
	g.Expect(calm.run(t, never, seed)).To(BeZero())
	want := calm.state(t)
	killed := newBed(t)
	deaths := killed.run(t, chosen, seed)
	t.Logf("%d writes, the manager died %d times", len(killed.lines(t, seen)), deaths)
	g.Eventually(func() []string { return difference(want, killed.state(t)) }, patient, time.Second).Should(BeEmpty(), func() string { return killed.logged(t) })

	// Nearly whatever the calm manager wrote was a place to die at: some is written only if something is late.
	spared := killed.spared(t, calm.lines(t, seen), chosen, seed)
	t.Logf("chosen writes at which no manager died: %q", spared)
	g.Expect(deaths).To(BeNumerically(">", 10))
	g.Expect(len(spared)).To(BeNumerically("<=", 2+deaths/10))
}

// spared are the writes that were chosen and at which no manager died. One moment of a write is enough: what was carried
// out although its answer was not seen is not written again, and has no later moment.
func (b *bed) spared(t *testing.T, writes []string, k killing, seed string) []string {
	t.Helper()
	var died, spared []string
	for _, m := range moments {
		died = append(died, b.lines(t, m)...)
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

// run declares everything and starts manager after manager until all is ready and one has lived for a while. It returns
// how many were killed.
func (b *bed) run(t *testing.T, k killing, seed string) (deaths int) {
	t.Helper()
	g := NewWithT(t)
	b.fill(t)
	for _, obj := range declared() {
		g.Expect(b.hub.Client.Create(t.Context(), obj)).To(Succeed())
	}
	began := time.Now()
	defer func() { t.Logf("%s: ready after %s and %d deaths", k, time.Since(began).Round(time.Second), deaths) }()
	deadline := time.Now().Add(5 * time.Minute)
	if k == always {
		deadline = time.Now().Add(25 * time.Minute)
	}
	last := ""
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		cmd, ended := b.start(t, k, seed)
		lastKill := time.Now()
		alive := true
		for alive {
			select {
			case byKill := <-ended:
				if !byKill || k == never {
					t.Fatalf("a manager ended by itself: %v\n%s", cmd.ProcessState, b.logged(t))
				}
				deaths++
				alive = false
			case <-look.C:
				waiting := b.ready(t)
				if waiting != last && k == always {
					last = waiting
					t.Logf("%s %d deaths: %s", time.Since(began).Round(time.Second), deaths, waiting)
				}
				if waiting == "" && time.Since(lastKill) > quiet {
					_ = cmd.Process.Kill()
					<-ended
					return deaths
				}
				if time.Now().After(deadline) {
					t.Fatalf("not ready after %d deaths:\n%s\n%s", deaths, waiting, b.logged(t))
				}
			}
		}
	}
}

// fill makes what a person has before the operator comes: a database with a table and rows.
func (b *bed) fill(t *testing.T) {
	t.Helper()
	b.sql(t, "tukpub", "master", "CREATE DATABASE Content")
	// The operator's own first backup goes to the folder of a pod.
	b.sql(t, "tukpub", "master", "ALTER DATABASE Content SET RECOVERY FULL")
	b.sql(t, "tukpub", "master", "BACKUP DATABASE Content TO DISK = N'content.bak'")
	b.sql(t, "tukpub", "Content", "CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY, Body nvarchar(100) NOT NULL)")
	b.sql(t, "tukpub", "Content", "DECLARE @i int = 0; WHILE @i < 500 BEGIN INSERT dbo.Article (Id, Body) VALUES (@i, REPLICATE(N'x', @i % 40)); SET @i = @i + 1 END")
}
