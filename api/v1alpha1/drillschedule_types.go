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

// DrillScheduleSpec declares drills that come again.
type DrillScheduleSpec struct {
	// schedule in cron's five fields, such as "0 3 * * 0".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
	// timeZone by its name in the tz database, such as Europe/Dublin; Etc/UTC unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// startingDeadline is how late a drill may begin, 10m unless given. One whose time was missed by more is left out.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="startingDeadline must be between 10s and 24h; a duration is written like 90s, 12h or 1h30m"
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`
	// concurrencyPolicy is Forbid.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// suspend makes no new drills; those that run go on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// passedHistoryLimit is how many drills that passed are kept, 3 unless given.
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
}

// DrillSchedule makes Drills by the clock.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=geosql
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
