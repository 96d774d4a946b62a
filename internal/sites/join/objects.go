// SPDX-License-Identifier: Apache-2.0

package join

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
)

// joinedLabel marks what the plugin made at a member, so that `site leave` and a shorter list of namespaces find it.
const joinedLabel = "geosql.dev/joined"

func (r *Request) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "geosql-operator", joinedLabel: "true", v1alpha1.LabelSite: r.Name}
}

func (r *Request) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: r.labels()}
}

func (r *Request) account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: r.meta(r.OperatorNamespace, sites.Account)}
}

func (r *Request) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: sites.Account, Namespace: r.OperatorNamespace}}
}

// clusterAccess is what the account may read of the whole cluster.
func (r *Request) clusterAccess() []client.Object {
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: r.meta("", sites.SiteRole), Rules: sites.ClusterRules()},
		&rbacv1.ClusterRoleBinding{ObjectMeta: r.meta("", sites.SiteRole), Subjects: r.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: sites.SiteRole}},
	}
}

// drillsClusterAccess is what drills need of the whole cluster.
func (r *Request) drillsClusterAccess() []client.Object {
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: r.meta("", sites.DrillsRole), Rules: sites.DrillClusterRules()},
		&rbacv1.ClusterRoleBinding{ObjectMeta: r.meta("", sites.DrillsRole), Subjects: r.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: sites.DrillsRole}},
	}
}

// access is a Role of that name in a namespace, bound to the account.
func (r *Request) access(namespace, name string, rules []rbacv1.PolicyRule) []client.Object {
	return []client.Object{
		&rbacv1.Role{ObjectMeta: r.meta(namespace, name), Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: r.meta(namespace, name), Subjects: r.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
	}
}

// hubAccess lets the manager keep the servers' Secrets in a namespace of the hub. Several sites share it, so it names
// none.
func (r *Request) hubAccess(namespace string) []client.Object {
	objects := r.access(namespace, sites.HubRole, sites.HubRules())
	for _, obj := range objects {
		delete(obj.GetLabels(), v1alpha1.LabelSite)
	}
	return objects
}

func (r *Request) secret(kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: r.meta(r.OperatorNamespace, r.Name), Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{sites.KubeconfigKey: kubeconfig}}
}

// processAccount is what the site's own process acts as.
func (r *Request) processAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: r.meta(r.OperatorNamespace, sites.SiteAccount)}
}

// processAccess are the rights of the site's own process in a namespace: an allowed one, or the operator's.
func (r *Request) processAccess(namespace string) []client.Object {
	rules := sites.SiteRules(orders.PeersObject, orders.PresenceLease)
	if namespace == r.OperatorNamespace {
		rules = sites.SiteOwnRules()
	}
	return []client.Object{
		&rbacv1.Role{ObjectMeta: r.meta(namespace, sites.SiteAccount), Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: r.meta(namespace, sites.SiteAccount),
			Subjects: []rbacv1.Subject{
				{Kind: rbacv1.ServiceAccountKind, Name: sites.SiteAccount, Namespace: r.OperatorNamespace},
			},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: sites.SiteAccount}},
	}
}

// processConfig tells the site's own process which namespaces there are.
func (r *Request) processConfig() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: r.meta(r.OperatorNamespace, sites.SiteConfig),
		Data: map[string]string{sites.SiteConfigNamespaces: strings.Join(r.Spec.AllowedNamespaces, " ")}}
}

func (r *Request) site() *v1alpha1.Site {
	s := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: r.Name}, Spec: r.Spec}
	if r.Member != nil {
		s.Spec.KubeconfigSecretRef = &v1alpha1.SecretReference{Name: r.Name}
	}
	return s
}
