// SPDX-License-Identifier: Apache-2.0

//go:build integration

package join_test

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

// Who keeps in a repository what a join applies, and who joins, want the same: applied by another owner after a join it
// changes nothing but who owns the fields, and neither does another join after that.
func TestWhatIsDeclaredIsWhatIsJoined(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	hub, member := apiserver.StartHub(t), apiserver.StartMember(t)
	quincy := cluster(member)
	link, err := join.ParseLink("dublin=146ms/1Gbit")
	g.Expect(err).NotTo(HaveOccurred())
	drills := true
	request := func() join.Request {
		return join.Request{Name: "quincy", Member: &quincy, Hub: cluster(hub), Out: &bytes.Buffer{}, Drills: &drills,
			TokenLife: time.Hour, Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, Region: "us-west",
				SourceRanges: []string{"10.102.0.0/16"}, Links: []v1alpha1.SiteLink{link}}}
	}
	_, err = join.Join(ctx, request())
	g.Expect(err).NotTo(HaveOccurred())

	var declared []join.Manifest
	dry := request()
	dry.DryRun, dry.Declare = true, func(m join.Manifest) error { declared = append(declared, m); return nil }
	_, err = join.Join(ctx, dry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(declared)).To(BeNumerically(">", 15))

	at := func(m join.Manifest) client.Client {
		if m.Hub {
			return hub.Client
		}
		return member.Client
	}
	// content is an object as it is, without what the API server notes of who wrote it.
	content := func(m join.Manifest) map[string]any {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(m.Object.GroupVersionKind())
		g.Expect(at(m).Get(ctx, client.ObjectKeyFromObject(m.Object), u)).To(Succeed())
		unstructured.RemoveNestedField(u.Object, "status") // API servers write it in their own time
		for _, field := range []string{"managedFields", "resourceVersion"} {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		return u.Object
	}
	before := map[int]map[string]any{}
	for i, m := range declared {
		before[i] = content(m)
		applied := client.ApplyConfigurationFromUnstructured(m.Object.DeepCopy())
		g.Expect(at(m).Apply(ctx, applied, client.FieldOwner("repository"))).To(Succeed(), m.Object.GetName())
		g.Expect(content(m)).To(Equal(before[i]), m.Object.GetName())
	}
	_, err = join.Join(ctx, request())
	g.Expect(err).NotTo(HaveOccurred())
	for i, m := range declared {
		g.Expect(content(m)).To(Equal(before[i]), m.Object.GetName())
	}
}
