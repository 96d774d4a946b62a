// SPDX-License-Identifier: Apache-2.0

// Package drill is when a Drill and each of its faults are due, and by which labels what a run makes is known.
package drill

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

const (
	// MaxFaults is how many faults a drill may have, repetitions counted.
	MaxFaults = 128
	// defaults of the spec.
	defaultBaseline  = 15 * time.Second
	defaultRecovery  = 5 * time.Minute
	defaultTimeLimit = 30 * time.Minute
	// defaultServedPercent and defaultServedFor say when clients count as served again.
	defaultServedPercent = 99
	defaultServedFor     = 5 * time.Second
)

// TooLate says that nobody wants a drill any more that has not begun: a night's drill is none for office hours.
func TooLate(spec v1alpha1.DrillSpec, now time.Time) bool {
	return spec.BeginBefore != nil && !now.Before(spec.BeginBefore.Time)
}

// Occurrence is one time that a fault is done.
type Occurrence struct {
	// Name of the fault; of one that is repeated NAME-1, NAME-2 and so on.
	Name string
	// At is when it begins, counted from the end of the baseline.
	At time.Duration
	v1alpha1.DrillFault
}

// Lasts is how long it lasts, 0 for what is done at once. An object given literally lasts as long as it says itself
// unless the fault says otherwise.
func (o Occurrence) Lasts() time.Duration {
	if o.Duration == nil && o.ChaosMesh != nil {
		var spec struct {
			Duration string `json:"duration"`
		}
		_ = json.Unmarshal(o.ChaosMesh.Spec.Raw, &spec)
		d, _ := time.ParseDuration(spec.Duration)
		return max(d, 0)
	}
	return orDefault(o.Duration, 0)
}

func orDefault(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}

// Expand lists each time that each fault is done, by the time.
func Expand(faults []v1alpha1.DrillFault) []Occurrence {
	var list []Occurrence
	for _, f := range faults {
		at, times := orDefault(f.At, 0), max(f.Times, 1)
		for i := range times {
			o := Occurrence{Name: f.Name, At: at + time.Duration(i)*orDefault(f.Every, 0), DrillFault: f}
			if times > 1 {
				o.Name = fmt.Sprintf("%s-%d", f.Name, i+1)
			}
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b Occurrence) int { return cmp.Compare(a.At, b.At) })
	return list
}

// Baseline of a drill.
func Baseline(s v1alpha1.DrillSpec) time.Duration { return orDefault(s.Baseline, defaultBaseline) }

// Recovery of a drill.
func Recovery(s v1alpha1.DrillSpec) time.Duration { return orDefault(s.Recovery, defaultRecovery) }

// TimeLimit of a drill.
func TimeLimit(s v1alpha1.DrillSpec) time.Duration { return orDefault(s.TimeLimit, defaultTimeLimit) }

// ServedPercent is how many of a hundred operations have to succeed where clients count as served again.
func ServedPercent(o v1alpha1.DrillObjectives) int32 {
	if o.Served == nil || o.Served.Percent == nil {
		return defaultServedPercent
	}
	return *o.Served.Percent
}

// ServedFor is how long they have to.
func ServedFor(o v1alpha1.DrillObjectives) time.Duration {
	if o.Served == nil {
		return defaultServedFor
	}
	return orDefault(o.Served.For, defaultServedFor)
}

// Needs is how long a drill takes at least: the baseline and all faults, and all stages of its workload.
func Needs(s v1alpha1.DrillSpec) time.Duration {
	var last time.Duration
	for _, o := range Expand(s.Faults) {
		last = max(last, o.At+o.Lasts())
	}
	return max(Baseline(s)+last, WorkloadLasts(s.Workload))
}

// WorkloadLasts is how long clients work at least, counted from the beginning of the baseline.
func WorkloadLasts(w v1alpha1.DrillWorkload) time.Duration {
	var stages time.Duration
	for _, s := range w.Stages {
		stages += s.Duration.Duration
	}
	return max(stages, orDefault(w.Duration, 0))
}

// StoreThinks is how long a user of the bookstore thinks unless the drill says otherwise.
const StoreThinks = 500 * time.Millisecond

// ThinkTime is how long users think after an answer; false where they begin so many operations in a second instead.
func ThinkTime(w v1alpha1.DrillWorkload) (time.Duration, bool) {
	switch {
	case w.ThinkTime != nil:
		return w.ThinkTime.Duration, true
	case w.Profile == v1alpha1.ProfileBookstore && w.RowsPerSecond == 0:
		return StoreThinks, true
	}
	return 0, false
}

const (
	// defaultUsers and defaultRows are those of a workload that names none.
	defaultUsers, defaultRows = 2, 10
	// soonest is the least time in which an engine answers.
	soonest = time.Millisecond
)

// RowsPerSecond is how many operations a user begins in a second at most where he does not think.
func RowsPerSecond(w v1alpha1.DrillWorkload) int32 { return cmp.Or(w.RowsPerSecond, defaultRows) }

// Users are how many users each site has that long after the clients' start.
func Users(w v1alpha1.DrillWorkload, after time.Duration) int32 {
	for _, s := range w.Stages {
		if after < s.Duration.Duration {
			return s.Users
		}
		after -= s.Duration.Duration
	}
	if n := len(w.Stages); n > 0 {
		return w.Stages[n-1].Users
	}
	return cmp.Or(w.Users, defaultUsers)
}

// Operations are how many operations the clients of so many sites record in the least time that a drill takes, when
// they are answered as fast as they ask.
func Operations(s v1alpha1.DrillSpec, sites int) int64 {
	each := float64(RowsPerSecond(s.Workload))
	if think, thinks := ThinkTime(s.Workload); thinks {
		each = 1 / (think + soonest).Seconds()
	}
	var seconds float64 // of all users
	left, began := Needs(s), time.Duration(0)
	for _, stage := range s.Workload.Stages {
		lasts := min(stage.Duration.Duration, left)
		seconds += float64(stage.Users) * lasts.Seconds()
		left, began = left-lasts, began+stage.Duration.Duration
	}
	seconds += float64(Users(s.Workload, began)) * left.Seconds()
	return int64(each * seconds * float64(sites))
}

// TakenAway are the sites that a fault cuts off from everything else as a whole, with the clients there.
func TakenAway(faults []v1alpha1.DrillFault) []v1alpha1.SiteName {
	var list []v1alpha1.SiteName
	for _, f := range faults {
		all := f.Kind == v1alpha1.FaultPartition ||
			f.Kind == v1alpha1.FaultNetwork && f.Network != nil && f.Network.Loss == 100
		if all && f.Peer == nil && f.Where != nil && f.Where.Site != "" && !slices.Contains(list, f.Where.Site) {
			list = append(list, f.Where.Site)
		}
	}
	return list
}

// ClientSites are the sites at which clients run: those that the workload names, else those of the target's servers
// that no fault takes away; all of them where none is left.
func ClientSites(s v1alpha1.DrillSpec, servers []v1alpha1.SiteName) []v1alpha1.SiteName {
	if len(s.Workload.Sites) > 0 {
		return s.Workload.Sites
	}
	if left := Remaining(s.Faults, servers); len(left) > 0 {
		return left
	}
	return servers
}

// Remaining are those of the sites that no fault takes away.
func Remaining(faults []v1alpha1.DrillFault, sites []v1alpha1.SiteName) []v1alpha1.SiteName {
	away := TakenAway(faults)
	return slices.DeleteFunc(slices.Clone(sites), func(site v1alpha1.SiteName) bool { return slices.Contains(away, site) })
}
