// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupTimes are when backups are taken.
type BackupTimes struct {
	// schedule in cron's five fields, such as "0 1 * * 0".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
	// timeZone by its name in the tz database, such as Europe/Dublin; Etc/UTC unless given.
	// +optional
	// +kubebuilder:default=Etc/UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// LogBackupMode says whether backups of the log are taken.
// +kubebuilder:validation:Enum=Scheduled;None
type LogBackupMode string

const (
	// LogBackupScheduled has the log backed up again and again; the default.
	LogBackupScheduled LogBackupMode = "Scheduled"
	// LogBackupNone has no log backed up: something else does it, or the databases are in the simple recovery model.
	LogBackupNone LogBackupMode = "None"
)

// LogBackups are when backups of the log are taken.
type LogBackups struct {
	// mode is Scheduled (default), or None where something else backs the log up, or the databases are in the simple
	// recovery model: the log of any other grows until its volume is full.
	// +optional
	// +kubebuilder:default=Scheduled
	Mode LogBackupMode `json:"mode,omitempty"`
	// every is the time between two, 5m unless given; mode None does not look at it. What was committed since the last is
	// lost with all servers.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="every must be between 1m and 24h; a duration is written like 90s, 12h or 1h30m"
	Every *metav1.Duration `json:"every,omitempty"`
}

// BackupReplica says which replica of a group takes its backups.
// +kubebuilder:validation:Enum=Primary;PreferSecondary
type BackupReplica string

const (
	// BackupAtPrimary has the primary take all; the default.
	BackupAtPrimary BackupReplica = "Primary"
	// BackupPreferSecondary has a secondary take logs and full backups, which are copies (COPY_ONLY) there; the primary
	// takes what none does. SQL Server does not support a backup of the log at one replica while a full one of the same
	// database goes on at another, and error 9019 stops a secondary whose log is needed meanwhile: it is for databases
	// whose full backup is short. Basic groups have no backups at secondaries: their primary takes all.
	BackupPreferSecondary BackupReplica = "PreferSecondary"
)

// BackupRetention says what must stay restorable. What a kept backup needs is kept.
// +kubebuilder:validation:XValidation:rule="has(self.age) || has(self.fulls)",message="give age, fulls or both: without either nothing is ever removed"
type BackupRetention struct {
	// age is how far back every moment stays restorable.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1h') && duration(self) <= duration('87600h')",message="age must be between 1h and 87600h; a duration is written like 12h, 168h or 720h"
	Age *metav1.Duration `json:"age,omitempty"`
	// fulls is how many of the newest full backups are kept at least.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Fulls int32 `json:"fulls,omitempty"`
}

// BackupVerification says how backups are looked after.
// +kubebuilder:validation:Enum=ReadBack;None
type BackupVerification string

const (
	// VerifyReadBack has each file read back from the store once it was sent, and compared with what was written; the
	// default.
	VerifyReadBack BackupVerification = "ReadBack"
	// VerifyNone believes the store.
	VerifyNone BackupVerification = "None"
)

// BackupPolicySpec declares which backups are taken of the databases of a group or a server, where they are kept, and
// for how long. The servers' agents carry it out, also while the hub is away.
//
// +kubebuilder:validation:XValidation:rule="!has(self.differential) || (has(self.target) && has(self.target.server)) || !has(self.replica) || self.replica == 'Primary'",message="differential goes with replica Primary: a full backup of a secondary is a copy, which is no base of a differential"
// +kubebuilder:validation:XValidation:rule="!has(self.restoreTest) || has(self.stores) && size(self.stores) > 0",message="restoreTest needs a store: what is on the servers' backup volumes alone is restored by hand"
// +kubebuilder:validation:XValidation:rule="!has(self.restoreTest) || !has(self.target) || !has(self.target.server) || self.target.server != self.restoreTest.server",message="restoreTest.server is another server than the policy's target"
type BackupPolicySpec struct {
	// target is the group or the server whose databases are backed up. Only an entry of a Topology may be without.
	// +optional
	Target ServerOrGroup `json:"target,omitzero"`
	// databases of the target; all of them unless given, those that come later too.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	Databases []DatabaseName `json:"databases,omitempty"`
	// full says when full backups are taken. The first is taken at once, as is one without which nothing restores what the
	// log has: after a forced failover, say.
	Full BackupTimes `json:"full"`
	// differential says when differential backups are taken; none unless given.
	// +optional
	Differential *BackupTimes `json:"differential,omitempty"`
	// log says whether and when the log is backed up: Scheduled, every 5m, unless given.
	// +optional
	// +kubebuilder:default={}
	Log *LogBackups `json:"log,omitempty"`
	// replica of a group that takes the backups: Primary (default) or PreferSecondary, which SQL Server supports for
	// databases whose full backups do not overlap with backups of the log alone, and not at all in basic groups: there the
	// primary takes all.
	// +optional
	// +kubebuilder:default=Primary
	Replica BackupReplica `json:"replica,omitempty"`
	// compression packs backups; true unless given.
	// +optional
	// +kubebuilder:default=true
	Compression *bool `json:"compression,omitempty"`
	// checksum has the pages verified as they are read, and a sum of the whole written; true unless given.
	// +optional
	// +kubebuilder:default=true
	Checksum *bool `json:"checksum,omitempty"`
	// stripes is how many files a full or differential backup is written to at once, 1 unless given.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Stripes int32 `json:"stripes,omitempty"`
	// maxTransferSize is MAXTRANSFERSIZE in bytes, 65536 to 4194304 in steps of 65536; the engine's choice unless given.
	// +optional
	// +kubebuilder:validation:Minimum=65536
	// +kubebuilder:validation:Maximum=4194304
	// +kubebuilder:validation:MultipleOf=65536
	MaxTransferSize int32 `json:"maxTransferSize,omitempty"`
	// bufferCount is BUFFERCOUNT; the engine's choice unless given.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	BufferCount int32 `json:"bufferCount,omitempty"`
	// stores are the BackupStores that get a copy of each backup. Without one they stay on the backup volume of the server
	// that took them, and are lost with it.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Stores []ObjectName `json:"stores,omitempty"`
	// retention says what stays restorable. Nothing is removed unless it is given.
	// +optional
	Retention *BackupRetention `json:"retention,omitempty"`
	// verification of what was sent to stores: ReadBack (default) or None.
	// +optional
	// +kubebuilder:default=ReadBack
	Verification BackupVerification `json:"verification,omitempty"`
	// restoreTest has the backups restored on a schedule, to see that they can be. It costs room and time at another
	// server: nothing is restored unless it is given.
	// +optional
	RestoreTest *RestoreTest `json:"restoreTest,omitempty"`
	// historyLimit is how many of the newest full and differential backups that the schedule had taken have a Backup as
	// their record, 10 unless given: of all databases together. It removes no backup. Those that people asked for are not
	// counted.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HistoryLimit int32 `json:"historyLimit,omitempty"`
	// suspend has the operator do nothing with the object until it is false again: it is looked at and reported on. The
	// servers go on by what they were told last.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TakeOverBackupsAnnotation on a BackupPolicy names the claims of other hubs, with commas between them, whose folders
// in the policy's stores this hub takes over: the other one is gone for good, or is to back the target up no more. A
// claim is taken over once; the message of the reason BackupOtherHub has those of now.
const TakeOverBackupsAnnotation = "geosql.dev/take-over-backups"

// RestorableWindow is between which moments a database can be restored to any.
type RestorableWindow struct {
	// from is the oldest of them.
	From metav1.Time `json:"from"`
	// to is the newest of them.
	To metav1.Time `json:"to"`
}

// BackedUpDatabase is what is known of a database's backups.
type BackedUpDatabase struct {
	// name of the database.
	Name DatabaseName `json:"name"`
	// windows between which it can be restored to any moment, the newest first, of the stores, or without one of the
	// server's own volume.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Windows []RestorableWindow `json:"windows,omitempty"`
	// lastFull is when the newest full backup ended.
	// +optional
	LastFull *metav1.Time `json:"lastFull,omitempty"`
	// lastDifferential is when the newest differential backup ended.
	// +optional
	LastDifferential *metav1.Time `json:"lastDifferential,omitempty"`
	// lastLog is when the newest backup of the log ended.
	// +optional
	LastLog *metav1.Time `json:"lastLog,omitempty"`
	// sets that are known.
	// +optional
	Sets int32 `json:"sets,omitempty"`
	// bytes that they have.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// waiting are sets that some store lacks yet.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// waitingBytes is what they have.
	// +optional
	WaitingBytes int64 `json:"waitingBytes,omitempty"`
	// damaged are sets whose files a store did not give back as they were written.
	// +optional
	Damaged int32 `json:"damaged,omitempty"`
}

// BackupPlace is what a store of a policy was last seen to have.
type BackupPlace struct {
	// name of the BackupStore.
	Name ObjectName `json:"name"`
	// listed is when the store has told what it has. It may have done so since: that is noted after a quarter of
	// log.every, or five minutes.
	// +optional
	Listed *metav1.Time `json:"listed,omitempty"`
	// verified is the newest moment to which the store alone restores every database by backups that were read back from
	// it as they were written.
	// +optional
	Verified *metav1.Time `json:"verified,omitempty"`
	// damaged is when the newest backup ended that it did not give back as it was written.
	// +optional
	Damaged *metav1.Time `json:"damaged,omitempty"`
}

// VerifyBackupsAnnotation on a BackupPolicy asks that everything in its stores is read back once more: its value is the
// object's UID, a slash and the time of the request (RFC 3339, UTC). What was read back since then is not read again.
// One that names another UID, as that of an object which a backup has brought back does, asks for nothing. `kubectl
// geosql backup verify` writes it.
const VerifyBackupsAnnotation = "geosql.dev/verify-backups"

// BackupVerificationStatus is how far a request to read everything back is.
type BackupVerificationStatus struct {
	// request as the annotation has it.
	Request string `json:"request"`
	// left are sets that are not read back yet; nothing is said while no agent tells.
	// +optional
	Left *int32 `json:"left,omitempty"`
	// leftBytes is what they have.
	// +optional
	LeftBytes int64 `json:"leftBytes,omitempty"`
	// damaged are sets of all stores that were not as they were written.
	// +optional
	Damaged int32 `json:"damaged,omitempty"`
	// completed is when nothing was left.
	// +optional
	Completed *metav1.Time `json:"completed,omitempty"`
}

// BackupAnswer is a set that was taken for a Backup, or that one is the record of.
type BackupAnswer struct {
	// request that it answers: the Backup's UID, a slash and the database.
	Request string `json:"request"`
	// set that was taken.
	Set BackupSet `json:"set"`
}

// BackupPolicyStatus is the observed state of a BackupPolicy.
type BackupPolicyStatus struct {
	StatusBase `json:",inline"`
	// databases of the target with what is known of their backups.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Databases []BackedUpDatabase `json:"databases,omitempty"`
	// restorable is the newest moment to which every database can be restored.
	// +optional
	Restorable *metav1.Time `json:"restorable,omitempty"`
	// stores of the policy with what each was last seen to have.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=name
	Stores []BackupPlace `json:"stores,omitempty"`
	// verification that was asked for last.
	// +optional
	Verification *BackupVerificationStatus `json:"verification,omitempty"`
	// restoreTest is the newest restore test, where the policy has any.
	// +optional
	RestoreTest *RestoreTestStatus `json:"restoreTest,omitempty"`
	// answers to Backups that have no outcome yet.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=request
	Answers []BackupAnswer `json:"answers,omitempty"`
	// servers that have the policy's order, or are about to; one that left the target until it has it no more.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	Servers []ServerName `json:"servers,omitempty"`
}

// BackupPolicy declares which backups are taken, where they are kept, and for how long.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gbpol,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.target.availabilityGroup`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.target.server`
// +kubebuilder:printcolumn:name="Restorable",type=date,JSONPath=`.status.restorable`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec.target)",message="spec.target is required: server or availabilityGroup",fieldPath=".spec.target"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.target) || !has(oldSelf.spec.target) || self.spec.target == oldSelf.spec.target",message="target is immutable: declare another BackupPolicy",fieldPath=".spec.target"
type BackupPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BackupPolicySpec   `json:"spec"`
	Status BackupPolicyStatus `json:"status,omitempty"`
}

// BackupPolicyList is a list of BackupPolicies.
// +kubebuilder:object:root=true
type BackupPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BackupPolicy `json:"items"`
}

func init() { SchemeBuilder.Register(&BackupPolicy{}, &BackupPolicyList{}) }
