// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// losePrimaryVolumes does what a person does after a node with its disks is gone: the claims of the server's volumes
// are deleted, and its pod. The server comes back with new volumes and an engine that has neither the group nor its
// databases. Nor has it the clients' login, which nobody declares: that is made again.
func losePrimaryVolumes(m *matrix, f *injected) {
	site := m.primary
	at, server := m.b.Site(site), m.servers[site]
	claims := m.claimsOf(at.Client, server)
	for i := range claims {
		// It stays until the pod is gone (kubernetes.io/pvc-protection).
		if err := at.Client.Delete(m.groupTest.t.Context(), &claims[i]); err != nil {
			m.groupTest.t.Fatalf("delete PersistentVolumeClaim %s at %s: %v", claims[i].Name, at.Name, err)
		}
	}
	deletePrimaryPod(m, f, 0)
	ended := f.proof
	f.proof = func(ctx context.Context) (string, error) {
		pods, err := ended(ctx)
		if pods == "" || err != nil {
			return "", err
		}
		for _, old := range claims {
			uid, err := claimUID(ctx, at.Client, client.ObjectKeyFromObject(&old))
			if err != nil || uid == old.UID {
				return "", err
			}
		}
		return fmt.Sprintf("%s, %d claims are gone", pods, len(claims)), nil
	}
	var missing error
	f.healWhen = func(ctx context.Context) bool {
		missing = m.loginAt(ctx, m.connectors[site], site)
		return missing == nil
	}
	f.heal = func() {
		if missing != nil {
			m.groupTest.t.Errorf("the server did not come back: %v", missing)
		}
	}
}

func (m *matrix) claimsOf(c client.Client, server *v1alpha1.SQLServer) []corev1.PersistentVolumeClaim {
	m.groupTest.t.Helper()
	var claims corev1.PersistentVolumeClaimList
	err := c.List(
		m.groupTest.t.Context(),
		&claims,
		client.InNamespace(server.Namespace),
		client.MatchingLabels{v1alpha1.LabelServer: server.Name},
	)
	if err != nil || len(claims.Items) == 0 {
		m.groupTest.t.Fatalf("list the %d claims of %s: %v", len(claims.Items), server.Name, err)
	}
	return claims.Items
}

// claimUID is empty when there is no such claim.
func claimUID(ctx context.Context, c client.Client, key client.ObjectKey) (types.UID, error) {
	var claim corev1.PersistentVolumeClaim
	err := c.Get(ctx, key, &claim)
	return claim.UID, client.IgnoreNotFound(err)
}
