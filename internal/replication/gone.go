// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// GoneWhy says why a server that was asked does not answer and is not expected to any more, as a clause; empty when it
// may answer.
func GoneWhy(gone sites.Gone, servers map[v1alpha1.ServerName]Server, server v1alpha1.ServerName) string {
	if servers[server].Err == nil {
		return ""
	}
	return gone.Why(server)
}

// GoneWhy says so of a whole publisher; empty when one of its servers may answer.
func (p Party) GoneWhy(gone sites.Gone, servers map[v1alpha1.ServerName]Server) string {
	if len(p.Servers) == 0 && p.Missing != "" {
		return "there is no " + p.Missing + " any more"
	}
	why := ""
	for _, server := range p.Servers {
		if why = GoneWhy(gone, servers, server); why == "" {
			return ""
		}
	}
	return why
}

// UsableForEnd is Usable for a deletion: what it waits for says how the deletion goes on without the server.
func UsableForEnd(server v1alpha1.ServerName, have Server) (conditions.Outcome, bool) {
	outcome, ok := Usable(server, have)
	if !ok {
		outcome.Message += "; " + sites.WayOut(server)
	}
	return outcome, ok
}
