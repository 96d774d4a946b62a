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
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// drained drains the node of the primary at a site as `kubectl drain` does: it is cordoned, and the pod's eviction is
// asked for until it is granted. By then another server is primary.
func (gt *groupTest) drained(t *testing.T, w *writer, site, next string) {
	t.Helper()
	g := NewWithT(t)
	s := gt.b.Site(site)
	pod, err := podOf(t.Context(), s, gt.servers[site])
	g.Expect(err).NotTo(HaveOccurred())
	evict := func(ctx context.Context) error {
		return s.Clientset.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}})
	}
	budget := func(ctx context.Context) (most int, err error) {
		var b policyv1.PodDisruptionBudget
		err = s.Client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: gt.servers[site].Name}, &b)
		if err == nil {
			most = b.Spec.MaxUnavailable.IntValue()
		}
		return most, err
	}
	bed.Wait(t, "the pod has a budget", time.Minute, func(ctx context.Context) (bool, string, error) {
		most, err := budget(ctx)
		return err == nil && most == 0, fmt.Sprint(err), nil
	})
	g.Expect(apierrors.IsTooManyRequests(evict(t.Context()))).To(BeTrue(), "a server of a group is not evicted unannounced")
	cordon := func(ctx context.Context, on bool) error {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, on)
		return s.Client.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}, client.RawPatch("application/merge-patch+json", patch))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = cordon(ctx, false)
	})
	began := time.Now()
	gap := w.gap(t, func() { g.Expect(cordon(t.Context(), true)).To(Succeed()) }, func() {
		bed.Wait(t, "pod "+pod.Name+" is evicted", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			err := evict(ctx)
			if err != nil && !apierrors.IsTooManyRequests(err) {
				return false, "", err
			}
			return err == nil, fmt.Sprint(err), nil
		})
		_, r, err := gt.vote(t.Context(), "dublin")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.State).To(Equal(election.StateHeld))
		g.Expect(r.Holder.Server).To(Equal(credentials.HostName(gt.server(next))), "it switched over before")
		t.Logf("the primary's pod was evicted %.1f s after its node was cordoned", time.Since(began).Seconds())
	})
	t.Logf("the longest time without an acknowledgement was %.1f s", gap.Seconds())
	g.Expect(cordon(t.Context(), false)).To(Succeed())
	gt.primaryAt(next)
	bed.Wait(t, "the pod may not be evicted any more, and nobody has the turn", time.Minute, func(ctx context.Context) (bool, string, error) {
		most, err := budget(ctx)
		if err == nil {
			err = gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(gt.group), gt.group)
		}
		holder := gt.group.Annotations["geosql.dev/restarting"]
		return err == nil && most == 0 && holder == "", fmt.Sprintf("%d, turn %q, %v", most, holder, err), nil
	})
}

// renewsACertificate gives a server an endpoint certificate that ends soon: it is replaced by another one on the endpoint,
// and nobody notices.
func (gt *groupTest) renewsACertificate(t *testing.T, w *writer, site string) {
	t.Helper()
	g := NewWithT(t)
	server := gt.servers[site]
	db := open(t, connectorFrom(t, gt.b, shellAt(t, gt.b.Site(site), namespace)), server, credentials.RoleSA, "master")
	shown := func(ctx context.Context) (name string, err error) {
		err = db.Query(ctx, tsql.Statement{Text: "SELECT c.name FROM sys.database_mirroring_endpoints AS e JOIN sys.certificates AS c ON c.certificate_id = e.certificate_id"},
			func(r mssql.Row) error { return r.Scan(&name) })
		return name, err
	}
	before, err := shown(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(before).To(Equal(fmt.Sprintf("geosql_%s_1", server.Name)))
	began := time.Now()
	gap := w.gap(t, func() {
		g.Expect(db.Exec(t.Context(), tsql.CreateSelfSignedCertificate(fmt.Sprintf("geosql_%s_2", server.Name), "ends soon",
			time.Now().AddDate(0, 0, -1), time.Now().AddDate(0, 0, 60)))).To(Succeed())
	}, func() {
		bed.Wait(t, "the renewed certificate is on the endpoint", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			name, err := shown(ctx)
			return name == fmt.Sprintf("geosql_%s_3", server.Name), name, err
		})
	})
	t.Logf("renewed within %.1f s; the longest time without an acknowledgement was %.1f s", time.Since(began).Seconds(), gap.Seconds())
}
