// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// planDelete takes the server's pod away and keeps its volumes and Secrets, unless the reclaim policy says Delete.
// Nothing is taken away while another object names the server, and the finalizer waits for a site that does not answer,
// unless a person has declared it lost.
func planDelete(d Desired, l left) reconcile.Plan {
	deleting := func(message string) conditions.Outcome {
		return conditions.InProgress(v1alpha1.ReasonDeleting, message)
	}
	switch {
	case errors.Is(l.Site, sites.ErrSiteLost):
		p := reconcile.Plan{Done: true}
		leaveAtLostSite(d, &p)
		return p
	case len(d.References) > 0:
		return reconcile.Plan{
			Outcome: deleting(
				"the server is still named by " + strings.Join(d.References, ", ") + "; delete or change them first",
			),
		}
	case errors.Is(l.Site, sites.ErrUnknownSite):
		return reconcile.Plan{
			Outcome: deleting(
				fmt.Sprintf(
					"%v: declare the Site again; with lifecycle Lost if it is gone for good, which keeps nothing waiting",
					l.Site,
				),
			),
		}
	case l.Site != nil:
		return reconcile.Plan{Outcome: conditions.Unknown(v1alpha1.ReasonSiteUnreachable, fmt.Sprintf(
			"deletion waits for site %s: %v; if the site is gone for good set its lifecycle to Lost",
			d.Server.Spec.Site,
			l.Site,
		))}
	case sites.IsNamespaceGone(l.Namespace):
		return reconcile.Plan{Done: true}
	case l.Namespace != nil:
		// The pod may be there and run on, and nobody would look for it.
		return reconcile.Plan{Outcome: conditions.InProgress(v1alpha1.ReasonNamespaceMissing, fmt.Sprintf(
			"deletion waits for site %s: %v; if the site is gone for good set its lifecycle to Lost",
			d.Server.Spec.Site,
			l.Namespace,
		))}
	case l.Set != "" && !l.Ending:
		return reconcile.Plan{Outcome: deleting("the pod is ending"), Steps: []reconcile.Step{DeleteStatefulSet{UID: l.Set}}}
	case l.Set != "" || l.Pod:
		return reconcile.Plan{Outcome: deleting("the pod is ending")}
	}
	return reconcile.Plan{Outcome: deleting("what the server has at its site is being taken away"), Done: true,
		Steps: []reconcile.Step{TakeAway{Data: v1alpha1.MayDestroy(d.Server, d.Server.Spec.ReclaimPolicy)}}}
}

// leaveAtLostSite notes what nobody can take away at a site that is declared lost, and what is kept in the hub for it:
// should the site come back, its volumes are of no use without.
func leaveAtLostSite(d Desired, p *reconcile.Plan) {
	name := d.name()
	own := strings.Join([]string{credentials.PasswordsName(name), credentials.CertificateName(name)}, " and ")
	p.Leave("at site %s pod %s with its volumes and account, and Secrets %s and %s of namespace %s (the site is declared "+
		"lost)", d.Server.Spec.Site, d.host(), own, credentials.OrdersName(name), d.Server.Namespace)
	p.Leave("in the hub Secrets %s of namespace %s, which the volumes need should the site come back", own,
		d.Server.Namespace)
}
