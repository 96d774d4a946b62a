// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/workload/history"
)

// write puts the end of a run into its status.
func (j *judged) write(s *v1alpha1.DrillStatus) {
	s.Phase, s.Verdict, s.Reason, s.Message, s.Completed = v1alpha1.DrillCompleted, j.Verdict, j.Reason,
		conditions.Shorten(j.Message, 4096), at(j.now)
	s.Objectives, s.Archive, s.Versions = j.Objectives, j.archive, j.versions
	s.Controls = j.controls
	c := j.verdict.Counts
	s.Counts = &v1alpha1.DrillCounts{
		Attempted:    int64(c.Attempted),
		Acknowledged: int64(c.Acknowledged),
		Failed:       int64(c.Failed),
		Unknown:      int64(c.Unknown),
		UnknownPresent: int64(
			c.UnknownPresent,
		),
		Lost:          int64(c.Lost),
		FailedPresent: int64(c.FailedPresent),
		Duplicated:    int64(c.Duplicated),
		Phantom:       int64(c.Phantom),
		Diverging:     int64(c.Diverging),
		Altered:       int64(j.verdict.Contents.Corrupted.Count + j.verdict.Contents.Altered.Count),
		Torn:          int64(j.verdict.Contents.Torn.Count),
	}
	s.Arrivals = nil
	for _, p := range j.places[:min(len(j.places), 16)] {
		s.Arrivals = append(s.Arrivals, p.Status())
	}
	s.Figures = nil
	for _, f := range j.verdict.Faults {
		for _, one := range f.Clients {
			if len(s.Figures) == 256 {
				break
			}
			figures := v1alpha1.FaultClientFigures{Fault: f.Name, Client: one.Client, Isolated: one.Isolated,
				Usual: &metav1.Duration{Duration: one.Usual}, Stall: &metav1.Duration{Duration: one.Stall}}
			if one.RTO != nil {
				figures.RTO = &metav1.Duration{Duration: *one.RTO}
				figures.Bound = &metav1.Duration{Duration: one.Unsure}
			}
			if one.First != nil {
				figures.FirstServed = &metav1.Duration{Duration: *one.First}
				figures.FirstBound = &metav1.Duration{Duration: one.FirstUnsure}
			}
			s.Figures = append(s.Figures, figures)
		}
	}
	s.Undisturbed = undisturbed(j.verdict.Undisturbed)
	for i := range s.Clients {
		c := &s.Clients[i]
		err, asked := j.fetched[c.Site]
		c.Fetched, c.Message = asked && err == nil, ""
		if err != nil {
			c.Message = conditions.Shorten(err.Error(), 512)
		}
		c.ClockBound, c.ClockStrayed = clockOf(j.verdict.Clocks, c.Site)
	}
	j.writeWitnesses(s)
	s.Timeline = append(s.Timeline, j.events...)
	s.Timeline = s.Timeline[:min(len(s.Timeline), maxTimeline)]
	note(s, v1alpha1.DrillEvent{Time: *at(j.now), Event: "Judged", Message: string(j.Verdict)})
	slices.SortStableFunc(s.Timeline, func(a, b v1alpha1.DrillEvent) int { return a.Time.Compare(b.Time.Time) })
}

// undisturbed is what clients saw of the baseline, as a status has it.
func undisturbed(list []history.ClientFigures) []v1alpha1.UndisturbedFigures {
	var figures []v1alpha1.UndisturbedFigures
	for _, c := range list[:min(len(list), maxClients)] {
		one := v1alpha1.UndisturbedFigures{Client: c.Client, Message: conditions.Shorten(c.Missing, 512)}
		if c.RTO != nil {
			one.Longest, one.Bound = &metav1.Duration{Duration: *c.RTO}, &metav1.Duration{Duration: c.Unsure}
			one.Stall = &metav1.Duration{Duration: c.Stall}
		}
		figures = append(figures, one)
	}
	return figures
}

// writeWitnesses puts into the status what clients saw of faults that were to move service.
func (j *judged) writeWitnesses(s *v1alpha1.DrillStatus) {
	for i := range s.Faults {
		f := &s.Faults[i]
		w, ok := j.Witnessed[f.Name]
		if !ok || f.Effect == nil {
			continue
		}
		f.Effect.Status, f.Effect.Seen = w.Status, conditions.Shorten(w.Seen, 1024)
		if w.Status == metav1.ConditionTrue {
			note(s, v1alpha1.DrillEvent{Time: *at(j.now), Event: "EffectSeen", Fault: f.Name, Message: w.Seen})
		}
	}
}
