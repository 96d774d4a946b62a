// SPDX-License-Identifier: Apache-2.0

//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/checkout"
)

type (
	crd    = apiextensionsv1.CustomResourceDefinition
	schema = apiextensionsv1.JSONSchemaProps
)

// fields of spec of a CRD's version.
func fields(c *crd) map[string]schema {
	return c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
}

// field changes one of them.
func field(name string, change func(*schema)) func(*crd) {
	return func(c *crd) {
		f, there := fields(c)[name]
		if !there {
			panic("there is no field " + name)
		}
		change(&f)
		fields(c)[name] = f
	}
}

// spec changes spec itself.
func spec(change func(*schema)) func(*crd) {
	return func(c *crd) {
		whole := c.Spec.Versions[0].Schema.OpenAPIV3Schema
		s := whole.Properties["spec"]
		change(&s)
		whole.Properties["spec"] = s
	}
}

func value(text string) apiextensionsv1.JSON { return apiextensionsv1.JSON{Raw: []byte(text)} }

func rule(text string) apiextensionsv1.ValidationRule {
	return apiextensionsv1.ValidationRule{Rule: text, Message: "because"}
}

// changes of the CRD of groups, each with what is said when it is refused; empty when it is accepted.
var changes = map[string]struct {
	change func(*crd)
	says   string
}{
	"nothing": {func(*crd) {}, ""},
	// Refused.
	"a field removed":   {func(c *crd) { delete(fields(c), "listener") }, "removed field : v1alpha1.^.spec.listener"},
	"a field retyped":   {field("reclaimPolicy", func(s *schema) { s.Type = "integer" }), "type changed"},
	"a list made a map": {field("replicas", func(s *schema) { s.Type, s.Items = "object", nil }), "type changed"},
	"a field made required": {spec(func(s *schema) { s.Required = append(s.Required, "listener") }),
		"new required fields"},
	"a new field that is required": {spec(func(s *schema) {
		s.Properties["tier"] = schema{Type: "string"}
		s.Required = append(s.Required, "tier")
	}), "new required fields"},
	"a value gone": {field("failoverPolicy", func(s *schema) { s.Enum = s.Enum[1:] }), "allowed enum values removed"},
	"values listed": {field("initialPrimary", func(s *schema) { s.Enum = []apiextensionsv1.JSON{value(`"a"`)} }),
		"enum constraint added"},
	"another pattern": {field("initialPrimary", func(s *schema) { s.Pattern = "^x$" }), "pattern added"},
	"a pattern":       {field("clusterType", func(s *schema) { s.Pattern = "^x" }), "pattern added"},
	"shorter":         {field("initialPrimary", func(s *schema) { s.MaxLength = ptr.To[int64](5) }), "maxLength"},
	"fewer":           {field("databases", func(s *schema) { s.MaxItems = ptr.To[int64](5) }), "maxItems"},
	"a higher minimum": {field("requiredSynchronizedSecondaries", func(s *schema) { s.Minimum = ptr.To(1.0) }),
		"minimum"},
	"a default":             {field("reclaimPolicy", func(s *schema) { s.Default = ptr.To(value(`"Delete"`)) }), "default"},
	"another key of a list": {field("replicas", func(s *schema) { s.XListMapKeys = []string{"readable"} }), "unhandled"},
	"a set made a list":     {field("databases", func(s *schema) { s.XListType = ptr.To("atomic") }), "unhandled"},
	"another format":        {field("reclaimPolicy", func(s *schema) { s.Format = "date" }), "unhandled"},
	"a new rule": {field("reclaimPolicy", func(s *schema) {
		s.XValidations = append(s.XValidations, rule("self != 'x'"))
	}), "v1alpha1.spec.reclaimPolicy: new rule: self != 'x'"},
	"another rule":    {spec(func(s *schema) { s.XValidations[0].Rule += " && true" }), "v1alpha1.spec: new rule: "},
	"another scope":   {func(c *crd) { c.Spec.Scope = apiextensionsv1.ClusterScoped }, "scope"},
	"another kind":    {func(c *crd) { c.Spec.Names.Kind = "Group" }, "it was availabilitygroups.geosql.dev of kind"},
	"another version": {func(c *crd) { c.Spec.Versions[0].Name = "v1alpha2" }, "version v1alpha1 is served no more"},
	"a version that is served no more": {func(c *crd) { c.Spec.Versions[0].Served = false },
		"version v1alpha1 is served no more"},
	"gone": {nil, "the kind is gone"},
	// Accepted.
	"a new field": {func(c *crd) {
		fields(c)["tier"] = schema{Type: "string", Enum: []apiextensionsv1.JSON{value(`"A"`)}, Pattern: "^A$",
			XValidations: apiextensionsv1.ValidationRules{rule("self == 'A'")}}
	}, ""},
	"a new object with what it needs": {func(c *crd) {
		fields(c)["tier"] = schema{Type: "object", Required: []string{"name"},
			Properties: map[string]schema{"name": {Type: "string"}}}
	}, ""},
	"another value":             {field("failoverPolicy", func(s *schema) { s.Enum = append(s.Enum, value(`"Never"`)) }), ""},
	"longer":                    {field("initialPrimary", func(s *schema) { s.MaxLength = ptr.To[int64](50) }), ""},
	"no pattern":                {field("initialPrimary", func(s *schema) { s.Pattern = "" }), ""},
	"a field that was required": {spec(func(s *schema) { s.Required = nil }), ""},
	"a rule less":               {spec(func(s *schema) { s.XValidations = s.XValidations[1:] }), ""},
	"another message":           {spec(func(s *schema) { s.XValidations[0].Message = "as it was" }), ""},
	"other words":               {field("reclaimPolicy", func(s *schema) { s.Description = "what becomes of it" }), ""},
	"a short name":              {func(c *crd) { c.Spec.Names.ShortNames = append(c.Spec.Names.ShortNames, "gg") }, ""},
	"a column": {func(c *crd) {
		c.Spec.Versions[0].AdditionalPrinterColumns = nil
	}, ""},
	"another version beside it": {func(c *crd) {
		next := c.Spec.Versions[0].DeepCopy()
		next.Name, next.Storage = "v1beta1", false
		c.Spec.Versions = append(c.Spec.Versions, *next)
	}, ""},
}

// The comparison refuses what breaks a manifest, an object or a client of the last release, and nothing else.
func TestWhatAReleaseMayChange(t *testing.T) {
	g := NewWithT(t)
	root := checkout.Root()
	data, err := os.ReadFile(filepath.Join(root, "config/crd/bases/geosql.dev_availabilitygroups.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	released, now := t.TempDir(), t.TempDir()
	file := func(name string) string { return strings.ReplaceAll(name, " ", "-") + ".yaml" }
	for name, c := range changes {
		g.Expect(os.WriteFile(filepath.Join(released, file(name)), data, 0o600)).To(Succeed())
		if c.change == nil {
			continue
		}
		changed := &crd{}
		g.Expect(yaml.UnmarshalStrict(data, changed)).To(Succeed())
		c.change(changed)
		text, err := yaml.Marshal(changed)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(now, file(name)), text, 0o600)).To(Succeed())
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/verify-crds"), released, now).CombinedOutput()
	said := string(out)
	g.Expect(err).To(MatchError("exit status 1"), said)
	for name, c := range changes {
		var of []string
		for line := range strings.Lines(said) {
			if rest, ok := strings.CutPrefix(line, "refused: "+file(name)+": "); ok {
				of = append(of, rest)
			}
		}
		if c.says == "" {
			g.Expect(of).To(BeEmpty(), name)
		} else {
			g.Expect(of).To(ContainElement(ContainSubstring(c.says)), "%s: %s", name, of)
		}
	}
}

// As long as no release is kept nothing is compared, and that is said.
func TestWithoutAReleaseNothingIsCompared(t *testing.T) {
	g := NewWithT(t)
	root := checkout.Root()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/verify-crds"),
		filepath.Join(t.TempDir(), "none"), filepath.Join(root, "config/crd/bases")).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	g.Expect(string(out)).To(ContainSubstring("there is no release yet"))
}

// A rule that is listed as one that refuses nothing is accepted.
func TestALooserRuleIsListed(t *testing.T) {
	g := NewWithT(t)
	list := filepath.Join(t.TempDir(), "looser.txt")
	g.Expect(os.WriteFile(list, []byte("# it was needed for more before\nself != 'x'\n"), 0o600)).To(Succeed())
	looser, err := listed(list)
	g.Expect(err).NotTo(HaveOccurred())
	data, err := os.ReadFile(filepath.Join(checkout.Root(), "config/crd/bases/geosql.dev_availabilitygroups.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	released, now := &crd{}, &crd{}
	g.Expect(yaml.UnmarshalStrict(data, released)).To(Succeed())
	g.Expect(yaml.UnmarshalStrict(data, now)).To(Succeed())
	changes["a new rule"].change(now)
	g.Expect(compare(released, now, nil)).To(HaveLen(1))
	g.Expect(compare(released, now, looser)).To(BeEmpty())
}
