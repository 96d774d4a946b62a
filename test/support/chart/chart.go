// SPDX-License-Identifier: Apache-2.0

// Package chart renders the Helm chart for tests, and finds the program that does.
package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/checkout"
)

// kubernetes is the version that templates are rendered for: the lowest that the chart takes.
const kubernetes = "1.31.0"

// Folder is that of the chart.
func Folder() string { return filepath.Join(checkout.Root(), "charts", "geosql-operator") }

// Helm finds helm as the bed has built it, or hack/tool, or as it is installed. Without it the test is left out, unless
// GEOSQL_REQUIRE_APISERVER says that what the bed builds must be there.
func Helm(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("GEOSQL_BED_CACHE")
	if cache == "" {
		home, _ := os.UserHomeDir()
		cache = filepath.Join(home, ".cache", "geosql-bed")
	}
	for _, folder := range []string{"bin", "tools"} {
		if path := filepath.Join(cache, folder, "helm"); exec.Command(path, "version").Run() == nil {
			return path
		}
	}
	path, err := exec.LookPath("helm")
	switch {
	case err == nil:
		return path
	case os.Getenv("GEOSQL_REQUIRE_APISERVER") == "1":
		t.Fatal("helm is not there: run hack/bed/up --only binaries")
	}
	t.Skip("helm is not there: run hack/bed/up --only binaries")
	return ""
}

// Values writes values, as YAML, into a file of the test and returns its path.
func Values(t testing.TB, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatalf("writing the chart's values: %v", err)
	}
	return file
}

// Objects are what a release is made of.
type Objects []*unstructured.Unstructured

// Render renders the chart with values, as YAML, with its hooks unless the arguments of helm template say otherwise.
// The error has Helm's words.
func Render(t testing.TB, values string, arguments ...string) (Objects, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), Helm(t), append([]string{"template", "geosql-operator", Folder(),
		"--namespace", sites.OperatorNamespace, "--kube-version", kubernetes, "--values", Values(t, values)},
		arguments...)...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("helm template: %w: %s", err, strings.TrimSpace(said.String()))
	}
	decoder := utilyaml.NewYAMLReader(bufio.NewReader(&out))
	var objects Objects
	for {
		document, err := decoder.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		u := &unstructured.Unstructured{}
		if err == nil {
			// Strictly: a key that is there twice is a mistake of the templates.
			err = yaml.UnmarshalStrict(document, &u.Object)
		}
		if err != nil {
			return nil, fmt.Errorf("reading what helm has rendered: %w:\n%s", err, document)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}

// Read writes one of the objects into a typed one. A field that the type does not have fails the test.
func (o Objects) Read(t testing.TB, kind, name string, into any) {
	t.Helper()
	for _, u := range o {
		if u.GetKind() != kind || u.GetName() != name {
			continue
		}
		data, err := u.MarshalJSON()
		if err == nil {
			err = yaml.UnmarshalStrict(data, into)
		}
		if err != nil {
			t.Fatalf("reading %s %s: %v", kind, name, err)
		}
		return
	}
	t.Fatalf("the chart has no %s %s", kind, name)
}
