// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PublisherMoveSpec declares that a publication whose publisher is gone, or takes no writes any more, is published by
// one of its subscribers from now on. Nothing is changed before it is approved: until then the status has the estimate
// of what is lost, and the steps.
//
// +kubebuilder:validation:XValidation:rule="has(self.distributor) == has(oldSelf.distributor)",message="distributor is immutable: create another PublisherMove"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.approved) || !oldSelf.approved || has(self.approved) && self.approved",message="an approval cannot be taken back: steps may have been carried out"
type PublisherMoveSpec struct {
	// publication is the name of the Publication that moves.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="publication is immutable: create another PublisherMove"
	Publication ObjectName `json:"publication"`
	// to is the server of one of its Subscriptions. Its copy becomes the source for the others, and its Subscription ends.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="to is immutable: create another PublisherMove"
	To ServerName `json:"to"`
	// distributor is the name of the Distributor that takes over, when the publication's own is gone too. The publication
	// keeps its own unless given.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="distributor is immutable: create another PublisherMove"
	Distributor ObjectName `json:"distributor,omitempty"`
	// fencedServers are servers of the former publisher of which a person says that they take writes no more: switched
	// off, or cut from every client. A server whose Site has lifecycle Lost need not be named, nor one that answers and
	// whose database is read-only. The server of a Distributor that is left may be named too: its agents do not come back.
	// +optional
	// +kubebuilder:validation:MaxItems=9
	// +listType=set
	FencedServers []ServerName `json:"fencedServers,omitempty"`
	// skipUndelivered goes on although commands that the distributor has cannot be delivered to the new publisher; they
	// are lost.
	// +optional
	SkipUndelivered bool `json:"skipUndelivered,omitempty"`
	// acceptLacking names what the new publisher's tables may lack of the former one's (status.estimate.lacks): writers
	// find it gone. A move whose copy lacks anything else waits.
	// +optional
	// +kubebuilder:validation:MaxItems=9
	// +listType=set
	AcceptLacking []MoveLackKind `json:"acceptLacking,omitempty"`
	// approved lets the steps be carried out: a person has seen the estimate that the status had when this was set. One
	// that is set before there was an estimate is about none.
	// +optional
	Approved bool `json:"approved,omitempty"`
	// approvedEstimate is the digest of the estimate that a person has seen (status.estimate.digest). With it approved is
	// about that estimate alone: once another one is worse it is asked for again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ApprovedEstimate string `json:"approvedEstimate,omitempty"`
}

// PublisherMovePhase says how far a PublisherMove is.
type PublisherMovePhase string

const (
	// MovePending cannot begin: reason says why.
	MovePending PublisherMovePhase = "Pending"
	// MoveEstimated waits for spec.approved.
	MoveEstimated PublisherMovePhase = "Estimated"
	// MoveDraining waits until subscribers have what the distributor has.
	MoveDraining PublisherMovePhase = "Draining"
	// MoveSwitching ends the old way and changes what is declared.
	MoveSwitching PublisherMovePhase = "Switching"
	// MovePublishing waits until the publication is published anew and the other subscribers receive.
	MovePublishing PublisherMovePhase = "Publishing"
	// MoveCompleted is over.
	MoveCompleted PublisherMovePhase = "Completed"
)

// MoveEvidence is what is known of one subscriber's copy.
type MoveEvidence struct {
	// subscription of this server.
	Subscription ObjectName `json:"subscription"`
	// server that receives.
	Server ServerName `json:"server"`
	// answers says that the server answered; else what follows is what status had.
	Answers bool `json:"answers"`
	// last transaction that it has applied.
	// +optional
	Last *ReplicatedTransaction `json:"last,omitempty"`
	// completeUntil is when the newest tracer token was committed that has arrived: what was committed before was
	// delivered. It is not given of a copy whose agent skips errors.
	// +optional
	CompleteUntil *metav1.Time `json:"completeUntil,omitempty"`
	// pendingCommands that the distributor has for it; not given when the distributor does not answer.
	// +optional
	PendingCommands *int64 `json:"pendingCommands,omitempty"`
	// rows in its tables of the publication's articles, all together.
	// +optional
	Rows *int64 `json:"rows,omitempty"`
	// content is what is known of its rows by a comparison with the former publisher's, by a hash of every row: Equal,
	// Differs or NotCompared. What was delivered to it says nothing of that.
	// +optional
	Content MoveContent `json:"content,omitempty"`
	// compared is when; for a difference since when.
	// +optional
	Compared *metav1.Time `json:"compared,omitempty"`
	// skips are errors that its agent skips by its profile, or has skipped since the subscriber has its copy, such as
	// "20598, 2627": what it skipped is missing in the copy.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Skips string `json:"skips,omitempty"`
}

// MoveContent says what a comparison has shown of a copy's rows.
// +kubebuilder:validation:Enum=Equal;Differs;NotCompared
type MoveContent string

const (
	// ContentEqual: every article had the same rows as the former publisher's.
	ContentEqual MoveContent = "Equal"
	// ContentDiffers: an article had other rows.
	ContentDiffers MoveContent = "Differs"
	// ContentNotCompared: nobody has compared them.
	ContentNotCompared MoveContent = "NotCompared"
)

// MoveLackKind is something that a table of the former publisher has, and a copy of it lacks.
// +kubebuilder:validation:Enum=Identity;IdentityValue;Default;Check;ForeignKey;Trigger;RowVersion;Rows;Columns
type MoveLackKind string

const (
	// LackIdentity: the column has no IDENTITY property; inserts that leave it out fail.
	LackIdentity MoveLackKind = "Identity"
	// LackIdentityValue: the column's next identity value is behind; inserts take values that are there.
	LackIdentityValue MoveLackKind = "IdentityValue"
	// LackDefault: the column has no default.
	LackDefault MoveLackKind = "Default"
	// LackCheck: the CHECK constraint is not there, or is disabled.
	LackCheck MoveLackKind = "Check"
	// LackForeignKey: the foreign key is not there, or is disabled.
	LackForeignKey MoveLackKind = "ForeignKey"
	// LackTrigger: the trigger is not there, or is disabled.
	LackTrigger MoveLackKind = "Trigger"
	// LackRowVersion: the column does not change with its row.
	LackRowVersion MoveLackKind = "RowVersion"
	// LackRows: the article has a filter; rows that do not meet it are not published.
	LackRows MoveLackKind = "Rows"
	// LackColumns: the article has some columns of the table; the others are not published.
	LackColumns MoveLackKind = "Columns"
)

// MoveLack is what one table of the new publisher lacks.
type MoveLack struct {
	// table, schema.name.
	// +kubebuilder:validation:MaxLength=257
	Table string `json:"table"`
	// kind of what is lacking.
	Kind MoveLackKind `json:"kind"`
	// names of columns, constraints or triggers, separated by commas; the filter of LackRows, the columns that there are
	// of LackColumns.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Names string `json:"names,omitempty"`
	// seenAt is another subscriber's server whose copy has it, when the former publisher could not be asked; whether that
	// had it is not known. It need not be accepted. Empty when the former publisher or the declaration says so.
	// +optional
	SeenAt ServerName `json:"seenAt,omitempty"`
}

// MoveEstimate is what a PublisherMove is known to lose. What nobody saw before the publisher was gone is not in it.
type MoveEstimate struct {
	// time of the estimate.
	Time metav1.Time `json:"time"`
	// digest names what was estimated. It stays the same while the estimate is made anew and nothing is worse than before.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest,omitempty"`
	// worse is what is worse than in an estimate that was approved.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Worse string `json:"worse,omitempty"`
	// afterApproval says that spec.approved was set before this was estimated: it is not about it, and
	// spec.approvedEstimate has to name its digest.
	// +optional
	AfterApproval bool `json:"afterApproval,omitempty"`
	// newest transaction that is known to have been replicated, and who says so.
	// +optional
	Newest *ReplicatedTransaction `json:"newest,omitempty"`
	// newestFrom is Distributor when it was asked now, Status when its last answer is meant, or Subscriber.
	// +optional
	NewestFrom string `json:"newestFrom,omitempty"`
	// subscribers with their copies.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=subscription
	Subscribers []MoveEvidence `json:"subscribers,omitempty"`
	// best is the server whose copy is newest.
	// +optional
	Best ServerName `json:"best,omitempty"`
	// lossless says that the former publisher answers, that its database is read-only, and that the new publisher has the
	// same rows in every article, by a hash of every row over all published columns.
	// +optional
	Lossless bool `json:"lossless,omitempty"`
	// deliverable commands are at the distributor and brought to the new publisher first.
	// +optional
	Deliverable *int64 `json:"deliverable,omitempty"`
	// lacks is what the new publisher's tables lack of the former one's. What only the former one can say is not in it
	// while that does not answer; the summary says so.
	// +optional
	// +kubebuilder:validation:MaxItems=512
	// +listType=atomic
	Lacks []MoveLack `json:"lacks,omitempty"`
	// summary in words.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Summary string `json:"summary,omitempty"`
}

// MoveTimeline has the moments of a PublisherMove by the operator's clock. A moment that is left out was not reached.
type MoveTimeline struct {
	// approved is when the operator saw the approval.
	// +optional
	Approved *metav1.MicroTime `json:"approved,omitempty"`
	// drained is when the new publisher had everything that the distributor had, or that was given up.
	// +optional
	Drained *metav1.MicroTime `json:"drained,omitempty"`
	// switched is when the Publication named the new publisher.
	// +optional
	Switched *metav1.MicroTime `json:"switched,omitempty"`
	// published is when the new publisher published.
	// +optional
	Published *metav1.MicroTime `json:"published,omitempty"`
	// delivering is when every other subscriber that answers received again.
	// +optional
	Delivering *metav1.MicroTime `json:"delivering,omitempty"`
}

// MovedSubscription is how another subscriber goes on.
type MovedSubscription struct {
	// name of the Subscription.
	Name ObjectName `json:"name"`
	// state is Waiting, Delivering or NotAnswering.
	State string `json:"state"`
	// method is Snapshot or ReplicationSupportOnly, once it is registered with the new publisher.
	// +optional
	Method InitializationMethod `json:"method,omitempty"`
	// reason why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// PublisherMoveStatus is the observed state of a PublisherMove.
type PublisherMoveStatus struct {
	StatusBase `json:",inline"`
	// phase is Pending, Estimated, Draining, Switching, Publishing or Completed.
	// +optional
	Phase PublisherMovePhase `json:"phase,omitempty"`
	// publicationUID is that of the Publication whose move was estimated. One that is declared anew under its name is not
	// moved.
	// +optional
	PublicationUID types.UID `json:"publicationUID,omitempty"`
	// from is the former publisher.
	// +optional
	From *ServerOrGroup `json:"from,omitempty"`
	// fromDatabase is the database that it published.
	// +optional
	FromDatabase DatabaseName `json:"fromDatabase,omitempty"`
	// fromDistributor is the former Distributor.
	// +optional
	FromDistributor ObjectName `json:"fromDistributor,omitempty"`
	// original is the server under whose name the former distributor knew the publisher.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Original string `json:"original,omitempty"`
	// toSubscription is the Subscription of the server that becomes the publisher; toDatabase its database.
	// +optional
	ToSubscription ObjectName `json:"toSubscription,omitempty"`
	// toDatabase is what is published from then on.
	// +optional
	ToDatabase DatabaseName `json:"toDatabase,omitempty"`
	// estimate of what is lost. It stays as it was at the approval.
	// +optional
	Estimate *MoveEstimate `json:"estimate,omitempty"`
	// steps that are carried out once it is approved, in words.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Steps []string `json:"steps,omitempty"`
	// undelivered commands were at the distributor when the old way ended; absent when that is not known.
	// +optional
	Undelivered *int64 `json:"undelivered,omitempty"`
	// subscriptions of the other subscribers.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Subscriptions []MovedSubscription `json:"subscriptions,omitempty"`
	// timeline of what was done.
	// +optional
	Timeline *MoveTimeline `json:"timeline,omitempty"`
}

// PublisherMove is one move of publishing to a subscriber's server, after the publisher was lost or made read-only. It
// is carried out once, and stays as the record.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gmove,categories=geosql
// +kubebuilder:printcolumn:name="Publication",type=string,JSONPath=`.spec.publication`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.to`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PublisherMove struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PublisherMoveSpec   `json:"spec"`
	Status PublisherMoveStatus `json:"status,omitempty"`
}

// PublisherMoveList is a list of PublisherMoves.
// +kubebuilder:object:root=true
type PublisherMoveList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PublisherMove `json:"items"`
}

func init() { SchemeBuilder.Register(&PublisherMove{}, &PublisherMoveList{}) }
