// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	status := describe(d, o, p)
	if reconcile.IsSuspended(failed) {
		// What the plan is up to was not begun with: no moment is reached by it.
		status = *d.Move.Status.DeepCopy()
	}
	changes := conditions.Set(&status.StatusBase, d.Move.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Move, &d.Move.Status, &status, changes)
}

// describe makes the status of what was observed. A completed move is a record and changes no more.
func describe(d Desired, o Observed, p reconcile.Plan) v1alpha1.PublisherMoveStatus {
	s := *d.Move.Status.DeepCopy()
	if s.Phase == v1alpha1.MoveCompleted {
		return s
	}
	s.Phase = phaseOf(p)
	if phaseOf(p) == v1alpha1.MovePending || d.again(o) {
		return s
	}
	remember(d, o, &s)
	if worse := d.worse(o); !d.drained() && (!d.approved() || phaseOf(p) == v1alpha1.MoveEstimated && worse != "") {
		if phaseOf(p) != v1alpha1.MoveEstimated {
			return s // whether anything is lost is not known yet
		}
		if (d.estimates(o) || worse != "") && o.rulesUnread() == nil {
			s.Estimate = next(d, o)
		}
		s.Steps = steps(d, o)
		return s
	}
	if s.Timeline == nil {
		s.Timeline = &v1alpha1.MoveTimeline{}
	}
	reach(d, o, p, &s)
	if d.switched() {
		s.Subscriptions = nil
		for _, x := range d.others() {
			one := v1alpha1.MovedSubscription{Name: v1alpha1.ObjectName(x.Name), State: state(d, o, x)}
			if i := x.Status.Initialization; registeredAnew(d, x) {
				one.Method, one.Reason = i.Method, i.Reason
			}
			s.Subscriptions = append(s.Subscriptions, one)
		}
	}
	return s
}

// remember keeps what is known of the former publisher before anything of it is changed.
func remember(d Desired, o Observed, s *v1alpha1.PublisherMoveStatus) {
	if s.PublicationUID == "" {
		s.PublicationUID = d.Publication.UID
	}
	if s.From == nil && !d.switched() {
		from := d.Publication.Spec.Publisher
		s.From, s.FromDatabase, s.FromDistributor = &from, d.Publication.Spec.Database, d.Publication.Spec.Distributor
	}
	if s.Original == "" {
		s.Original = o.original(d)
	}
	if target := d.target(); target != nil && !d.switched() {
		s.ToSubscription, s.ToDatabase = v1alpha1.ObjectName(target.Name), target.Spec.Database
	}
}

// reach notes the moments that are reached.
func reach(d Desired, o Observed, p reconcile.Plan, s *v1alpha1.PublisherMoveStatus) {
	t := s.Timeline
	note := func(into **metav1.MicroTime, reached bool) {
		if reached && *into == nil {
			now := metav1.NewMicroTime(o.Now.Truncate(time.Microsecond))
			*into = &now
		}
	}
	drained := phaseOf(p) != v1alpha1.MoveDraining && phaseOf(p) != v1alpha1.MoveEstimated
	if n, ok := o.Old.Pending[d.targetSubscription()]; ok && t.Drained == nil && drained {
		s.Undelivered = &n
	}
	note(&t.Approved, true)
	note(&t.Drained, drained)
	note(&t.Switched, d.switched())
	note(&t.Published, d.switched() && phaseOf(p) != v1alpha1.MoveSwitching && published(d))
	note(&t.Delivering, phaseOf(p) == v1alpha1.MoveCompleted)
}

func published(d Desired) bool {
	var p replication.Plan
	return planPublished(d, Observed{}, &p)
}
