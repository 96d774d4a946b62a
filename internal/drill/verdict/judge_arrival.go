// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/workload/history"
)

// Kinds of a Place.
const (
	PlaceSecondary  = "Secondary"
	PlaceSubscriber = "Subscriber"
)

// Place is a server at which rows had to arrive.
type Place struct {
	Server v1alpha1.ServerName
	// Kind is PlaceSecondary or PlaceSubscriber.
	Kind string
	// Figures of a reader; nil when there was none, or what it recorded is lost.
	Figures *history.ArrivalFigures
	// Delivery is what is there at the end; nil where that was not compared.
	Delivery *history.Delivery
	// NotCompared is why that was not compared at a subscriber; empty when it was, and at secondaries.
	NotCompared string
	// Missing is why there are no figures.
	Missing string
}

// dueAtLeast is below how many rows a percentile says nothing.
const dueAtLeast = 20

// Status of the place.
func (p Place) Status() v1alpha1.DrillArrival {
	message := p.Missing
	if p.NotCompared != "" {
		message = p.NotCompared
	}
	s := v1alpha1.DrillArrival{Server: string(p.Server), Kind: p.Kind, Message: conditions.Shorten(message, 512)}
	rounded := func(d *time.Duration) *metav1.Duration {
		if d == nil {
			return nil
		}
		return &metav1.Duration{Duration: d.Round(time.Microsecond)}
	}
	if d := p.Delivery; d != nil {
		s.Acknowledged = int64(d.Acknowledged)
		s.Delivered, s.Undelivered, s.Lost, s.Phantom = int64(
			d.Delivered,
		), int64(
			d.Undelivered,
		), int64(
			d.Lost,
		), int64(
			d.Phantom,
		)
	}
	if f := p.Figures; f != nil {
		s.Acknowledged, s.Seen, s.Uncertainty = int64(f.Due), int64(f.Seen), rounded(f.Uncertainty)
		if f.Due >= dueAtLeast {
			s.P50, s.P99 = rounded(f.Percentile(0.50)), rounded(f.Percentile(0.99))
		}
	}
	return s
}

// arrivals judges the worst of all places; of several with the same verdict the one where rows came latest is shown.
func arrivals(name string, part float64, goal time.Duration, places []Place) v1alpha1.ObjectiveResult {
	worst := result(name, "at most "+goal.String())
	judged, latest := false, time.Duration(0)
	for _, p := range places {
		if p.Figures != nil && p.Figures.Due == 0 {
			continue // all rows were written there, as at a secondary that was primary all the time
		}
		one := p.arrival(worst, part, goal)
		took := p.latest(part)
		if more := severity(one.Verdict) - severity(worst.Verdict); !judged || more > 0 || more == 0 && took > latest {
			worst, judged, latest = one, true, took
		}
	}
	if !judged {
		worst.Verdict, worst.Evidence = v1alpha1.VerdictInconclusive,
			"no place was looked at where acknowledged rows had to arrive"
	}
	return worst
}

// latest is what a part of the rows needed at least; 0 without figures.
func (p Place) latest(part float64) time.Duration {
	if p.Figures == nil || p.Figures.Due < dueAtLeast {
		return 0
	}
	return p.Figures.Floor(part)
}

func severity(v v1alpha1.DrillVerdict) int {
	switch v {
	case v1alpha1.VerdictFailed:
		return 2
	case v1alpha1.VerdictInconclusive:
		return 1
	}
	return 0
}

// arrival judges one place. What the clocks' uncertainty could turn round is not told.
func (p Place) arrival(r v1alpha1.ObjectiveResult, part float64, goal time.Duration) v1alpha1.ObjectiveResult {
	r.Measured, r.Bound, r.Evidence, r.Verdict = "", nil, "", v1alpha1.VerdictInconclusive
	f := p.Figures
	switch {
	case f == nil:
		r.Evidence = fmt.Sprintf("%s: %s", p.Server, p.Missing)
		return r
	case f.Due < dueAtLeast:
		r.Evidence = fmt.Sprintf("%d rows had to arrive at %s, at least %d are needed", f.Due, p.Server, dueAtLeast)
		return r
	case f.Uncertainty == nil:
		r.Evidence = fmt.Sprintf("the clock at %s was never compared with that of the server that writes", p.Server)
		return r
	}
	value, unsure := f.Percentile(part), *f.Uncertainty
	r.Bound = bound(unsure)
	r.Evidence = fmt.Sprintf(
		"%s: %d of %d rows were seen to arrive; the clocks differ by at most %s",
		p.Server,
		f.Seen,
		f.Due,
		unsure.Round(100*time.Microsecond),
	)
	if value != nil {
		r.Measured = value.Round(time.Millisecond).String()
	}
	switch floor := f.Floor(part); {
	case floor-unsure > goal:
		r.Verdict = v1alpha1.VerdictFailed
		if value == nil {
			r.Measured = "more than " + floor.Round(time.Millisecond).String()
		}
	case value == nil:
		r.Evidence += "; too many were not seen to tell"
	case *value+unsure <= goal:
		r.Verdict = v1alpha1.VerdictPassed
	default:
		r.Evidence += ", which the goal lies within"
	}
	return r
}

// Followed says whether what is there at the end is compared, or should have been.
func (p Place) Followed() bool { return p.Delivery != nil || p.NotCompared != "" }

// delivery asks whether every acknowledged row is at each subscriber, and none that its publisher does not have. Where
// nobody could compare them it cannot be told. Clients that are not known to have ended may have written on between the
// readings of both: what they wrote last looks like a phantom.
func delivery(places []Place, unknown []string) v1alpha1.ObjectiveResult {
	r := result("delivery", "every acknowledged row is at the subscriber, and none that the publisher lacks")
	var texts []string
	for _, p := range places {
		if !p.Followed() {
			continue
		}
		d := p.Delivery
		if d == nil {
			texts = append(texts, string(p.Server)+": "+p.NotCompared)
			if r.Verdict == v1alpha1.VerdictPassed {
				r.Verdict = v1alpha1.VerdictInconclusive
			}
			continue
		}
		text := fmt.Sprintf("%s: %d of %d delivered", p.Server, d.Delivered, d.Acknowledged)
		if d.Undelivered > 0 {
			text += fmt.Sprintf(", %d not yet", d.Undelivered)
		}
		if d.Lost+d.Phantom > 0 {
			text += fmt.Sprintf(", %d lost, %d phantom", d.Lost, d.Phantom)
			for _, id := range d.Examples {
				text += fmt.Sprintf(" (run %d operation %d)", id.Run, id.Number)
			}
		}
		texts = append(texts, text)
		switch {
		case d.Lost > 0 || d.Phantom > 0 && len(unknown) == 0:
			r.Verdict = v1alpha1.VerdictFailed
		case (d.Undelivered > 0 || d.Phantom > 0 || d.Acknowledged == 0) && r.Verdict == v1alpha1.VerdictPassed:
			r.Verdict = v1alpha1.VerdictInconclusive
		}
	}
	r.Evidence = clip(strings.Join(texts, "; "))
	r.Measured = conditions.Shorten(r.Evidence, 200)
	return r
}
