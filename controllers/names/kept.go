// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
)

const (
	// presenceLife is how old the presence of a site's process may be. It is compared by wall clocks: a site whose clock
	// is wrong is only taken for one that keeps nothing itself.
	presenceLife = 20 * time.Second
	// patience is how long something may stay wrong at a site that keeps its names itself before the manager puts it
	// right. It is longer than sites.Options.UnknownAfter, after which stale caches do not count any more: of two that see
	// different things, the one that is right must not be overruled by the other.
	patience = 25 * time.Second
	// behindAfter is how long the site's process may take before the condition says that it is behind.
	behindAfter = 10 * time.Second
)

// present tells whether the site's own process keeps the names of the namespace.
func present(ctx context.Context, member *sites.Member, namespace string, now time.Time) bool {
	var lease coordinationv1.Lease
	err := member.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.PresenceLease}, &lease)
	return err == nil && lease.Spec.RenewTime != nil && now.Sub(lease.Spec.RenewTime.Time) < presenceLife
}

// readDeclared reads what a site was told to keep in a namespace; nothing when it was told nothing.
func readDeclared(ctx context.Context, member *sites.Member, namespace string) (orders.Names, error) {
	var object corev1.ConfigMap
	err := member.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.NamesObject}, &object)
	if apierrors.IsNotFound(err) {
		return orders.Names{}, errNotTold
	}
	if err != nil {
		return orders.Names{}, fmt.Errorf(
			"reading ConfigMap %s/%s at site %s: %w",
			namespace,
			orders.NamesObject,
			member.Name(),
			err,
		)
	}
	return orders.DecodeNames(object.Data)
}

// errNotTold says that a site was not told which names there are.
var errNotTold = errors.New("the hub has not said yet which names there are")

// observeKeeping finds out whether the site keeps the namespace's names itself, and was told of the object's.
// A process that is not there now comes back, and makes what it was told of.
func (v *siteView) observeKeeping(ctx context.Context, obj client.Object, now time.Time) (err error) {
	v.keeps = present(ctx, v.member, obj.GetNamespace(), now)
	if v.told, err = told.Read(ctx, v.member.Client, obj.GetNamespace()); err != nil {
		return err
	}
	v.declares = v.told.Has(keyOf(obj))
	return nil
}

// wrongs remembers since when an object's names have been wrong at sites that keep them themselves.
type wrongs struct {
	mu    sync.Mutex
	since map[string]map[v1alpha1.SiteName]time.Time
}

func objectKey(obj client.Object) string {
	return fmt.Sprintf("%T/%s/%s", obj, obj.GetNamespace(), obj.GetName())
}

func (k *wrongs) of(obj client.Object) map[v1alpha1.SiteName]time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.since[objectKey(obj)]
}

// remember keeps what a plan found wrong; what is right is forgotten.
func (k *wrongs) remember(obj client.Object, since map[v1alpha1.SiteName]time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.since == nil {
		k.since = map[string]map[v1alpha1.SiteName]time.Time{}
	}
	if len(since) == 0 {
		delete(k.since, objectKey(obj))
		return
	}
	k.since[objectKey(obj)] = since
}
