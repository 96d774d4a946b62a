// SPDX-License-Identifier: Apache-2.0

package names

import (
	"encoding/json"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
)

// keyOf is the key of an object that has names.
func keyOf(obj client.Object) string {
	if _, server := obj.(*v1alpha1.SQLServer); server {
		return orders.ServerKey(obj.GetName())
	}
	return orders.GroupKey(obj.GetName())
}

// declaration is what the hub says of the names of a namespace.
type declaration struct {
	orders.Names
	// withdrawn are Sites of which the hub says itself that they are none of the namespace's any more: they are going, or
	// do not allow it. That it does not know a site says nothing.
	withdrawn []string
	// resting are the keys of suspended objects whose names were not begun with.
	resting []string
}

// unknown tells that the hub says nothing of a site.
func (d declaration) unknown(site string) bool {
	return !slices.Contains(d.withdrawn, site) &&
		!slices.ContainsFunc(d.Sites, func(s orders.NamedSite) bool { return s.Name == site })
}

// tell returns the keys that a site is to have, which had those before. What the hub does not know stays: the key of a
// server or a group goes with the object's own finalizer. Of a suspended object nothing is told that was not told
// before; what was told follows its pods and elections.
func (d declaration) tell(had map[string]string) (map[string]string, error) {
	names := d.Names
	names.Groups = slices.Clone(names.Groups)
	for i := range names.Groups {
		names.Groups[i] = known(names.Groups[i], had)
	}
	declared, err := names.Keys()
	if err != nil {
		return nil, err
	}
	for _, key := range d.resting {
		if _, begun := had[key]; !begun {
			delete(declared, key)
		}
	}
	keys := maps.Clone(had)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, declared)
	for _, site := range d.withdrawn {
		delete(keys, orders.SiteKey(site))
	}
	return keys, nil
}

// known is a group with what the site knows of it where the hub has seen nothing yet: one whose status names no voters,
// because the manifests were applied a moment ago, has no primary to tell of either.
func known(g orders.NamedGroup, had map[string]string) orders.NamedGroup {
	var before orders.NamedGroup
	if len(g.Voters) > 0 || json.Unmarshal([]byte(had[orders.GroupKey(g.Name)]), &before) != nil {
		return g
	}
	if len(before.Voters) > 0 {
		g.Voters, g.Primary, g.Readers, g.Outside = before.Voters, before.Primary, before.Readers, before.Outside
	}
	return g
}
