// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"fmt"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// planStop ends the agents of the old way and the new publisher's own subscription; tables stay.
func planStop(d Desired, o Observed, p *replication.Plan) bool {
	if d.switched() {
		return true
	}
	if o.Left.Login {
		// Before anything else there: a former distributor that returns has its agents.
		p.EndLogin(d.Move.Spec.To, d.FormerLogin, o.Left.Sessions)
	}
	if err := unasked(d, o); err != nil {
		return settle(p, v1alpha1.MoveSwitching, conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, fmt.Sprintf(
			"whether the agents of the former publisher have ended is not known, and they would deliver once they are back: "+
				"%v%s",
			err, wayOn(d),
		)))
	}
	original := o.original(d)
	if original == "" {
		return true // nobody knows anything of a former publisher: there is nothing to be ended
	}
	if o.Old.Asked {
		for _, agent := range jobs(d, original) {
			name := agent.Now
			if name == replication.LogReaderJob(original, d.FromDatabase) && o.Old.At.Others {
				continue // other publications of the database share it
			}
			p.RemoveJob(d.FromSystem.Server, name, o.Old.Jobs[name])
		}
	}
	to, database := d.Move.Spec.To, d.targetDatabase()
	if to != d.FromSystem.Server || !o.Old.Asked {
		p.RemoveJob(to, job(d, original, to, database).Now, o.Left.Job)
	}
	if here := o.Left.Here; here != nil {
		end := tsql.PullSubscription{
			Publisher:         here.Publisher,
			PublisherDatabase: here.PublisherDatabase,
			Publication:       d.Publication.Name,
		}
		if here.Pull {
			p.Execute(to, database, tsql.DropPullSubscription(end))
		} else {
			p.Execute(to, database, tsql.CleanSubscription(end))
		}
	}
	return stopIfSteps(p, v1alpha1.MoveSwitching,
		v1alpha1.ReasonSwitching,
		"the agents of the former publisher are being ended",
	)
}

// unasked is why the agents of the former publisher may run on or come back to the new one, nil when they can't. Those
// of a distributor that is left find no login there when it returns, unless something else needs that login; then a
// person says that it does not return.
func unasked(d Desired, o Observed) error {
	at := d.FromSystem.Server
	gone := d.FormerLogin != "" || d.Lost[at] || slices.Contains(d.Move.Spec.FencedServers, at)
	if o.Old.Err != nil && (d.FromSystem.Server == d.System.Server || !gone) {
		return o.Old.Err
	}
	if o.original(d) == "" {
		return o.Copies[d.targetSubscription()].Err
	}
	return nil
}

// wayOn says how a move goes on without a distributor that is left and does not answer.
func wayOn(d Desired) string {
	if d.FromSystem.Server == d.System.Server {
		return ""
	}
	return fmt.Sprintf(". If %s is gone for good, set its Site's lifecycle to Lost, or name it in spec.fencedServers",
		d.FromSystem.Host())
}
