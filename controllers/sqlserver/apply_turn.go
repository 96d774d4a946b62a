// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// passTurn writes or removes the server in the group's annotation. That somebody else has it by now is an error.
func (r *Reconciler) passTurn(ctx context.Context, d Desired, group string, take bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var g v1alpha1.AvailabilityGroup
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: group}
	if err := r.secrets.Get(ctx, key, &g); err != nil {
		if !take {
			err = client.IgnoreNotFound(err)
		}
		return err
	}
	self, has := d.name(), holder(&g)
	before := client.MergeFromWithOptions(g.DeepCopy(), client.MergeFromWithOptimisticLock{})
	switch {
	case take && has == self, !take && has != self:
		return nil
	case take && has != "":
		return fmt.Errorf("%s has it", has)
	case take:
		if g.Annotations == nil {
			g.Annotations = map[string]string{}
		}
		g.Annotations[annotationTurn] = string(self)
	default:
		delete(g.Annotations, annotationTurn)
	}
	if err := r.hub.Patch(ctx, &g, before); err != nil {
		return fmt.Errorf("write annotation %s of AvailabilityGroup %s: %w", annotationTurn, key, err)
	}
	return nil
}
