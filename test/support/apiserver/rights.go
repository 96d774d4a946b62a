// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/checkout"
)

// managerUser is the manager's ServiceAccount as an API server names it.
const managerUser = "system:serviceaccount:" + sites.OperatorNamespace + ":geosql-operator"

// ManagerRole is what the manager may do in the whole hub, as the chart says and config/rbac has it.
func ManagerRole(t testing.TB) *rbacv1.ClusterRole {
	t.Helper()
	return Role(t, "geosql-operator-manager")
}

// Role is a ClusterRole that the chart installs in the hub, as config/rbac has it.
func Role(t testing.TB, name string) *rbacv1.ClusterRole {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(checkout.Root(), "config", "rbac", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var role rbacv1.ClusterRole
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			t.Fatalf("config/rbac/rbac.yaml has no ClusterRole %s: run make manifests", name)
		} else if err != nil {
			t.Fatalf("reading config/rbac/rbac.yaml: %v", err)
		}
		if role.Kind == "ClusterRole" && role.Name == name {
			return &role
		}
	}
}

// ManagerConfig is how the manager speaks with the hub: of the operator's own kinds it may do what its ClusterRole
// says, and no more. Its rights over others, which `site join` grants for each namespace, are not narrowed.
func (a *Server) ManagerConfig(t testing.TB) *rest.Config {
	t.Helper()
	others := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-others"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{
			"",
			"admissionregistration.k8s.io",
			"apps",
			"authentication.k8s.io",
			"authorization.k8s.io",
			"batch",
			"chaos-mesh.org",
			"coordination.k8s.io",
			"discovery.k8s.io",
			"events.k8s.io",
			"policy",
			rbacv1.GroupName,
			"storage.k8s.io",
		},
		Resources: []string{rbacv1.ResourceAll}, Verbs: []string{rbacv1.VerbAll}}}}
	for _, role := range []*rbacv1.ClusterRole{ManagerRole(t), others} {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: managerUser}}}
		for _, obj := range []client.Object{role, binding} {
			if err := a.Client.Create(t.Context(), obj); client.IgnoreAlreadyExists(err) != nil {
				t.Fatalf("creating %T %s: %v", obj, obj.GetName(), err)
			}
		}
	}
	a.awaitRights(t, authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets"},
		authorizationv1.ResourceAttributes{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "sites"})
	cfg := rest.CopyConfig(a.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser}
	return cfg
}

// awaitRights waits until the manager has rights that it was given. The API server goes by what its own watch of roles
// has told it, on a busy machine seconds later.
func (a *Server) awaitRights(t testing.TB, all ...authorizationv1.ResourceAttributes) {
	t.Helper()
	for _, may := range all {
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				review := &authorizationv1.SubjectAccessReview{
					Spec: authorizationv1.SubjectAccessReviewSpec{User: managerUser, ResourceAttributes: &may}}
				err := a.Client.Create(ctx, review)
				return review.Status.Allowed, err
			})
		if err != nil {
			t.Fatalf("waiting until the manager may %s %s: %v", may.Verb, may.Resource, err)
		}
	}
}
