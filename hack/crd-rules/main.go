// SPDX-License-Identifier: Apache-2.0

// Command crd-rules compares what crdify does not of the CRDs of two folders: kinds and versions that are gone, and
// rules (x-kubernetes-validations) that are new where something was taken without them. It writes copies of both
// without rules and descriptions, which crdify compares. hack/verify-crds runs it.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	refused, err := run(os.Args[1:])
	for _, line := range refused {
		fmt.Println("refused: " + line)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "crd-rules: "+err.Error())
		os.Exit(2)
	case len(refused) > 0:
		os.Exit(1)
	}
}

func run(args []string) (refused []string, err error) {
	if len(args) != 4 {
		return nil, errors.New("usage: crd-rules RELEASED NOW LOOSER OUT")
	}
	looser, err := listed(args[2])
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(args[0], "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no CRD in %s", args[0])
	}
	for _, file := range files {
		name := filepath.Base(file)
		released, err := read(file)
		if err != nil {
			return nil, err
		}
		now, err := read(filepath.Join(args[1], name))
		if errors.Is(err, os.ErrNotExist) {
			refused = append(refused, name+": the kind is gone")
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, what := range compare(released, now, looser) {
			refused = append(refused, name+": "+what)
		}
		for folder, crd := range map[string]*apiextensionsv1.CustomResourceDefinition{"released": released, "now": now} {
			if err := write(filepath.Join(args[3], folder, name), crd); err != nil {
				return nil, err
			}
		}
	}
	return refused, nil
}

func read(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return crd, nil
}

// write writes a CRD without what was compared already, and without what compares as nothing.
func write(file string, crd *apiextensionsv1.CustomResourceDefinition) error {
	bare := crd.DeepCopy()
	for i := range bare.Spec.Versions {
		walk("", schemaOf(&bare.Spec.Versions[i]), func(_ string, s *apiextensionsv1.JSONSchemaProps) {
			s.XValidations, s.Description, s.Title = nil, "", ""
		})
	}
	data, err := yaml.Marshal(bare)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// listed are rules that are newer than the release and refuse nothing that it took: a line each, with the reason in a
// comment before. No file, none.
func listed(file string) (map[string]bool, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	rules := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			rules[line] = true
		}
	}
	return rules, err
}

// compare says what a CRD takes no more of what it took.
func compare(released, now *apiextensionsv1.CustomResourceDefinition, looser map[string]bool) (refused []string) {
	a, b := released.Spec, now.Spec
	if a.Group != b.Group || a.Names.Kind != b.Names.Kind || a.Names.Plural != b.Names.Plural {
		refused = append(refused, fmt.Sprintf("it was %s.%s of kind %s", a.Names.Plural, a.Group, a.Names.Kind))
	}
	for i := range a.Versions {
		version := &a.Versions[i]
		at := slices.IndexFunc(b.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version.Name && (v.Served || !version.Served)
		})
		if at < 0 {
			refused = append(refused, "version "+version.Name+" is served no more")
			continue
		}
		had, has := rulesOf(version), rulesOf(&b.Versions[at])
		for _, path := range slices.Sorted(maps.Keys(has)) {
			for _, rule := range has[path] {
				if before, there := had[path]; there && !slices.Contains(before, rule) && !looser[rule] {
					refused = append(refused, fmt.Sprintf("%s%s: new rule: %s", version.Name, path, rule))
				}
			}
		}
	}
	return refused
}

// rulesOf are the rules of a version by field, those of fields without any too.
func rulesOf(version *apiextensionsv1.CustomResourceDefinitionVersion) map[string][]string {
	rules := map[string][]string{}
	walk("", schemaOf(version), func(path string, s *apiextensionsv1.JSONSchemaProps) {
		rules[path] = nil
		for _, r := range s.XValidations {
			rules[path] = append(rules[path], r.Rule)
		}
	})
	return rules
}

func schemaOf(version *apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.JSONSchemaProps {
	if version.Schema == nil {
		return nil
	}
	return version.Schema.OpenAPIV3Schema
}

// walk visits a schema and those of all its fields. Rules stand nowhere else: the API server takes none in allOf and
// its like.
func walk(path string, s *apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	if s == nil {
		return
	}
	visit(path, s)
	for name, field := range s.Properties {
		walk(path+"."+name, &field, visit)
		s.Properties[name] = field
	}
	if s.Items != nil {
		walk(path+"[]", s.Items.Schema, visit)
	}
	if s.AdditionalProperties != nil {
		walk(path+"{}", s.AdditionalProperties.Schema, visit)
	}
}
