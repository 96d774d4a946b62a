// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"geosql.dev/operator/api/v1alpha1"
)

// apply carries the steps out and stops at the first that fails.
func (r *reconciler) apply(ctx context.Context, site *v1alpha1.Site, steps []step) error {
	for _, s := range steps {
		// The lock keeps a finalizer that somebody else adds meanwhile.
		before := client.MergeFromWithOptions(site.DeepCopy(), client.MergeFromWithOptimisticLock{})
		switch s.kind {
		case addFinalizer:
			controllerutil.AddFinalizer(site, v1alpha1.Finalizer)
		case removeFinalizer:
			controllerutil.RemoveFinalizer(site, v1alpha1.Finalizer)
		}
		if err := client.IgnoreNotFound(r.hub.Patch(ctx, site, before)); err != nil {
			return fmt.Errorf("%s on Site %s: %w", s.kind, site.Name, err)
		}
	}
	return nil
}
