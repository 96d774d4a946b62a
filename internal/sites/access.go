// SPDX-License-Identifier: Apache-2.0

package sites

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Names of what `site join` makes at a site and in the hub.
const (
	// OperatorNamespace is where the operator and its accounts are unless told otherwise.
	OperatorNamespace = "geosql-system"
	// Account is the ServiceAccount that the manager acts as: at a site the one that `site join` makes, in the hub the
	// manager's own.
	Account = "geosql-operator"
	// SiteRole is the ClusterRole, and the Role in each allowed namespace, that Account has at a site.
	SiteRole = "geosql-operator-site"
	// DrillsRole is the ClusterRole, and the Role in each allowed namespace, that Account has at a site beside SiteRole
	// where drills are granted.
	DrillsRole = "geosql-operator-drills"
	// HubRole is the Role that Account has in the hub, in each namespace where servers are declared.
	HubRole = "geosql-operator-secrets"
)

// Where Chaos Mesh's chart puts its daemons by default.
const (
	ChaosNamespace = "chaos-mesh"
	ChaosDaemons   = "chaos-daemon"
)

// ChaosGroup is the API group of Chaos Mesh.
const ChaosGroup = "chaos-mesh.org"

// CertManagerGroup is the API group of cert-manager.
const CertManagerGroup = "cert-manager.io"

var (
	read   = []string{"get", "list", "watch"}
	manage = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
)

// ClusterRules are what the manager may read of a whole cluster: what decides where volumes can live, and whether a
// namespace exists.
func ClusterRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "persistentvolumes"}, Verbs: read},
		{
			APIGroups: []string{"storage.k8s.io"},
			Resources: []string{"storageclasses", "csinodes", "csistoragecapacities"},
			Verbs:     read,
		},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	}
}

// DrillClusterRules are what drills need of a whole cluster: how many of Chaos Mesh's daemons are ready, since a fault
// whose daemon is started again while it lasts may have ended.
func DrillClusterRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups:     []string{"apps"},
			Resources:     []string{"daemonsets"},
			ResourceNames: []string{ChaosDaemons},
			Verbs:         []string{"get"},
		},
	}
}

// DrillRules are what drills need in an allowed namespace: pods of clients, what is asked in pods, and faults. Without
// Chaos Mesh at the site the last is no right at all.
func DrillRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create", "get"}},
		{APIGroups: []string{ChaosGroup}, Resources: ChaosResources(), Verbs: manage},
	}
}

// NamespaceRules are what the manager may do in an allowed namespace of a site. It may give the agents' accounts rights
// on Leases and single Secrets, which Kubernetes lets it do because it has them itself, and mint tokens for them.
func NamespaceRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: manage},
		{
			APIGroups: []string{""},
			Resources: []string{"services", "persistentvolumeclaims", "configmaps", "secrets"},
			Verbs:     manage,
		},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: manage},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: manage},
		// Whether a server's pod may be evicted.
		{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: manage},
		// Who may connect to a server's pod.
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies"},
			Verbs: []string{"get", "create", "update", "patch", "delete"}},
		// Certificates of servers whose spec.tls names an issuer. Without cert-manager at the site this is no right at all.
		{APIGroups: []string{CertManagerGroup}, Resources: []string{"certificates"},
			Verbs: []string{"get", "create", "patch", "delete"}},
		// Pods are made by their StatefulSets; a restart deletes one, a new release gives its sidecar another image.
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "patch", "delete"}},
		// Why a pod does not start or a volume is not made.
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: manage},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings"}, Verbs: manage},
	}
}

// TokenRules let the manager renew its own token at a site, in the operator's namespace there, and revoke the one
// before. What it may create there the admission policy of the site bounds (join.Policy).
func TokenRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups:     []string{""},
			Resources:     []string{"serviceaccounts/token"},
			ResourceNames: []string{Account},
			Verbs:         []string{"create"},
		},
		// Creation can't be limited to a name.
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{
			APIGroups:     []string{""},
			Resources:     []string{"secrets"},
			ResourceNames: TokenSecrets(),
			Verbs:         []string{"get", "delete"},
		},
	}
}

// ChaosResources are the kinds of Chaos Mesh that drills use.
func ChaosResources() []string {
	return []string{"dnschaos", "httpchaos", "iochaos", "jvmchaos", "networkchaos", "podchaos", "stresschaos", "timechaos"}
}

// HubRules are what the manager may do in the hub's namespaces where servers are declared: keep the copies of their
// Secrets, what drills leave behind, and the Lease that says up to when statuses are so. Its own kinds are granted by
// the chart.
func HubRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups: []string{""},
			Resources: []string{"secrets"},
			Verbs:     []string{"get", "create", "update", "patch", "delete"},
		},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "delete"}},
		{
			APIGroups: []string{"coordination.k8s.io"},
			Resources: []string{"leases"},
			Verbs:     []string{"get", "create", "update", "patch", "delete"},
		},
	}
}

// Names of what `site join` makes for a site's own process (`geosql site`), in the operator's namespace of the site.
const (
	// SiteAccount is the ServiceAccount of the process, and the Role that it has in each allowed namespace.
	SiteAccount = "geosql-site"
	// SiteConfig is the ConfigMap that says which namespaces the site is allowed, under SiteConfigNamespaces, separated
	// by spaces.
	SiteConfig           = "geosql-site"
	SiteConfigNamespaces = "namespaces"
)

// SiteRules are what a site's own process may do in an allowed namespace: keep Services and EndpointSlices, and read
// what it was told. peers is the Secret in which it is told of the other sites, presence the Lease that it renews.
func SiteRules(peers, presence string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: manage},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: manage},
		{APIGroups: []string{""}, Resources: []string{"pods", "configmaps"}, Verbs: read},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: read},
		// Creation can't be limited to a name (kubernetes.io/docs/reference/access-authn-authz/rbac, "Referring to
		// resources").
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{
			APIGroups:     []string{"coordination.k8s.io"},
			Resources:     []string{"leases"},
			ResourceNames: []string{presence},
			Verbs:         []string{"update", "patch"},
		},
		{
			APIGroups:     []string{""},
			Resources:     []string{"secrets"},
			ResourceNames: []string{peers},
			Verbs:         []string{"get", "patch"},
		},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	}
}

// SiteOwnRules are what it may do in the operator's namespace: read its configuration, and let one of several replicas
// work at a time.
func SiteOwnRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups:     []string{""},
			Resources:     []string{"configmaps"},
			ResourceNames: []string{SiteConfig},
			Verbs:         []string{"get"},
		},
		{
			APIGroups: []string{"coordination.k8s.io"},
			Resources: []string{"leases"},
			Verbs:     []string{"get", "create", "update", "patch"},
		},
		{APIGroups: []string{"events.k8s.io", ""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}
