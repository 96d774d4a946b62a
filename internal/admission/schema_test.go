// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/checkout"
)

type schema = apiextensionsv1.JSONSchemaProps

// rule is one demand of a kind's schema on a field, and what the refusal of what breaks it must say.
type rule struct {
	kind string
	// path has [] for a list's items.
	path []string
	// says are fragments of the message.
	says []string
	// wrong is a value that breaks it. A rule without one compares fields: a manifest of the tables breaks it.
	wrong any
	// absent is the rule that the field is given, item that no two items of the list are the same: the second is named.
	absent, item bool
}

// field is the path as the API server writes it, with [] for an index.
func (r rule) field() string {
	path := r.path
	if r.item {
		path = below(path, "[]")
	}
	return strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")
}

func (r rule) String() string {
	return fmt.Sprintf("%s %s: %s", r.kind, r.field(), strings.Join(r.says, " ... "))
}

// below is the path of something below another.
func below(path []string, names ...string) []string { return append(slices.Clone(path), names...) }

// schemas are those of the kinds, without status and metadata.
func schemas(t *testing.T) map[string]schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(checkout.Root(), "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("finding the CRDs: %v, %d files", err, len(files))
	}
	kinds := map[string]schema{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			t.Fatal(err)
		}
		s := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		delete(s.Properties, "status")
		delete(s.Properties, "metadata")
		kinds[crd.Spec.Names.Kind] = s
	}
	return kinds
}

// rules lists those of a schema and of everything below it.
func rules(kind string, path []string, s schema) []rule {
	all := append(bounds(kind, path, s), expressions(kind, path, s)...)
	for _, name := range s.Required {
		all = append(all, rule{kind: kind, path: below(path, name), says: []string{"Required value"}, absent: true})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all = append(all, rules(kind, below(path, name), s.Properties[name])...)
	}
	if s.Items != nil {
		all = append(all, rules(kind, below(path, "[]"), *s.Items.Schema)...)
	}
	return all
}

// bounds are the rules of one value: its list, range, length and number.
func bounds(kind string, path []string, s schema) (all []rule) {
	breaks := func(wrong any, says ...string) {
		all = append(all, rule{kind: kind, path: slices.Clone(path), says: says, wrong: wrong})
	}
	if len(s.Enum) > 0 {
		says := []string{"supported values: "}
		for _, e := range s.Enum {
			says = append(says, string(e.Raw))
		}
		breaks("Wrong", says...)
	}
	if s.Minimum != nil {
		breaks(int64(*s.Minimum)-1, fmt.Sprintf("should be greater than or equal to %d", int64(*s.Minimum)))
	}
	if s.Maximum != nil {
		breaks(int64(*s.Maximum)+1, fmt.Sprintf("should be less than or equal to %d", int64(*s.Maximum)))
	}
	if s.MinLength != nil {
		breaks("", fmt.Sprintf("should be at least %d chars long", *s.MinLength))
	}
	if s.MaxLength != nil {
		breaks(strings.Repeat("a", int(*s.MaxLength)+1), fmt.Sprintf("may not be more than %d bytes", *s.MaxLength))
	}
	if s.MinItems != nil {
		breaks([]any{}, fmt.Sprintf("should have at least %d items", *s.MinItems))
	}
	if s.MaxItems != nil {
		breaks(slices.Repeat([]any{least(*s.Items.Schema)}, int(*s.MaxItems)+1), fmt.Sprintf("must have at most %d item",
			*s.MaxItems))
	}
	if s.MaxProperties != nil {
		many := map[string]any{}
		for i := range *s.MaxProperties + 1 {
			many[fmt.Sprintf("key.k%d", i)] = "v"
		}
		breaks(many, fmt.Sprintf("must have at most %d item", *s.MaxProperties))
	}
	if kind := s.XListType; kind != nil && *kind != "atomic" {
		breaks(slices.Repeat([]any{least(*s.Items.Schema)}, 2), "Duplicate value")
		all[len(all)-1].item = true
	}
	return all
}

// expressions are a schema's rules in CEL.
func expressions(kind string, path []string, s schema) (all []rule) {
	for _, v := range s.XValidations {
		r := rule{kind: kind, path: slices.Clone(path), says: []string{v.Message}}
		if v.FieldPath != "" {
			r.path = below(path, strings.Split(strings.TrimPrefix(v.FieldPath, "."), ".")...)
		}
		switch last := r.path[max(0, len(r.path)-1):]; {
		case strings.Contains(v.Rule, "oldSelf"):
		case strings.HasPrefix(v.Message, "a quantity is a number"):
			r.wrong = "5GB"
			if last[0] == "limits" || last[0] == "requests" {
				r.wrong = map[string]any{"memory": "5GB"}
			}
		case s.Type == "string":
			r.wrong = wrongText(v.Message)
		}
		all = append(all, r)
	}
	return all
}

// wrongText breaks a rule on a text.
func wrongText(message string) string {
	for says, text := range map[string]string{"master, model, msdb": "master", "sa and logins": "sa",
		"of the database's own": "dbo", "no slash at either end": "a/", "a product key is a secret": "AB1DE-12345-ABCDE-12345-ABCDE"} {
		if strings.Contains(message, says) {
			return text
		}
	}
	return "]?!"
}

// least is a value of a schema with what it must have, and nothing else.
func least(s schema) any {
	switch {
	case len(s.Enum) > 0:
		var value any
		_ = json.Unmarshal(s.Enum[0].Raw, &value)
		return value
	case s.XIntOrString:
		return "1Gi"
	case s.Type == "object":
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = least(s.Properties[name])
		}
		return object
	case s.Type == "array":
		list := []any{}
		if s.MinItems != nil {
			list = slices.Repeat([]any{least(*s.Items.Schema)}, int(*s.MinItems))
		}
		return list
	case s.Type == "integer":
		if s.Minimum != nil {
			return int64(*s.Minimum)
		}
		return int64(1)
	case s.Type == "boolean":
		return false
	case s.MinLength != nil:
		return strings.Repeat("a", int(*s.MinLength))
	}
	return "a"
}

// placed is a value with another at a path below it; what leads there is made where it is not there. Without a value
// what is at the path is taken away.
func placed(into any, s schema, path []string, value any, absent bool) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "[]" {
		list, _ := into.([]any)
		if list = slices.Clone(list); len(list) == 0 {
			list = []any{least(*s.Items.Schema)}
		}
		list[0] = placed(list[0], *s.Items.Schema, path[1:], value, absent)
		return list
	}
	object, _ := into.(map[string]any)
	if object = maps.Clone(object); object == nil {
		object = least(s).(map[string]any)
	}
	if len(path) == 1 && absent {
		delete(object, path[0])
		return object
	}
	object[path[0]] = placed(object[path[0]], s.Properties[path[0]], path[1:], value, absent)
	return object
}
