// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AvailabilityMode is a replica's AVAILABILITY_MODE.
// +kubebuilder:validation:Enum=SynchronousCommit;AsynchronousCommit;ConfigurationOnly
type AvailabilityMode string

const (
	// SynchronousCommit hardens every transaction before the client hears of its commit.
	SynchronousCommit AvailabilityMode = "SynchronousCommit"
	// AsynchronousCommit follows without holding anybody up.
	AsynchronousCommit AvailabilityMode = "AsynchronousCommit"
	// ConfigurationOnly votes and holds no data.
	ConfigurationOnly AvailabilityMode = "ConfigurationOnly"
)

// SeedingMode is a replica's SEEDING_MODE.
// +kubebuilder:validation:Enum=Automatic;Manual
type SeedingMode string

const (
	// SeedingAutomatic lets the primary stream the databases.
	SeedingAutomatic SeedingMode = "Automatic"
	// SeedingManual waits for a restored backup.
	SeedingManual SeedingMode = "Manual"
)

// ClusterType is a group's CLUSTER_TYPE.
// +kubebuilder:validation:Enum=External;None
type ClusterType string

const (
	// ClusterExternal is managed by the agents of this operator: a write lease fences the primary.
	ClusterExternal ClusterType = "External"
	// ClusterNone is read-scale: nothing fences the primary.
	ClusterNone ClusterType = "None"
)

// FailoverPolicy says who may promote another replica.
// +kubebuilder:validation:Enum=Automatic;Manual;Paused
type FailoverPolicy string

const (
	// FailoverAutomatic lets the agents elect.
	FailoverAutomatic FailoverPolicy = "Automatic"
	// FailoverManual waits for a person.
	FailoverManual FailoverPolicy = "Manual"
	// FailoverPaused leaves every role as it is.
	FailoverPaused FailoverPolicy = "Paused"
)

// OnDeadReplica says what happens to replication and commits when a replica stays away.
// +kubebuilder:validation:Enum=Wait;DemoteToAsync;Remove
type OnDeadReplica string

const (
	// DeadReplicaWait waits for its return.
	DeadReplicaWait OnDeadReplica = "Wait"
	// DeadReplicaDemoteToAsync makes it asynchronous, with trace flag 1448 for the log reader.
	DeadReplicaDemoteToAsync OnDeadReplica = "DemoteToAsync"
	// DeadReplicaRemove takes it out of the group.
	DeadReplicaRemove OnDeadReplica = "Remove"
)

// RoleAtFailover is the role of the other replicas when one is asked for FAILOVER.
//
// +kubebuilder:validation:Enum=Secondary;Resolving
type RoleAtFailover string

const (
	// AtFailoverSecondary leaves them as they are, and takes them OFFLINE once there is another primary.
	AtFailoverSecondary RoleAtFailover = "Secondary"
	// AtFailoverResolving takes them OFFLINE first.
	AtFailoverResolving RoleAtFailover = "Resolving"
)

// Replica is one server's part in a group.
type Replica struct {
	// server is the name of a SQLServer.
	Server ServerName `json:"server"`
	// availabilityMode is SynchronousCommit, AsynchronousCommit or ConfigurationOnly.
	AvailabilityMode AvailabilityMode `json:"availabilityMode"`
	// readable allows read-only connections while secondary.
	// +optional
	Readable bool `json:"readable,omitempty"`
	// seeding is Automatic (default) or Manual.
	// +optional
	// +kubebuilder:default=Automatic
	Seeding SeedingMode `json:"seeding,omitempty"`
	// sessionTimeout after which a silent partner counts as gone, 5s or more. Left out, it is what the server has: SQL
	// Server makes it 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('5s') && duration(self) <= duration('1h')",message="sessionTimeout must be between 5s and 1h; a duration is written like 90s, 12h or 1h30m"
	SessionTimeout *metav1.Duration `json:"sessionTimeout,omitempty"`
}

// Listener is the name under which clients find the primary.
type Listener struct {
	// name of the listener and of its Services; the group's name unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=60
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a listener's name has lower-case letters, digits and hyphens alone, begins with a letter and ends with no hyphen, such as content"
	Name string `json:"name,omitempty"`
	// port of the listener, 1433 unless given.
	// +optional
	// +kubebuilder:default=1433
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// ip declared for the listener object, an IPv4 address; the ClusterIP at the initial primary's site unless given.
	// Clients do not connect to it: the name leads to the Service. Another address is a listener made anew, as SQL Server
	// takes none from one; when it is taken out again the listener keeps what it has.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",message="ip must be an IPv4 address, as 10.0.0.9"
	IP string `json:"ip,omitempty"`
}

// AvailabilityGroupSpec declares a group.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.replicas.exists(r, r.server == self.initialPrimary && r.availabilityMode == 'SynchronousCommit')",optionalOldSelf=true,message="initialPrimary must be one of the synchronous replicas when the group is declared (of a group that servers have already, name any of them)"
// +kubebuilder:validation:XValidation:rule="self.replicas.filter(r, r.availabilityMode == 'ConfigurationOnly').size() <= 1",message="at most one replica may be ConfigurationOnly"
// +kubebuilder:validation:XValidation:rule="!self.replicas.exists(r, r.availabilityMode == 'ConfigurationOnly') || self.replicas.filter(r, r.availabilityMode == 'SynchronousCommit').size() == 2",message="a ConfigurationOnly replica goes with exactly two SynchronousCommit replicas (error 47108)"
// +kubebuilder:validation:XValidation:rule="(has(self.clusterType) && self.clusterType == 'None') || self.replicas.filter(r, r.availabilityMode == 'SynchronousCommit').size() != 2 || self.replicas.exists(r, r.availabilityMode == 'ConfigurationOnly')",message="two synchronous replicas need a third vote: add a third SynchronousCommit replica or one that is ConfigurationOnly"
// +kubebuilder:validation:XValidation:rule="(has(self.clusterType) && self.clusterType == 'None') || self.replicas.filter(r, r.availabilityMode == 'SynchronousCommit').size() >= 2",message="at least two SynchronousCommit replicas and a ConfigurationOnly one, or three SynchronousCommit replicas, are needed"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterType) || self.clusterType != 'None' || (has(self.failoverPolicy) && self.failoverPolicy == 'Manual')",message="clusterType None has no fence: failoverPolicy must be Manual"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterType) || self.clusterType != 'None' || !self.replicas.exists(r, r.availabilityMode == 'ConfigurationOnly')",message="a ConfigurationOnly replica needs clusterType External (error 47114)"
// +kubebuilder:validation:XValidation:rule="!has(self.requiredSynchronizedSecondaries) || self.requiredSynchronizedSecondaries < self.replicas.filter(r, r.availabilityMode == 'SynchronousCommit').size()",message="requiredSynchronizedSecondaries must be less than the number of SynchronousCommit replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.requiredSynchronizedSecondaries) || self.requiredSynchronizedSecondaries == 0 || !self.replicas.exists(r, r.availabilityMode == 'ConfigurationOnly')",message="requiredSynchronizedSecondaries must be 0 with a ConfigurationOnly replica (error 47108)"
// +kubebuilder:validation:XValidation:rule="!has(self.voters) || self.voters.size() % 2 == 1",message="voters must be an odd number of sites"
// +kubebuilder:validation:XValidation:rule="!has(self.failoverPolicy) || self.failoverPolicy != 'Automatic' || (has(self.voters) && self.voters.size() >= 3)",message="failoverPolicy Automatic needs at least three voters"
// +kubebuilder:validation:XValidation:rule="(has(self.clusterType) ? self.clusterType : 'External') == (has(oldSelf.clusterType) ? oldSelf.clusterType : 'External')",message="clusterType is immutable (SQL Server cannot change CLUSTER_TYPE)"
// +kubebuilder:validation:XValidation:rule="(has(self.contained) && self.contained) == (has(oldSelf.contained) && oldSelf.contained)",message="contained is immutable (SQL Server makes a group contained at its creation)"
// +kubebuilder:validation:XValidation:rule="oldSelf.replicas.all(o, !self.replicas.exists(r, r.server == o.server && (r.availabilityMode == 'ConfigurationOnly') != (o.availabilityMode == 'ConfigurationOnly')))",message="a replica cannot become ConfigurationOnly or cease to be (errors 47112, 47113): declare another server with the other availabilityMode in its place"
// +kubebuilder:validation:XValidation:rule="self.initialPrimary == oldSelf.initialPrimary",message="initialPrimary is immutable: it is used once, to create the group; roles change by failover"
// +kubebuilder:validation:XValidation:rule="(has(self.timings) && has(self.timings.voteExpiry) ? self.timings.voteExpiry : 'unset') == (has(oldSelf.timings) && has(oldSelf.timings.voteExpiry) ? oldSelf.timings.voteExpiry : 'unset') && (has(self.timings) && has(self.timings.renewInterval) ? self.timings.renewInterval : 'unset') == (has(oldSelf.timings) && has(oldSelf.timings.renewInterval) ? oldSelf.timings.renewInterval : 'unset') && (has(self.timings) && has(self.timings.apiTimeout) ? self.timings.apiTimeout : 'unset') == (has(oldSelf.timings) && has(oldSelf.timings.apiTimeout) ? oldSelf.timings.apiTimeout : 'unset')",message="timings are immutable except failover and offline: agents that counted differently could have two primaries"
// +kubebuilder:validation:XValidation:rule="(has(self.timings) && has(self.timings.acknowledge) ? self.timings.acknowledge : 'unset') == (has(oldSelf.timings) && has(oldSelf.timings.acknowledge) ? oldSelf.timings.acknowledge : 'unset') && (has(self.timings) && has(self.timings.agentRestart) ? self.timings.agentRestart : 'unset') == (has(oldSelf.timings) && has(oldSelf.timings.agentRestart) ? oldSelf.timings.agentRestart : 'unset')",message="timings are immutable except failover and offline: agents that counted differently could have two primaries"
// +kubebuilder:validation:XValidation:rule="(has(self.timings) && has(self.timings.writeLease) ? self.timings.writeLease : 'unset') == (has(oldSelf.timings) && has(oldSelf.timings.writeLease) ? oldSelf.timings.writeLease : 'unset') && (has(self.timings) && has(self.timings.overrun) ? self.timings.overrun : 'unset') == (has(oldSelf.timings) && has(oldSelf.timings.overrun) ? oldSelf.timings.overrun : 'unset')",message="timings are immutable except failover and offline: agents that counted differently could have two primaries"
type AvailabilityGroupSpec struct {
	// replicas of the group.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +listType=map
	// +listMapKey=server
	Replicas []Replica `json:"replicas"`
	// initialPrimary is the synchronous replica that creates the group; it is not a desired primary. It is used once: when
	// the group is there, its server may be made asynchronous, be replaced and be gone, and this field stays as it is.
	InitialPrimary ServerName `json:"initialPrimary"`
	// databases of the group; those that do not exist are created, or restored where they have a source. Their properties
	// are kept at the primary.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Databases []Database `json:"databases,omitempty"`
	// listener of the group.
	// +optional
	Listener *Listener `json:"listener,omitempty"`
	// clusterType is External (default) or None.
	// +optional
	// +kubebuilder:default=External
	ClusterType ClusterType `json:"clusterType,omitempty"`
	// contained would make a contained group (2022 and later). It is refused: nobody has tried one with this operator, and
	// replication does not work with it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self",message="contained groups are not supported yet: leave contained out"
	Contained bool `json:"contained,omitempty"`
	// voters are sites whose API servers hold the group's Leases: an odd number, each another cluster. Fewer than three
	// means that failover is manual. The sites of the replicas are taken when left out and their number is odd. The voters
	// of a group that exists may be changed: the primary's agent takes the new ones over while it serves, once all that
	// are new answer. Left out later, those that vote stay.
	// +optional
	// +kubebuilder:validation:MaxItems=7
	// +listType=set
	Voters []SiteName `json:"voters,omitempty"`
	// failoverPolicy is Automatic, Manual or Paused; Manual unless given.
	// +optional
	// +kubebuilder:default=Manual
	FailoverPolicy FailoverPolicy `json:"failoverPolicy,omitempty"`
	// roleAtFailover is the role in which the other replicas are when one is made primary: Secondary (default), as when
	// Microsoft's agent does it (they are taken OFFLINE afterwards, to follow), or Resolving: they are taken OFFLINE
	// before. Where the engine refuses FAILOVER the other one is tried in the same term.
	// +optional
	// +kubebuilder:default=Secondary
	RoleAtFailover RoleAtFailover `json:"roleAtFailover,omitempty"`
	// onDeadReplica is Wait (default), DemoteToAsync or Remove.
	// +optional
	// +kubebuilder:default=Wait
	OnDeadReplica OnDeadReplica `json:"onDeadReplica,omitempty"`
	// requiredSynchronizedSecondaries is REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT. Unless given: 0 with two
	// synchronous replicas, else half of the synchronous replicas, rounded down.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RequiredSynchronizedSecondaries *int32 `json:"requiredSynchronizedSecondaries,omitempty"`
	// timings of the votes, with which the group begins and stays. failover and offline alone may change.
	// +optional
	Timings *GroupTimings `json:"timings,omitempty"`
	// objectives of the group; drills take them as their defaults.
	// +optional
	Objectives *Objectives `json:"objectives,omitempty"`
	// reclaimPolicy says whether the group is dropped with this object (Delete) or left running (Retain, the default).
	// Databases are never dropped.
	// +optional
	// +kubebuilder:default=Retain
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// suspend has the operator do nothing with the object, its deletion included, until it is false again: it is looked at
	// and reported on. Agents elect as before, and names follow them.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ReplicaDatabaseStatus is one database on one replica, from sys.dm_hadr_database_replica_states.
type ReplicaDatabaseStatus struct {
	// name of the database.
	Name string `json:"name"`
	// synchronizationState as the DMV says, or Unknown.
	SynchronizationState string `json:"synchronizationState"`
	// suspended is the suspend_reason_desc when data movement is suspended.
	// +optional
	Suspended string `json:"suspended,omitempty"`
	// logSendQueueKB is log not yet sent, in KB.
	// +optional
	LogSendQueueKB *int64 `json:"logSendQueueKB,omitempty"`
	// redoQueueKB is log received and not yet redone, in KB.
	// +optional
	RedoQueueKB *int64 `json:"redoQueueKB,omitempty"`
	// redoRateKBps is the average redo rate, in KB per second.
	// +optional
	RedoRateKBps *int64 `json:"redoRateKBps,omitempty"`
	// lastHardenedLSN as numeric(25,0), of now or of when the server last answered.
	// +optional
	LastHardenedLSN string `json:"lastHardenedLSN,omitempty"`
	// lastRedoneLSN as numeric(25,0).
	// +optional
	LastRedoneLSN string `json:"lastRedoneLSN,omitempty"`
	// lastCommitTime of the newest commit that this replica has, or had when it last answered.
	// +optional
	LastCommitTime *metav1.Time `json:"lastCommitTime,omitempty"`
	// estimatedDataLoss is the primary's last commit time minus this replica's; 0s when it is ready for failover
	// (docs/database-engine/availability-groups/windows/monitor-performance-for-always-on-availability-groups.md, RPO).
	// Absent means unknown.
	// +optional
	EstimatedDataLoss *metav1.Duration `json:"estimatedDataLoss,omitempty"`
	// estimatedRecoveryTime is redo queue divided by redo rate (same document, RTO). Absent means unknown.
	// +optional
	EstimatedRecoveryTime *metav1.Duration `json:"estimatedRecoveryTime,omitempty"`
}

// ReplicaStatus is one replica as last seen.
type ReplicaStatus struct {
	// server of the replica.
	Server string `json:"server"`
	// role is PRIMARY, SECONDARY, RESOLVING or Unknown.
	Role string `json:"role"`
	// operationalState and connectedState as the DMV says, or Unknown.
	// +optional
	ConnectedState string `json:"connectedState,omitempty"`
	// synchronizationHealth is HEALTHY, PARTIALLY_HEALTHY, NOT_HEALTHY or Unknown.
	// +optional
	SynchronizationHealth string `json:"synchronizationHealth,omitempty"`
	// availabilityMode in force.
	// +optional
	AvailabilityMode string `json:"availabilityMode,omitempty"`
	// sequenceNumber of the group's configuration at this replica.
	// +optional
	SequenceNumber string `json:"sequenceNumber,omitempty"`
	// observedAt is when the server last answered before this status was written, which is done when more than that time
	// changes. Up to when it is so still stands in the Lease geosql-confirmed of the namespace.
	// +optional
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
	// disconnectedSince is since when the primary has called the server, which does not answer, DISCONNECTED.
	// +optional
	DisconnectedSince *metav1.Time `json:"disconnectedSince,omitempty"`
	// promotable says whether the replica could become primary now without losing anything.
	// +optional
	Promotable *Promotability `json:"promotable,omitempty"`
	// quarantined is set while a failover with data loss has left something on this replica alone: it can be read for
	// salvage and does not follow until a person says rejoin or reseed.
	// +optional
	Quarantined *Quarantine `json:"quarantined,omitempty"`
	// outside are the databases of the group's that are ONLINE on the server and not in the group: they can be written to
	// there, beside the group, and no listener leads to the server while there is one.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	Outside []string `json:"outside,omitempty"`
	// databases on the replica.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Databases []ReplicaDatabaseStatus `json:"databases,omitempty"`
}

// Quarantine is what a replica alone has since a failover with data loss.
type Quarantine struct {
	// term that was forced.
	Term int64 `json:"term"`
	// databases that the replica alone has log of.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Databases []QuarantinedDatabase `json:"databases,omitempty"`
}

// QuarantinedDatabase is the range of log of a database that a quarantined replica alone has.
type QuarantinedDatabase struct {
	// name of the database.
	Name string `json:"name"`
	// fromLSN is the end of the log that the new primary began with.
	// +optional
	FromLSN string `json:"fromLSN,omitempty"`
	// toLSN is the end of this replica's log.
	// +optional
	ToLSN string `json:"toLSN,omitempty"`
	// lastCommitTime is the time of the last commit that the replica has.
	// +optional
	LastCommitTime *metav1.MicroTime `json:"lastCommitTime,omitempty"`
}

// Promotability says whether a replica could become primary now without losing anything.
type Promotability struct {
	// status is True, False or Unknown. It speaks of the moment at which the servers were asked.
	Status metav1.ConditionStatus `json:"status"`
	// reason in CamelCase, such as Synchronized, NotSynchronized, Reverting, Suspended, NotSynchronous, AlreadyPrimary.
	Reason string `json:"reason"`
	// message says which databases, and what it takes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// VoterStatus is one voter's Lease as last seen.
type VoterStatus struct {
	// site of the voter.
	Site string `json:"site"`
	// holder of the vote: the server.
	// +optional
	Holder string `json:"holder,omitempty"`
	// holderIdentity is the one run of the holder's engine that holds the vote, server/podUID/engine: what a person
	// confirms to be fenced.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	HolderIdentity string `json:"holderIdentity,omitempty"`
	// term of the vote.
	// +optional
	Term int64 `json:"term,omitempty"`
	// state is Held, Claimed, Released, Absent or Unknown.
	State string `json:"state"`
	// paused says that automatic elections are forbidden at this voter.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// VoterConfiguration says who votes, as the votes tell it.
type VoterConfiguration struct {
	// term of the primary whose agent made it.
	Term int64 `json:"term"`
	// number among those of the term.
	Number int64 `json:"number"`
	// voters are the sites that vote.
	// +kubebuilder:validation:MaxItems=7
	// +listType=atomic
	Voters []string `json:"voters"`
	// next are, while the voters change, the sites that are to vote alone from then on; until then majorities of both are
	// needed.
	// +optional
	// +kubebuilder:validation:MaxItems=7
	// +listType=atomic
	Next []string `json:"next,omitempty"`
}

// AvailabilityGroupStatus is the observed state of a group.
type AvailabilityGroupStatus struct {
	StatusBase `json:",inline"`
	// groupID is the engine's group_id.
	// +optional
	GroupID string `json:"groupID,omitempty"`
	// primary is the server that says it is PRIMARY; empty when none does or it is unknown.
	// +optional
	Primary string `json:"primary,omitempty"`
	// term of the newest vote.
	// +optional
	Term int64 `json:"term,omitempty"`
	// requiredSynchronizedSecondaries in force.
	// +optional
	RequiredSynchronizedSecondaries *int32 `json:"requiredSynchronizedSecondaries,omitempty"`
	// listener as clients write it, host:port.
	// +optional
	Listener string `json:"listener,omitempty"`
	// synchronized is how many of the declared replicas that hold data are HEALTHY, such as "2 of 3". One that does not
	// answer is none of them.
	// +optional
	Synchronized string `json:"synchronized,omitempty"`
	// replicas of the group: those that are declared, and former ones that may have it still.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=server
	Replicas []ReplicaStatus `json:"replicas,omitempty"`
	// timings by which the votes count, as the group's agents are told: those with which it was made.
	// +optional
	Timings *GroupTimings `json:"timings,omitempty"`
	// voters of the group, while they change those of before and those of afterwards.
	// +optional
	// +kubebuilder:validation:MaxItems=14
	// +listType=map
	// +listMapKey=site
	Voters []VoterStatus `json:"voters,omitempty"`
	// voterConfiguration is the newest that was seen in the votes; left out while the voters are those that the group
	// began with.
	// +optional
	VoterConfiguration *VoterConfiguration `json:"voterConfiguration,omitempty"`
	// formerVoters are sites that do not vote and may have the group's Lease: they voted, or are or were to vote. The
	// Leases stay until the group is deleted.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	FormerVoters []string `json:"formerVoters,omitempty"`
	// restorable is the newest moment to which every database can be restored from a store alone, by backups that were
	// read back from it as they were written. It is left out without objectives.backupRPO, and while it cannot be told.
	// +optional
	Restorable *metav1.Time `json:"restorable,omitempty"`
}

// AvailabilityGroup is an Always On availability group over servers of several sites.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gag,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.status.primary`
// +kubebuilder:printcolumn:name="Synchronized",type=string,JSONPath=`.status.synchronized`
// +kubebuilder:printcolumn:name="Listener",type=string,JSONPath=`.status.listener`
// +kubebuilder:printcolumn:name="Term",type=integer,JSONPath=`.status.term`
// +kubebuilder:printcolumn:name="Restorable",type=date,JSONPath=`.status.restorable`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !self.metadata.name.contains('.')",optionalOldSelf=true,message="metadata.name may have no dots: it is the name of the listener's Services, and in the servers' certificates",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 60",message="metadata.name may have at most 60 characters: it is the group's name and its listener's",fieldPath=".metadata"
type AvailabilityGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AvailabilityGroupSpec   `json:"spec"`
	Status AvailabilityGroupStatus `json:"status,omitempty"`
}

// AvailabilityGroupList is a list of AvailabilityGroups.
// +kubebuilder:object:root=true
type AvailabilityGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AvailabilityGroup `json:"items"`
}

func init() { SchemeBuilder.Register(&AvailabilityGroup{}, &AvailabilityGroupList{}) }
