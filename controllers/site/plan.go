// SPDX-License-Identifier: Apache-2.0

package site

import (
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// decision is the plan for a Site: whether it may go, and whether the manager's token for it is renewed. Sites
// themselves are not changed.
type decision struct{ release, renew bool }

// Gist is what the frame of all controllers needs of it.
func (d decision) Gist() reconcile.Gist {
	steps := 0
	if d.renew {
		steps = 1
	}
	return reconcile.Gist{Steps: steps, Progress: conditions.Settled, Done: d.release}
}

// renewAgain is when a renewal is tried again: rights that an earlier release did not ask for are missing until the
// site is joined again.
const renewAgain = time.Hour

// plan renews the token when a third of its life is left, as long as the site answers.
func plan(o *observation) decision {
	return decision{renew: o.member != nil && o.token.RenewalDue(o.now) && o.now.Sub(o.renewed.at) >= renewAgain}
}

// planDelete lets a Site go that is declared lost, or that no server runs at and no group has a vote at: servers need
// its credentials until they are gone, and a group whose voters become fewer stops with the next loss.
func planDelete(o *observation) decision {
	return decision{release: o.site.Spec.Lifecycle == v1alpha1.SiteLost || len(o.users) == 0 && len(o.voting) == 0}
}
