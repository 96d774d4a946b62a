// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConcurrencyPolicy says what becomes of a drill whose time comes while the last one runs.
// +kubebuilder:validation:Enum=Forbid
type ConcurrencyPolicy string

// ConcurrencyForbid leaves it out; the only policy: two drills on one target would each spoil the other's verdict.
const ConcurrencyForbid ConcurrencyPolicy = "Forbid"

// DrillTemplate is what a schedule makes drills of. runID is the schedule's to give.
type DrillTemplate struct {
	// labels of the drills.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the drills.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// spec of the drills. Its runID is replaced by the time that the drill stands for.
	Spec DrillSpec `json:"spec"`
}

// DrillStopAfter says after which run no further one is made.
// +kubebuilder:validation:Enum=NotPassed;Failed;Never
type DrillStopAfter string

const (
	// StopAfterNotPassed: the first run that did not pass, or did not begin in time, is the last; the default.
	StopAfterNotPassed DrillStopAfter = "NotPassed"
	// StopAfterFailed: the first that failed is.
	StopAfterFailed DrillStopAfter = "Failed"
	// StopNever makes all, whatever becomes of them.
	StopNever DrillStopAfter = "Never"
)

// DrillRepeat makes drills one after another, each as soon as the one before is over and its target is well. Which
// faults of the template each has, in which order and when, is drawn: the drill of a number follows from seed and
// number alone, so that it can be made again.
type DrillRepeat struct {
	// times is how many drills are made.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	Times int32 `json:"times"`
	// seed of what is drawn.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999999
	Seed int64 `json:"seed"`
	// first is the number of the first drill, 1 unless given. With times 1 it makes that one of the seed again.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=999
	First int32 `json:"first,omitempty"`
	// faultsAtMost is how many of the template's faults a drill has at most, all of them unless given. How many it has is
	// drawn from 1 to that.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	FaultsAtMost int32 `json:"faultsAtMost,omitempty"`
	// pause is how long it is at most from the end of one fault, or of the baseline, to the next, 30s unless given. How
	// long it is is drawn from 0 to that.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="pause must be between 0s and 1h; a duration is written like 90s, 12h or 1h30m"
	Pause *metav1.Duration `json:"pause,omitempty"`
	// stopAfter says after which drill no further one is made: NotPassed (default), Failed or Never.
	// +optional
	// +kubebuilder:default=NotPassed
	StopAfter DrillStopAfter `json:"stopAfter,omitempty"`
}

// DrillScheduleSpec declares drills that come again.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) != has(self.repeat)",message="give exactly one of schedule and repeat: drills are made by the clock, or one after another"
// +kubebuilder:validation:XValidation:rule="!has(self.repeat) || !has(self.passedHistoryLimit) && !has(self.otherHistoryLimit)",message="with repeat every drill is kept: what is left of those that were deleted is no sample"
// +kubebuilder:validation:XValidation:rule="!has(self.repeat) || !has(self.timeZone)",message="timeZone goes with schedule"
type DrillScheduleSpec struct {
	// schedule in cron's five fields, such as "0 3 * * 0".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule,omitempty"`
	// repeat makes a number of drills one after another, instead of by the clock.
	// +optional
	Repeat *DrillRepeat `json:"repeat,omitempty"`
	// timeZone by its name in the tz database, such as Europe/Dublin; Etc/UTC unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// startingDeadline is how late a drill may begin, 10m unless given. One whose time was missed by more is left out.
	// With repeat it counts from when the drill is made.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="startingDeadline must be between 10s and 24h; a duration is written like 90s, 12h or 1h30m"
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`
	// concurrencyPolicy is Forbid.
	// +optional
	// +kubebuilder:default=Forbid
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// suspend makes no new drills; those that run go on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// passedHistoryLimit is how many drills that passed are kept, 3 unless given. With repeat all are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PassedHistoryLimit *int32 `json:"passedHistoryLimit,omitempty"`
	// otherHistoryLimit is how many drills that failed or were inconclusive are kept, 10 unless given.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	OtherHistoryLimit *int32 `json:"otherHistoryLimit,omitempty"`
	// template of the drills.
	Template DrillTemplate `json:"template"`
}

// RepeatedDrills are the drills of a schedule that repeats, summed up. Those that were deleted are not in it.
type RepeatedDrills struct {
	// seed that they were drawn with.
	Seed int64 `json:"seed"`
	// made is how many drills were made.
	Made int32 `json:"made"`
	// passed drills.
	Passed int32 `json:"passed"`
	// failed drills.
	Failed int32 `json:"failed"`
	// inconclusive drills, with those that did not begin in time.
	Inconclusive int32 `json:"inconclusive"`
	// deleted is how many of those that were made are gone. Where there are any, what is left is no sample.
	// +optional
	Deleted int32 `json:"deleted,omitempty"`
	// told is how many tell whether acknowledged rows were lost.
	Told int32 `json:"told"`
	// lost is how many have lost any.
	Lost int32 `json:"lost"`
	// lossAtMost is the share of drills that lose acknowledged rows, in percent, which so many drills would exceed with a
	// confidence of 95 %: the exact bound of Clopper and Pearson. It takes them for independent and alike. Empty while
	// none tells.
	// +optional
	LossAtMost string `json:"lossAtMost,omitempty"`
	// rto is how the worst times without service of the drills are distributed; empty while none was measured.
	// +optional
	RTO *RepeatedRTO `json:"rto,omitempty"`
	// stopped is why no further drill is made though there were more to make.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Stopped string `json:"stopped,omitempty"`
}

// RepeatedRTO are the worst times without service of several drills.
type RepeatedRTO struct {
	// drills in which it was measured.
	Drills int32 `json:"drills"`
	// least of them.
	Least metav1.Duration `json:"least"`
	// median of them.
	Median metav1.Duration `json:"median"`
	// p95 is what 95 of 100 do not exceed.
	P95 metav1.Duration `json:"p95"`
	// most of them.
	Most metav1.Duration `json:"most"`
}

// DrillScheduleStatus is the observed state of a schedule.
type DrillScheduleStatus struct {
	StatusBase `json:",inline"`
	// active is the drill that runs.
	// +optional
	Active string `json:"active,omitempty"`
	// lastScheduled is the time that the newest drill stands for.
	// +optional
	LastScheduled *metav1.Time `json:"lastScheduled,omitempty"`
	// lastPassed is when a drill last passed.
	// +optional
	LastPassed *metav1.Time `json:"lastPassed,omitempty"`
	// lastVerdict is that of the newest drill that is over.
	// +optional
	LastVerdict DrillVerdict `json:"lastVerdict,omitempty"`
	// next is when the next drill is due.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
	// missed counts times that came and made no drill, because one was running or nobody looked.
	// +optional
	Missed int64 `json:"missed,omitempty"`
	// repeated sums up the drills of a schedule that repeats.
	// +optional
	Repeated *RepeatedDrills `json:"repeated,omitempty"`
}

// DrillSchedule makes Drills by the clock, or a number of them one after another.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gsched,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduled`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.lastVerdict`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 26",message="metadata.name may have at most 26 characters: the drills' names are made of it and a time",fieldPath=".metadata"
type DrillSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DrillScheduleSpec   `json:"spec"`
	Status DrillScheduleStatus `json:"status,omitempty"`
}

// DrillScheduleList is a list of DrillSchedules.
// +kubebuilder:object:root=true
type DrillScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DrillSchedule `json:"items"`
}

func init() { SchemeBuilder.Register(&DrillSchedule{}, &DrillScheduleList{}) }
