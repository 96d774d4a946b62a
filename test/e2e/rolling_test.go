// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// A startup option that changes on all servers of a group reaches them one at a time, the secondaries first, and never
// are two of them down; the primary hands over before its own pod is replaced, and clients of the listener go on.
func TestRollingChangeOfAGroup(t *testing.T) {
	groupA.Beside(t, 5, 130)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	gt.backAt("tukwila")
	term := gt.group.Status.Term
	before := map[string]types.UID{}
	for site, server := range gt.servers {
		pod, err := podOf(t.Context(), b.Site(site), server)
		g.Expect(err).NotTo(HaveOccurred())
		before[site] = pod.UID
	}
	through := gt.wherever(shellAt(t, b.Site("tukwila"), namespace))
	w := gt.startWriting(through)
	for _, server := range gt.servers {
		g.Expect(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(server), server)).To(Succeed())
		change := client.MergeFrom(server.DeepCopy())
		server.Spec.Startup = &v1alpha1.StartupOptions{CheckpointThrottleMBps: ptr.To[int32](200)}
		g.Expect(b.Hub().Client.Patch(t.Context(), server, change)).To(Succeed())
	}
	order := gt.replacedOneByOne(before)
	g.Expect(order).To(HaveLen(3))
	g.Expect(order[2]).To(Equal("tukwila"), "the first primary is the last to restart")
	for site, server := range gt.servers {
		pod, err := podOf(t.Context(), b.Site(site), server)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.Spec.Containers[0].Args).To(ContainElement("-k200"))
		waitForServer(t, b, server, time.Minute)
	}
	gt.wait("the group is ready again", term+1, 2*time.Minute)
	g.Expect(gt.group.Annotations).NotTo(HaveKey(turnAnnotation), "nobody has the turn any more")
	t.Logf("acknowledged %d rows meanwhile; the next one after %v", w.count(), w.more(t, time.Minute))
	w.end()
	w.verify(t, through)
}
