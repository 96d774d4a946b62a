// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/workload/history"
)

// Interaction is what users did in the workload's own terms, over all clients. Times are from when operations were to
// begin, where their histories tell.
type Interaction struct {
	// Name of it; of a plain workload the function: insert, write, read.
	Name string `json:"name"`
	// OK, Failed and Unknown operations.
	OK      int `json:"ok"`
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"`
	// Late are those of all that were sent a whole turn of their schedule after they should have been, or more, and
	// Unsent those that were due and never begun.
	Late   int `json:"late,omitempty"`
	Unsent int `json:"unsent,omitempty"`
	// PerSecond is OK over the time from the first operation of all clients to the last.
	PerSecond float64 `json:"perSecond"`
	// P50, P90, P99 and Max of the time that users waited, in milliseconds, for what was not refused; what never answered
	// is in them at its age. Nil where there is none.
	P50 *float64 `json:"p50Ms,omitempty"`
	P90 *float64 `json:"p90Ms,omitempty"`
	P99 *float64 `json:"p99Ms,omitempty"`
	Max *float64 `json:"maxMs,omitempty"`
	// AtLeast are those of p50, p90, p99 and max that no answer ended: it took at least that long.
	AtLeast []string `json:"atLeast,omitempty"`

	waits []history.Wait
}

// Stage is a time with a number of users, and all that they did in it.
type Stage struct {
	// Users at each site.
	Users int `json:"users"`
	// From and To are seconds from the end of the baseline.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Interaction
}

// add counts an operation.
func (i *Interaction) add(run history.Run, o history.Operation) {
	if w, counts := run.Waited(o); counts {
		i.waits = append(i.waits, w)
	}
	if run.Every > 0 && o.Late >= run.Every {
		i.Late++
	}
	switch o.Outcome {
	case history.OK:
		i.OK++
	case history.Fail:
		i.Failed++
	default:
		i.Unknown++
	}
}

// sum makes the figures of what was counted in that time.
func (i *Interaction) sum(in time.Duration) {
	if in > 0 {
		i.PerSecond = float64(i.OK) / in.Seconds()
	}
	i.AtLeast = nil
	for _, one := range []struct {
		name string
		p    float64
		ms   **float64
	}{{"p50", 0.50, &i.P50}, {"p90", 0.90, &i.P90}, {"p99", 0.99, &i.P99}, {"max", 1, &i.Max}} {
		w, ok := history.PercentileOfWaits(i.waits, one.p)
		if !ok {
			return
		}
		took := float64(w.Took) / float64(time.Millisecond)
		*one.ms = &took
		if w.AtLeast {
			i.AtLeast = append(i.AtLeast, one.name)
		}
	}
}

// unsent counts what a run never began.
func (i *Interaction) unsent(run history.Run) {
	for _, age := range run.Unsent() {
		i.Unsent++
		i.waits = append(i.waits, history.Wait{Took: age, AtLeast: true})
	}
}

// when operations of all runs began and ended, by wall clocks.
func when(runs []history.Run) (first, last int64) {
	for _, run := range runs {
		for _, o := range run.Operations {
			if first == 0 || o.Invoked.Wall < first {
				first = o.Invoked.Wall
			}
			last = max(last, o.Invoked.Wall, o.Completed.Wall)
		}
	}
	return first, last
}

// interactions of all clients, by their names.
func interactions(runs []history.Run) []Interaction {
	first, last := when(runs)
	all, whole := map[string]*Interaction{}, Interaction{Name: "all"}
	for _, run := range runs {
		for _, o := range run.Operations {
			name := o.Interaction
			if name == "" {
				name = string(o.Function)
			}
			if all[name] == nil {
				all[name] = &Interaction{Name: name}
			}
			all[name].add(run, o)
			whole.add(run, o)
		}
		whole.unsent(run)
	}
	var list []Interaction
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name].sum(time.Duration(last - first))
		list = append(list, *all[name])
	}
	if whole.Unsent > 0 { // nobody knows what it would have been
		whole.sum(time.Duration(last - first))
		list = append(list, whole)
	}
	return list
}

// stages of the workload with what was done in each. Those of each client count from its own start; the last one lasts
// until the end.
func (m *Measured) stages(declared []v1alpha1.DrillStage, runs []history.Run) []Stage {
	if len(declared) == 0 || len(runs) == 0 {
		return nil
	}
	started := map[string]int64{}
	for _, run := range runs {
		if s, ok := started[run.Client]; !ok || run.Started.Wall < s {
			started[run.Client] = run.Started.Wall
		}
	}
	begin := slices.Min(slices.Collect(maps.Values(started)))
	_, last := when(runs)
	list := make([]Stage, len(declared))
	ends := make([]time.Duration, len(declared))
	var end time.Duration
	for i, s := range declared {
		list[i] = Stage{Users: int(s.Users), From: time.Unix(0, begin).Add(end).Sub(m.zero).Seconds()}
		if end += s.Duration.Duration; i == len(declared)-1 {
			end = max(end, time.Duration(last-begin))
		}
		ends[i], list[i].To = end, time.Unix(0, begin).Add(end).Sub(m.zero).Seconds()
	}
	for _, run := range runs {
		for _, o := range run.Operations {
			at := time.Duration(o.Invoked.Wall - started[run.Client])
			i := slices.IndexFunc(ends, func(end time.Duration) bool { return at < end })
			if i < 0 {
				i = len(ends) - 1
			}
			list[i].add(run, o)
		}
	}
	for i := range list {
		list[i].sum(time.Duration((list[i].To - list[i].From) * float64(time.Second)))
	}
	return list
}

// addArrivals adds how late rows were seen at each place: the median of each bin.
func (m *Measured) addArrivals(a *archive.Archive) error {
	arrived, err := a.Arrived()
	if err != nil {
		return err
	}
	for _, place := range slices.Sorted(maps.Keys(arrived)) {
		late := make([][]time.Duration, m.count())
		for _, row := range arrived[place].Rows {
			if !row.Early {
				bin := m.index(row.Seen.Sub(m.zero).Seconds())
				late[bin] = append(late[bin], row.Seen.Sub(row.Written))
			}
		}
		m.DeliveryLatency = append(m.DeliveryLatency, m.series(place, func(bin int) *float64 {
			if len(late[bin]) == 0 {
				return nil
			}
			seconds := history.Percentile(late[bin], 0.5).Seconds()
			return &seconds
		}))
	}
	return nil
}

func (r Report) arrivalTable() table {
	t := table{
		Title: "Arrival of the rows",
		Head: []string{
			"At",
			"As",
			"Rows that were due",
			"Seen to come",
			"p50",
			"p99",
			"Clocks differ by at most",
			"There at the end",
			"Remarks",
		},
		Note: "From when a row was written at the primary or publisher, which the row itself tells, to when it was first " +
			"seen at the place. Rows that were not seen count as the latest.",
	}
	for _, a := range r.Arrivals {
		tone, end := "", ""
		if a.Kind == "Subscriber" && a.Delivered+a.Undelivered+a.Lost+a.Phantom > 0 {
			end = fmt.Sprintf("%d delivered, %d not yet, %d lost, %d phantom", a.Delivered, a.Undelivered, a.Lost, a.Phantom)
		}
		if a.Lost+a.Phantom > 0 {
			tone = "failed"
		}
		seen := fmt.Sprint(a.Seen)
		if a.Seen == 0 && a.Uncertainty == nil {
			seen = "" // nobody looked
		}
		t.add(
			tone,
			a.Server,
			a.Kind,
			fmt.Sprint(a.Acknowledged),
			seen,
			duration(a.P50),
			duration(a.P99),
			duration(a.Uncertainty),
			end,
			a.Message,
		)
	}
	return t
}

func (r Report) interactionTable() table {
	t := table{
		Title: "What users did",
		Head: []string{"Interaction", "Acknowledged", "Failed", "Unknown", "Begun late", "Never begun", "Per second", "p50",
			"p90", "p99", "Slowest"},
		Note: "Times are the clients': from when an operation was to begin by its schedule to its answer. What was refused " +
			"is not in them; what never answered is, at its age (≥). Begun late is what was held up for a whole turn or " +
			"more, never begun what was due and still held up at the end." + r.unscheduled(),
	}
	for _, i := range r.Interactions {
		t.add("", i.cells(i.Name)...)
	}
	return t
}

func (r Report) stageTable() table {
	t := table{
		Title: "Stages of users",
		Head: []string{
			"Users at each site, from when",
			"Acknowledged",
			"Failed",
			"Unknown",
			"Begun late",
			"Never begun",
			"Per second",
			"p50",
			"p90",
			"p99",
			"Slowest",
		},
	}
	for _, s := range r.Stages {
		t.add("", s.cells(fmt.Sprintf("%d users, %+.0f s", s.Users, s.From))...)
	}
	return t
}

func (i Interaction) cells(name string) []string {
	ms := func(name string, v *float64) string {
		switch {
		case v == nil:
			return ""
		case slices.Contains(i.AtLeast, name):
			return fmt.Sprintf("≥ %.1f ms", *v)
		}
		return fmt.Sprintf("%.1f ms", *v)
	}
	return []string{
		name,
		fmt.Sprint(i.OK),
		fmt.Sprint(i.Failed),
		fmt.Sprint(i.Unknown),
		fmt.Sprint(i.Late),
		fmt.Sprint(i.Unsent),
		fmt.Sprintf("%.1f", i.PerSecond),
		ms("p50", i.P50),
		ms("p90", i.P90),
		ms("p99", i.P99),
		ms("max", i.Max),
	}
}
