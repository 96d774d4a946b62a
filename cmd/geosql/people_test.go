// SPDX-License-Identifier: Apache-2.0

//go:build integration

package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/checkout"
)

// mayWrite says of every kind which of Kubernetes' roles may write its objects. A new kind is put here on purpose: what
// strikes servers, or is not bounded by a namespace, is an administrator's.
var mayWrite = map[string]string{
	"agentprofiles":      "edit",
	"availabilitygroups": "edit",
	"backuppolicies":     "edit",
	"backups":            "edit",
	"backupstores":       "edit",
	"distributors":       "edit",
	"drills":             "admin",
	"drillschedules":     "admin",
	"failovers":          "edit",
	"logins":             "edit",
	"publications":       "edit",
	"publishermoves":     "edit",
	"restores":           "edit",
	"sites":              "admin",
	"sqlservers":         "edit",
	"subscriptions":      "edit",
	"topologies":         "edit",
}

// writing are the verbs by which Kubernetes' own roles write.
var writing = []string{"create", "update", "patch", "delete", "deletecollection"}

// definitions are the operator's kinds, by their plural names.
func definitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(checkout.Root(), "config", "crd", "bases", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.Unmarshal(data, crd)).To(Succeed(), file)
		found[crd.Spec.Names.Plural] = crd
	}
	g.Expect(found).NotTo(BeEmpty())
	return found
}

// TestNoKindIsForgottenInThePeoplesRoles: each kind, with its status, may be seen by those who have view, and be
// written by those of edit or admin. Each role has what those before it have: it may be bound by itself. Statuses
// nobody writes.
func TestNoKindIsForgottenInThePeoplesRoles(t *testing.T) {
	g := NewWithT(t)
	expected := map[string]map[string]bool{"view": {}, "edit": {}, "admin": {}}
	for plural, crd := range definitions(t) {
		seen := []string{plural}
		for _, version := range crd.Spec.Versions {
			if version.Subresources != nil && version.Subresources.Status != nil {
				seen = append(seen, plural+"/status")
			}
		}
		for _, role := range []string{"view", "edit", "admin"} {
			rights(expected[role], seen, []string{"get", "list", "watch"})
		}
		role, decided := mayWrite[plural]
		g.Expect(decided).To(BeTrue(), "say in mayWrite, and in the chart's roles.yaml, who may write %s", plural)
		rights(expected[role], []string{plural}, writing)
		rights(expected["admin"], []string{plural}, writing)
		if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
			g.Expect(role).To(Equal("admin"), "%s are in no namespace", plural)
		}
	}
	for role, asked := range expected {
		granted := map[string]bool{}
		for _, rule := range apiserver.Role(t, "geosql-operator-"+role).Rules {
			if slices.Contains(rule.APIGroups, v1alpha1.GroupVersion.Group) {
				rights(granted, rule.Resources, rule.Verbs)
			}
		}
		g.Expect(slices.Sorted(maps.Keys(granted))).To(Equal(slices.Sorted(maps.Keys(asked))), role)
	}
}

// TestPeopleHaveTheKindsByKubernetesOwnRoles: who has view, edit or admin has the operator's kinds by it, as far as the
// role is bound.
func TestPeopleHaveTheKindsByKubernetesOwnRoles(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	hub.StartControllers(t, "clusterrole-aggregation-controller")
	for _, role := range []string{"view", "edit", "admin", "sites"} {
		g.Expect(hub.Client.Create(t.Context(), apiserver.Role(t, "geosql-operator-"+role))).To(Succeed())
	}
	// Those who have one of the operator's roles alone, as where the chart aggregates none.
	for _, role := range []string{"edit", "admin"} {
		alone := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: role + "-alone"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "geosql-operator-" + role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role + "-alone"}}}
		g.Expect(hub.Client.Create(t.Context(), alone)).To(Succeed())
	}
	bind := func(user, role string) (rbacv1.RoleRef, []rbacv1.Subject) {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			[]rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	}
	for _, role := range []string{"view", "edit", "admin"} {
		within := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: role}}
		within.RoleRef, within.Subjects = bind(role, role)
		everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role + "-everywhere"}}
		everywhere.RoleRef, everywhere.Subjects = bind(role+"-everywhere", role)
		g.Expect(hub.Client.Create(t.Context(), within)).To(Succeed())
		g.Expect(hub.Client.Create(t.Context(), everywhere)).To(Succeed())
	}
	sites := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "sites"}}
	sites.RoleRef, sites.Subjects = bind("sites", "geosql-operator-sites")
	g.Expect(hub.Client.Create(t.Context(), sites)).To(Succeed())

	answers := func(g Gomega, question string) bool {
		words := append(strings.Fields(question), "")
		return may(g, hub.Client, words[0], words[1], words[2], words[3])
	}
	for _, question := range []string{
		"view list topologies",
		"view get topologies/status",
		"view get leases geosql-confirmed",
		"view-everywhere list sites",
		"sites list sites",
		"edit watch sqlservers",
		"edit create sqlservers",
		"edit deletecollection failovers",
		"admin get drills/status",
		"admin delete availabilitygroups",
		"admin create drillschedules",
		"admin-everywhere create sites",
		"edit-alone get topologies",
		"edit-alone patch topologies",
		"edit-alone get leases geosql-confirmed",
		"admin-alone watch drills",
		"admin-alone create drills",
		"admin-alone create sqlservers",
	} {
		g.Eventually(func(g Gomega) { g.Expect(answers(g, question)).To(BeTrue(), question) }, time.Minute, "200ms").
			Should(Succeed())
	}
	// Asked last: until then the roles include nothing, and all is refused.
	for _, question := range []string{
		"view create topologies",
		"view list sites",
		"view get leases geosql-content",
		"sites list topologies",
		"edit create drills",
		"edit-alone create drills",
		"edit patch topologies/status",
		"edit-everywhere patch sites",
		"admin create sites",
		"admin-everywhere patch drills/status",
	} {
		g.Expect(answers(g, question)).To(BeFalse(), question)
	}
}

// may asks the API server whether a user may do something in namespace web, or with what is in none.
func may(g Gomega, hub client.Client, user, verb, resource, name string) bool {
	resource, sub, _ := strings.Cut(resource, "/")
	attributes := &authorizationv1.ResourceAttributes{Namespace: "web", Verb: verb, Name: name,
		Group: v1alpha1.GroupVersion.Group, Resource: resource, Subresource: sub}
	switch resource {
	case "leases":
		attributes.Group = "coordination.k8s.io"
	case "sites":
		attributes.Namespace = ""
	}
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes}}
	g.Expect(hub.Create(context.Background(), review)).To(Succeed())
	return review.Status.Allowed
}
