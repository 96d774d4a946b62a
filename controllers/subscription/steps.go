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

// TellBackup tells a server's sidecar what it does about the backup with which a subscriber begins: as the publisher's,
// Reader; as the subscriber's, Mirror. Without either its order is taken away.
type TellBackup struct {
	Server v1alpha1.ServerName
	Reader *orders.Reader
	Mirror *orders.Mirror
}

// Describe names the server.
func (s TellBackup) Describe() string {
	host := credentials.HostName(s.Server)
	switch {
	case s.Reader != nil && s.Reader.Ended && s.Reader.Attempt.Why != "":
		return fmt.Sprintf("tell the sidecar of %s to remove the backups for the subscription; the last one, %s", host,
			s.Reader.Attempt.Why)
	case s.Reader != nil && s.Reader.Ended, s.Mirror != nil && s.Mirror.Ended:
		return "tell the sidecar of " + host + " to remove the backup with which the subscription began"
	case s.Reader != nil && s.Reader.Attempt.Set != "":
		return fmt.Sprintf("tell the sidecar of %s to serve backup %s, set %s", host, s.Reader.Backup, s.Reader.Attempt.Set)
	case s.Reader != nil:
		return fmt.Sprintf("tell the sidecar of %s to make the folder for backup %s", host, s.Reader.Backup)
	case s.Mirror != nil:
		return fmt.Sprintf("tell the sidecar of %s to bring the backup of %s from %s", host, s.Mirror.Generation,
			s.Mirror.Host)
	}
	return "take the order of the backup from the sidecar of " + host
}
