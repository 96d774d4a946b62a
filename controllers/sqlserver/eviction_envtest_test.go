// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

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

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// evictions: a server whose engine hosts a group is not evicted unannounced, one that is alone is not held up.
func (b *bed) evictions(t *testing.T, name string) {
	g := NewWithT(t)
	var atSite corev1.Secret
	g.Expect(get(t, b.site.Client, name+"-credentials", &atSite)()).To(Succeed())
	connector := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
			return mssql.Access{Passwords: atSite.Data, CA: certificateOf(t, b, name)[credentials.KeyCA]}, nil
		}),
		Address: func(mssql.Target) string { return *b.engine.Load() },
	})
	defer connector.Close()
	db, err := connector.Open(
		t.Context(),
		mssql.Target{Namespace: "web", Server: v1alpha1.ServerName(name), Role: credentials.RoleSA},
	)
	g.Expect(err).NotTo(HaveOccurred())
	var budget policyv1.PodDisruptionBudget
	g.Expect(apierrors.IsNotFound(get(t, b.site.Client, name, &budget)())).To(BeTrue(), "a server alone needs none")

	g.Expect(db.Exec(t.Context(), tsql.CreateGroup(tsql.Group{Name: "theirs", ClusterType: tsql.ClusterExternal,
		WriteLease: 3 * time.Second,
		Replicas: []tsql.Replica{
			{Server: name + "-0", EndpointURL: "TCP://" + name + "-0:5022", Mode: tsql.SynchronousCommit},
		}}))).
		To(Succeed())
	allows := func(most int32) {
		b.look(t, name)
		g.Eventually(func() (int32, error) {
			err := get(t, b.site.Client, name, &budget)()
			if err != nil {
				return -1, err
			}
			return budget.Spec.MaxUnavailable.IntVal, nil
		}, patient, often).Should(Equal(most), b.why(t, name))
		// The part of the controller that counts the pods, which does not run here.
		budget.Status = policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: budget.Generation,
			ExpectedPods:       1,
			CurrentHealthy:     1,
			DesiredHealthy:     1 - most,
			DisruptionsAllowed: most,
		}
		g.Expect(b.site.Client.Status().Update(t.Context(), &budget)).To(Succeed())
	}
	evict := func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name + "-0"}}
		return b.site.Client.SubResource("eviction").Create(t.Context(), pod,
			&policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	allows(0)
	g.Expect(apierrors.IsTooManyRequests(evict())).To(BeTrue())
	g.Expect(db.Exec(t.Context(), tsql.DropGroup("theirs"))).To(Succeed())
	allows(1)
	g.Expect(evict()).To(Succeed())
}

// look makes the controller look at a server now.
func (b *bed) look(t *testing.T, name string) {
	t.Helper()
	var s v1alpha1.SQLServer
	g := NewWithT(t)
	g.Expect(get(t, b.hub.Client, name, &s)()).To(Succeed())
	change := client.MergeFrom(s.DeepCopy())
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels["looked"] = fmt.Sprint(time.Now().UnixNano())
	g.Expect(b.hub.Client.Patch(t.Context(), &s, change)).To(Succeed())
}
