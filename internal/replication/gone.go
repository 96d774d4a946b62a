// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// GoneWhy says, as a clause, why nobody expects an answer from a server any more; empty when it has answered or may.
func GoneWhy(gone sites.Gone, servers map[v1alpha1.ServerName]Server, server v1alpha1.ServerName) string {
	if servers[server].Err == nil {
		return ""
	}
	return gone.Why(server)
}

// GoneWhy says, as a clause, why nobody expects an answer from any server of a publisher; empty when one may answer.
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

// Retain is the way out of every deletion: nothing of the object is waited for.
const Retain = "reclaimPolicy Retain leaves everything as it is"

// Await ends the planning of a deletion that waits; out says how somebody lets it go on. No deletion waits without one.
func (p *Plan) Await(o conditions.Outcome, out string) bool {
	o.Message = "deletion waits: " + o.Message + "; " + out
	return p.Settle(o)
}

// AwaitServer waits until a server answers and may be configured, and says how the deletion goes on without it.
func (p *Plan) AwaitServer(server v1alpha1.ServerName, have Server) bool {
	outcome, ok := Usable(server, have)
	return ok || p.Await(outcome, sites.WayOut(server))
}

// AwaitAnswer waits until a question has an answer; err is why it has none, nil when it has.
func (p *Plan) AwaitAnswer(err error) bool { return err == nil || p.Await(Unanswered(err, ""), Retain) }

// AwaitPrimary waits for the server of a publisher that takes writes, and may be configured.
func (p *Plan) AwaitPrimary(publisher Party, servers map[v1alpha1.ServerName]Server) bool {
	if primary := publisher.Primary(servers); primary != "" {
		return p.AwaitServer(primary, servers[primary])
	}
	for _, server := range publisher.Servers {
		if !p.AwaitServer(server, servers[server]) {
			return false
		}
	}
	return p.Await(conditions.InProgress(v1alpha1.ReasonNoPrimary, publisher.Name+" has no primary now"), Retain)
}
