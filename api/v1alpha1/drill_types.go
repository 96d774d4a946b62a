// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DrillsAllowed is the value of DrillsLabel that permits drills.
const DrillsAllowed = "allowed"

// Labels on what a drill makes at a site.
const (
	// LabelDrill names the drill.
	LabelDrill = "geosql.dev/drill"
	// LabelDrillRun has the drill's spec.runID.
	LabelDrillRun = "geosql.dev/drill-run"
	// LabelDrillSchedule names the schedule that made a drill.
	LabelDrillSchedule = "geosql.dev/drill-schedule"
)

// AnnotationDrillSeed is on a drill that was drawn: the seed and its number, as SEED/NUMBER.
const AnnotationDrillSeed = "geosql.dev/drill-seed"

// DrillSpec declares a disaster: which load, which faults and when, and which objectives have to be met. It runs once
// for each runID. What is measured is what clients see.
//
// +kubebuilder:validation:XValidation:rule="!has(self.faults) || self.faults.all(f, !has(f.every) || has(f.times))",message="every goes with times"
type DrillSpec struct {
	// runID names the run. A drill runs once for each: a manifest that is applied again does not run again. Change it to
	// run again. A Drill needs it; in the template of a DrillSchedule it is left out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="runID has lower-case letters, digits, hyphens and dots alone, and begins and ends with a letter or a digit, such as 2026-03-01"
	RunID string `json:"runID,omitempty"`
	// target is what is broken and measured. It needs the label geosql.dev/drills: allowed.
	Target DrillTarget `json:"target"`
	// workload of the clients.
	// +optional
	// +kubebuilder:default={}
	Workload DrillWorkload `json:"workload,omitempty"`
	// faults on a timeline that begins when the baseline has been measured. A drill without any measures the load alone.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Faults []DrillFault `json:"faults,omitempty"`
	// objectives that decide on the verdict. What is left out is taken from the group's own objectives, and lostRows is 0.
	// +optional
	// +kubebuilder:default={}
	Objectives DrillObjectives `json:"objectives,omitempty"`
	// baseline is how long clients work before the first fault, 15s unless given.
	// +optional
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('2s') && duration(self) <= duration('1h')",message="baseline must be between 2s and 1h; a duration is written like 90s, 12h or 1h30m"
	Baseline *metav1.Duration `json:"baseline,omitempty"`
	// recovery is how long after the last fault all replicas may need to be synchronized and all clients to be served, 5m
	// unless given. After that they are judged as they are.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('5s') && duration(self) <= duration('24h')",message="recovery must be between 5s and 24h; a duration is written like 90s, 12h or 1h30m"
	Recovery *metav1.Duration `json:"recovery,omitempty"`
	// timeLimit bounds the whole drill, 30m unless given. When it is reached every fault is taken back, and the drill does
	// not pass.
	// +optional
	// +kubebuilder:default="30m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('30s') && duration(self) <= duration('168h')",message="timeLimit must be between 30s and 168h; a duration is written like 90s, 12h or 1h30m"
	TimeLimit *metav1.Duration `json:"timeLimit,omitempty"`
	// beginBefore is when it is too late to begin: a drill that still waits then, for its target to be well say, ends
	// without having begun, and does not pass. A DrillSchedule sets it by its startingDeadline.
	// +optional
	BeginBefore *metav1.Time `json:"beginBefore,omitempty"`
	// abortWhen ends the drill early: every fault is taken back at once.
	// +optional
	AbortWhen *DrillAbort `json:"abortWhen,omitempty"`
	// dryRun shows in status.plan every object that the drill would create now, and creates none.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
	// abort ends the drill: every fault is taken back, and the drill does not pass. It may be set at any time.
	// +optional
	Abort bool `json:"abort,omitempty"`
}

// DrillTarget names one group, subscription or topology of the same namespace.
// +kubebuilder:validation:XValidation:rule="[has(self.availabilityGroup), has(self.subscription), has(self.topology)].filter(x, x).size() == 1",message="name exactly one of availabilityGroup, subscription and topology"
type DrillTarget struct {
	// availabilityGroup is the name of an AvailabilityGroup: clients write through its listener.
	// +optional
	AvailabilityGroup ObjectName `json:"availabilityGroup,omitempty"`
	// subscription is the name of a Subscription: clients write at its publisher, and the rows' arrival at its subscriber
	// is measured.
	// +optional
	Subscription ObjectName `json:"subscription,omitempty"`
	// topology is the name of a Topology: its only group, or else its only subscription, is used, and faults may hit each
	// of its servers.
	// +optional
	Topology ObjectName `json:"topology,omitempty"`
}

// DrillProfile is a kind of load.
// +kubebuilder:validation:Enum=insert;bookstore;decisionSupport;append
type DrillProfile string

const (
	// ProfileInsert writes rows, and writes and reads registers; the default.
	ProfileInsert DrillProfile = "insert"
	// ProfileBookstore logs in, browses, searches, views, looks at orders and buys. A purchase is an acknowledged row.
	ProfileBookstore DrillProfile = "bookstore"
	// ProfileDecisionSupport asks what was sold, and loads more. A load is an acknowledged row.
	ProfileDecisionSupport DrillProfile = "decisionSupport"
	// ProfileAppend does transactions at SERIALIZABLE that append to lists and read whole lists. They are judged without
	// clocks: whether they were atomic, and had an order. Each is an acknowledged row.
	ProfileAppend DrillProfile = "append"
)

// DrillStage is a time with a number of users.
type DrillStage struct {
	// users at each site in that time.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	Users int32 `json:"users"`
	// duration of the stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="duration must be between 1s and 24h; a duration is written like 90s, 12h or 1h30m"
	Duration metav1.Duration `json:"duration"`
}

// DrillRowType is what a row carries.
// +kubebuilder:validation:Enum=Char;VarBinary
type DrillRowType string

const (
	// RowChar is characters, in dbo.Article.
	RowChar DrillRowType = "Char"
	// RowVarBinary is a varbinary(max), in dbo.Attachment.
	RowVarBinary DrillRowType = "VarBinary"
)

// DrillRow is what each row of the clients carries beside what it is known by.
// +kubebuilder:validation:XValidation:rule="self.type == 'VarBinary' || self.bytes <= 1024",message="a row of type Char has at most 1024 bytes"
type DrillRow struct {
	// type Char puts characters into dbo.Article, VarBinary a varbinary(max) into dbo.Attachment.
	Type DrillRowType `json:"type"`
	// bytes of it.
	// +kubebuilder:validation:Minimum=48
	// +kubebuilder:validation:Maximum=1048576
	Bytes int32 `json:"bytes"`
}

// DrillWorkload is what the clients do, at each of the sites the same.
// +kubebuilder:validation:XValidation:rule="!has(self.stages) || !has(self.users)",message="users and stages exclude each other: stages say how many users there are and when"
// +kubebuilder:validation:XValidation:rule="!has(self.thinkTime) || !has(self.rowsPerSecond)",message="thinkTime and rowsPerSecond exclude each other: users either think, or begin so many operations in a second"
type DrillWorkload struct {
	// profile of the load: insert (default), bookstore, decisionSupport or append.
	// +optional
	// +kubebuilder:default=insert
	Profile DrillProfile `json:"profile,omitempty"`
	// database that clients write to; the first of the group's or the publication's unless given.
	// +optional
	Database DatabaseName `json:"database,omitempty"`
	// sites at which clients run; every site of the target that no fault takes away as a whole unless given. The histories
	// of a site that a fault makes unreachable are fetched when it is back.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Sites []SiteName `json:"sites,omitempty"`
	// users at each site, 2 unless given. Each does one operation at a time: one that is due while another is under way is
	// late, and counts from when it was due.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	Users int32 `json:"users,omitempty"`
	// stages let the number of users change: each lasts its time, counted from the clients' start, and the last one's
	// users stay. The faults wait for the baseline alone; the drill does not end before the last stage is over.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Stages []DrillStage `json:"stages,omitempty"`
	// thinkTime is how long a user waits after an answer before it goes on: a closed loop. 500ms in the profile bookstore
	// unless given; others have rowsPerSecond.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('0s') && duration(self) <= duration('1m')",message="thinkTime must be between 0s and 1m; a duration is written like 90s, 12h or 1h30m"
	ThinkTime *metav1.Duration `json:"thinkTime,omitempty"`
	// row is what each row carries. Unless given it is small; where a subscription is drilled, it is put into the article
	// dbo.Article or dbo.Attachment, so that its arrival can be seen.
	// +optional
	Row *DrillRow `json:"row,omitempty"`
	// duration is how long clients work at least, counted from the beginning of the baseline.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="duration must be between 1s and 168h; a duration is written like 90s, 12h or 1h30m"
	Duration *metav1.Duration `json:"duration,omitempty"`
	// rowsPerSecond is how many operations of each user are due in a second, whenever those before them are answered: an
	// open loop. Unless given 10, and of users who are far from the server one every third round trip: they could not keep
	// a denser schedule.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	RowsPerSecond int32 `json:"rowsPerSecond,omitempty"`
	// operationTimeout is after which the outcome of an operation is unknown, 2s unless given.
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('100ms') && duration(self) <= duration('1m')",message="operationTimeout must be between 100ms and 1m; a duration is written like 90s, 12h or 1h30m"
	OperationTimeout *metav1.Duration `json:"operationTimeout,omitempty"`
}

// DrillObjectives decide on the verdict.
type DrillObjectives struct {
	// lostRows is how many acknowledged rows may be lost, 0 unless given.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	LostRows *int64 `json:"lostRows,omitempty"`
	// rpo is how far before a fault the newest acknowledged row may lie below which nothing is missing.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="rpo is a duration, written like 500ms, 90s or 1h30m"
	RPO *metav1.Duration `json:"rpo,omitempty"`
	// rto is the longest time that a client may go without service, for each fault and client that the fault itself does
	// not keep from reaching anything: from the last acknowledgement before it to the one from which on it is served, as
	// served says.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="rto is a duration, written like 500ms, 90s or 1h30m"
	RTO *metav1.Duration `json:"rto,omitempty"`
	// served says when clients count as served again, which rto goes by.
	// +optional
	Served *DrillServed `json:"served,omitempty"`
	// redoCatchUp is how long after a fault's end all replicas may need to be synchronized and their redo queues to be
	// empty.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="redoCatchUp is a duration, written like 500ms, 90s or 1h30m"
	RedoCatchUp *metav1.Duration `json:"redoCatchUp,omitempty"`
	// arrivalP50 is the median time from when a row is written at the primary or publisher to when it is first seen at the
	// subscriber, and at each readable secondary; the worst of these places counts. A subscriber's rows can be followed
	// where the publication has dbo.Article or dbo.Attachment among its articles, whole.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="arrivalP50 is a duration, written like 500ms, 90s or 1h30m"
	ArrivalP50 *metav1.Duration `json:"arrivalP50,omitempty"`
	// arrivalP99 is the time in which 99 of 100 rows arrive; a row that was acknowledged and not seen to arrive counts as
	// the latest.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="arrivalP99 is a duration, written like 500ms, 90s or 1h30m"
	ArrivalP99 *metav1.Duration `json:"arrivalP99,omitempty"`
	// sendQueueKB is the ceiling of every replica's log send queue, in KB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SendQueueKB *int64 `json:"sendQueueKB,omitempty"`
	// redoQueueKB is the ceiling of every replica's redo queue, in KB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RedoQueueKB *int64 `json:"redoQueueKB,omitempty"`
	// errorPercent is how many of a hundred operations may fail or have an unknown outcome.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ErrorPercent *int32 `json:"errorPercent,omitempty"`
	// acknowledgedAtLeast is below how many acknowledged rows nothing can be said, 100 unless given.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	AcknowledgedAtLeast *int64 `json:"acknowledgedAtLeast,omitempty"`
}

// DrillServed says when clients count as served again: from an acknowledgement on, for a time, at least a part of the
// operations of all users of a site that were to begin then succeeds.
type DrillServed struct {
	// percent of the operations that have to succeed, 99 unless given.
	// +optional
	// +kubebuilder:default=99
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`
	// for is how long they have to, 5s unless given. Clients work on for as long after the last fault.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="for must be between 1s and 10m; a duration is written like 90s, 12h or 1h30m"
	For *metav1.Duration `json:"for,omitempty"`
}

// DrillAbort says when a drill has gone too far.
type DrillAbort struct {
	// unservedFor aborts when no client has been answered anything for that long, readers too.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('5s') && duration(self) <= duration('24h')",message="unservedFor must be between 5s and 24h; a duration is written like 90s, 12h or 1h30m"
	UnservedFor *metav1.Duration `json:"unservedFor,omitempty"`
	// redoQueueKB aborts when a replica's redo queue is above it, in KB.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RedoQueueKB *int64 `json:"redoQueueKB,omitempty"`
	// sendQueueKB aborts when a replica's log send queue is above it, in KB.
	// +optional
	// +kubebuilder:validation:Minimum=1
	SendQueueKB *int64 `json:"sendQueueKB,omitempty"`
}

// Drill breaks a target on purpose, measures what its clients see, and leaves a verdict.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gdrill,categories=geosql
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.runID`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Acknowledged",type=integer,JSONPath=`.status.counts.acknowledged`
// +kubebuilder:printcolumn:name="Lost",type=integer,JSONPath=`.status.counts.lost`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="metadata.name may have at most 40 characters: the names of pods and faults begin with it",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="has(self.spec.runID)",message="spec.runID is required: it names the run, such as 2026-03-01, and another one runs the drill again",fieldPath=".spec.runID"
type Drill struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DrillSpec   `json:"spec"`
	Status DrillStatus `json:"status,omitempty"`
}

// DrillList is a list of Drills.
// +kubebuilder:object:root=true
type DrillList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Drill `json:"items"`
}

func init() { SchemeBuilder.Register(&Drill{}, &DrillList{}) }
