// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/endpoint"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

const (
	// connectPatience is how long a primary may be without a connection to a replica that answers before its endpoint is
	// restarted. The agents heal what they can in less.
	connectPatience = time.Minute
	// primaryEvery is which of the attempts restarts the primary's endpoint.
	primaryEvery = 3
)

// unheard are the replicas to which the primary has no connection although both answer and have a group of the name,
// with their endpoints made. One that calls itself primary is to step down first.
func (o Observed) unheard(d Desired) (servers []v1alpha1.ServerName) {
	primary := o.primary(d)
	if primary == "" {
		return nil
	}
	for _, s := range d.servers() {
		have, i := o.row(primary, s), o.Instances[s]
		if s != primary && have != nil && disconnected(have) && i.Err == nil && i.Group != nil &&
			!i.callsItselfPrimary() && i.Mirroring.Endpoint != nil {
			servers = append(servers, s)
		}
	}
	return servers
}

// planConnections restarts the endpoint of a replica to which the primary has had no connection for long, and each
// third time the primary's: an engine whose first connection failed, to a name that did not resolve yet, say, is known
// not to have tried again by itself. That costs a replica nothing that has no connection, and is done only where the
// endpoint carries no other group and, on the primary, no other replica's log. Each attempt comes after twice the time.
func planConnections(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	for _, s := range o.unheard(d) {
		tried := o.Restarted[s]
		if o.UnheardFor[s] >= connectPatience && o.stale(primary, s) != "" {
			return planForget(d, o, primary, s, p)
		}
		if o.UnheardFor[s] < connectPatience {
			continue
		}
		at := s
		if tried.Made%primaryEvery == primaryEvery-1 && !o.feeds(primary) {
			at = primary
		}
		m := o.Instances[at].Mirroring
		may, refused := endpoint.Facts{Server: host(at), Group: d.name(), Carries: others(m.Groups, d.name()),
			Primary: at == primary, Held: o.UnheardFor[s], Feeds: o.feeds(primary), Made: tried.Made, Ago: tried.Ago}.May()
		if refused != nil {
			return p.Settle(conditions.InProgress(v1alpha1.ReasonSynchronizing, fmt.Sprintf(
				"%s is primary and serves; it has no connection to %s, which answers. What mostly helps is ALTER ENDPOINT "+
					"[%s] STATE = STOPPED, and STARTED, on %s; it is not done by itself: %v", host(primary), host(s),
				m.Endpoint.Name, host(at), refused)))
		}
		if !may {
			continue
		}
		p.Destroy(
			reconcile.Seen("the primary has no connection to it, and the endpoint carries nothing else",
				o.Instances[primary].Err, o.Instances[s].Err),
			RestartEndpoint{Server: at, Endpoint: m.Endpoint.Name, For: s})
		return p.Settle(conditions.InProgress(v1alpha1.ReasonSynchronizing, fmt.Sprintf(
			"%s is primary and serves; it has no connection to %s, which answers: the mirroring endpoint of %s is restarted",
			host(primary), host(s), host(at))))
	}
	return true
}

// stale says what a replica remembers of the group by which the primary cannot reach it; empty for nothing. A server
// that was a replica of an earlier group of the name, or was removed and added again while it was away, takes the
// primary for a stranger until DROP AVAILABILITY GROUP there.
func (o Observed) stale(primary, s v1alpha1.ServerName) string {
	mine, theirs := o.Instances[s].Group, o.Instances[primary].Group
	id, known := mine.ReplicaIDs[host(s)], theirs.ReplicaIDs[host(s)]
	switch {
	case mine.ID != "" && theirs.ID != "" && mine.ID != theirs.ID:
		return "the group " + mine.ID + " of the same name"
	case id != "" && known != "" && id != known:
		return "the group as its replica " + id + ", which was removed"
	}
	return ""
}

// planForget names the statement by which a replica would forget what seems stale, and does not send it: that the
// engines of a group with an external cluster manager have equal IDs is documented nowhere.
func planForget(d Desired, o Observed, primary, s v1alpha1.ServerName, p *reconcile.Plan) bool {
	return p.Settle(conditions.Stalled(v1alpha1.ReasonReplicasNotJoined, fmt.Sprintf(
		"%s has %s, and the primary %s has no connection to it: DROP AVAILABILITY GROUP [%s] on %s if that is not needed "+
			"any more, which leaves its databases there, or take the server out of spec.replicas",
		host(s), o.stale(primary, s), host(primary), d.name(), host(s))))
}

// feeds tells of a primary that has a connection to any replica.
func (o Observed) feeds(primary v1alpha1.ServerName) bool {
	group := o.Instances[primary].Group
	return slices.ContainsFunc(group.Replicas, func(r mssql.GroupReplica) bool {
		return r.Role != string(ballot.RolePrimary) && r.Connected == "CONNECTED"
	})
}

// others are the groups beside one of the name.
func others(groups []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return strings.EqualFold(g, name) })
}

// planStopped starts endpoints that were left stopped: whoever restarts one may end between STOPPED and STARTED, and no
// log goes to or from that server until somebody looks. It waits for nothing else.
func planStopped(d Desired, o Observed, p *reconcile.Plan) bool {
	for _, s := range o.answering(d) {
		if m := o.Instances[s].Mirroring; m.Endpoint != nil && m.Endpoint.Port == MirroringPort &&
			m.Endpoint.State != "STARTED" {
			execute(p, s, tsql.StartEndpoint(m.Endpoint.Name))
		}
	}
	if len(p.Steps) > 0 {
		p.Apart = true
		return p.Settle(creating("endpoints that were stopped are being started"))
	}
	return true
}
