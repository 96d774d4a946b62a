// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// MakeRestore makes the Restore from which a declared database comes.
type MakeRestore struct{ Restore *v1alpha1.Restore }

// Describe names the Restore.
func (s MakeRestore) Describe() string {
	target := s.Restore.Spec.Target
	where := "at the primary"
	if target.Server != "" {
		where = "on " + host(target.Server)
	}
	return fmt.Sprintf("make Restore %s, which restores database %s %s", s.Restore.Name, target.Database, where)
}

// Bringing reads the Restores that are to bring a database to the target, a server or a group.
func Bringing(ctx context.Context, hub client.Reader, namespace string, to v1alpha1.RestoreTarget) ([]v1alpha1.Restore,
	error) {
	var list v1alpha1.RestoreList
	if err := hub.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the Restores of namespace %s: %w", namespace, err)
	}
	return Brings(list.Items, to), nil
}

// Brings are those of the Restores of a namespace that are to bring a database to the target.
func Brings(restores []v1alpha1.Restore, to v1alpha1.RestoreTarget) (all []v1alpha1.Restore) {
	for i := range restores {
		if x := &restores[i]; x.Spec.Brings(x.Spec.DatabaseName(), to) {
			all = append(all, *x)
		}
	}
	return all
}

// Apply makes the Restore. One that is there counts as made if it brings the same database to the same target: a
// manager ended before its cache could see it. fresh reads from the hub's API server.
func (s MakeRestore) Apply(ctx context.Context, hub client.Client, fresh client.Reader) error {
	wanted := s.Restore
	err := hub.Create(ctx, wanted.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var there v1alpha1.Restore
	if err := fresh.Get(ctx, client.ObjectKeyFromObject(wanted), &there); err != nil {
		return fmt.Errorf("look at Restore %s/%s, which is there already: %w", wanted.Namespace, wanted.Name, err)
	}
	if !there.Spec.Brings(wanted.Spec.Target.Database, wanted.Spec.Target) {
		return fmt.Errorf("a Restore %s/%s is there, and does not bring database %s to %s: delete it", wanted.Namespace,
			wanted.Name, wanted.Spec.Target.Database, wanted.Spec.Target.Named())
	}
	return nil
}
