// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"geosql.dev/operator/standin/hadr/group"
)

func benchmarkSynchronousCommit(b *testing.B, sessions int) {
	var c *cluster
	// The cluster's helpers want a *testing.T.
	done := make(chan struct{})
	ready := make(chan struct{})
	go testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "cluster", F: func(t *testing.T) {
		c = newCluster(t, group.Synchronous, nil)
		c.synchronized(0, 1, 2)
		close(ready)
		<-done
	}}})
	defer close(done)
	<-ready
	app := c.servers[0].Database("app")
	var next atomic.Int64
	var wait sync.WaitGroup
	b.ResetTimer()
	for range sessions {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := insert(b.Context(), app, int(1000+n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// Synchronous commits over loopback to two secondaries, all three servers on this machine.
func BenchmarkSynchronousCommit1(b *testing.B)  { benchmarkSynchronousCommit(b, 1) }
func BenchmarkSynchronousCommit64(b *testing.B) { benchmarkSynchronousCommit(b, 64) }
