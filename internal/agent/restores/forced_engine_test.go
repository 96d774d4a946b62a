// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
)

// A primary that is alone backs up what its successor does not have: at moments since it is as if that had never been,
// and those before are as they were. A moment from which nothing goes on is refused.
func TestAGroupComesBackAfterAForcedFailover(t *testing.T) {
	t.Parallel()
	seed := seeded(t)
	p := newPoliced(t, true, rand.New(rand.NewPCG(seed, 0)))
	g := NewWithT(t)
	w := p.writer
	g.Eventually(func() int { return len(p.list()) }, patient, often).ShouldNot(BeZero(), "the first full backup")
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() { w.write(ctx, rand.New(rand.NewPCG(p.random.Uint64(), 1))) })
	defer writing.Wait()
	defer stop()
	first := w.acknowledgedSince(p.list()[0].Finished)
	p.ask(backup.Differential, 0, 1)

	parted := time.Now()
	p.exec(1, "ALTER DATABASE Content SET HADR SUSPEND")
	alone := time.Now()
	lost := w.acknowledgedSince(alone)
	g.Eventually(func() bool {
		return slices.ContainsFunc(p.list(), func(k backups.Kept) bool {
			return k.Kind == backup.Log && k.Until.After(lost.Add(grain)) && k.LastLSN.Compare(k.FirstLSN) > 0
		})
	}, patient, often).Should(BeTrue(), "what is lost is in the bucket")
	p.servers[0].Kill(t)
	p.sidecars[0].end()
	killed := time.Now()
	p.asManager(1, "FORCE_FAILOVER_ALLOW_DATA_LOSS")
	p.follow(2)
	w.primary.Store(1)
	again := w.acknowledgedSince(time.Now())
	// The log may go on from none that is in the bucket; until somebody asks, the policy waits whether one comes.
	p.ask(backup.Full, 1)
	time.Sleep(time.Duration(p.random.IntN(2000)) * time.Millisecond)
	stop()
	writing.Wait()
	last := time.Now()
	p.restorable(last)
	p.lose()

	w.commits = slices.DeleteFunc(w.commits, func(c commit) bool {
		return c.before.After(alone) && c.before.Before(killed)
	})
	for i, c := range w.commits {
		w.commits[i].acknowledged = c.acknowledged && (c.after.Before(parted) || c.before.After(killed))
	}
	p.restoreAll([]period{{"before the failover", first, parted}, {"after it", again, last}}, 8, 2)
}
