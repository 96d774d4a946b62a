// SPDX-License-Identifier: Apache-2.0

package site

import (
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// RenewToken renews the manager's token for the site. Sites themselves are not changed.
type RenewToken struct{ Site string }

// Describe names the site.
func (s RenewToken) Describe() string { return "renew the manager's token for site " + s.Site }

// renewAgain is when a renewal is tried again: rights that an earlier release did not ask for are missing until the
// site is joined again.
const renewAgain = time.Hour

// settled is a plan without steps. What is so of a Site is the report's to say: its heartbeat changes without a plan.
func settled() reconcile.Plan {
	return reconcile.Plan{Outcome: conditions.Outcome{Progress: conditions.Settled}}
}

// plan renews the token when a third of its life is left, as long as the site answers.
func plan(d Desired, o *Observed) reconcile.Plan {
	p := settled()
	if o.member != nil && o.token.RenewalDue(o.now) && o.now.Sub(o.renewed.at) >= renewAgain {
		p.Add(RenewToken{Site: d.site.Name})
	}
	return p
}

// planDelete lets a Site go that is declared lost, or that no server runs at and no group has a vote at: servers need
// its credentials until they are gone, and a group whose voters become fewer stops with the next loss.
func planDelete(d Desired, o *Observed) reconcile.Plan {
	p := settled()
	p.Done = d.site.Spec.Lifecycle == v1alpha1.SiteLost || len(o.users) == 0 && len(o.voting) == 0
	return p
}
