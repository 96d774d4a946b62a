// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// Families of the manager that speak of Drills and DrillSchedules.
var (
	DrillPhase = gauge(
		"geosql_drill_phase",
		"1 for the phase of a drill: Pending, Preparing, Baseline, Running, Recovering, Judging or Completed.",
		"namespace",
		"drill",
		"phase",
	)
	DrillVerdict = gauge("geosql_drill_verdict",
		"1 for the verdict of a drill that is completed: Passed, Failed or Inconclusive.", "namespace", "drill", "verdict")
	DrillObjective = gauge("geosql_drill_objective_verdict",
		"1 for the verdict on one objective of a drill that is completed.", "namespace", "drill", "objective", "verdict")
	DrillCompleted = gauge("geosql_drill_completion_timestamp_seconds",
		"When the verdict of a drill was reached.", "namespace", "drill")
	DrillRows = gauge(
		"geosql_drill_rows",
		"Rows of a drill by what became of them: Attempted, Acknowledged, Failed, Unknown, Lost, Duplicated, Phantom or "+
			"Diverging.",
		"namespace",
		"drill",
		"fate",
	)
	DrillRTO = gauge(
		"geosql_drill_recovery_seconds",
		"The longest time without service around a fault that clients of a site saw, until service held again, without "+
			"the time in which faults kept them from everything.",
		"namespace",
		"drill",
		"client",
	)
	ScheduleVerdict = gauge("geosql_drillschedule_last_verdict",
		"1 for the verdict of the newest completed drill of a schedule.", "namespace", "schedule", "verdict")
	SchedulePassed = gauge("geosql_drillschedule_last_pass_timestamp_seconds",
		"When a drill of a schedule last passed.", "namespace", "schedule")
	ScheduleNext = gauge("geosql_drillschedule_next_timestamp_seconds",
		"When the next drill of a schedule is due. A time that has passed is overdue.", "namespace", "schedule")
	ScheduleMissed = gauge("geosql_drillschedule_missed",
		"How many times came and made no drill.", "namespace", "schedule")
	ScheduleSuspended = gauge("geosql_drillschedule_suspended",
		"1 while a schedule makes no drills.", "namespace", "schedule")
	ScheduleRepeated = gauge("geosql_drillschedule_repeated_drills",
		"The kept drills of a schedule that repeats, by verdict: Passed, Failed or Inconclusive.",
		"namespace", "schedule", "verdict")
	ScheduleLost = gauge("geosql_drillschedule_repeated_losing_drills",
		"How many of the kept drills of a schedule that repeats have lost acknowledged rows.", "namespace", "schedule")
	ScheduleLossBound = gauge("geosql_drillschedule_repeated_loss_bound_ratio",
		"The share of drills that lose acknowledged rows, from 0 to 1, that those of a schedule exclude with a confidence "+
			"of 95 %.", "namespace", "schedule")
	ScheduleRTO = gauge("geosql_drillschedule_repeated_recovery_seconds",
		"How the worst times without service of the drills of a schedule that repeats are distributed: the least, median, "+
			"p95 and most.", "namespace", "schedule", "statistic")
)

var drillFamilies = []*Family{DrillPhase, DrillVerdict, DrillObjective, DrillCompleted, DrillRows, DrillRTO,
	ScheduleVerdict, SchedulePassed, ScheduleNext, ScheduleMissed, ScheduleSuspended,
	ScheduleRepeated, ScheduleLost, ScheduleLossBound, ScheduleRTO}

func (o *Objects) drills(ctx context.Context, s Sink) error {
	var drills v1alpha1.DrillList
	if err := o.hub.List(ctx, &drills); err != nil {
		return err
	}
	for i := range drills.Items {
		s.drill(&drills.Items[i])
	}
	var schedules v1alpha1.DrillScheduleList
	if err := o.hub.List(ctx, &schedules); err != nil {
		return err
	}
	for i := range schedules.Items {
		s.schedule(&schedules.Items[i])
	}
	return nil
}

func (s Sink) schedule(x *v1alpha1.DrillSchedule) {
	s.conditions("DrillSchedule", x, x.Status.Conditions)
	if x.Status.LastVerdict != "" {
		s.Set(ScheduleVerdict, 1, x.Namespace, x.Name, string(x.Status.LastVerdict))
	}
	s.time(SchedulePassed, x.Status.LastPassed, x.Namespace, x.Name)
	s.time(ScheduleNext, x.Status.Next, x.Namespace, x.Name)
	s.Set(ScheduleMissed, float64(x.Status.Missed), x.Namespace, x.Name)
	s.SetBool(ScheduleSuspended, x.Spec.Suspend, x.Namespace, x.Name)
	if x.Status.Repeated != nil {
		s.repeated(x, x.Status.Repeated)
	}
}

func (s Sink) repeated(x *v1alpha1.DrillSchedule, r *v1alpha1.RepeatedDrills) {
	for verdict, drills := range map[v1alpha1.DrillVerdict]int32{v1alpha1.VerdictPassed: r.Passed,
		v1alpha1.VerdictFailed: r.Failed, v1alpha1.VerdictInconclusive: r.Inconclusive} {
		s.Set(ScheduleRepeated, float64(drills), x.Namespace, x.Name, string(verdict))
	}
	s.Set(ScheduleLost, float64(r.Lost), x.Namespace, x.Name)
	if percent, err := strconv.ParseFloat(r.LossAtMost, 64); err == nil { // it is empty while no drill tells
		s.Set(ScheduleLossBound, percent/100, x.Namespace, x.Name)
	}
	if r.RTO == nil {
		return
	}
	for statistic, took := range map[string]metav1.Duration{"least": r.RTO.Least, "median": r.RTO.Median,
		"p95": r.RTO.P95, "most": r.RTO.Most} {
		s.Set(ScheduleRTO, took.Seconds(), x.Namespace, x.Name, statistic)
	}
}

func (s Sink) drill(d *v1alpha1.Drill) {
	s.conditions("Drill", d, d.Status.Conditions)
	if d.Status.Phase != "" {
		s.Set(DrillPhase, 1, d.Namespace, d.Name, string(d.Status.Phase))
	}
	if d.Status.Verdict == "" {
		return
	}
	s.Set(DrillVerdict, 1, d.Namespace, d.Name, string(d.Status.Verdict))
	for _, r := range d.Status.Objectives {
		s.Set(DrillObjective, 1, d.Namespace, d.Name, r.Name, string(r.Verdict))
	}
	if d.Status.Completed != nil {
		s.Set(DrillCompleted, float64(d.Status.Completed.Unix()), d.Namespace, d.Name)
	}
	if c := d.Status.Counts; c != nil {
		for fate, rows := range map[string]int64{"Attempted": c.Attempted, "Acknowledged": c.Acknowledged, "Failed": c.Failed,
			"Unknown": c.Unknown,
			"Lost":    c.Lost, "Duplicated": c.Duplicated, "Phantom": c.Phantom, "Diverging": c.Diverging} {
			s.Set(DrillRows, float64(rows), d.Namespace, d.Name, fate)
		}
	}
	longest := map[string]float64{}
	for _, f := range d.Status.Figures {
		if f.RTO != nil { // what cut clients off is left out of it
			longest[f.Client] = max(longest[f.Client], f.RTO.Seconds())
		}
	}
	for client, seconds := range longest {
		s.Set(DrillRTO, seconds, d.Namespace, d.Name, client)
	}
}
