// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// desireTransfers finds the bounds of both ends.
func (r *Reconciler) desireTransfers(ctx context.Context, d *Desired) (err error) {
	if d.Receives, err = r.transfers(ctx, d.Subscription.Namespace, d.Subscriber); err != nil {
		return err
	}
	d.Sends, err = r.transfers(ctx, d.Subscription.Namespace, d.System.Server)
	return err
}

// transfers are the bounds of the site where a server runs; none where no Site, or no server, declares any.
func (r *Reconciler) transfers(
	ctx context.Context,
	namespace string,
	name v1alpha1.ServerName,
) (transfer.Settings, error) {
	var server v1alpha1.SQLServer
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(name)}, &server)
	var site v1alpha1.Site
	if err == nil && server.Spec.Site != "" {
		err = r.hub.Get(ctx, client.ObjectKey{Name: string(server.Spec.Site)}, &site)
	}
	if client.IgnoreNotFound(err) != nil {
		return transfer.Settings{}, fmt.Errorf("find the bounds of transfers of server %s/%s: %w", namespace, name, err)
	}
	return settingsOf(site.Spec.Transfers), nil
}

// settingsOf are declared bounds as sidecars are told them.
func settingsOf(declared *v1alpha1.SiteTransfers) transfer.Settings {
	if declared == nil {
		return transfer.Settings{}
	}
	return transfer.Settings{Workers: int(declared.Workers), MaxRate: bytesPerSecond(declared.MaxRate),
		Compression: transfer.Compression(declared.Compression)}
}

// bytesPerSecond of a rate such as 200Mbit; 0, no bound, for none. Admission refuses any other form.
func bytesPerSecond(rate string) int64 {
	for unit, bits := range map[string]float64{"Mbit": 1e6, "Gbit": 1e9} {
		if number, ok := strings.CutSuffix(rate, unit); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return 0
			}
			return int64(n * bits / 8)
		}
	}
	return 0
}

// mirrorOrder is what the subscriber's sidecar is told, readerOrder the distributor's.
func mirrorOrder(d Desired, o Observed) orders.Mirror {
	return orders.Mirror{
		Subscription: d.name(), Source: d.Source, Host: d.System.Host(), CA: d.CA, Token: d.Token,
		Folder: snapshotFolder(d, o), Generation: o.At.LastSnapshot, Manual: d.manual(), Transfers: d.Receives,
	}
}

func readerOrder(d Desired, o Observed) orders.Reader {
	return orders.Reader{Subscription: d.name(), Folder: snapshotFolder(d, o), Token: d.Token,
		Packed: d.Publication.Packs(d.Subscription), Transfers: d.Sends}
}
