// SPDX-License-Identifier: Apache-2.0

package sites

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HubCache is what the hub's manager caches for a Provider whose Secrets are in the namespace: the Secrets there, which
// are watched, and none elsewhere, since the manager has no right to list those.
func HubCache(namespace string) cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{namespace: {}}},
		},
	}
}

// HubClient reads objects past the cache where they are needed one by one, in the namespaces of the servers.
func HubClient() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}, &corev1.Namespace{}, &corev1.ConfigMap{}},
	}}
}
