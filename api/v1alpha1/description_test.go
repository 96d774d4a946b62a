// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/checkout"
)

// kubectl explain says something about every field.
func TestEveryFieldIsDescribed(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(checkout.Root(), "config/crd/bases/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(data, &crd)).To(Succeed())
		for _, version := range crd.Spec.Versions {
			described(t, crd.Spec.Names.Kind, version.Schema.OpenAPIV3Schema)
		}
	}
}

func described(t *testing.T, path string, schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	for name, field := range schema.Properties {
		at := path + "." + name
		// The API server itself describes metadata.
		if field.Description == "" && name != "metadata" {
			t.Errorf("%s has no description", at)
		}
		described(t, at, &field)
	}
	if schema.Items != nil {
		described(t, path+"[]", schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		described(t, path+"{}", schema.AdditionalProperties.Schema)
	}
}
