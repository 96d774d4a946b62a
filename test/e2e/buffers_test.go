// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// expectBuffers checks that the kernel has, for a server's pod, the buffers that the links of the bed ask for, and that
// its agent reads what is so: the longest link of each site of the bed takes more than any kernel has of its own.
func expectBuffers(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer) {
	t.Helper()
	g := NewWithT(t)
	bed.Wait(t, "the server says which buffers it has", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server)
		c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionNetworkTuned)
		return c != nil && c.Reason == v1alpha1.ReasonBuffersFromLinks && server.Status.Tuning != nil &&
			server.Status.Tuning.Kernel != nil, fmt.Sprintf("%+v", c), err
	})
	tuning := server.Status.Tuning
	g.Expect(tuning.Link).To(BeEquivalentTo("dublin"))
	g.Expect(tuning.Arithmetic).To(Equal("2 x 1Gbit x 150ms / 8 = 37500000 bytes, in whole MiB 36Mi"))
	want := &v1alpha1.TCPBuffers{Receive: "4096 131072 37748736", Send: "4096 16384 37748736"}
	g.Expect(tuning.Pod).To(Equal(want))
	g.Expect(tuning.Kernel).To(Equal(&v1alpha1.TCPKernel{Receive: want.Receive, Send: want.Send,
		CongestionControl: tuning.Kernel.CongestionControl}))
	g.Expect(tuning.Kernel.CongestionControl).NotTo(BeEmpty())

	pod, err := podOf(t.Context(), b.Site(string(server.Spec.Site)), server)
	g.Expect(err).NotTo(HaveOccurred())
	// The brackets keep the search from finding itself.
	lines := strings.Split(strings.TrimSpace(b.NodeExec(t, pod.Spec.NodeName, "sh", "-ec", fmt.Sprintf(`
		pid=$(pgrep -f -- '[-]-server-name=%s-0')
		nsenter -t "$pid" -n cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem`, server.Name))), "\n")
	g.Expect(lines).To(HaveLen(2))
	for i, buffers := range []string{want.Receive, want.Send} {
		g.Expect(strings.Join(strings.Fields(lines[i]), " ")).To(Equal(buffers))
	}
}
