// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drill

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// networkChaos is as much of Chaos Mesh's definition as the test needs.
func networkChaos() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	open := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "networkchaos.chaos-mesh.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: sites.ChaosGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind:     "NetworkChaos",
				ListKind: "NetworkChaosList",
				Plural:   "networkchaos",
				Singular: "networkchaos",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1alpha1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object",
						Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
								"action": text, "mode": text, "duration": text, "selector": {Type: "object", XPreserveUnknownFields: &open},
								"delay": {
									Type:       "object",
									Properties: map[string]apiextensionsv1.JSONSchemaProps{"latency": {Type: "string", Pattern: "^[0-9]+ms$"}},
									Required:   []string{"latency"},
								},
							}}},
					}}},
			},
		},
	}
}

// A dry run of a literal fault is checked where it would be done, and nothing is kept: fields that the kind does not
// have are refused, and so they are when the fault is done.
func TestALiteralFaultIsTriedWhereItWouldBeDone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := apiserver.StartMember(t)
	server.Namespace(t, "web")
	scheme := runtime.NewScheme()
	g.Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	site, err := client.New(server.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(site.Create(t.Context(), networkChaos())).To(Succeed())
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(
		schema.GroupVersionKind{Group: sites.ChaosGroup, Version: "v1alpha1", Kind: "NetworkChaosList"},
	)
	g.Eventually(func() error { return site.List(t.Context(), list) }, "60s").Should(Succeed())
	for name, c := range map[string]struct{ kind, spec, says string }{
		"what is right": {"NetworkChaos",
			`{"action":"delay","mode":"all","selector":{},"duration":"5s","delay":{"latency":"10ms"}}`, ""},
		"a field that the site's version lacks": {"NetworkChaos",
			`{"action":"delay","mode":"all","selector":{},"duration":"5s","device":"eth1"}`,
			`unknown field "spec.device"`},
		"one within another": {"NetworkChaos",
			`{"action":"delay","mode":"all","selector":{},"duration":"5s","delay":{"latency":"10ms","jitter":"1ms"}}`,
			`unknown field "spec.delay.jitter"`},
		"a value that is none": {"NetworkChaos",
			`{"action":"delay","mode":"all","selector":{},"duration":"5s","delay":{"latency":"long"}}`, "spec.delay.latency"},
		"a kind that is not there": {"PodChaos", `{"action":"pod-kill","mode":"all","selector":{},"duration":"5s"}`,
			"site tukwila does not know PodChaos"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, s := &Reconciler{}, newStage(t, literal(c.kind, c.spec))
			s.d.Spec.DryRun = true
			s.w.members = map[v1alpha1.SiteName]*sites.Member{"tukwila": {Client: site, APIReader: site}}
			r.tryLiterals(t.Context(), s.w)
			g.Expect(s.w.tried).To(HaveKey("own"))
			if c.says == "" {
				g.Expect(s.w.tried["own"]).NotTo(HaveOccurred())
			} else {
				g.Expect(s.w.tried["own"]).To(MatchError(ContainSubstring(c.says)))
			}
			g.Expect(site.List(t.Context(), list, client.InNamespace("web"))).To(Succeed())
			g.Expect(list.Items).To(BeEmpty(), "nothing is kept")
			if c.kind == "NetworkChaos" && c.says != "" {
				resolved, err := fault.Resolve(s.w.resolved, drill.Expand(s.d.Spec.Faults)[0])
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(r.create(t.Context(), s.w, resolved.Objects[0])).
					To(MatchError(ContainSubstring(c.says)), "nor is another fault done")
			}
		})
	}
}
