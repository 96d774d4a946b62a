// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"maps"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// guards begins the names of the triggers that keep the subscription's tables read-only.
func (d Desired) guards() string {
	return tsql.GuardPrefix(d.Subscription.Namespace, d.Subscription.Name)
}

// guardOf is the guard of a table, nil where it has none.
func (o Observed) guardOf(schema, table string) *mssql.Guard {
	for i, g := range o.Here.Guards {
		if strings.EqualFold(g.Schema, schema) && strings.EqualFold(g.Table, table) {
			return &o.Here.Guards[i]
		}
	}
	return nil
}

// planGuards lets nobody but the agent write the articles' tables, where that is declared. A new copy brings tables
// without a guard.
func planGuards(d Desired, o Observed, p *replication.Plan) bool {
	before := len(p.Steps)
	if !d.Subscription.Spec.ReadOnly {
		liftGuards(d, o, p)
		return len(p.Steps) == before || p.Proceed("the tables are being made writable")
	}
	for _, key := range slices.Sorted(maps.Keys(o.Here.Tables)) {
		t := o.Here.Tables[key]
		if !o.publishes(key) {
			continue
		}
		switch g := o.guardOf(t.Schema, t.Name); {
		case g == nil:
			guard := tsql.GuardName(d.guards(), t.Schema, t.Name)
			p.Destroy(reconcile.Seen("the table is an article's, and has no guard", o.HereErr, o.PublicationErr),
				replication.Execute{Server: d.Subscriber, Database: d.database(),
					Statement: tsql.GuardTable(guard, t.Schema, t.Name)})
		case g.Disabled:
			p.Execute(d.Subscriber, d.database(), tsql.EnableGuard(g.Name, t.Schema, t.Name))
		}
	}
	for _, g := range o.Here.Guards {
		if !o.publishes(g.Schema + "." + g.Table) {
			dropGuard(d, g, reconcile.Seen("the table is no article's", o.HereErr, o.PublicationErr), p)
		}
	}
	return len(p.Steps) == before || p.Proceed("the tables are being made read-only")
}

// liftGuards drops every guard.
func liftGuards(d Desired, o Observed, p *replication.Plan) {
	for _, g := range o.Here.Guards {
		dropGuard(d, g, reconcile.Seen("the guard is this Subscription's, which declares none or goes", o.HereErr), p)
	}
}

func dropGuard(d Desired, g mssql.Guard, seen reconcile.Evidence, p *replication.Plan) {
	p.Destroy(seen, replication.Execute{Server: d.Subscriber, Database: d.database(),
		Statement: tsql.DropGuard(g.Name, g.Schema)})
}

// planUnguarded drops the guards before the object goes, whatever else stays: with nobody to lift them a table would be
// read-only for good, that of a copy which is to publish too. A subscriber that nobody expects back keeps them.
func planUnguarded(d Desired, o Observed, p *replication.Plan) bool {
	if !d.Subscription.Spec.ReadOnly && len(o.Here.Guards) == 0 || d.Subscriber == "" {
		return true
	}
	if d.nowhere() {
		p.Leave("on %s the triggers %s*, by which the tables of database %s are read-only (these are not declared: %s)",
			d.host(), d.guards(), d.database(), strings.Join(d.Missing, ", "))
		return true
	}
	if why := o.gone(d, d.Subscriber); why != "" {
		p.Leave("on %s the triggers %s*, by which the tables of database %s are read-only (%s)", d.host(), d.guards(),
			d.database(), why)
		return true
	}
	if !p.AwaitServer(d.Subscriber, o.Servers[d.Subscriber]) {
		return false
	}
	if o.Servers[d.Subscriber].State.Database(d.database()) == nil {
		return true
	}
	_, err := replication.OnlineDatabase(d.Subscriber, o.Servers[d.Subscriber], d.database()).Get()
	if !p.AwaitAnswer(err) || !p.AwaitAnswer(o.HereErr) {
		return false
	}
	liftGuards(d, o, p)
	if len(p.Steps) == 0 {
		return true
	}
	return p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, "the tables are being made writable"))
}
