// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// guards begins the names of the triggers that keep the subscription's tables read-only.
func (d Desired) guards() string {
	return tsql.GuardPrefix(d.Subscription.Namespace, d.Subscription.Name)
}

// guardOf is the guard of a table, nil where it has none.
func guardOf(guards []mssql.Guard, schema, table string) *mssql.Guard {
	for i, g := range guards {
		if strings.EqualFold(g.Schema, schema) && strings.EqualFold(g.Table, table) {
			return &guards[i]
		}
	}
	return nil
}

// planLifted drops the guards where none are declared, before anything is asked of publication, publisher and
// distributor: these may be lost, which is when somebody wants to write the copy. Everything else goes on: a table that
// is in use keeps its guard until a later look, and holds up nothing.
func planLifted(d Desired, o Observed, p *replication.Plan) bool {
	guards, err := o.Guards.Get()
	if d.Subscription.Spec.ReadOnly || err != nil || len(guards) == 0 || o.guardsHeld(d) != nil {
		// What stands in the way is told by who needs the subscriber anyway.
		return true
	}
	liftGuards(d, o, guards, p)
	return true
}

// planGuards lets nobody but the agent write the articles' tables, where that is declared. A new copy brings tables
// without a guard. Each is made by itself: a table that is in use keeps no other from having its own.
func planGuards(d Desired, o Observed, p *replication.Plan) bool {
	if !d.Subscription.Spec.ReadOnly {
		return true
	}
	guards, err := o.Guards.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Here.Tables)) {
		t := o.Here.Tables[key]
		if !o.publishes(key) {
			continue
		}
		switch g := guardOf(guards, t.Schema, t.Name); {
		case g == nil:
			guard := tsql.GuardName(d.guards(), t.Schema, t.Name)
			p.DestroyBeside(reconcile.Seen("the table is an article's, and has no guard", o.HereErr, o.PublicationErr),
				replication.Execute{Server: d.Subscriber, Database: d.database(),
					Statement: tsql.GuardTable(guard, t.Schema, t.Name)}, v1alpha1.ReasonConfiguring)
		case g.Disabled:
			p.Beside(replication.Execute{Server: d.Subscriber, Database: d.database(),
				Statement: tsql.EnableGuard(g.Name, t.Schema, t.Name)}, v1alpha1.ReasonConfiguring)
		}
	}
	for _, g := range guards {
		if !o.publishes(g.Schema + "." + g.Table) {
			dropGuard(d, g, reconcile.Seen("the table is no article's", o.Guards.Err(), o.PublicationErr), p)
		}
	}
	return true
}

// liftGuards drops every guard.
func liftGuards(d Desired, o Observed, guards []mssql.Guard, p *replication.Plan) {
	for _, g := range guards {
		dropGuard(d, g, reconcile.Seen("the guard is this Subscription's, which declares none or goes", o.Guards.Err()), p)
	}
}

func dropGuard(d Desired, g mssql.Guard, seen reconcile.Evidence, p *replication.Plan) {
	p.DestroyBeside(seen, replication.Execute{Server: d.Subscriber, Database: d.database(),
		Statement: tsql.DropGuard(g.Name, g.Schema)}, v1alpha1.ReasonConfiguring)
}

// held is why guards can't be lifted now, and what lets them be.
type held struct {
	outcome conditions.Outcome
	out     string
}

// guardsHeld says so of the subscription's guards, nil where they can be.
func (o Observed) guardsHeld(d Desired) *held {
	server := o.Servers[d.Subscriber]
	if outcome, ok := replication.Usable(d.Subscriber, server); !ok {
		return &held{outcome, sites.GoneForGood(d.Subscriber)}
	}
	database := server.State.Database(d.database())
	if database != nil && database.Secondary {
		// Before the reading: a copy that does not let anybody read gives none.
		return &held{conditions.InProgress(v1alpha1.ReasonSecondary, fmt.Sprintf(
			"database %s on %s is a secondary's copy, whose tables are changed at its group's primary alone",
			d.database(), d.host())), fmt.Sprintf("let %s be the primary", d.host())}
	}
	if err := o.Guards.Err(); err != nil {
		return &held{replication.Unanswered(err, ""), ""}
	}
	if database != nil && database.ReadOnly {
		return &held{conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"database %s on %s is read-only itself", d.database(), d.host())),
			fmt.Sprintf("ALTER DATABASE %s SET READ_WRITE there", tsql.Identifier(d.database()))}
	}
	return nil
}

// planUnguarded drops the guards before the object goes, whatever else stays: with nobody to lift them a table would be
// read-only for good, that of a copy which is to publish too. It waits for a subscriber that may have them, unless
// nobody expects that back, or readOnly was taken back: then what may stay is told, or what could not be dropped
// (replication.CarryOut).
func planUnguarded(d Desired, o Observed, p *replication.Plan) bool {
	guards, err := o.Guards.Get()
	if d.Subscriber == "" || err == nil && len(guards) == 0 {
		return true
	}
	readOnly := d.Subscription.Spec.ReadOnly
	if why := o.gone(d, d.Subscriber); why != "" {
		if readOnly {
			p.Leave("on %s the triggers %s*, by which the tables of database %s are read-only (%s)", d.host(), d.guards(),
				d.database(), why)
		}
		return true
	}
	switch held := o.guardsHeld(d); {
	case held == nil:
		liftGuards(d, o, guards, p)
		return !readOnly || p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, "the tables are being made writable"),
			d.withoutLifting(""))
	case !readOnly:
		p.Leave("on %s the triggers %s*, where the tables of database %s were read-only: DROP TRIGGER lets others write "+
			"them (they could not be looked for or dropped: %s)", d.host(), d.guards(), d.database(), held.outcome.Message)
		return true
	default:
		return p.Await(held.outcome, d.withoutLifting(held.out))
	}
}

// guarding says how the deletion of a read-only Subscription goes on that does not get as far as its guards; empty for
// another one.
func guarding(s *v1alpha1.Subscription) string {
	if !s.Spec.ReadOnly {
		return ""
	}
	return Desired{Subscription: s}.withoutLifting("")
}

// withoutLifting says how a deletion goes on that can't lift the guards: reclaimPolicy Retain does not leave them.
func (d Desired) withoutLifting(out string) string {
	if out != "" {
		out += "; "
	}
	return out + fmt.Sprintf("or set spec.readOnly to false, and the deletion goes on: the triggers %s* of database %s "+
		"then stay, and somebody has to drop them (DROP TRIGGER) before others write its tables", d.guards(), d.database())
}
