// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"bytes"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

// declared are kind and name of what a dry run would apply, by where it belongs.
func declared(t *testing.T, r join.Request) (hub, member []string) {
	t.Helper()
	g := NewWithT(t)
	r.Out, r.DryRun = &bytes.Buffer{}, true
	r.Declare = func(m join.Manifest) error {
		g.Expect(m.Object.GetAPIVersion()).NotTo(BeEmpty(), m.Object.GetName())
		g.Expect(m.Object.Object).NotTo(HaveKey("status"), m.Object.GetName())
		g.Expect(m.Object.Object["metadata"]).NotTo(Or(HaveKey("creationTimestamp"), HaveKey("resourceVersion")))
		name := m.Object.GetKind() + " " + m.Object.GetNamespace() + "/" + m.Object.GetName()
		if m.Hub {
			hub = append(hub, name)
		} else {
			member = append(member, name)
		}
		return nil
	}
	_, err := join.Join(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	return hub, member
}

// What joining applies can be kept in a repository, apart for each cluster: no namespace, with which all would be
// deleted once it is taken out, and no Secret.
func TestWhatJoiningAppliesIsDeclared(t *testing.T) {
	g := NewWithT(t)
	member := inMemory(t, "member")
	drills := true
	r := join.Request{Name: "quincy", Member: &member, Hub: inMemory(t, "hub"), Drills: &drills,
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}}
	inHub, atMember := declared(t, r)
	g.Expect(inHub).To(ConsistOf("Role web/"+sites.HubRole, "RoleBinding web/"+sites.HubRole, "Site /quincy"))
	g.Expect(inHub[len(inHub)-1]).To(Equal("Site /quincy"), "the rights come first")
	g.Expect(atMember).To(ContainElements("ServiceAccount geosql-system/"+sites.Account,
		"ClusterRole /"+sites.SiteRole, "Role web/"+sites.SiteRole, "Role web/"+sites.DrillsRole,
		"ValidatingAdmissionPolicy /geosql-operator-site", "FlowSchema /geosql-votes",
		"ConfigMap geosql-system/"+sites.SiteConfig))
	g.Expect(append(inHub, atMember...)).NotTo(ContainElement(Or(HavePrefix("Namespace "), HavePrefix("Secret "))))
	again, _ := declared(t, r)
	g.Expect(again).To(Equal(inHub))

	r.Drills = nil
	_, without := declared(t, r)
	g.Expect(without).NotTo(ContainElement(ContainSubstring(sites.DrillsRole)))
}

// A site that is the hub has one cluster.
func TestWhatJoiningTheHubAppliesIsAllTheHubs(t *testing.T) {
	g := NewWithT(t)
	r := join.Request{Name: "hub", Hub: inMemory(t, "hub"), Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}}
	inHub, elsewhere := declared(t, r)
	g.Expect(inHub).To(ContainElements("Site /hub", "Role web/"+sites.SiteRole))
	g.Expect(elsewhere).To(BeEmpty())
}

// Whoever cannot take an object is not given the next one.
func TestADeclarationThatFailsEndsTheRun(t *testing.T) {
	g := NewWithT(t)
	calls := 0
	_, err := join.Join(t.Context(), join.Request{Name: "hub", Hub: inMemory(t, "hub"), DryRun: true, Out: &bytes.Buffer{},
		Spec:    v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}},
		Declare: func(join.Manifest) error { calls++; return errors.New("full") }})
	g.Expect(err).To(MatchError(ContainSubstring("full")))
	g.Expect(calls).To(Equal(1))
}
