// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"strings"

	"geosql.dev/operator/internal/agent/orders"
)

// mirrorOrder is what the subscriber's sidecar is told, readerOrder the distributor's.
func mirrorOrder(d Desired, o Observed) orders.Mirror {
	return orders.Mirror{
		Subscription: d.name(), Source: d.Source, Host: d.System.Host(), CA: d.CA, Token: d.Token,
		Folder: snapshotFolder(d, o), Generation: o.At.LastSnapshot, Transfers: d.Receives,
	}
}

func readerOrder(d Desired, o Observed) orders.Reader {
	return orders.Reader{Subscription: d.name(), Folder: snapshotFolder(d, o), Token: d.Token, Transfers: d.Sends}
}

// snapshotFolder is where the snapshot agent writes below "unc"
// (docs/relational-databases/replication/snapshot-options.md): publisher, database and publication.
func snapshotFolder(d Desired, o Observed) string {
	return folderOf(o.At.Original, d.publisherDatabase(), d.publication())
}

func folderOf(publisher, database, publication string) string {
	return strings.ReplaceAll(publisher, "\\", "$") + "_" + database + "_" + publication
}
