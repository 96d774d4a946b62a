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

	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/e2e/bed"
)

// drained drains the node of the primary as `kubectl drain` does: it is cordoned, and the pod's eviction is asked for
// until it is granted. By then another server is primary.
func (m *matrix) drained(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	s, next := m.b.Site(m.primary), m.elsewhere(m.primary, "dublin")[0]
	pod, err := podOf(t.Context(), s, m.servers[s.Name])
	g.Expect(err).NotTo(HaveOccurred())
	evict := func(ctx context.Context) error {
		return s.Clientset.PolicyV1().
			Evictions(pod.Namespace).
			Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
				DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}})
	}
	bed.Wait(t, "the pod has a budget", time.Minute, func(ctx context.Context) (bool, string, error) {
		most, err := m.budget(ctx, s)
		return err == nil && most == 0, fmt.Sprint(err), nil
	})
	g.Expect(apierrors.IsTooManyRequests(evict(t.Context()))).
		To(BeTrue(), "a server of a group is not evicted unannounced")
	cordon := func(ctx context.Context, on bool) error {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, on)
		return s.Client.Patch(
			ctx,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}},
			client.RawPatch("application/merge-patch+json", patch),
		)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = cordon(ctx, false)
	})
	f := history.Fault{Name: "node drained", Target: pod.Spec.NodeName, Injected: history.Now(), RTO: judgedGoal(m.expiry)}
	began := time.Now()
	g.Expect(cordon(t.Context(), true)).To(Succeed())
	bed.Wait(t, "pod "+pod.Name+" is evicted", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := evict(ctx)
		if err != nil && !apierrors.IsTooManyRequests(err) {
			return false, "", err
		}
		return err == nil, fmt.Sprint(err), nil
	})
	_, r, err := m.vote(t.Context(), "dublin")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.State).To(Equal(votes.StateHeld))
	g.Expect(r.Holder.Server).To(Equal(credentials.HostName(m.server(next))), "it switched over before")
	f.Proof = fmt.Sprintf("the primary's pod was evicted %.1f s after its node was cordoned", time.Since(began).Seconds())
	t.Log(f.Proof)
	g.Expect(cordon(t.Context(), false)).To(Succeed())
	f.Healed = history.Now()
	m.primaryAt(next)
	bed.Wait(
		t,
		"the pod may not be evicted any more, and nobody has the turn",
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			most, err := m.budget(ctx, s)
			if err == nil {
				err = m.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(m.group), m.group)
			}
			holder := m.group.Annotations[turnAnnotation]
			return err == nil && most == 0 && holder == "", fmt.Sprintf("%d, turn %q, %v", most, holder, err), nil
		},
	)
	m.over(t, f)
}

// budget is how many pods of a site's server its budget lets go.
func (m *matrix) budget(ctx context.Context, s *bed.Site) (int, error) {
	var b policyv1.PodDisruptionBudget
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: m.servers[s.Name].Name}, &b)
	if err != nil {
		return 0, err
	}
	return b.Spec.MaxUnavailable.IntValue(), nil
}

// renewsACertificate gives a server an endpoint certificate that ends soon: it is replaced by another one on the
// endpoint, and nobody notices.
func (gt *groupTest) renewsACertificate(t *testing.T, w *writer, site string) {
	t.Helper()
	g := NewWithT(t)
	server := gt.servers[site]
	db := open(t, connectorFrom(t, gt.b, shellAt(t, gt.b.Site(site), namespace)), server, credentials.RoleSA, "master")
	shown := func(ctx context.Context) (name string, err error) {
		err = db.Query(
			ctx,
			tsql.Statement{
				Text: "SELECT c.name FROM sys.database_mirroring_endpoints AS e JOIN sys.certificates AS c ON c.certificate_id " +
					"= e.certificate_id",
			},
			func(r mssql.Row) error { return r.Scan(&name) },
		)
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
		bed.Wait(
			t,
			"the renewed certificate is on the endpoint",
			2*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				name, err := shown(ctx)
				return name == fmt.Sprintf("geosql_%s_3", server.Name), name, err
			},
		)
	})
	t.Logf(
		"renewed within %.1f s; the longest time without an acknowledgement was %.1f s",
		time.Since(began).Seconds(),
		gap.Seconds(),
	)
}
