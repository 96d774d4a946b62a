// SPDX-License-Identifier: Apache-2.0

//go:build integration

package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/checkout"
)

// marker is a controller's word of what it does with the operator's own kinds.
var marker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=geosql\.dev,resources=([a-z;/]+),verbs=([a-z;]+)$`)

// TestManagerMayDoWhatItsCodeSays: of the operator's own kinds the manager's ClusterRole grants what the markers of the
// code ask for, and no more. That they ask for enough the controllers' tests show, whose managers have this role.
func TestManagerMayDoWhatItsCodeSays(t *testing.T) {
	g := NewWithT(t)
	asked := map[string]bool{}
	for _, folder := range []string{"controllers", "internal", "cmd/geosql"} {
		err := filepath.WalkDir(filepath.Join(checkout.Root(), folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range marker.FindAllStringSubmatch(string(source), -1) {
				rights(asked, strings.Split(m[1], ";"), strings.Split(m[2], ";"))
			}
			return err
		})
		g.Expect(err).NotTo(HaveOccurred())
	}
	granted := map[string]bool{}
	for _, rule := range apiserver.ManagerRole(t).Rules {
		if slices.Contains(rule.APIGroups, v1alpha1.GroupVersion.Group) {
			g.Expect(rule.APIGroups).To(HaveLen(1), "a rule for the operator's own kinds has no others")
			rights(granted, rule.Resources, rule.Verbs)
		}
	}
	g.Expect(asked).NotTo(BeEmpty())
	g.Expect(slices.Sorted(maps.Keys(granted))).To(Equal(slices.Sorted(maps.Keys(asked))))
}

func rights(into map[string]bool, resources, verbs []string) {
	for _, resource := range resources {
		for _, verb := range verbs {
			into[resource+" "+verb] = true
		}
	}
}
