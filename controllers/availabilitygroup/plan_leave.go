// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// planFormer cleans up at servers that are no longer replicas, once the primary's configuration does not name them any
// more: DROP AVAILABILITY GROUP must run on every replica. Their databases stay as they are. A server that does not
// answer, or calls itself primary, is waited for without holding up anything else.
func planFormer(d Desired, o Observed, p *Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	configuration := o.Instances[primary].Group
	for _, server := range d.former() {
		if configuration.Replica(host(server)) != nil {
			continue
		}
		// Its agent keeps the orders as long as it may have to make the engine step down.
		i := o.Instances[server]
		if i.Err != nil || i.callsItselfPrimary() {
			continue
		}
		if i.Group != nil {
			p.execute(server, tsql.DropGroup(d.name()))
		}
		if orders := o.Agents[server]; orders.Err == nil && orders.Told != nil {
			p.add(TakeOrders{Server: server})
		}
	}
	if len(p.Steps) > 0 {
		return p.settle(creating("former replicas are being cleaned up"))
	}
	return true
}

// neverMade says that the group cannot be on any server: no server was ever seen with it, and nobody ever held a term. The
// manager makes a group only once the initial primary's agent has claimed the first one; a term stays on the voters for
// good, and every voter has to be asked that a person has not called lost.
func (o Observed) neverMade(d Desired) bool {
	if !d.fenced() || d.Group.Status.GroupID != "" || o.exists(d) || len(o.Voters) == 0 {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(o.Voters, o.Joining), func(v Voter) bool {
		return v.Err != nil && !errors.Is(v.Err, election.ErrAbsent) && !errors.Is(v.Err, sites.ErrSiteLost) || v.Err == nil && v.Record.Term > 0
	})
}

// planDelete takes a group away when its object is deleted and reclaimPolicy is Delete, and else leaves it running: the
// agents go on without the object. Databases stay on every replica.
func planDelete(d Desired, o Observed) Plan {
	var p Plan
	if d.Group.Spec.ReclaimPolicy != v1alpha1.ReclaimDelete {
		p.Done = true
		return p
	}
	// A server that was a replica may have the group still: it was away when it was to forget it.
	servers := append(d.servers(), d.former()...)
	if primary := o.primary(d); primary != "" {
		// The primary first: its databases go on as databases of its own.
		servers = append([]v1alpha1.ServerName{primary}, servers...)
	}
	var waiting []string
	dropped := map[v1alpha1.ServerName]bool{}
	never := o.neverMade(d)
	for _, s := range servers {
		i, ok := o.Instances[s]
		switch {
		case ok && i.Err != nil && (never || d.Group.Status.GroupID == "" && d.NeverAnswered[s]):
			// Its engine may never have started: there is nothing to drop on it, only to forget. A group is made only once all
			// engines have answered; a server that is deleted with the group and never did would wait for it for ever.
		case dropped[s] || !ok || errors.Is(i.Err, sites.ErrSiteLost):
			continue
		case i.Err != nil:
			waiting = append(waiting, host(s))
			continue
		case i.Group != nil:
			p.execute(s, tsql.DropGroup(d.name()))
		}
		dropped[s] = true
		if orders := o.Agents[s]; orders.Err == nil && orders.Told != nil {
			p.add(TakeOrders{Server: s})
		}
	}
	if len(p.Steps) > 0 || len(waiting) > 0 {
		p.settle(deleting("the group is being dropped on its replicas", waiting))
		return p
	}
	for _, v := range slices.Concat(o.Voters, o.Joining, o.Former) {
		switch {
		case errors.Is(v.Err, election.ErrAbsent), errors.Is(v.Err, sites.ErrSiteLost), errors.Is(v.Err, sites.ErrUnknownSite):
		case v.Err != nil:
			waiting = append(waiting, string(v.Site))
		default:
			p.add(RemoveVotes{Site: v.Site})
		}
	}
	p.Done = len(p.Steps) == 0 && len(waiting) == 0
	p.settle(deleting("the votes are being removed", waiting))
	return p
}

func deleting(what string, waiting []string) conditions.Outcome {
	if len(waiting) > 0 {
		return conditions.Unknown(conditions.ReasonDeleting, fmt.Sprintf(
			"%s; no answer from %s; if its site is gone for good set the Site's lifecycle to Lost", what, list(waiting)))
	}
	return conditions.InProgress(conditions.ReasonDeleting, what)
}
