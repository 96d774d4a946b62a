// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
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
		return reconcile.Plan{Done: true}
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
