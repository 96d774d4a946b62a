// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// report writes the status from the plan and what failed of it, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, _ Observed, p reconcile.Plan, failed error) error {
	t, status := d.Topology, d.Topology.Status.DeepCopy()
	var steps failures
	if !errors.As(failed, &steps) {
		p.Outcome = reconcile.Outcome(p.Outcome, failed)
	}
	var outcome conditions.Outcome
	status.Members, outcome = withFailures(p, steps)
	if outcome.Reason != v1alpha1.ReasonManifestInvalid {
		status.Summary = summary(status.Members, reconcile.Noted[Members](p).Declared)
	}
	if t.DeletionTimestamp != nil {
		status.Summary = fmt.Sprintf("%d leaving", len(status.Members))
	}
	changes := conditions.Set(&status.StatusBase, t.Generation, outcome)
	if reflect.DeepEqual(&t.Status, status) {
		return nil
	}
	before := t.DeepCopy()
	t.Status = *status
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := client.IgnoreNotFound(r.hub.Status().Patch(ctx, t, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("write the status of Topology %s/%s: %w", t.Namespace, t.Name, err)
	}
	conditions.Emit(r.events, t, changes)
	return nil
}

// withFailures lays what failed over what the objects say of themselves.
func withFailures(p reconcile.Plan, failed failures) ([]v1alpha1.MemberStatus, conditions.Outcome) {
	planned := reconcile.Noted[Members](p)
	members := append([]v1alpha1.MemberStatus(nil), planned.All...)
	outcome := p.Outcome
	var refused, others []v1alpha1.MemberStatus
	for _, f := range failed {
		status := member(f.key, metav1.ConditionFalse, v1alpha1.ReasonApplyFailed, f.err.Error()+"; it is tried again")
		if f.refused {
			status.Reason, status.Message = v1alpha1.ReasonMemberRefused, f.err.Error()
			refused = append(refused, status)
		} else {
			others = append(others, status)
		}
		for i := range members {
			if members[i].Kind == status.Kind && members[i].Name == status.Name {
				members[i] = status
			}
		}
	}
	text := fmt.Sprintf("%s. ", summary(members, planned.Declared))
	switch {
	case len(refused) > 0:
		outcome = conditions.Stalled(v1alpha1.ReasonMemberRefused, text+explain(refused))
	case len(others) > 0 && outcome.Progress != conditions.Stuck:
		outcome = conditions.InProgress(v1alpha1.ReasonApplyFailed, text+explain(others))
	}
	return members, outcome
}
