// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/e2e/bed"
)

// Of two managers the one that leads is evicted, as when its node is drained: every object that is written meanwhile is
// admitted, the other one may not be evicted, and another one leads.
func TestOneOfTwoManagersGoes(t *testing.T) {
	bed.Disturbs(t, 60).Alone()
	g, ctx := NewWithT(t), t.Context()
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	hub := b.Hub()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if _, err := managers(ctx, t, hub, 1); err != nil {
			t.Error(err)
		}
	})
	pods, err := managers(ctx, t, hub, 2)
	g.Expect(err).NotTo(HaveOccurred())
	bed.Wait(t, "one manager may be evicted", time.Minute, func(ctx context.Context) (bool, string, error) {
		var budget policyv1.PodDisruptionBudget
		err := hub.Client.Get(ctx, client.ObjectKey{Namespace: sites.OperatorNamespace, Name: "geosql-operator"}, &budget)
		return budget.Status.DisruptionsAllowed == 1, fmt.Sprint(budget.Status), err
	})
	leading, standing := pods[0], pods[1]
	if now, err := leader(ctx, hub); err != nil || now == standing.Name {
		g.Expect(err).NotTo(HaveOccurred())
		leading, standing = standing, leading
	}
	evict := func(pod corev1.Pod) error {
		return hub.Clientset.PolicyV1().Evictions(pod.Namespace).Evict(ctx,
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
	}

	admitted, stop := admits(t, hub)
	defer stop()
	g.Expect(evict(leading)).To(Succeed())
	g.Expect(apierrors.IsTooManyRequests(evict(standing))).To(BeTrue(), "both are not evicted at once")
	// The one that takes the place of the evicted pod may be the first to see that nobody leads.
	bed.Wait(t, "another one leads", time.Minute, func(ctx context.Context) (bool, string, error) {
		now, err := leader(ctx, hub)
		return now != "" && now != leading.Name, now + " leads", err
	})
	_, err = managers(ctx, t, hub, 2)
	g.Expect(err).NotTo(HaveOccurred())
	stop()
	t.Logf("%d objects were admitted meanwhile", admitted())
	g.Expect(admitted()).To(BeNumerically(">", 50))
}

// managers has so many managers work, and returns their pods once these are ready and no others are left.
func managers(ctx context.Context, t *testing.T, hub *bed.Site, number int) (pods []corev1.Pod, err error) {
	t.Helper()
	_, _, err = hub.Kubectl(ctx, "-n", sites.OperatorNamespace, "scale", "deploy/geosql-operator", "--replicas",
		strconv.Itoa(number))
	if err != nil {
		return nil, fmt.Errorf("scale the manager: %w", err)
	}
	err = bed.Until(t, fmt.Sprintf("%d managers are ready", number), 2*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			var list corev1.PodList
			err := hub.Client.List(ctx, &list, client.InNamespace(sites.OperatorNamespace),
				client.MatchingLabels{"app.kubernetes.io/name": "geosql-operator"})
			pods = list.Items
			for i := range pods {
				if pods[i].DeletionTimestamp != nil || !bed.Ready(&pods[i]) {
					return false, pods[i].Name + " goes, or is not ready", err
				}
			}
			return len(pods) == number, fmt.Sprintf("%d pods", len(pods)), err
		})
	return pods, err
}

// leader is the pod of the manager that leads.
func leader(ctx context.Context, hub *bed.Site) (string, error) {
	var lease coordinationv1.Lease
	err := hub.Client.Get(ctx, client.ObjectKey{Namespace: sites.OperatorNamespace, Name: "geosql-operator"}, &lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod, nil
}

// admits writes an object of the operator's again and again, as a dry run, which the webhook admits. One that is
// refused fails the test. It counts them until it is stopped, which may be done twice.
func admits(t *testing.T, hub *bed.Site) (admitted func() int, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended, count := make(chan struct{}), 0
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "e2e-admitted"}, Spec: v1alpha1.SiteSpec{
				KubeconfigSecretRef: &v1alpha1.SecretReference{Name: "e2e-admitted"}, AllowedNamespaces: []string{namespace},
				Exposure: v1alpha1.Exposure{Type: v1alpha1.ExposureFlatNetwork}}}
			err := hub.Client.Create(ctx, site, client.DryRunAll)
			if err != nil && ctx.Err() == nil {
				t.Errorf("an object was not admitted while one of two managers went: %v", err)
			}
			count++
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	stop = func() { cancel(); <-ended }
	return func() int { <-ended; return count }, stop
}
