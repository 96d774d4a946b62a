// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
)

// strictly refuses fields that a kind does not have. By default an API server drops them without a word, and a literal
// object of another version of Chaos Mesh, or with a typing error, would be another fault than the one that was meant.
const strictly = client.FieldValidation("Strict")

// tryLiterals has the sites' API servers check the literal objects without keeping them: of each fault those that it
// would create now. What was asked is in w.tried, nil where it would be taken.
func (r *Reconciler) tryLiterals(ctx context.Context, w *Observed) {
	w.tried = map[string]error{}
	for _, o := range drill.Expand(w.drill.Spec.Faults) {
		if _, asked := w.tried[o.DrillFault.Name]; asked || o.ChaosMesh == nil {
			continue
		}
		resolved, err := fault.Resolve(w.resolved, o)
		if err != nil {
			continue // the plan says so
		}
		w.tried[o.DrillFault.Name] = nil
		for _, object := range resolved.Objects {
			if err := try(ctx, w, object); err != nil {
				w.tried[o.DrillFault.Name] = err
			}
		}
	}
}

func try(ctx context.Context, w *Observed, o fault.Object) error {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	member := w.members[o.Site]
	if member == nil {
		return w.unusable(o.Site)
	}
	err := member.Client.Create(ctx, o.DeepCopy(), strictly, client.DryRunAll)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return fmt.Errorf("site %s does not know %s: is Chaos Mesh installed there?", o.Site, o.GetKind())
	case apierrors.IsForbidden(err):
		return fmt.Errorf(
			"whether site %s takes %s cannot be told, as drills are not granted there: kubectl geosql site join %s --drills",
			o.Site,
			o.GetKind(),
			o.Site,
		)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return fmt.Errorf("site %s refuses it: %w", o.Site, err)
	}
	return fmt.Errorf("whether site %s takes %s cannot be told: %w", o.Site, o.GetKind(), err)
}
