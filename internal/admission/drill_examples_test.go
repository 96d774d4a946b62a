// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	topologies "geosql.dev/operator/internal/topology"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/checkout"
)

// drillExamples applies every example of a drill to a hub that has the example topologies, so that each fault's place
// is looked for: an example that names what is not there is refused.
func drillExamples(t *testing.T, hub *apiserver.Server, cached client.Reader) {
	g := NewWithT(t)
	defer clean(t, hub, cached)
	folder := filepath.Join(checkout.Root(), "examples", "drills")
	var drills []*unstructured.Unstructured
	load := func(file string) {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, u := range parse(t, string(data)) {
			switch u.GetKind() {
			case "Topology":
				applyTopology(t, hub, cached, u)
			case "Site":
				g.Expect(apply(t.Context(), hub.Client, u)).To(Succeed())
			default:
				u.SetAnnotations(map[string]string{"expected-verdict": u.GetAnnotations()["geosql.dev/expected-verdict"],
					"expected-failure": u.GetAnnotations()["geosql.dev/expected-failure"], "file": strings.TrimPrefix(file, folder)})
				drills = append(drills, u)
			}
		}
	}
	load(filepath.Join(checkout.Root(), "examples", "sites.yaml"))
	load(filepath.Join(checkout.Root(), "examples", "msdn.yaml"))
	g.Expect(filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(file) == ".yaml" {
			load(file)
		}
		return err
	})).To(Succeed())
	g.Expect(len(drills)).To(BeNumerically(">=", 12))
	for _, u := range drills {
		says := u.GetAnnotations()
		g.Expect(apply(t.Context(), hub.Client, u, client.DryRunAll)).To(Succeed(), says["file"])
		if u.GetKind() != "Drill" {
			continue
		}
		mustFail := strings.HasPrefix(says["file"], "/must-fail/")
		g.Expect(says["expected-verdict"] == string(v1alpha1.VerdictPassed)).
			To(Equal(!mustFail), "%s says which verdict it has", says["file"])
		g.Expect(says["expected-failure"] != "").To(Equal(mustFail), "%s says what fails it", says["file"])
		g.Expect(u.GetNamespace()).To(Equal("web"), says["file"])
		g.Expect(strings.TrimSuffix(filepath.Base(says["file"]), ".yaml")).
			To(Equal(u.GetName()), "the file has its drill's name")
	}

	// The world matters: without what an example names it is refused.
	kill := slices.IndexFunc(drills, func(u *unstructured.Unstructured) bool { return u.GetName() == "lose-tukwila" })
	elsewhere := drills[kill].DeepCopy()
	faults, _, err := unstructured.NestedSlice(elsewhere.Object, "spec", "faults")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unstructured.SetNestedField(faults[0].(map[string]any), "blueridge", "where", "site")).To(Succeed())
	g.Expect(unstructured.SetNestedSlice(elsewhere.Object, faults, "spec", "faults")).To(Succeed())
	g.Expect(apply(t.Context(), hub.Client, elsewhere, client.DryRunAll)).
		To(MatchError(ContainSubstring("strike nothing")))
}

// applyTopology applies a Topology and what the operator makes of it, and waits until the webhooks know of it.
func applyTopology(t *testing.T, hub *apiserver.Server, cached client.Reader, u *unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(apply(t.Context(), hub.Client, u)).To(Succeed())
	var topology v1alpha1.Topology
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &topology)).To(Succeed())
	expanded, err := topologies.Expand(&topology)
	g.Expect(err).NotTo(HaveOccurred())
	objects := expanded.All()
	for _, obj := range objects {
		g.Expect(hub.Client.Create(t.Context(), obj)).To(Succeed(), "%T %s", obj, obj.GetName())
	}
	for _, obj := range append(objects, &topology) {
		g.Eventually(func() error { return cached.Get(t.Context(), client.ObjectKeyFromObject(obj), obj) }, "60s", "10ms").
			Should(Succeed(), "%T %s", obj, obj.GetName())
	}
}
