// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/sites"
)

// left is what is left of a server that is being deleted.
type left struct {
	// Site is why the site can't be used; Namespace why nothing of the server can be there or be done about it.
	Site, Namespace error
	// Set is the StatefulSet's UID, empty when there is none of this server's; Ending tells that it is being deleted.
	Set    types.UID
	Ending bool
	// Pod tells that the server's pod is there.
	Pod bool
}

// observeLeft looks at what is left. The API server is asked, not the cache: the volumes may follow.
func (r *Reconciler) observeLeft(ctx context.Context, d Desired) (Observed, error) {
	var o Observed
	if o.left.Site = d.unusable; o.left.Site != nil {
		return o, nil
	}
	if o.left.Namespace = d.member.CheckNamespace(d.Server.Namespace); o.left.Namespace != nil {
		return o, nil
	}
	if err := o.left.read(ctx, d.member.APIReader, d); err != nil {
		if !unreachable(err) {
			return o, err
		}
		o.left = left{Site: &sites.UnreachableError{Site: d.Server.Spec.Site, Since: r.now(), Cause: err}}
	}
	return o, nil
}

func (l *left) read(ctx context.Context, reader client.Reader, d Desired) error {
	var set appsv1.StatefulSet
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: d.Server.Name}
	if err := reader.Get(ctx, key, &set); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read StatefulSet %s: %w", key, err)
	} else if err == nil && owned(d, set.Labels) {
		l.Set, l.Ending = set.UID, set.DeletionTimestamp != nil
	}
	var pod corev1.Pod
	key.Name = d.host()
	err := reader.Get(ctx, key, &pod)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read pod %s: %w", key, err)
	}
	l.Pod = err == nil && owned(d, pod.Labels)
	return nil
}
