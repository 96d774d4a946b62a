// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// expectPromisesApart checks that a running server's agent keeps its promises on a volume of its own, says so, and
// that the engine, which has the same user and sees the agent's process, sees nothing of what that has mounted.
func expectPromisesApart(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer) {
	t.Helper()
	g := NewWithT(t)
	home := b.Site(string(server.Spec.Site))
	var claim corev1.PersistentVolumeClaim
	key := client.ObjectKey{Namespace: server.Namespace, Name: server.Name + "-agent"}
	g.Expect(home.Client.Get(t.Context(), key, &claim)).To(Succeed())
	g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
	bed.Wait(t, "the server says where promises are", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server)
		c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionPromisesKept)
		return c != nil && c.Reason == v1alpha1.ReasonPromisesOnOwnVolume, fmt.Sprintf("%+v", c), err
	})
	pod, err := podOf(t.Context(), home, server)
	g.Expect(err).NotTo(HaveOccurred())
	// The brackets keep the search from finding itself.
	b.NodeExec(t, pod.Spec.NodeName, "sh", "-ec", fmt.Sprintf(`
		pid=$(pgrep -f -- '[-]-server-name=%s-0')
		engine=$(pgrep -u 10001 -x sqlservr | head -n 1)
		test -n "$pid" -a -n "$engine"
		test -e /proc/$pid/root/var/opt/geosql-agent/tried
		test ! -e /proc/$engine/root/var/opt/geosql-agent
		as_engine="setpriv --reuid=10001 --regid=10001 --clear-groups --inh-caps=-all --bounding-set=-all"
		$as_engine ls /proc/$pid/status >/dev/null
		if $as_engine ls /proc/$pid/root/ 2>/dev/null; then echo "the agent's files can be seen"; exit 1; fi`, server.Name))
}
