// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// RenewToken renews the manager's token for the site. Sites themselves are not changed.
type RenewToken struct{ Site string }

// Describe names the site.
func (s RenewToken) Describe() string { return "renew the manager's token for site " + s.Site }

// ForgetSite takes a Site that goes out of what another one was told.
type ForgetSite struct {
	Site   string
	at     toldSite
	object *corev1.ConfigMap
}

// Describe names both.
func (s ForgetSite) Describe() string {
	return fmt.Sprintf("take site %s out of what site %s was told in namespace %s", s.Site, s.at.member.Name(),
		s.at.namespace)
}

// RevokeToken ends the manager's token before the one that it uses.
type RevokeToken struct {
	Site   string
	Former sites.BoundSecret
}

// Describe names the site.
func (s RevokeToken) Describe() string { return "revoke the manager's former token for site " + s.Site }

// renewAgain is when a renewal is tried again: rights that an earlier release did not ask for are missing until the
// site is joined again.
const renewAgain = time.Hour

// settled is a plan without steps. What is so of a Site is the report's to say: its heartbeat changes without a plan.
func settled() reconcile.Plan {
	return reconcile.Plan{Outcome: conditions.Outcome{Progress: conditions.Settled}}
}

// plan renews the token when a third of its life is left, as long as the site answers, and revokes the one before.
func plan(d Desired, o *Observed) reconcile.Plan {
	p := settled()
	if o.member != nil && o.token.RenewalDue(o.now) && o.now.Sub(o.renewed.at) >= renewAgain {
		p.Add(RenewToken{Site: d.site.Name})
	}
	// That the site is engaged with another one shows that the former is needed no more.
	if o.member != nil && o.former.UID != "" && o.token.Secret.UID != "" && o.former.UID != o.token.Secret.UID {
		p.Add(RevokeToken{Site: d.site.Name, Former: o.former})
	}
	return p
}

// planDelete lets a Site go that is declared lost, or that no server runs at and no group has a vote at: servers need
// its credentials until they are gone, and a group whose voters become fewer stops with the next loss.
func planDelete(d Desired, o *Observed) reconcile.Plan {
	p := settled()
	p.Done = d.site.Spec.Lifecycle == v1alpha1.SiteLost || len(o.users) == 0 && len(o.voting) == 0
	if !p.Done {
		return p
	}
	for _, at := range o.told {
		object, err := at.names.Without(orders.SiteKey(d.site.Name))
		if err != nil {
			p.Outcome = conditions.Unknown(v1alpha1.ReasonDeleting, err.Error())
			p.Done = false
			return p
		}
		p.Add(ForgetSite{Site: d.site.Name, at: at, object: object})
	}
	return p
}
