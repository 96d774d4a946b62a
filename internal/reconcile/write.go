// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// writes is how often something is written at most before a conflict is one.
	writes = 4
	// cacheBehind is how long the cache may need to have what the API server has, cachePoll how often it is asked.
	cacheBehind = time.Second
	cachePoll   = 20 * time.Millisecond
)

// writeOver writes to an object by the version that was read, and again by a newer one whose spec is the same, and of
// which same says that the rest that matters is, too. A look takes long, over the WAN, and whoever annotates an object
// all the time must not keep what was found from being written down, nor an object that goes from going.
func writeOver(
	ctx context.Context,
	hub client.Reader,
	read client.Object,
	same func(newer client.Object) bool,
	write func(version client.Object) error,
) error {
	version := read
	for attempt := 1; ; attempt++ {
		err := write(version)
		if attempt == writes || !apierrors.IsConflict(err) {
			return err
		}
		newer := newerThan(ctx, hub, version)
		if newer == nil || newer.GetUID() != read.GetUID() || newer.GetGeneration() != read.GetGeneration() ||
			!newer.GetDeletionTimestamp().Equal(read.GetDeletionTimestamp()) || !same(newer) {
			return err
		}
		version = newer
	}
}

// newerThan is the object as it is by now; nil when it is not known in time, or gone.
func newerThan(ctx context.Context, hub client.Reader, version client.Object) client.Object {
	var newer client.Object
	err := wait.PollUntilContextTimeout(ctx, cachePoll, cacheBehind, true, func(ctx context.Context) (bool, error) {
		newer = reflect.New(reflect.TypeOf(version).Elem()).Interface().(client.Object)
		if err := hub.Get(ctx, client.ObjectKeyFromObject(version), newer); err != nil {
			return false, err
		}
		return newer.GetResourceVersion() != version.GetResourceVersion(), nil
	})
	if err != nil {
		return nil
	}
	return newer
}
