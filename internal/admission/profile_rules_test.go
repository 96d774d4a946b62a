// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/support/apiserver"
)

// parametersWithoutEffect are refused for their agents, each with what its refusal says to do.
var parametersWithoutEffect = map[string]struct{ agent, instead string }{
	"bcpBatchSize":  {"Snapshot", "give it to a profile for the Distribution agent"},
	"maxBcpThreads": {"Distribution", "give it to a profile for the Snapshot agent"},
}

// ruleProfiles gives the schema of AgentProfiles its rules, and takes them; it returns those that it had.
func ruleProfiles(t *testing.T, hub *apiserver.Server, rules []any) []any {
	t.Helper()
	g := NewWithT(t)
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	key := client.ObjectKey{Name: "agentprofiles.geosql.dev"}
	g.Expect(hub.Client.Get(t.Context(), key, crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	g.Expect(err).NotTo(HaveOccurred())
	at := []string{"schema", "openAPIV3Schema", "properties", "spec", "x-kubernetes-validations"}
	version := versions[0].(map[string]any)
	had, _, err := unstructured.NestedSlice(version, at...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unstructured.SetNestedSlice(version, rules, at...)).To(Succeed())
	g.Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
	g.Expect(hub.Client.Update(t.Context(), crd)).To(Succeed())
	return had
}

// A parameter that its agent makes nothing of is refused; a profile that was stored with it before is changed in
// everything else, and loses it for good.
func TestAProfileThatWasStoredWithAParameterWithoutEffect(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	declared := func(parameter, agent string, more ...string) *unstructured.Unstructured {
		return parse(t, with(profile, "NAME", strings.ToLower(parameter), "AGENT", agent+strings.Join(more, "")))[0]
	}
	had := ruleProfiles(t, hub, nil)
	for parameter, c := range parametersWithoutEffect {
		g.Eventually(func() error {
			return apply(t.Context(), hub.Client, declared(parameter, c.agent, ", "+parameter+": 2"))
		}, "60s", "50ms").Should(Succeed(), parameter)
	}
	g.Expect(slices.ContainsFunc(had, func(r any) bool {
		return strings.Contains(r.(map[string]any)["message"].(string), "has no effect")
	})).To(BeTrue())
	ruleProfiles(t, hub, had)
	for parameter, c := range parametersWithoutEffect {
		fresh := declared(parameter, c.agent, ", "+parameter+": 2")
		fresh.SetName("fresh")
		g.Eventually(func() bool {
			return refusedAt(apply(t.Context(), hub.Client, fresh, client.DryRunAll), "spec."+parameter, c.instead)
		}, "60s", "50ms").Should(BeTrue(), parameter)
		g.Expect(apply(t.Context(), hub.Client, declared(parameter, c.agent, ", packetSize: 4096, "+parameter+": 3"))).
			To(Succeed(), parameter)
		g.Expect(apply(t.Context(), hub.Client, declared(parameter, c.agent))).To(Succeed(), parameter)
		again := apply(t.Context(), hub.Client, declared(parameter, c.agent, ", "+parameter+": 3"))
		g.Expect(refusedAt(again, "spec."+parameter, c.instead)).To(BeTrue(), "it comes again: %v", again)
	}
}

// refusedAt tells that an error refuses a field and says so of it.
func refusedAt(err error, field, says string) bool {
	return slices.ContainsFunc(refused(err), func(s said) bool {
		return s.field == field && strings.Contains(s.message, says)
	})
}
