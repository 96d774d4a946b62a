// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
)

// initialPrimaryMayGo: who creates a group is judged when the group is declared, by itself or in a Topology, and never
// again. The server may become asynchronous and be replaced; the name stays what it was.
func initialPrimaryMayGo(t *testing.T, hub *apiserver.Server, cached client.Reader) {
	alone := parseOne(t, with(group, "NAME", "g"))
	whole := parseOne(t, with(topology, "NAME", "t"))
	member := map[string]any{"name": "g"}
	for key, value := range alone.Object["spec"].(map[string]any) {
		member[key] = value
	}
	spec := whole.Object["spec"].(map[string]any)
	spec["availabilityGroups"] = []any{member}
	for _, server := range []string{"a", "b", "c", "e"} {
		spec["servers"] = append(spec["servers"].([]any), map[string]any{"name": server, "site": "tukwila"})
	}
	const synchronous = v1alpha1.SynchronousCommit
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		group  func(*unstructured.Unstructured) map[string]any
	}{
		"a group": {alone, func(u *unstructured.Unstructured) map[string]any { return u.Object["spec"].(map[string]any) }},
		"a Topology's": {whole, func(u *unstructured.Unstructured) map[string]any {
			return u.Object["spec"].(map[string]any)["availabilityGroups"].([]any)[0].(map[string]any)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			defer clean(t, hub, cached)
			changed := func(initial string, modes ...v1alpha1.AvailabilityMode) *unstructured.Unstructured {
				u := c.object.DeepCopy()
				replicas := []any{}
				for i, server := range []string{"a", "b", "c", "e"} {
					if modes[i] != "" {
						replicas = append(replicas, map[string]any{"server": server, "availabilityMode": string(modes[i])})
					}
				}
				c.group(u)["replicas"], c.group(u)["initialPrimary"] = replicas, initial
				return u
			}
			tries := func(u *unstructured.Unstructured) error { return apply(t.Context(), hub.Client, u) }
			three := changed("a", synchronous, synchronous, synchronous, "")
			asynchronous := changed("a", v1alpha1.AsynchronousCommit, synchronous, synchronous, synchronous)
			replaced := changed("a", "", synchronous, synchronous, synchronous)
			for _, u := range []*unstructured.Unstructured{asynchronous, replaced} {
				g.Expect(tries(u)).To(MatchError(ContainSubstring(
					"initialPrimary must be one of the synchronous replicas when the group is declared")))
			}
			g.Expect(tries(three)).To(Succeed())
			g.Expect(tries(asynchronous)).To(Succeed())
			g.Expect(tries(replaced)).To(Succeed())
			g.Expect(tries(changed("e", "", synchronous, synchronous, synchronous))).
				To(MatchError(ContainSubstring("initialPrimary is immutable")))
		})
	}
}
