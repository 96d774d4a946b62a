// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/sites"
)

// rights are what somebody lacks: of a site that is joined the manager's account, else the person who is to join it.
type rights struct {
	// administrator tells that the person may do everything.
	administrator bool
	// gives tells that the person may give rights that the person does not have.
	gives bool
	// missing are rights of the person, or Roles of the account, that are not there.
	missing []string
	// other are Roles of the account that are not those of this release.
	other []string
}

func readRights(ctx context.Context, t target, drills bool) (rights, error) {
	if len(t.site.AllowedNamespaces) == 0 {
		return rights{}, nil
	}
	if t.joined {
		return accountRights(ctx, t, drills)
	}
	return personRights(ctx, t)
}

// given is a role as `site join` of this release makes it; one without a namespace is the whole cluster's.
type given struct {
	namespace, name string
	rules           []rbacv1.PolicyRule
}

// String names the role.
func (g given) String() string {
	if g.namespace == "" {
		return "ClusterRole " + g.name
	}
	return "Role " + g.namespace + "/" + g.name
}

// given are the roles that the manager's account has at a site.
func (t target) given(drills bool) []given {
	all := []given{{"", sites.SiteRole, sites.ClusterRules()}}
	if drills {
		all = append(all, given{"", sites.DrillsRole, sites.DrillClusterRules()})
	}
	if !t.isHub && !slices.Contains(t.site.AllowedNamespaces, t.operator) {
		all = append(all, given{t.operator, sites.SiteRole, sites.TokenRules()})
	}
	for _, ns := range t.site.AllowedNamespaces {
		all = append(all, given{ns, sites.SiteRole, sites.NamespaceRules()})
		if drills {
			all = append(all, given{ns, sites.DrillsRole, sites.DrillRules()})
		}
	}
	return all
}

// accountRights compares the roles of the manager's account with those of this release. A site that an earlier one
// joined has others.
func accountRights(ctx context.Context, t target, drills bool) (rights, error) {
	var found rights
	for _, g := range t.given(drills) {
		rules, bound, err := g.read(ctx, t.at.Client)
		switch {
		case err != nil:
			return rights{}, err
		case rules == nil || !bound:
			found.missing = append(found.missing, g.String())
		case !equality.Semantic.DeepEqual(rules, g.rules):
			found.other = append(found.other, g.String())
		}
	}
	return found, nil
}

// read reads the rules of a role, nil when it is not there, and whether it is bound.
func (g given) read(ctx context.Context, from client.Reader) (rules []rbacv1.PolicyRule, bound bool, err error) {
	if g.namespace == "" {
		role, err := optional(ctx, from, &rbacv1.ClusterRole{}, "ClusterRole", "", g.name)
		if err != nil || role == nil {
			return nil, false, err
		}
		binding, err := optional(ctx, from, &rbacv1.ClusterRoleBinding{}, "ClusterRoleBinding", "", g.name)
		return role.Rules, binding != nil, err
	}
	role, err := optional(ctx, from, &rbacv1.Role{}, "Role", g.namespace, g.name)
	if err != nil || role == nil {
		return nil, false, err
	}
	binding, err := optional(ctx, from, &rbacv1.RoleBinding{}, "RoleBinding", g.namespace, g.name)
	return role.Rules, binding != nil, err
}

// needed is what `site join` needs at a cluster. What it applies is made, or patched.
var needed = []struct {
	verbs     []string
	group     string
	resources []string
}{
	{[]string{"create"}, "", []string{"namespaces", "serviceaccounts/token"}},
	{[]string{"get", "create", "delete"}, "", []string{"secrets"}},
	{[]string{"create", "patch"}, "", []string{"serviceaccounts", "configmaps"}},
	{[]string{"create", "patch"}, rbacv1.GroupName,
		[]string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"}},
	{[]string{"create", "patch"}, "admissionregistration.k8s.io",
		[]string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}},
	{[]string{"create", "patch"}, "flowcontrol.apiserver.k8s.io",
		[]string{"flowschemas", "prioritylevelconfigurations"}},
	{[]string{"list"}, "coordination.k8s.io", []string{"leases"}},
}

// personRights asks what the person who is to join the cluster may do there, in all its namespaces.
func personRights(ctx context.Context, t target) (rights, error) {
	may := func(attributes authorizationv1.ResourceAttributes) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
		if err := t.at.Client.Create(ctx, review); err != nil {
			return false, fmt.Errorf("ask for the rights to %s: %w", right(attributes), err)
		}
		return review.Status.Allowed, nil
	}
	var (
		found rights
		err   error
	)
	found.administrator, err = may(authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
	if err != nil || found.administrator {
		return found, err
	}
	for _, n := range needed {
		for _, name := range n.resources {
			attributes := authorizationv1.ResourceAttributes{Group: n.group}
			attributes.Resource, attributes.Subresource, _ = strings.Cut(name, "/")
			for _, attributes.Verb = range n.verbs {
				allowed, err := may(attributes)
				if err != nil {
					return rights{}, err
				}
				if !allowed {
					found.missing = append(found.missing, right(attributes))
				}
			}
		}
	}
	found.gives = true
	for _, resource := range []string{"clusterroles", "roles"} {
		for _, verb := range []string{"escalate", "bind"} {
			allowed, err := may(authorizationv1.ResourceAttributes{Verb: verb, Group: rbacv1.GroupName, Resource: resource})
			if err != nil {
				return rights{}, err
			}
			found.gives = found.gives && allowed
		}
	}
	return found, nil
}

// right is a right for people, as `kubectl auth can-i` takes it.
func right(a authorizationv1.ResourceAttributes) string {
	resource := a.Resource
	if a.Group != "" && a.Group != "*" {
		resource += "." + a.Group
	}
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return strings.TrimSpace(a.Verb + " " + resource)
}
