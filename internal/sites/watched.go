// SPDX-License-Identifier: Apache-2.0

package sites

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// WatchedObject is a kind that is cached for every site before the site is engaged.
type WatchedObject struct {
	// Object of the kind, empty.
	Object client.Object
	// OwnOnly says that only objects with the label app.kubernetes.io/managed-by: geosql-operator are cached.
	OwnOnly bool
	// ClusterScoped says that the kind has no namespace.
	ClusterScoped bool
}

// WatchedObjects are the kinds that controllers may watch at sites and read from Member.Client. A controller that
// watched another kind would hold up the engagement of every site until the cache of a dead one answers; so the list is
// closed, and the credentials that `site join` mints may list and watch exactly these.
//
// Services, StatefulSets and PersistentVolumeClaims are cached whole, because a foreign one of a server's name is a
// conflict to report.
func WatchedObjects() []WatchedObject {
	return []WatchedObject{
		{Object: &appsv1.StatefulSet{}},
		{Object: &corev1.Service{}},
		{Object: &corev1.PersistentVolumeClaim{}},
		{Object: &corev1.Pod{}, OwnOnly: true},
		{Object: &corev1.Secret{}, OwnOnly: true},
		{Object: &corev1.ConfigMap{}, OwnOnly: true},
		{Object: &discoveryv1.EndpointSlice{}, OwnOnly: true},
		{Object: &coordinationv1.Lease{}, OwnOnly: true},
		{Object: &storagev1.CSIStorageCapacity{}},
		{Object: &corev1.Node{}, ClusterScoped: true},
		{Object: &corev1.PersistentVolume{}, ClusterScoped: true},
		{Object: &storagev1.StorageClass{}, ClusterScoped: true},
		{Object: &storagev1.CSINode{}, ClusterScoped: true},
	}
}

// OwnLabels selects what the operator made.
func OwnLabels() labels.Set { return labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy} }

// cacheOptions restricts a site's cache to what the credentials may read.
func cacheOptions(watched []WatchedObject, namespaces []string) cache.Options {
	inNamespaces := map[string]cache.Config{}
	for _, ns := range namespaces {
		inNamespaces[ns] = cache.Config{}
	}
	byObject := map[client.Object]cache.ByObject{}
	for _, w := range watched {
		by := cache.ByObject{}
		if w.OwnOnly {
			by.Label = OwnLabels().AsSelector()
		}
		if _, ok := w.Object.(*storagev1.CSIStorageCapacity); ok {
			// Drivers publish capacity in their own namespace; the ClusterRole lets it be read everywhere.
			by.Namespaces = map[string]cache.Config{cache.AllNamespaces: {}}
		}
		byObject[w.Object] = by
	}
	strip := cache.TransformStripManagedFields()
	return cache.Options{
		DefaultNamespaces:           inNamespaces,
		ByObject:                    byObject,
		DefaultTransform:            strip,
		ReaderFailOnMissingInformer: true,
	}
}
