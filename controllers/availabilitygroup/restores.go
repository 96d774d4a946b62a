// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// restores are the Restores that are to bring a database into the group, also those that are being withdrawn: an agent
// may be at one still.
func (r *Reconciler) restores(ctx context.Context, group *v1alpha1.AvailabilityGroup) ([]v1alpha1.Restore, error) {
	var list v1alpha1.RestoreList
	if err := r.hub.List(ctx, &list, client.InNamespace(group.Namespace)); err != nil {
		return nil, fmt.Errorf("list the Restores of namespace %s: %w", group.Namespace, err)
	}
	var all []v1alpha1.Restore
	for i := range list.Items {
		if x := &list.Items[i]; x.Spec.ToGroup(group.Name, x.Spec.DatabaseName()) {
			all = append(all, *x)
		}
	}
	return all, nil
}
