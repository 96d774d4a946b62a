// SPDX-License-Identifier: Apache-2.0

// Package examples_test looks at all examples and samples at once.
package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/checkout"
)

// Whoever is primary, an example works: what a replica may do as a secondary, the one that was primary first may do
// when it is a secondary.
func TestExamplesWorkWithEveryReplicaAsPrimary(t *testing.T) {
	groups := 0
	look := func(g Gomega, where string, spec v1alpha1.AvailabilityGroupSpec) {
		groups++
		var readable, not []string
		for _, r := range spec.Replicas {
			switch {
			case r.AvailabilityMode == v1alpha1.ConfigurationOnly:
			case r.Readable:
				readable = append(readable, string(r.Server))
			default:
				not = append(not, string(r.Server))
			}
		}
		g.Expect(len(readable) == 0 || len(not) == 0).
			To(BeTrue(), "%s: %v can be read as secondaries, %v cannot", where, readable, not)
	}
	for _, folder := range []string{"examples", "config/samples"} {
		g := NewWithT(t)
		g.Expect(filepath.WalkDir(filepath.Join(checkout.Root(), folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			data, err := os.ReadFile(path)
			g.Expect(err).NotTo(HaveOccurred())
			for _, document := range strings.Split(string(data), "\n---") {
				var object struct {
					Kind string `json:"kind"`
				}
				g.Expect(yaml.Unmarshal([]byte(document), &object)).To(Succeed(), path)
				var topology v1alpha1.Topology
				var group v1alpha1.AvailabilityGroup
				switch object.Kind {
				case "Topology":
					g.Expect(yaml.Unmarshal([]byte(document), &topology)).To(Succeed(), path)
					for _, x := range topology.Spec.AvailabilityGroups {
						look(g, path, x.AvailabilityGroupSpec)
					}
				case "AvailabilityGroup":
					g.Expect(yaml.Unmarshal([]byte(document), &group)).To(Succeed(), path)
					look(g, path, group.Spec)
				}
			}
			return nil
		})).To(Succeed())
	}
	NewWithT(t).Expect(groups).To(BeNumerically(">=", 4))
}
