// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// planFirst ends the plan of a group that is yet to be made while a server that was a replica has it, or may have it,
// and of one that nobody is left to make: its first primary was taken out of the replicas, or made asynchronous, before
// it did. Of a group that exists initialPrimary may be gone.
func planFirst(d Desired, o Observed, p *reconcile.Plan) bool {
	if o.exists(d) || d.Group.Status.GroupID != "" {
		return true
	}
	have, unknown := o.elsewhere(d)
	switch {
	case len(have) > 0:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPrimaryNotDeclared, fmt.Sprintf(
			"no replica that answers has the group, and %s has it and is declared no more. Nothing is created beside it: "+
				"declare it as a replica again; once another one is primary it can be taken out", list(have),
		)))
	case len(unknown) > 0:
		return p.Settle(conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf(
			"the group can be created only when every server that was a replica says that it has none; no answer from %s. If "+
				"it is gone for good, set its Site's lifecycle to Lost (a Site that is gone is declared again, as Lost); where "+
				"the site answers, deleting its SQLServer is enough", o.why(unknown),
		)))
	case len(o.silent(d)) > 0, d.makesGroup(d.Group.Spec.InitialPrimary):
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonInitialPrimaryNotDeclared, fmt.Sprintf(
		"no server has the group yet, and initialPrimary %s, which is to make it, is none of the synchronous replicas: "+
			"declare it as one again, or delete the group and declare it with another initialPrimary",
		d.Group.Spec.InitialPrimary,
	)))
}
