// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/test/support/bucket"
)

const (
	// seedVariable repeats a run that was printed.
	seedVariable = "GEOSQL_SEED"
	// groupFolder is where the group's database is in the bucket.
	groupFolder = "web/group/content/Content"
	// grain is how far the time of a commit that the log has may be from when it was: datetime has three milliseconds,
	// and STOPAT one.
	grain = 5 * time.Millisecond
)

// seeded is the seed of a run, which is printed.
func seeded(t *testing.T) uint64 {
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	// A failure's output is long, and a summary may show its end alone.
	t.Cleanup(func() { t.Logf("%s=%d", seedVariable, seed) })
	return seed
}

// commit is one that a client asked for: a row of its number.
type commit struct {
	id            int
	before, after time.Time
	// acknowledged says that the engine said that it is done; without it nobody knows.
	acknowledged bool
}

// writer writes rows to whoever is primary, one after another.
type writer struct {
	*group
	primary atomic.Int32
	mu      sync.Mutex
	commits []commit
}

// write writes until ctx ends.
func (w *writer) write(ctx context.Context, random *rand.Rand) {
	for id := 0; ctx.Err() == nil; id++ {
		asked, cancel := context.WithTimeout(ctx, 2*time.Second)
		c := commit{id: id, before: time.Now()}
		_, err := w.sa[w.primary.Load()].Handle().ExecContext(asked, fmt.Sprintf("INSERT Content.dbo.t VALUES (%d)", id))
		cancel()
		c.after, c.acknowledged = time.Now(), err == nil
		w.mu.Lock()
		w.commits = append(w.commits, c)
		w.mu.Unlock()
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
	}
}

// acknowledgedSince waits until a commit was acknowledged that was asked for since a moment, and tells when.
func (w *writer) acknowledgedSince(moment time.Time) (at time.Time) {
	w.t.Helper()
	NewWithT(w.t).Eventually(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		i := slices.IndexFunc(w.commits, func(c commit) bool { return c.acknowledged && c.before.After(moment) })
		if i >= 0 {
			at = w.commits[i].after
		}
		return i >= 0
	}, patient, often).Should(BeTrue(), "the group takes writes again")
	return at
}

// policed is a group that is backed up by a policy to a bucket.
type policed struct {
	*group
	bucket *bucket.Server
	policy orders.Backup
	writer *writer
	random *rand.Rand
	asked  int
}

func newPoliced(t *testing.T, atPrimary bool, random *rand.Rand) *policed {
	t.Helper()
	c := newGroup(t)
	p := &policed{group: c, bucket: bucket.Start(t), writer: &writer{group: c}, random: random}
	p.policy = orders.Backup{Policy: "nightly", Namespace: "web", Target: "group/" + groupName, Group: groupName,
		Stripes: 2, Checksum: true, Compression: true, Verify: true, Full: orders.BackupTimes{Schedule: "0 1 29 2 *"},
		LogEvery: time.Second, AtPrimary: atPrimary, Stores: []orders.BackupStore{backups.StoreOf("bucket", p.bucket.Bucket)}}
	for n := range 2 {
		c.begin(n, p.data())
	}
	return p
}

func (p *policed) data() map[string][]byte {
	p.t.Helper()
	data, err := p.policy.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	return map[string][]byte{orders.BackupKey(p.policy.Policy): data}
}

// ask asks for a backup at a moment that is drawn within the next two seconds, and waits until it is in the bucket.
func (p *policed) ask(kind backup.Kind, alive ...int) {
	p.t.Helper()
	time.Sleep(time.Duration(p.random.IntN(2000)) * time.Millisecond)
	p.asked++
	id := fmt.Sprint("request-", p.asked)
	p.policy.Requests = append(p.policy.Requests, orders.BackupRequest{ID: id, Kind: string(kind), Database: "Content"})
	for _, n := range alive {
		p.sidecars[n].orders <- p.data()
	}
	NewWithT(p.t).Eventually(func() bool {
		return slices.ContainsFunc(p.list(), func(k backups.Kept) bool { return k.Request == id })
	}, patient, often).Should(BeTrue(), "the %s backup that was asked for comes", kind)
}

// list is what the bucket has, for anybody who knows it alone.
func (p *policed) list() []backups.Kept {
	p.t.Helper()
	opened, err := store.Open(p.bucket.Bucket)
	if err != nil {
		p.t.Fatal(err)
	}
	defer opened.Close()
	stored, err := backups.Folder(p.t.Context(), opened, groupFolder)
	if err != nil {
		p.t.Fatal(err)
	}
	return stored.Sets
}

// period is a part of the run, and what it is called.
type period struct {
	name     string
	from, to time.Time
}

// run has rows written while the roles are exchanged in the middle, and the next primary is killed with its sidecar:
// its backup volume comes back with it.
func (p *policed) run() (all []period) {
	p.t.Helper()
	g := NewWithT(p.t)
	w := p.writer
	g.Eventually(func() int { return len(p.list()) }, patient, often).ShouldNot(BeZero(), "the first full backup")
	first := p.list()[0].Finished
	ctx, stop := context.WithCancel(p.t.Context())
	var writing sync.WaitGroup
	writing.Go(func() { w.write(ctx, rand.New(rand.NewPCG(p.random.Uint64(), 1))) })
	defer writing.Wait()
	defer stop()
	first = w.acknowledgedSince(first)
	p.ask(backup.Full, 0, 1)
	p.ask(backup.Differential, 0, 1)

	moved := time.Now()
	p.promote(1, 0, 2)
	w.primary.Store(1)
	again := w.acknowledgedSince(time.Now())
	p.follows(0)
	p.ask([]backup.Kind{backup.Full, backup.Differential}[p.random.IntN(2)], 0, 1)

	// A log backup may be on its volume then, and not in the bucket yet.
	time.Sleep(time.Duration(p.random.IntN(3000)) * time.Millisecond)
	killed := time.Now()
	p.servers[1].Kill(p.t)
	p.sidecars[1].end()
	p.promote(0, 2)
	w.primary.Store(0)
	alone := w.acknowledgedSince(time.Now())
	p.ask([]backup.Kind{backup.Full, backup.Differential}[p.random.IntN(2)], 0)
	p.servers[1].Launch(p.t)
	p.follow(1)
	p.begin(1, p.data())
	p.follows(1)
	time.Sleep(time.Duration(p.random.IntN(1000)) * time.Millisecond)
	stop()
	writing.Wait()
	last := time.Now()
	p.restorable(last)
	return []period{{"before the failover", first, moved}, {"in the failover", moved, again},
		{"between", again, killed}, {"after the kill", killed, alone}, {"at the end", alone, last}}
}

// restorable waits until a moment can be restored from the bucket.
func (p *policed) restorable(moment time.Time) {
	p.t.Helper()
	NewWithT(p.t).Eventually(func() time.Time {
		at, _ := backup.Newest(backup.Sets(descriptions(p.list())))
		return at
	}, patient, often).Should(BeTemporally(">", moment), func() string {
		return "the last row is in the bucket:\n" + toldOf(p.list())
	})
}

// lose ends all that there is but for the bucket.
func (p *policed) lose() {
	for _, s := range p.sidecars {
		s.end()
	}
	for _, s := range p.servers {
		s.Kill(p.t)
	}
}

// allowed says why rows are not those that were committed by a moment; empty when they are.
func (w *writer) allowed(rows []int, moment time.Time) (why []string) {
	has := map[int]bool{}
	for _, id := range rows {
		has[id] = true
	}
	for _, c := range w.commits {
		switch {
		case c.acknowledged && c.after.Before(moment.Add(-grain)) && !has[c.id]:
			why = append(why, fmt.Sprintf("row %d is missing, which was committed %s before", c.id, moment.Sub(c.after)))
		case c.before.After(moment.Add(grain)) && has[c.id]:
			why = append(why, fmt.Sprintf("row %d is there, which was asked for %s after", c.id, c.before.Sub(moment)))
		}
		delete(has, c.id)
	}
	for id := range has {
		why = append(why, fmt.Sprintf("row %d is there, which nobody wrote", id))
	}
	// One writer has written one after another: what is there is all of it until some row.
	for _, c := range w.commits {
		if c.acknowledged && len(rows) > 0 && c.id < rows[len(rows)-1] && !slices.Contains(rows, c.id) {
			why = append(why, fmt.Sprintf("row %d is missing, and a later one is there", c.id))
		}
	}
	return why
}

// From the bucket alone the database of a group comes back as it was at any moment, across a failover and the loss of a
// primary: it has exactly the rows that were committed by then.
func TestAGroupComesBackAsItWasAtAnyMoment(t *testing.T) {
	for name, atPrimary := range map[string]bool{"backups at the primary": true, "backups at a secondary": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPoliced(t, atPrimary, rand.New(rand.NewPCG(seeded(t), 0)))
			periods := p.run()
			p.lose()
			p.restoreAll(periods, 4, 1)
		})
	}
}

// toldOf tells of sets, for people.
func toldOf(sets []backups.Kept) (text string) {
	for _, k := range sets {
		text += fmt.Sprintf("%-12s %s %s to %s, fork %.4s to %.4s at %s, begun %s, until %s\n", k.Kind, k.Server, k.FirstLSN,
			k.LastLSN, k.FirstFork, k.Fork, k.ForkLSN, k.Begun.Format(time.StampMilli), k.Until.Format(time.StampMilli))
	}
	return text
}

// restoreAll restores to so many moments of each period, and to one behind each differential backup, which none that is
// drawn need be, on a server that knows the bucket alone. There are so many windows at most, and what is in none is
// refused.
func (p *policed) restoreAll(periods []period, each, most int) {
	p.t.Helper()
	g := NewWithT(p.t)
	sets := p.list()
	windows := backup.Windows(backup.Sets(descriptions(sets)))
	g.Expect(len(windows)).To(BeNumerically("<=", most), func() string { return toldOf(sets) })
	s := newTarget(p.t)
	var all []orders.Restore
	var when []string
	restore := func(period string, moment time.Time) {
		name := fmt.Sprint("r", len(all))
		when = append(when, period)
		all = append(all, orders.Restore{Name: name, UID: "uid-" + name, Folder: groupFolder, Database: name,
			Time:   moment.Truncate(time.Millisecond),
			Stores: []orders.BackupStore{backups.StoreOf("bucket", p.bucket.Bucket)}})
	}
	for _, period := range periods {
		p.t.Logf("%s: %s for %s", period.name, period.from.Format(time.StampMilli), period.to.Sub(period.from))
		for range each {
			restore(period.name, period.from.Add(time.Duration(p.random.Int64N(int64(period.to.Sub(period.from))))))
		}
	}
	for _, k := range sets {
		if k.Kind == backup.Differential {
			restore("behind a differential", k.Finished.Add(grain))
		}
	}
	s.tell(all...)
	kinds := map[backup.Kind]int{}
	for n, o := range all {
		status := s.ended(o.Name)
		if !slices.ContainsFunc(windows, func(w backup.Window) bool {
			return !o.Time.Before(w.From) && !o.Time.After(w.To)
		}) {
			g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonNoChain), status.Result.Message)
			continue
		}
		g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
		rows := s.rows(o.Name)
		g.Expect(p.writer.allowed(rows, o.Time)).To(BeEmpty(), "%s, at %s", when[n],
			o.Time.Format(time.StampMilli))
		for _, set := range status.Chain {
			kinds[set.Kind]++
		}
	}
	acknowledged := 0
	for _, c := range p.writer.commits {
		if c.acknowledged {
			acknowledged++
		}
	}
	p.t.Logf("%d sets; %d commits, %d acknowledged; restored %v", len(sets), len(p.writer.commits), acknowledged, kinds)
	g.Expect(kinds[backup.Differential]).NotTo(BeZero())
	g.Expect(kinds[backup.Log]).NotTo(BeZero())
}
