// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// readBalancers reads the Services by which a site's servers are exposed, where load balancers do that.
func (c *cluster) readBalancers(ctx context.Context, from client.Reader) {
	if !c.joined || c.site.Exposure.Type != v1alpha1.ExposureLoadBalancer {
		return
	}
	c.balancers = map[string]read[[]corev1.Service]{}
	for _, ns := range c.site.AllowedNamespaces {
		var list corev1.ServiceList
		err := from.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels(sites.OwnLabels()))
		c.balancers[ns] = got(list.Items, said("list the Services of namespace "+ns, err))
	}
}

// judgeBalancers looks for Services that wait for a load balancer: their servers cannot be reached from other sites.
// That a cluster makes load balancers at all shows by the first Service alone.
func judgeBalancers(f *findings, namespace string, services read[[]corev1.Service]) {
	const check = "load-balancers"
	if services.err != nil {
		f.unknown(check, services.err)
		return
	}
	for _, s := range services.is {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
			f.warn(check, fmt.Sprintf("see kubectl -n %s describe service %s: what makes load balancers there says why",
				namespace, s.Name), "Service %s/%s, made %s, has no address yet", namespace, s.Name,
				s.CreationTimestamp.UTC().Format(time.RFC3339))
		}
	}
}
