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

// Observed are the drills of a schedule.
type Observed struct {
	Now time.Time
	// Schedule is its name.
	Schedule string
	// Drills of the schedule, oldest first.
	Drills []v1alpha1.Drill
}

// has says that a drill of the name is there.
func (o Observed) has(name string) bool {
	return slices.ContainsFunc(o.Drills, func(d v1alpha1.Drill) bool { return d.Name == name })
}

func (r *Reconciler) observe(ctx context.Context, desired Desired) (Observed, error) {
	s := desired.Schedule
	o := Observed{Now: r.now(), Schedule: s.Name}
	var list v1alpha1.DrillList
	if err := r.fresh.List(ctx, &list, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1alpha1.LabelDrillSchedule: s.Name}); err != nil {
		return o, fmt.Errorf("list the drills of DrillSchedule %s/%s: %w", s.Namespace, s.Name, err)
	}
	for _, d := range list.Items {
		// A person's copy of a drill has its labels as well. It is not the schedule's to delete.
		mine := slices.ContainsFunc(d.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == s.UID })
		if mine && d.DeletionTimestamp == nil {
			o.Drills = append(o.Drills, d)
		}
	}
	// Names end with the time that a drill stands for, or its number.
	slices.SortFunc(o.Drills, func(a, b v1alpha1.Drill) int { return strings.Compare(a.Name, b.Name) })
	return o, nil
}
