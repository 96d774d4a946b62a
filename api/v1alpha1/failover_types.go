// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FailoverKind is what a person asks of a group's election.
// +kubebuilder:validation:Enum=Switchover;Failover;Pause;Resume;Rejoin;Reseed
type FailoverKind string

const (
	// FailoverSwitchover moves the primary to another replica without losing anything, or refuses.
	FailoverSwitchover FailoverKind = "Switchover"
	// FailoverFailover promotes a replica although the primary may be gone; with allowDataLoss also one that lacks writes.
	FailoverFailover FailoverKind = "Failover"
	// FailoverPause forbids automatic elections; the primary goes on serving.
	FailoverPause FailoverKind = "Pause"
	// FailoverResume allows them again.
	FailoverResume FailoverKind = "Resume"
	// FailoverRejoin lets a quarantined former primary undo what the others do not have, and follow again.
	FailoverRejoin FailoverKind = "Rejoin"
	// FailoverReseed gives up a replica's stale copies, or all of a quarantined one, and has them seeded anew from the
	// primary.
	FailoverReseed FailoverKind = "Reseed"
)

// FailoverSpec declares one switchover, failover or other request to a group's election. It is carried out once and
// never changes.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Failover is carried out once: create another one"
// +kubebuilder:validation:XValidation:rule="self.kind in ['Failover', 'Pause', 'Resume'] || has(self.to)",message="to is needed: the server that becomes primary (Switchover) or is brought back (Rejoin, Reseed)"
// +kubebuilder:validation:XValidation:rule="!(self.kind in ['Pause', 'Resume']) || !has(self.to)",message="Pause and Resume concern the whole group: leave to out"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Failover' || !has(self.allowDataLoss) || !self.allowDataLoss",message="allowDataLoss goes with kind Failover alone"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Failover' || !has(self.fencedHolder)",message="fencedHolder goes with kind Failover alone"
// +kubebuilder:validation:XValidation:rule="has(self.expectedTerm) || !(has(self.fencedHolder) || has(self.allowDataLoss) && self.allowDataLoss)",message="expectedTerm is needed with allowDataLoss and with fencedHolder: status.term of the group, as it is while you decide"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Reseed' || !has(self.databases) || size(self.databases) == 0",message="databases go with kind Reseed alone"
type FailoverSpec struct {
	// group is the name of an AvailabilityGroup of the same namespace.
	Group ObjectName `json:"group"`
	// kind is Switchover, Failover, Pause, Resume, Rejoin or Reseed.
	Kind FailoverKind `json:"kind"`
	// to is the server that becomes primary; with Rejoin and Reseed the replica that is brought back. A Failover without
	// it takes the replica that has the most.
	// +optional
	To ServerName `json:"to,omitempty"`
	// databases that a Reseed is about; all that are stale unless given.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	Databases []DatabaseName `json:"databases,omitempty"`
	// allowDataLoss lets a Failover promote a replica that may lack acknowledged writes. The former primary is then kept
	// apart until a Rejoin or Reseed.
	// +optional
	AllowDataLoss bool `json:"allowDataLoss,omitempty"`
	// fencedHolder confirms that exactly this holder of the votes, as status.voters of the group shows it, can write no
	// more: its machine is off or cut from everybody. The wait until its votes expire is left out.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	FencedHolder string `json:"fencedHolder,omitempty"`
	// expectedTerm is the term in which the request was decided on, status.term of the group; in another term it ends as
	// Superseded. It is needed with allowDataLoss and fencedHolder: what was right to lose then is not for good.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ExpectedTerm *int64 `json:"expectedTerm,omitempty"`
	// expires is how long after its creation it may begin, 5m unless given: nobody wants a switchover of yesterday.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="expires must be between 10s and 24h; a duration is written like 90s, 12h or 1h30m"
	Expires *metav1.Duration `json:"expires,omitempty"`
	// recordedTerm is set on objects that record what the agents did by themselves or at a site's request. They are never
	// carried out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RecordedTerm *int64 `json:"recordedTerm,omitempty"`
}

// FailoverPhase says how far a Failover is.
type FailoverPhase string

const (
	// FailoverPending has not been asked of the agents yet; reason says what it waits for.
	FailoverPending FailoverPhase = "Pending"
	// FailoverRequested is written at a voter and not answered yet.
	FailoverRequested FailoverPhase = "Requested"
	// FailoverRunning has been accepted by an agent.
	FailoverRunning FailoverPhase = "Running"
	// FailoverCompleted is over; outcome says how it ended.
	FailoverCompleted FailoverPhase = "Completed"
)

// FailoverOutcome says how a Failover ended.
type FailoverOutcome string

const (
	// FailoverSucceeded did what was asked.
	FailoverSucceeded FailoverOutcome = "Succeeded"
	// FailoverRefused changed nothing.
	FailoverRefused FailoverOutcome = "Refused"
	// FailoverFailed began and did not reach its end; the group's status says who is primary.
	FailoverFailed FailoverOutcome = "Failed"
	// FailoverSuperseded was decided on in a term that is over.
	FailoverSuperseded FailoverOutcome = "Superseded"
	// FailoverExpired was not begun in time, and no agent will begin it.
	FailoverExpired FailoverOutcome = "Expired"
	// FailoverUnknown was asked for, and what became of it cannot be told.
	FailoverUnknown FailoverOutcome = "Unknown"
)

// FailoverTimeline has the moments of an election, by the clock of the agent that carried it out. A moment that is left
// out was not reached, or is not known.
type FailoverTimeline struct {
	// suspected is when the former primary was found to be silent; of a Switchover, when its request was taken up.
	// +optional
	Suspected *metav1.MicroTime `json:"suspected,omitempty"`
	// claimed is when a majority of the votes was swapped.
	// +optional
	Claimed *metav1.MicroTime `json:"claimed,omitempty"`
	// fenced is when enough replicas had promised and the former primary could write no more.
	// +optional
	Fenced *metav1.MicroTime `json:"fenced,omitempty"`
	// promoted is when the new primary's role was PRIMARY.
	// +optional
	Promoted *metav1.MicroTime `json:"promoted,omitempty"`
	// firstWrite is when the new primary could first commit.
	// +optional
	FirstWrite *metav1.MicroTime `json:"firstWrite,omitempty"`
	// allSynchronized is when every synchronous replica was synchronized again.
	// +optional
	AllSynchronized *metav1.MicroTime `json:"allSynchronized,omitempty"`
}

// LostDatabase is what of one database did not come along to the new primary. LSNs are numeric(25,0).
type LostDatabase struct {
	// name of the database.
	Name string `json:"name"`
	// fromLSN is the end of the log of the replica that became primary.
	// +optional
	FromLSN string `json:"fromLSN,omitempty"`
	// toLSN is the end of the log of the former primary; empty while it is not known.
	// +optional
	ToLSN string `json:"toLSN,omitempty"`
	// lastCommit is the time of the last commit that the new primary has.
	// +optional
	LastCommit *metav1.MicroTime `json:"lastCommit,omitempty"`
	// oldLastCommit is the time of the last commit that the former primary was known to have.
	// +optional
	OldLastCommit *metav1.MicroTime `json:"oldLastCommit,omitempty"`
}

// LostWrites is what a forced failover may have cost, as far as anybody could tell.
type LostWrites struct {
	// known is false when the end of the former primary's log is not known: then more may be lost than is shown.
	Known bool `json:"known"`
	// databases with what they lack.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Databases []LostDatabase `json:"databases,omitempty"`
}

// FailoverStatus is the observed state of a Failover.
type FailoverStatus struct {
	StatusBase `json:",inline"`
	// phase is Pending, Requested, Running or Completed.
	// +optional
	Phase FailoverPhase `json:"phase,omitempty"`
	// outcome is Succeeded, Refused, Failed, Superseded, Expired or Unknown, once it is Completed.
	// +optional
	Outcome FailoverOutcome `json:"outcome,omitempty"`
	// reason of phase or outcome, in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message for people: what is so, and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// cause of the term by the agent's record: Switchover, Failover, Automatic, or Restart when the same server came back.
	// +optional
	Cause string `json:"cause,omitempty"`
	// from is the former primary.
	// +optional
	From string `json:"from,omitempty"`
	// to is the primary that it led to.
	// +optional
	To string `json:"to,omitempty"`
	// term that began with it.
	// +optional
	Term int64 `json:"term,omitempty"`
	// voter is the site at which the request was written.
	// +optional
	Voter string `json:"voter,omitempty"`
	// requested is when the request was written.
	// +optional
	Requested *metav1.MicroTime `json:"requested,omitempty"`
	// completed is when the outcome was seen.
	// +optional
	Completed *metav1.MicroTime `json:"completed,omitempty"`
	// timeline of the election.
	// +optional
	Timeline *FailoverTimeline `json:"timeline,omitempty"`
	// estimatedDataLoss is what a Failover with allowDataLoss was expected to lose when it was asked for: the largest of
	// the databases. Absent means unknown.
	// +optional
	EstimatedDataLoss *metav1.Duration `json:"estimatedDataLoss,omitempty"`
	// lost is what did not come along, when the promotion was forced.
	// +optional
	Lost *LostWrites `json:"lost,omitempty"`
}

// Failover is one request to a group's election, carried out once, or the record of one that the agents carried out by
// themselves.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gfail,categories=geosql
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Cause",type=string,JSONPath=`.status.cause`,priority=1
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.outcome`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,priority=1
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.from`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.status.to`
// +kubebuilder:printcolumn:name="Term",type=integer,JSONPath=`.status.term`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Failover struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FailoverSpec   `json:"spec"`
	Status FailoverStatus `json:"status,omitempty"`
}

// FailoverList is a list of Failovers.
// +kubebuilder:object:root=true
type FailoverList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Failover `json:"items"`
}

func init() { SchemeBuilder.Register(&Failover{}, &FailoverList{}) }
