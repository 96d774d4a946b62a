// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// kubectl explain says something about every field.
func TestEveryFieldIsDescribed(t *testing.T) {
	g := NewWithT(t)
	for _, crd := range definitions(g) {
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
