// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
)

// GiveMirror tells the sidecars of distributor and subscriber to bring snapshots from the one to the other.
type GiveMirror struct {
	Subscriber, Distributor v1alpha1.ServerName
	Mirror                  orders.Mirror
	Reader                  orders.Reader
}

// Describe names the snapshot.
func (s GiveMirror) Describe() string {
	what := "nothing yet"
	if s.Mirror.Generation != "" {
		what = "the snapshot of " + s.Mirror.Generation
	}
	if s.Mirror.Manual != "" {
		return fmt.Sprintf("tell the sidecar of %s to take %s of %s from folder %s, to which a person brings it, as %s "+
			"lists it", credentials.HostName(s.Subscriber), what, s.Mirror.Folder, s.Mirror.Manual,
			credentials.HostName(s.Distributor))
	}
	return fmt.Sprintf("tell the sidecar of %s to mirror %s of %s from %s", credentials.HostName(s.Subscriber), what,
		s.Mirror.Folder, credentials.HostName(s.Distributor))
}

// TakeMirror takes those orders away; files stay. A server that is gone is empty.
type TakeMirror struct {
	Subscriber, Distributor v1alpha1.ServerName
	// Subscription whose orders they are, when it is another one, which nobody declares any more.
	Subscription string
}

// Describe names the servers.
func (s TakeMirror) Describe() string {
	var hosts []string
	for _, server := range []v1alpha1.ServerName{s.Subscriber, s.Distributor} {
		if server != "" {
			hosts = append(hosts, credentials.HostName(server))
		}
	}
	whose := "the mirror"
	if s.Subscription != "" {
		whose = "Subscription " + s.Subscription + "'s mirror"
	}
	return "take the orders of " + whose + " from the sidecars of " + strings.Join(hosts, " and ")
}
