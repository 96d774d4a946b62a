// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SubscriptionType is how changes travel.
// +kubebuilder:validation:Enum=Pull;Push
type SubscriptionType string

const (
	// SubscriptionPull registers the subscription at the subscriber, whose server runs the agent.
	SubscriptionPull SubscriptionType = "Pull"
	// SubscriptionPush registers it at the publisher.
	SubscriptionPush SubscriptionType = "Push"
)

// AgentPlace is where a distribution agent runs.
// +kubebuilder:validation:Enum=Subscriber;Distributor
type AgentPlace string

const (
	// AgentAtSubscriber streams commands over the WAN and applies them locally.
	AgentAtSubscriber AgentPlace = "Subscriber"
	// AgentAtDistributor applies over the WAN, one batch per round trip.
	AgentAtDistributor AgentPlace = "Distributor"
)

// SubscriptionObjectives are what a subscription promises.
type SubscriptionObjectives struct {
	// latency is how long a row may need from its commit at the publisher to the subscriber. Tracer tokens measure it in
	// whole seconds; the manager's metrics and alerts compare the two. A Publication of type Snapshot has none: its
	// schedule says how old a copy may be.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="latency must be between 1s and 24h; a duration is written like 90s, 12h or 1h30m"
	Latency *metav1.Duration `json:"latency,omitempty"`
}

// SubscriptionSpec declares a subscription.
//
// +kubebuilder:validation:XValidation:rule="!has(self.agentAt) || self.agentAt == 'Subscriber' || (has(self.type) && self.type == 'Push')",message="agentAt Distributor goes with type Push; the agent of a Pull subscription runs at the Subscriber"
// +kubebuilder:validation:XValidation:rule="!has(self.initialization) || !has(self.initialization.method) || !(self.initialization.method in ['Manual', 'CompressedSnapshot']) || !has(self.type) || self.type != 'Push' || (has(self.agentAt) && self.agentAt == 'Subscriber')",message="methods Manual and CompressedSnapshot bring files to the subscriber, whose own agent applies them: they go with type Pull, and with type Push and agentAt Subscriber",fieldPath=".initialization"
// +kubebuilder:validation:XValidation:rule="self.publication == oldSelf.publication",message="publication is immutable: declare another subscription"
// +kubebuilder:validation:XValidation:rule="self.subscriber == oldSelf.subscriber",message="subscriber is immutable: declare another subscription"
// +kubebuilder:validation:XValidation:rule="self.database == oldSelf.database",message="database is immutable: declare another subscription"
type SubscriptionSpec struct {
	// publication is the name of a Publication.
	Publication ObjectName `json:"publication"`
	// subscriber is a server or a group.
	Subscriber ServerOrGroup `json:"subscriber"`
	// database at the subscriber; it is created when it does not exist.
	Database DatabaseName `json:"database"`
	// type is Pull (default) or Push.
	// +optional
	// +kubebuilder:default=Pull
	Type SubscriptionType `json:"type,omitempty"`
	// agentAt is where the distribution agent runs: Subscriber for Pull; for Push Distributor (default) or Subscriber.
	// +optional
	AgentAt AgentPlace `json:"agentAt,omitempty"`
	// profile is the name of an AgentProfile for the distribution agent.
	// +optional
	Profile ObjectName `json:"profile,omitempty"`
	// reinitialization says when the subscriber gets a new copy of tables that it has: OnRequest, by
	// `kubectl geosql reinitialize`, or Automatic; as the Publication says unless given.
	// +optional
	Reinitialization Reinitialization `json:"reinitialization,omitempty"`
	// initialization says how the subscriber gets its first copy; as the Publication says unless given.
	// +optional
	Initialization *Initialization `json:"initialization,omitempty"`
	// readOnly refuses whoever writes the subscriber's tables, all but the distribution agent: each has a trigger NOT FOR
	// REPLICATION that does. It holds for members of db_owner and for sa too, not for TRUNCATE TABLE, for bulk copies
	// that fire no triggers, nor for who alters or disables the trigger, nor from when a new copy has replaced a table
	// until the operator looks at it next. Taken out, or with the end of the Subscription, the triggers go.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
	// objectives of the subscription.
	// +optional
	Objectives *SubscriptionObjectives `json:"objectives,omitempty"`
	// reclaimPolicy says whether the subscription is dropped with this object (Delete) or left running (Retain, the
	// default). The subscriber's tables are never dropped.
	// +optional
	// +kubebuilder:default=Retain
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// suspend has the operator do nothing with the object, its deletion included, until it is false again: it is looked at
	// and reported on. Replication goes on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// LatencyStatus is what the newest tracer token measured, in whole seconds as SQL Server reports it.
type LatencyStatus struct {
	// publisherToDistributor in seconds.
	// +optional
	PublisherToDistributorSeconds *int64 `json:"publisherToDistributorSeconds,omitempty"`
	// distributorToSubscriber in seconds.
	// +optional
	DistributorToSubscriberSeconds *int64 `json:"distributorToSubscriberSeconds,omitempty"`
	// overall in seconds.
	// +optional
	OverallSeconds *int64 `json:"overallSeconds,omitempty"`
	// postedAt is when the token was posted.
	// +optional
	PostedAt *metav1.Time `json:"postedAt,omitempty"`
}

// InitializationAnnotation on a Subscription, set to Compare, makes Compare of method Snapshot, whichever object
// declares it. A PublisherMove sets it, for as long as it lasts; what is meant to stay is declared in
// spec.initialization.
const InitializationAnnotation = "geosql.dev/initialization"

// DataBroughtAnnotation on a Subscription is the time (RFC 3339) at which a person had made the subscriber's tables
// equal to the publisher's, where the Publication makes no copies. It ends that the subscriber lacks what was skipped,
// or was lost with a restore, before that time. A time to come says nothing.
const DataBroughtAnnotation = "geosql.dev/data-brought"

// ReinitializeAnnotation on a Subscription asks for a new copy of its tables, once: its value is the object's UID, a
// slash and what tells the request from others; then, after another slash, a digest of the articles for which it was
// asked. One that names another UID, as that of an object which a backup has brought back does, asks for nothing, and
// neither does one with the digest of other articles than those that are declared. `kubectl geosql reinitialize` writes
// it.
const ReinitializeAnnotation = "geosql.dev/reinitialize"

// SubscriptionReinitialization is the newest new copy that was asked for.
type SubscriptionReinitialization struct {
	// request is the value of the annotation that asked for it.
	// +kubebuilder:validation:MaxLength=256
	Request string `json:"request"`
	// time when the newest that was carried out was; the copy is made after that.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// void tells that the request was not carried out and will not be: the Publication declares other articles than those
	// for which it was asked.
	// +optional
	Void bool `json:"void,omitempty"`
}

// SubscriptionInitialization says how a subscription was registered, and why so.
type SubscriptionInitialization struct {
	// method is Snapshot, Backup, or ReplicationSupportOnly where it was registered without a copy, also of tables that
	// were compared.
	Method InitializationMethod `json:"method"`
	// reason in words, with the rows that were compared.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// publisher with which it was registered, by the name that the distributor knows.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Publisher string `json:"publisher,omitempty"`
	// publisherDatabase is that publisher's publication database.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	PublisherDatabase string `json:"publisherDatabase,omitempty"`
	// time of the registration.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// compared says that the tables were found equal before the registration. They are compared again once changes arrive.
	// +optional
	Compared bool `json:"compared,omitempty"`
	// validated is when the last of them was found equal again afterwards.
	// +optional
	Validated *metav1.Time `json:"validated,omitempty"`
	// validatedArticles are those that were, by the publisher's number and name, such as "3 dbo.Article": one that is
	// dropped and added again has another number. Until every article that was registered without a copy is here the
	// Subscription is not Ready.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=512
	ValidatedArticles []string `json:"validatedArticles,omitempty"`
	// lastCompared is when the last comparison of the others was over.
	// +optional
	LastCompared *metav1.Time `json:"lastCompared,omitempty"`
	// unequalSince is when the first comparison after they were equal, or were registered, did not find them equal.
	// +optional
	UnequalSince *metav1.Time `json:"unequalSince,omitempty"`
	// differs says in which way they were not equal, as long as that stays the same; since then.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Differs string `json:"differs,omitempty"`
	// differsDigest is a hash of the rows of those tables at the publisher and at the subscriber: another one is another
	// difference, whatever it is called. Empty when they changed while they were compared last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DiffersDigest string `json:"differsDigest,omitempty"`
	// differsSince is when that was first so, with the same rows.
	// +optional
	DiffersSince *metav1.Time `json:"differsSince,omitempty"`
	// skipped are errors that its agent has met and skipped since the subscriber had what the publisher has, such as
	// "20598, 2627". What met one of them is missing in the copy, also when its profile skips no more.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Skipped string `json:"skipped,omitempty"`
	// skippedAt is when it met the newest of them, to a minute.
	// +optional
	SkippedAt *metav1.Time `json:"skippedAt,omitempty"`
	// recoveryFork of the subscription database, with its server's name: RESTORE begins another one.
	// +optional
	// +kubebuilder:validation:MaxLength=180
	RecoveryFork string `json:"recoveryFork,omitempty"`
	// restoredAt is when it was last seen on another recovery fork than the one before: it was restored from a backup. A
	// new copy ends that, or the annotation geosql.dev/data-brought where the Publication makes none.
	// +optional
	RestoredAt *metav1.Time `json:"restoredAt,omitempty"`
}

// SubscriptionStatus is the observed state of a Subscription.
type SubscriptionStatus struct {
	StatusBase `json:",inline"`
	// phase is Pending, Snapshot, Mirroring, Initializing, Active, Failed or Unknown.
	// +optional
	Phase string `json:"phase,omitempty"`
	// agent is the distribution agent.
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`
	// pendingCommands not yet delivered (sp_replmonitorsubscriptionpendingcmds), as counted within the last minute; not
	// given while they are not counted, such as for twenty times as long as a count has taken.
	// +optional
	PendingCommands *int64 `json:"pendingCommands,omitempty"`
	// estimatedSeconds to deliver them.
	// +optional
	EstimatedSeconds *int64 `json:"estimatedSeconds,omitempty"`
	// latency of the newest tracer token.
	// +optional
	Latency *LatencyStatus `json:"latency,omitempty"`
	// mirroredSnapshot is the snapshot that the subscriber's site has whole.
	// +optional
	MirroredSnapshot string `json:"mirroredSnapshot,omitempty"`
	// snapshot is what the subscriber has of a Publication of type Snapshot; absent of others, and before the first copy.
	// +optional
	Snapshot *AppliedSnapshot `json:"snapshot,omitempty"`
	// notEmptySince is since when tables that are not the subscription's stand in the way of its first registration. While
	// they do its own word alone lets them be replaced: Compare that its Publication declares since does not.
	// +optional
	NotEmptySince *metav1.Time `json:"notEmptySince,omitempty"`
	// initialization says how the subscription was registered.
	// +optional
	Initialization *SubscriptionInitialization `json:"initialization,omitempty"`
	// reinitialization is the newest new copy that was asked for.
	// +optional
	Reinitialization *SubscriptionReinitialization `json:"reinitialization,omitempty"`
	// copy is how far the newest copy by a snapshot is, and what it took.
	// +optional
	Copy *SubscriptionCopy `json:"copy,omitempty"`
	// forecast is how many rows a second the link to the subscriber's site lets through at most; absent where no link is
	// crossed, and of a Publication of type Snapshot.
	// +optional
	Forecast *SubscriptionForecast `json:"forecast,omitempty"`
}

// Subscription delivers a publication's changes to a database.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gsub,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Publication",type=string,JSONPath=`.spec.publication`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.status.agent.state`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.pendingCommands`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Subscription struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SubscriptionSpec   `json:"spec"`
	Status SubscriptionStatus `json:"status,omitempty"`
}

// SubscriptionList is a list of Subscriptions.
// +kubebuilder:object:root=true
type SubscriptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Subscription `json:"items"`
}

func init() { SchemeBuilder.Register(&Subscription{}, &SubscriptionList{}) }
