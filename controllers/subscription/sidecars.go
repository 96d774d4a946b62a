// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites/sidecars"
)

// Sidecars are those of the servers of all sites.
type Sidecars interface {
	// Orders that a server's sidecar has for a subscription; nil when it has none.
	Orders(
		ctx context.Context,
		namespace string,
		server v1alpha1.ServerName,
		subscription string,
	) (*orders.Mirror, *orders.Reader, error)
	// Mirroring are the subscriptions for which a server's sidecar is to mirror a folder of snapshots.
	Mirroring(ctx context.Context, namespace string, server v1alpha1.ServerName, folder string) ([]string, error)
	// Write replaces what a server's sidecar is told for a subscription; without data it is taken away.
	Write(
		ctx context.Context,
		namespace string,
		server v1alpha1.ServerName,
		subscription string,
		data map[string][]byte,
	) error
	// Mirror is what a server's sidecar says of a subscription's mirror; nil when it says nothing.
	Mirror(ctx context.Context, namespace string, server v1alpha1.ServerName, subscription string) (*files.Status, error)
}

// siteSidecars are those of all sites.
type siteSidecars struct{ all sidecars.Sidecars }

// Orders of the subscription.
func (s siteSidecars) Orders(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	subscription string,
) (*orders.Mirror, *orders.Reader, error) {
	data, err := s.all.Orders(ctx, namespace, server)
	if err != nil {
		return nil, nil, err
	}
	mirror, reader := orders.Of(data, subscription)
	return mirror, reader, nil
}

// Mirroring reads the same Secret.
func (s siteSidecars) Mirroring(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	folder string,
) ([]string, error) {
	data, err := s.all.Orders(ctx, namespace, server)
	if err != nil {
		return nil, err
	}
	// What cannot be decoded is nobody's order: the sidecar does not follow it either.
	mirrors, _ := orders.Mirrors(data)
	var names []string
	for _, m := range mirrors {
		if strings.EqualFold(m.Folder, folder) {
			names = append(names, m.Subscription)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Write applies the subscription's keys under a field manager of its own.
func (s siteSidecars) Write(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	subscription string,
	data map[string][]byte,
) error {
	return s.all.Write(ctx, namespace, server, client.FieldOwner("geosql-subscription-"+subscription), data)
}

// Mirror asks the sidecar for its status.
func (s siteSidecars) Mirror(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	subscription string,
) (*files.Status, error) {
	var mirrors []files.Status
	if err := s.all.Part(ctx, namespace, server, files.PartName, &mirrors); err != nil {
		return nil, err
	}
	for i := range mirrors {
		if mirrors[i].Subscription == subscription {
			return &mirrors[i], nil
		}
	}
	return nil, nil
}
