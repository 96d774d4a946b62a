// SPDX-License-Identifier: Apache-2.0

package site

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/reconcile"
)

// decision is the plan for a Site: sites themselves are not changed, so all there is to decide is whether it may go.
type decision struct{ release bool }

// Gist is what the frame of all controllers needs of it.
func (d decision) Gist() reconcile.Gist {
	return reconcile.Gist{Progress: conditions.Settled, Done: d.release}
}

func plan(*observation) decision { return decision{} }

// planDelete lets a Site go that is declared lost or that no server runs at: servers need its credentials until they are
// gone.
func planDelete(o *observation) decision {
	return decision{release: o.site.Spec.Lifecycle == v1alpha1.SiteLost || len(o.users) == 0}
}
