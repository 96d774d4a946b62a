// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// makeRestore makes a Restore. One that is there counts as made if it is of this group: a manager ended before it could
// see it.
func (r *Reconciler) makeRestore(ctx context.Context, wanted *v1alpha1.Restore) error {
	err := r.hub.Create(ctx, wanted.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var there v1alpha1.Restore
	if err := r.secrets.Get(ctx, client.ObjectKeyFromObject(wanted), &there); err != nil {
		return fmt.Errorf("look at Restore %s/%s, which is there already: %w", wanted.Namespace, wanted.Name, err)
	}
	if !there.Spec.ToGroup(string(wanted.Spec.Target.AvailabilityGroup), wanted.Spec.Target.Database) {
		return fmt.Errorf("a Restore %s/%s is there, and does not bring database %s to this group: delete it",
			wanted.Namespace, wanted.Name, wanted.Spec.Target.Database)
	}
	return nil
}
