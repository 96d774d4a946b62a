// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/checkout"
)

func definitions(g *WithT) []apiextensionsv1.CustomResourceDefinition {
	files, err := filepath.Glob(filepath.Join(checkout.Root(), "config/crd/bases/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	list := make([]apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(data, &list[i])).To(Succeed())
	}
	return list
}

// Subscriptions, publications and topologies are also other operators': each kind has a short name that is its own, and
// the user guide has it.
func TestEveryKindHasAShortNameOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	guide, err := os.ReadFile(filepath.Join(checkout.Root(), "docs/user-guide.md"))
	g.Expect(err).NotTo(HaveOccurred())
	kinds := map[string]string{}
	for _, crd := range definitions(g) {
		names := crd.Spec.Names
		g.Expect(names.ShortNames).To(HaveLen(1), names.Kind)
		g.Expect(names.ShortNames[0]).To(HavePrefix("g"), names.Kind)
		g.Expect(kinds).NotTo(HaveKey(names.ShortNames[0]), names.Kind)
		kinds[names.ShortNames[0]] = names.Kind
		g.Expect(names.Categories).To(Equal([]string{"geosql"}), names.Kind)
		g.Expect(string(guide)).To(ContainSubstring(fmt.Sprintf("| %s | `%s` |", names.Kind, names.ShortNames[0])))
	}
}

// What kubectl get prints is read by people and cut at spaces by scripts: what has conditions begins with what Ready
// says of it, unless it has a phase; Age comes last.
func TestPrintedColumnsAreOneSet(t *testing.T) {
	g := NewWithT(t)
	for _, crd := range definitions(g) {
		kind := crd.Spec.Names.Kind
		for _, version := range crd.Spec.Versions {
			var columns []string
			for _, c := range version.AdditionalPrinterColumns {
				g.Expect(c.Name).To(MatchRegexp(`^[A-Z][A-Za-z]*$`), kind)
				columns = append(columns, c.Name)
			}
			g.Expect(columns).NotTo(BeEmpty(), kind)
			g.Expect(columns[len(columns)-1]).To(Equal("Age"), kind)
			status := version.Schema.OpenAPIV3Schema.Properties["status"]
			_, conditions := status.Properties["conditions"]
			_, phase := status.Properties["phase"]
			if conditions && !phase || slices.Contains(columns, "Ready") {
				g.Expect(columns[:2]).To(Equal([]string{"Ready", "Reason"}), kind)
			}
		}
	}
}
