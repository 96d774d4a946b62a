// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites/sidecars"
)

// askPartners asks the partners' sidecars which CAs they have in their files.
func (r *Reconciler) askPartners(ctx context.Context, d Desired, o *Observed) {
	var wg sync.WaitGroup
	for i := range o.Partners {
		partner := &o.Partners[i]
		wg.Go(func() {
			partner.Loaded = reconcile.Asked(r.loaded(ctx, d.Server.Namespace, *partner))
		})
	}
	wg.Wait()
}

// loaded are the fingerprints that a partner's sidecar tells, with a token of its site.
func (r *Reconciler) loaded(ctx context.Context, namespace string, p Partner) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	certificate, err := p.Certificate.Get()
	if err != nil {
		return nil, err
	}
	var server v1alpha1.SQLServer
	if err := r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(p.Server)}, &server); err != nil {
		return nil, fmt.Errorf("read SQLServer %s/%s: %w", namespace, p.Server, err)
	}
	member, err := r.sites.Member(server.Spec.Site)
	if err != nil {
		return nil, err
	}
	site := fmt.Sprintf("site %s", member.Name())
	readers, err := secretData(ctx, member.APIReader, site, namespace, credentials.ReaderName)
	if err != nil {
		return nil, err
	}
	text, err := agent.StatusOf(ctx, r.sidecar(namespace, p.Server), namespace, p.Server, certificate, readers)
	if err != nil {
		return nil, err
	}
	var status struct {
		TrustedCAs []string `json:"trustedCAs"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, fmt.Errorf("read what the sidecar of %s says: %w", credentials.HostName(p.Server), err)
	}
	return status.TrustedCAs, nil
}

// sidecar is the address of a server's sidecar.
func (r *Reconciler) sidecar(namespace string, server v1alpha1.ServerName) string {
	return sidecars.Address(namespace, server)
}
