// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
)

// desireVoid asks the API server itself whether a request is for other articles: it is void for good then, and what is
// cached of the Publication may be older than the request.
func (r *Reconciler) desireVoid(ctx context.Context, d *Desired) error {
	request := d.Subscription.Annotations[v1alpha1.ReinitializeAnnotation]
	have := d.Subscription.Status.Reinitialization
	if d.deleting() || !replication.Void(d.Publication, request) || have != nil && have.Request == request {
		return nil
	}
	var now v1alpha1.Publication
	if err := r.server.Get(ctx, client.ObjectKeyFromObject(d.Publication), &now); err != nil {
		return fmt.Errorf("read Publication %s/%s from the API server: %w", d.Publication.Namespace, d.publication(), err)
	}
	if replication.Void(&now, request) {
		d.Void = request
	}
	return nil
}
