// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// world is a schedule with the drills that it made.
type world struct {
	schedule *v1alpha1.DrillSchedule
	next     v1alpha1.DrillScheduleStatus
	now      time.Time
	// drills of the schedule, oldest first.
	drills []v1alpha1.Drill
}

func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.DrillSchedule) (*world, error) {
	w := &world{schedule: s, next: *s.Status.DeepCopy(), now: r.now()}
	var list v1alpha1.DrillList
	if err := r.fresh.List(ctx, &list, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1alpha1.LabelDrillSchedule: s.Name}); err != nil {
		return nil, fmt.Errorf("list the drills of DrillSchedule %s/%s: %w", s.Namespace, s.Name, err)
	}
	for _, d := range list.Items {
		// A person's copy of a drill has its labels as well. It is not the schedule's to delete.
		mine := slices.ContainsFunc(d.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == s.UID })
		if mine && d.DeletionTimestamp == nil {
			w.drills = append(w.drills, d)
		}
	}
	// Names end with the time that a drill stands for.
	slices.SortFunc(w.drills, func(a, b v1alpha1.Drill) int { return strings.Compare(a.Name, b.Name) })
	return w, nil
}
