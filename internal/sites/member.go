// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"slices"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// FieldOwner is the field manager of everything that the operator applies, at sites and in the hub.
const FieldOwner = client.FieldOwner("geosql-operator")

// Member is a site that answers.
type Member struct {
	// Site is the object as it was when the site was engaged; a changed spec engages it anew.
	Site v1alpha1.Site
	// ClusterUID is the UID of the cluster's kube-system namespace.
	ClusterUID string
	// Client reads the kinds of WatchedObjects from a cache (only objects with the operator's labels where that list says
	// so, only in usable namespaces) and writes to the API server. Every call has a deadline. Reading any other kind
	// fails: use APIReader.
	Client client.Client
	// APIReader reads from the API server, with a deadline on every call.
	APIReader client.Reader
	// RESTConfig of the cluster, for port-forward and exec. It carries no time-out: give each call one. Once the site is
	// another hub's it begins no request.
	RESTConfig *rest.Config
	// Clock compares the manager's clock with the API server's.
	Clock *Clock
	// Namespaces that are allowed, exist, and that the credentials can use.
	Namespaces []string
	// unusable says for each other allowed namespace why it cannot be used.
	unusable map[string]string
	// gone are those of them that do not exist there, or are being deleted.
	gone map[string]bool
}

// Name of the site.
func (m *Member) Name() v1alpha1.SiteName { return v1alpha1.SiteName(m.Site.Name) }

// CheckNamespace returns nil when objects of the hub's namespace may be placed at the site, else a *NamespaceError.
func (m *Member) CheckNamespace(namespace string) error {
	if slices.Contains(m.Namespaces, namespace) {
		return nil
	}
	err := &NamespaceError{Site: m.Name(), Namespace: namespace, Allowed: m.Site.Spec.AllowedNamespaces}
	if slices.Contains(m.Site.Spec.AllowedNamespaces, namespace) {
		err.Missing = "it is not usable yet"
		if reason, ok := m.unusable[namespace]; ok {
			err.Missing, err.Gone = reason, m.gone[namespace]
		}
	}
	return err
}

// ApplyUnchanged makes obj so if it has not changed since it was read. See the function ApplyUnchanged.
func (m *Member) ApplyUnchanged(ctx context.Context, obj client.Object) error {
	return ApplyUnchanged(ctx, m.Client, obj)
}

// Apply makes obj so by server-side apply under FieldOwner. See the function Apply.
func (m *Member) Apply(ctx context.Context, obj client.Object) error {
	return Apply(ctx, m.Client, obj)
}
