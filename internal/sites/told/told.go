// SPDX-License-Identifier: Apache-2.0

// Package told is what the hub leaves at a site of the names of a namespace (ConfigMap geosql-names), for the site's
// own process, and how a key of it is taken away again.
package told

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
)

// Names are what a site was told of the names of a namespace, as they were read.
type Names struct {
	// Keys are those of objects (orders.SiteKey, ServerKey, GroupKey), with their values.
	Keys map[string]string
	meta metav1.ObjectMeta
	data map[string]string
}

// Read reads them, with a Member's Client from its cache; empty when the site was told nothing.
func Read(ctx context.Context, site client.Reader, namespace string) (Names, error) {
	var object corev1.ConfigMap
	err := site.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.NamesObject}, &object)
	if client.IgnoreNotFound(err) != nil {
		return Names{}, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, orders.NamesObject, err)
	}
	n := Names{data: object.Data, meta: Meta(namespace, orders.NamesObject)}
	n.meta.ResourceVersion = object.ResourceVersion
	// What cannot be read of an earlier release's is written anew.
	n.Keys, _ = orders.ReadKeys(object.Data)
	return n, nil
}

// Meta is that of an object that the hub leaves at a site.
func Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: sites.OwnLabels()}
}

// Has tells whether the site was told of an object.
func (n Names) Has(key string) bool {
	_, has := n.Keys[key]
	return has
}

// With is the ConfigMap with these keys, to be applied while it is as it was read (sites.ApplyUnchanged); nil when it
// has them.
func (n Names) With(keys map[string]string) (*corev1.ConfigMap, error) {
	data, err := orders.NamesData(keys)
	if err != nil || maps.Equal(data, n.data) {
		return nil, err
	}
	return &corev1.ConfigMap{ObjectMeta: n.meta, Data: data}, nil
}

// Without is the ConfigMap without an object's key.
func (n Names) Without(key string) (*corev1.ConfigMap, error) {
	keys := maps.Clone(n.Keys)
	delete(keys, key)
	return n.With(keys)
}
