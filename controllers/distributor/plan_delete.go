// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// planDelete takes the distributor away when reclaimPolicy is Delete and nothing uses it any more; else everything
// stays. sp_dropdistributor with @no_checks drops whatever is published, so that is looked for first, on every server
// that the distributor admits: a Publication that was retained, or one that somebody made by hand, is declared nowhere.
func planDelete(d Desired, o Observed) reconcile.Plan {
	var p replication.Plan
	if len(d.Ending) > 0 && !v1alpha1.MayDestroy(d.Distributor, d.Distributor.Spec.ReclaimPolicy) {
		p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, "these end first, which need to know where they are: "+
			strings.Join(d.Ending, ", ")), "where one cannot end, set its reclaimPolicy to Retain")
		return p.Plan
	}
	if !v1alpha1.MayDestroy(d.Distributor, d.Distributor.Spec.ReclaimPolicy) {
		p.Done = planRetained(d, o, &p)
		return p.Plan
	}
	if len(d.Publications) > 0 {
		p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, "the distributor is still named by these Publications: "+
			strings.Join(d.Publications, ", ")), "delete them; "+replication.Retain)
		return p.Plan
	}
	server := d.System.Server
	if why := o.gone(d, server); why != "" {
		return planWithout(d, o, why)
	}
	if !p.AwaitServer(server, o.Servers[server]) {
		return p.Plan
	}
	if !p.AwaitAnswer(o.SetUp.Err()) {
		return p.Plan
	}
	if have := o.distributor(d); !have.HasLogin(d.System.SID) {
		p.Done = planRetained(d, o, &p)
		return p.Plan
	}
	if !planUnused(d, o, &p) {
		return p.Plan
	}
	// First of all: whatever is taken away before may be what it is found by.
	endSetUp(d, o, "nothing is published through the distributor", &p)
	planUnlink(d, o, &p)
	planTakeAway(d, o, &p)
	return p.Plan
}

// planUnused waits until it is known of every server that may publish through the distributor that none does.
func planUnused(d Desired, o Observed, p *replication.Plan) bool {
	for _, server := range append([]v1alpha1.ServerName{d.System.Server}, o.linked(d)...) {
		if o.gone(d, server) != "" {
			continue
		}
		if outcome, ok := replication.Usable(server, o.Servers[server]); !ok {
			outcome.Message = fmt.Sprintf("whether publisher %s still publishes is not known: %s",
				credentials.HostName(server), outcome.Message)
			return p.Await(outcome, sites.WayOut(server))
		}
		if names := o.published(d, server); len(names) > 0 {
			return p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, fmt.Sprintf(
				"%s still publishes %s through the distributor",
				credentials.HostName(server), strings.Join(names, ", "))),
				"delete the Publications with reclaimPolicy Delete (declare again those that were retained), or end by hand "+
					"what somebody made (sp_droppublication, sp_replicationdboption); "+replication.Retain)
		}
	}
	if names := o.foreign(d); len(names) > 0 {
		return p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, fmt.Sprintf(
			"%s admits %s, of which the operator cannot ask whether it publishes",
			d.System.Host(), strings.Join(names, ", "))),
			"end that there and take it away (sp_dropdistpublisher); "+replication.Retain)
	}
	return true
}

// planUnlink takes the link and the agents' login away from every publisher that answers. The link goes first where the
// distributor tells who its publishers are, and last where only the link does.
func planUnlink(d Desired, o Observed, p *replication.Plan) {
	alone := o.gone(d, d.System.Server) != ""
	for _, publisher := range o.linked(d) {
		host := credentials.HostName(publisher)
		if why := o.gone(d, publisher); why != "" {
			p.Leave("on %s what it has of distributor %s: the link to it, login %s and what it published (%s)",
				host, d.System.Host(), d.System.Login, why)
			continue
		}
		s := o.Servers[publisher].State
		if s == nil {
			continue
		}
		if alone && s.HasLogin(d.System.SID) {
			p.Execute(publisher, replication.Master, tsql.DropLogin(d.System.Login))
		}
		switch {
		case strings.EqualFold(s.Distributor, d.System.Host()):
			p.Execute(publisher, replication.Master, tsql.DropDistributor())
		case s.HasDistributor && s.Distributor == "":
			p.Leave("on %s the link to a distributor, of which it cannot tell whether it is %s", host, d.System.Host())
		}
		if !alone && s.HasLogin(d.System.SID) {
			p.Execute(publisher, replication.Master, tsql.DropLogin(d.System.Login))
		}
	}
}

// planTakeAway drops what the distributor's server has. Another distribution database there is somebody else's, and
// what is for both stays.
func planTakeAway(d Desired, o Observed, p *replication.Plan) {
	have, server := o.distributor(d), d.System.Server
	for _, publisher := range have.Publishers {
		if strings.EqualFold(publisher.Database, d.System.Database) {
			p.Execute(server, replication.Master, tsql.DropDistributionPublisher(publisher.Name))
		}
	}
	var others []string
	listed := false
	for _, database := range have.Distribution {
		if strings.EqualFold(database.Name, d.System.Database) {
			p.Execute(server, replication.Master, tsql.DropDistributionDatabase(database.Name))
			listed = true
			continue
		}
		others = append(others, database.Name)
	}
	if !listed && have.Database(d.System.Database) != nil {
		p.Leave("on %s database %s, which msdb does not list as one of a distributor", d.System.Host(), d.System.Database)
	}
	slices.Sort(others)
	switch {
	case len(others) > 0:
		p.Leave(
			"on %s the distributor itself: it has distribution database %s too", d.System.Host(), strings.Join(others, ", "),
		)
	case have.HasDistributor:
		p.Execute(server, replication.Master, tsql.DropDistributor())
	}
	// The login, which marks the distributor as the operator's, last: without it nobody comes here again.
	p.Execute(server, replication.Master, tsql.DropLogin(d.System.Login))
	p.Done = true
	p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, "the distributor is being taken away"))
}

// planWithout ends what can be ended without the distributor's server, which nobody expects back.
func planWithout(d Desired, o Observed, why string) reconcile.Plan {
	var p replication.Plan
	if !planUnused(d, o, &p) {
		return p.Plan
	}
	planUnlink(d, o, &p)
	p.Leave("on %s distribution database %s, its jobs, login %s, and %s, in sysadmin, where it is there (%s)",
		d.System.Host(), d.System.Database, d.System.Login, d.System.SetUpLogin, why)
	p.Done = true
	p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, "publishers are being unlinked"))
	return p.Plan
}
