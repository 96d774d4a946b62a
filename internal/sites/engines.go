// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// CheckServer returns the *OtherHubError of the site at which a server runs: what this hub would ask of the engine is
// the other hub's to ask. hub reads SQLServers; one that it does not declare is at no site.
func (p *Provider) CheckServer(
	ctx context.Context,
	hub client.Reader,
	namespace string,
	server v1alpha1.ServerName,
) error {
	var declared v1alpha1.SQLServer
	key := client.ObjectKey{Namespace: namespace, Name: string(server)}
	if err := hub.Get(ctx, key, &declared); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read SQLServer %s: %w", key, err)
	}
	return p.OtherHub(declared.Spec.Site)
}

// ownedConfig is cfg for requests that end, as an ownedClient's writes do, when the site is another hub's.
func ownedConfig(cfg *rest.Config, owned *ownership) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return ownedTransport{next, owned} })
	return cfg
}

type ownedTransport struct {
	next  http.RoundTripper
	owned *ownership
}

// RoundTrip implements http.RoundTripper.
func (t ownedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.owned.other(); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("not asked: %w", err)
	}
	return t.next.RoundTrip(r)
}
