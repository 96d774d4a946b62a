// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	validation "k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/fault"
)

func checked(kind, spec string) validation.ErrorList {
	return fault.CheckLiteral(validation.NewPath("spec"), v1alpha1.LiteralChaos{Site: "quincy", Kind: kind,
		Spec: runtime.RawExtension{Raw: []byte(spec)}})
}

// What is given literally reaches nothing but the target's pods, runs nothing that it is given, and changes nothing
// that is read, written or said.
func TestLiteralsThatReachTooFar(t *testing.T) {
	for _, c := range []struct{ kind, spec, refused string }{
		{"IOChaos", `"action":"latency","volumePath":"/var/opt/mssql","delay":"1s"`, ""},
		{"IOChaos", `"action":"fault","volumePath":"/var/opt/mssql","errno":5`, ""},
		{"IOChaos", `"action":"mistake"`, "spec.action"},
		{"IOChaos", `"action":"latency","mistake":{"filling":"zero"}`, "spec.mistake"},
		{"IOChaos", `"action":["attrOverride"]`, "spec.action"},
		{"IOChaos", `"action":{"latency":1}`, "spec.action"},
		{"IOChaos", `"action":7`, "spec.action"},
		{"StressChaos", `"stressors":{"cpu":{"workers":1,"load":50}}`, ""},
		{"StressChaos", `"stressors":{"memory":{"workers":1,"size":"64MB"}}`, ""},
		{"StressChaos", `"stressors":{"cpu":{"workers":1,"options":["--temp-path /etc"]}}`, "spec.stressors.cpu.options"},
		{"StressChaos", `"stressors":{"memory":{"size":"1GB","oomScoreAdj":-1000}}`, "spec.stressors.memory.oomScoreAdj"},
		{"StressChaos", `"stressngStressors":"--hdd 1 --temp-path /var/opt/mssql"`, "spec.stressngStressors"},
		{"HTTPChaos", `"target":"Request","port":8080,"abort":true`, ""},
		{"HTTPChaos", `"target":"Request","tls":{"secretNamespace":"kube-system","secretName":"admin"}`, "spec.tls"},
		{"HTTPChaos", `"target":"Response","replace":{"body":"e30="}`, "spec.replace"},
		{"JVMChaos", `"action":"ruleData","ruleData":"RULE x"`, "spec.action"},
		{"JVMChaos", `"action":"gc","ruleData":"RULE x"`, "spec.ruleData"},
		{"NetworkChaos", `"action":"delay","delay":{"latency":"1s","reorder":{"gap":3}}`, ""},
		{"NetworkChaos", `"action":"delay","target":{"mode":"all","selector":{"nodes":["n1"]}}`, "spec.target.selector.nodes"},
		{"NetworkChaos", `"action":"delay","target":"everybody"`, "spec.target"},
		{"TimeChaos", `"timeOffset":"-1h","clockIds":["CLOCK_REALTIME"]`, ""},
		{"DNSChaos", `"action":"error","patterns":["*.example"]`, ""},
		{"PodChaos", `"action":"pod-failure"`, ""},
		{"KernelChaos", `"failKernRequest":{"failtype":0}`, "spec.failKernRequest"},
	} {
		g := NewWithT(t)
		errs := checked(c.kind, `{"mode":"all","selector":{"labelSelectors":{"a":"b"}},"duration":"10s",`+c.spec+`}`)
		if c.refused == "" {
			g.Expect(errs).To(BeEmpty(), "%s %s", c.kind, c.spec)
			continue
		}
		g.Expect(errs).To(ContainElement(HaveField("Field", c.refused)), "%s %s", c.kind, c.spec)
	}
	for _, text := range []string{`[]`, `null`, `"all"`} {
		NewWithT(t).Expect(checked("PodChaos", text)).NotTo(BeEmpty(), text)
	}
}

// schema is what of a CustomResourceDefinition's schema says which fields there are.
type schema struct {
	Type       string            `json:"type"`
	Enum       []string          `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
}

// value is one that the schema allows, with nothing but the fields of the path in it.
func (s schema) value(path []string) any {
	switch {
	case len(path) > 0 && s.Items != nil:
		return []any{s.Items.value(path)}
	case len(path) > 0:
		return map[string]any{path[0]: s.Properties[path[0]].value(path[1:])}
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "array":
		return []any{}
	case s.Type == "object":
		return map[string]any{}
	case s.Type == "string":
		return "x"
	}
	return 1
}

// leaves are the paths of fields that have no fields.
func (s schema) leaves(path ...string) [][]string {
	inner := s
	if s.Items != nil {
		inner = *s.Items
	}
	if len(inner.Properties) == 0 {
		return [][]string{path}
	}
	var all [][]string
	for name, one := range inner.Properties {
		all = append(all, one.leaves(append(slices.Clone(path), name)...)...)
	}
	return all
}

// refusedFields are those of the bed's Chaos Mesh that no literal object may have. A field of a later version is
// refused unless it is permitted by name; this test then fails until the field stands in one of the two lists.
var refusedFields = map[string][]string{
	"": {"remoteCluster", "selector.namespaces", "selector.nodes", "selector.nodeSelectors", "selector.pods"},
	"HTTPChaos": {"patch.body.type", "patch.body.value", "patch.headers", "patch.queries", "replace.body", "replace.code",
		"replace.headers", "replace.method", "replace.path", "replace.queries", "tls.caName", "tls.certName", "tls.keyName",
		"tls.secretName", "tls.secretNamespace"},
	"IOChaos": {"attr.atime.nsec", "attr.atime.sec", "attr.blocks", "attr.ctime.nsec", "attr.ctime.sec", "attr.gid",
		"attr.ino", "attr.kind", "attr.mtime.nsec", "attr.mtime.sec", "attr.nlink", "attr.perm", "attr.rdev", "attr.size",
		"attr.uid", "mistake.filling", "mistake.maxLength", "mistake.maxOccurrences"},
	"JVMChaos": {"database", "exception", "mysqlConnectorVersion", "name", "pid", "returnValue", "ruleData", "sqlType",
		"table"},
	"NetworkChaos": {"target.selector.namespaces", "target.selector.nodes", "target.selector.nodeSelectors",
		"target.selector.pods"},
	"StressChaos": {"stressngStressors", "stressors.cpu.options", "stressors.memory.oomScoreAdj",
		"stressors.memory.options"},
}

// Every field that the bed's Chaos Mesh knows is permitted or refused, as it stands here. testdata/chaosmesh has the
// schemas of its CustomResourceDefinitions, without descriptions.
func TestEveryFieldOfChaosMeshIsJudged(t *testing.T) {
	files, err := filepath.Glob("testdata/chaosmesh/*.json")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).To(HaveLen(8), "a file for each kind that LiteralChaos takes")
	for _, file := range files {
		kind := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			var s schema
			g.Expect(json.Unmarshal(data, &s)).To(Succeed())
			var refused []string
			for _, path := range append(s.leaves(), []string{"fieldOfALaterVersion"}) {
				spec := map[string]any{"selector": map[string]any{}, "duration": "10s"}
				for name, value := range s.value(path).(map[string]any) {
					spec[name] = value
				}
				if path[0] == "duration" {
					continue
				}
				text, err := json.Marshal(spec)
				g.Expect(err).NotTo(HaveOccurred())
				if errs := checked(kind, string(text)); len(errs) > 0 {
					g.Expect("spec."+strings.Join(path, ".")).To(HavePrefix(errs[0].Field), "the field's own path")
					refused = append(refused, strings.Join(path, "."))
				}
			}
			g.Expect(refused).To(ConsistOf(append(append([]string{"fieldOfALaterVersion"}, refusedFields[""]...),
				refusedFields[kind]...)))
		})
	}
}
