// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

// A replica that votes alone has a majority by itself, and is asked for no promise that nobody asked for: FAILOVER of
// one that may not be promoted says so.
func TestFailoverOfTheOnlyVoterSaysWhatIsMissing(t *testing.T) {
	for name, only := range map[string]func(*testing.T, *WithT) (*cluster, int){
		"its copy is missing": func(t *testing.T, g *WithT) (*cluster, int) {
			c := newCluster(t, group.Asynchronous,
				func(conf *group.Configuration) { conf.Replicas[1].Mode = group.Asynchronous })
			c.servers[0].stop()
			g.Expect(os.Remove(c.servers[0].files("app").Data)).To(Succeed())
			return c, 0
		},
		"it is asynchronous, and was forced to be primary": func(t *testing.T, g *WithT) (*cluster, int) {
			c := newCluster(t, group.Asynchronous, nil)
			c.synchronized(0, 1)
			g.Eventually(func() replica.SynchronizationState {
				return c.copyAt(2,
					2).State
			}).Should(Equal(replica.Synchronizing))
			c.servers[0].stop()
			c.servers[1].stop()
			c.force(2)
			c.servers[2].stop()
			return c, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, i := only(t, g)
			c.servers[i].start()
			g.Expect(c.group(i).SetLease(replica.BootTime(), lease)).To(Succeed())
			g.Expect(number(c.group(i).Failover(t.Context()))).To(Equal(int32(41142)))
		})
	}
}
