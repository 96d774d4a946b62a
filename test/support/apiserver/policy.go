// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"geosql.dev/operator/test/support/checkout"
)

// addPolicies makes the rules that the chart has the API server keep by itself, without a webhook. They are in force
// within some seconds.
func (a *Server) addPolicies(t testing.TB) {
	t.Helper()
	file := filepath.Join("config", "webhook", "webhook.yaml")
	data, err := os.ReadFile(filepath.Join(checkout.Root(), file))
	if err != nil {
		t.Fatal(err)
	}
	decoder, made := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096), 0
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		if !strings.HasPrefix(u.GetKind(), "ValidatingAdmissionPolicy") {
			continue
		}
		if err := a.Client.Create(t.Context(), u); err != nil {
			t.Fatalf("creating %s %s: %v", u.GetKind(), u.GetName(), err)
		}
		made++
	}
	if made == 0 {
		t.Fatalf("%s has no ValidatingAdmissionPolicy: run make manifests", file)
	}
}
