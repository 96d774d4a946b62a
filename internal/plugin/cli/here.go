// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// ServersHere are the servers of a namespace whose pods are at a site, sorted: what its cluster tells by itself while
// the hub is away.
func ServersHere(ctx context.Context, site client.Reader, namespace string) ([]string, error) {
	var pods corev1.PodList
	if err := site.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(sites.OwnLabels()),
		client.HasLabels{v1alpha1.LabelServer}); err != nil {
		return nil, fmt.Errorf("this cluster is not the hub; list the pods of servers of namespace %s: %w", namespace, err)
	}
	var servers []string
	for _, p := range pods.Items {
		servers = append(servers, p.Labels[v1alpha1.LabelServer])
	}
	slices.Sort(servers)
	return servers, nil
}
