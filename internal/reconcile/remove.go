// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Remove deletes an object as it was read, and no other one that has taken its name since; one that is gone already is
// no failure. What has no UID was not read: it is an error, and nothing is deleted.
func Remove(ctx context.Context, w client.Writer, seen client.Object, options ...client.DeleteOption) error {
	return remove(ctx, w, seen, false, options)
}

// RemoveUnchanged is Remove of an object that has not changed since it was read: what lets it be deleted stands in it.
// It fails with a conflict where it has.
func RemoveUnchanged(ctx context.Context, w client.Writer, seen client.Object, options ...client.DeleteOption) error {
	return remove(ctx, w, seen, true, options)
}

func remove(
	ctx context.Context,
	w client.Writer,
	seen client.Object,
	unchanged bool,
	options []client.DeleteOption,
) error {
	uid, version := seen.GetUID(), seen.GetResourceVersion()
	if uid == "" || unchanged && version == "" {
		return fmt.Errorf("delete %T %s: %w", seen, client.ObjectKeyFromObject(seen), errNotRead)
	}
	same := client.Preconditions{UID: &uid}
	if unchanged {
		same.ResourceVersion = &version
	}
	return client.IgnoreNotFound(w.Delete(ctx, seen, append(options, same)...))
}
