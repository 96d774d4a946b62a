// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/schedule"
)

const (
	defaultDeadline = 10 * time.Minute
	defaultPassed   = 3
	defaultOthers   = 10
	// stamp is how a drill's time is written in its name.
	stamp = "200601021504"
)

// Desired is what a schedule asks for.
type Desired struct {
	Schedule *v1alpha1.DrillSchedule
	// Times at which drills are made; Err is why they cannot be told.
	Times schedule.Schedule
	Err   error
	// Deadline is how late a drill may be made, and begin.
	Deadline time.Duration
	// Passed and Others are how many drills are kept that are over.
	Passed, Others int
}

// desire never fails: a schedule that cannot be read is its author's to mend.
func desire(_ context.Context, s *v1alpha1.DrillSchedule) (Desired, error) {
	d := Desired{
		Schedule: s,
		Deadline: defaultDeadline,
		Passed:   limit(s.Spec.PassedHistoryLimit, defaultPassed),
		Others:   limit(s.Spec.OtherHistoryLimit, defaultOthers),
	}
	if s.Spec.Repeat == nil {
		d.Times, d.Err = schedule.Parse(s.Spec.Schedule, s.Spec.TimeZone)
	}
	if s.Spec.StartingDeadline != nil {
		d.Deadline = s.Spec.StartingDeadline.Duration
	}
	return d, nil
}

func limit(n *int32, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return int(*n)
}

// drillOf is the drill of a time. Its name follows from the time, so that none is made twice.
func (d Desired) drillOf(due time.Time) *v1alpha1.Drill {
	when := due.UTC().Format(stamp)
	made := d.drill(fmt.Sprintf("%s-%s", d.Schedule.Name, when), *d.Schedule.Spec.Template.Spec.DeepCopy())
	made.Spec.RunID = when
	made.Spec.BeginBefore = &metav1.Time{Time: due.Add(d.Deadline)}
	return made
}

// nameOf is the name of the drill of a number.
func nameOf(schedule string, number int32) string { return fmt.Sprintf("%s-%03d", schedule, number) }

// drawn is the drill of a number, made now. Its name follows from the number, so that none is made twice.
func (d Desired) drawn(number int32, now time.Time) *v1alpha1.Drill {
	r := *d.Schedule.Spec.Repeat
	made := d.drill(nameOf(d.Schedule.Name, number), drill.Drawn(d.Schedule.Spec.Template.Spec, r, number))
	made.Annotations[v1alpha1.AnnotationDrillSeed] = fmt.Sprintf("%d/%d", r.Seed, number)
	made.Spec.BeginBefore = &metav1.Time{Time: now.Add(d.Deadline).Truncate(time.Second)}
	return made
}

// drill of the schedule.
func (d Desired) drill(name string, spec v1alpha1.DrillSpec) *v1alpha1.Drill {
	t := d.Schedule.Spec.Template
	labels, annotations := map[string]string{}, map[string]string{}
	maps.Copy(labels, t.Labels)
	maps.Copy(annotations, t.Annotations)
	labels[v1alpha1.LabelDrillSchedule] = d.Schedule.Name
	return &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   d.Schedule.Namespace,
			Name:        name,
			Labels:      labels,
			Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1alpha1.GroupVersion.String(), Kind: "DrillSchedule", Name: d.Schedule.Name, UID: d.Schedule.UID},
			},
		},
		Spec: spec,
	}
}
