// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// apply carries out the steps.
func (r *Reconciler) apply(ctx context.Context, _ Desired, _ Observed, p reconcile.Plan) error {
	return reconcile.InOrder(ctx, p.Steps, func(ctx context.Context, step reconcile.Step) error {
		switch s := step.(type) {
		case Make:
			return r.make(ctx, s.Drill)
		case Drop:
			return reconcile.Remove(ctx, r.hub, s.Drill)
		}
		return fmt.Errorf("step %T is not known", step)
	})
}

// make makes a drill. One that is there counts as made if it is the one that was to be made: a manager ended before it
// could say so.
func (r *Reconciler) make(ctx context.Context, d *v1alpha1.Drill) error {
	err := r.hub.Create(ctx, d)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var there v1alpha1.Drill
	if err := r.fresh.Get(ctx, client.ObjectKeyFromObject(d), &there); err != nil {
		return fmt.Errorf("look at Drill %s/%s, which is there already: %w", d.Namespace, d.Name, err)
	}
	return taken(d, &there)
}

// taken says what is wrong with a drill that has the name of one that is to be made, with what to change; nil when it
// is the same one. The name has the schedule's and a number or a time: not which schedule of that name, and no seed.
func taken(wanted, there *v1alpha1.Drill) error {
	seed := wanted.Annotations[v1alpha1.AnnotationDrillSeed]
	owned := func(o metav1.OwnerReference) bool { return o.UID == wanted.OwnerReferences[0].UID }
	var text string
	switch is := there.Annotations[v1alpha1.AnnotationDrillSeed]; {
	case !slices.ContainsFunc(there.OwnerReferences, owned):
		text = "it is not of this schedule"
	case is != seed:
		text = fmt.Sprintf("it is not of seed and number %s but of %s", seed, cmp.Or(is, "none"))
	default:
		return nil
	}
	remedy := "delete it"
	if seed != "" {
		remedy += ", or let spec.repeat.first begin beyond it"
	}
	return fmt.Errorf("a Drill %s/%s is there, and %s: %s", there.Namespace, there.Name, text, remedy)
}
