// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/e2e/bed"
)

// What a run that was killed has left does not stand in the way of the next one: a server under way, a client's pod, a
// fault, a namespace, a cordon. A server of another name stays. It takes no turn, and so comes before the tests that
// do: their objects would go, too.
func TestWhatAKilledRunLeavesIsCleared(t *testing.T) {
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	quincy := b.Site("quincy")
	kept := declareServer(t, b, "kept", "quincy", nil)
	left := declareServer(t, b, "e2eleft", "quincy", nil)
	bed.Wait(t, "the server has its volumes", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := quincy.Client.Get(
			ctx,
			client.ObjectKey{Namespace: namespace, Name: "e2eleft-data"},
			&corev1.PersistentVolumeClaim{},
		)
		return err == nil, "", client.IgnoreNotFound(err)
	})
	of := metav1.ObjectMeta{Namespace: namespace, Name: "client-0ff"}
	gone := []client.Object{left,
		&corev1.Pod{ObjectMeta: of},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.Namespace(t, "left")}}}
	shell := quincy.ShellPod(t, of.Namespace, of.Name, "sleep 600")
	g.Expect(quincy.Client.Create(t.Context(), shell)).To(Succeed())
	fault := quincy.NewChaos(
		t,
		"PodChaos",
		namespace,
		"left",
		map[string]any{"action": "pod-failure", "mode": "one", "duration": "10m",
			"selector": map[string]any{"namespaces": []any{namespace}, "labelSelectors": map[string]any{"app": of.Name}}},
	)
	gone = append(gone, fault.Object)
	node := quincy.Nodes[len(quincy.Nodes)-1]
	_, _, err := quincy.Kubectl(t.Context(), "cordon", node)
	g.Expect(err).NotTo(HaveOccurred())

	out, err := exec.CommandContext(t.Context(), filepath.Join(b.Repo, "hack/clear-tests")).CombinedOutput()
	t.Logf("%s", out)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range gone {
		at := quincy
		if object == client.Object(left) {
			at = b.Hub()
		}
		err := at.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		g.Expect(apierrors.IsNotFound(err) || object.GetDeletionTimestamp() != nil).
			To(BeTrue(), "%T %s: %v", object, object.GetName(), err)
	}
	err = quincy.Client.Get(
		t.Context(),
		client.ObjectKey{Namespace: namespace, Name: "e2eleft-data"},
		&corev1.PersistentVolumeClaim{},
	)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "its volumes go: %v", err)
	var cordoned corev1.Node
	g.Expect(quincy.Client.Get(t.Context(), client.ObjectKey{Name: node}, &cordoned)).To(Succeed())
	g.Expect(cordoned.Spec.Unschedulable).To(BeFalse())
	g.Expect(b.Hub().Client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept)).To(Succeed())
	g.Expect(kept.DeletionTimestamp).To(BeNil())
}
