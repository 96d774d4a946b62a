// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/url"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestoreSource says which backups of which database are restored.
//
// +kubebuilder:validation:XValidation:rule="has(self.policy) != has(self.store)",message="name exactly one of policy, with database, and store, with path, or with files or folder"
// +kubebuilder:validation:XValidation:rule="!has(self.policy) || has(self.database)",message="database is needed with policy"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || has(self.policy) || has(self.files) || has(self.folder)",message="database goes with policy, or with files or folder"
// +kubebuilder:validation:XValidation:rule="has(self.store) == (has(self.path) || has(self.files) || has(self.folder))",message="path, or files or folder, go with store, and one is needed there"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || !(has(self.files) || has(self.folder))",message="path is of backups that the operator's agents took: files and folder do not go with it"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.files) || has(self.folder)",message="timeZone goes with files or folder: other backups say it"
type RestoreSource struct {
	// policy is the name of the BackupPolicy that had them taken; it needs a store.
	// +optional
	Policy ObjectName `json:"policy,omitempty"`
	// database of the policy's target; with files or folder the one that is meant, where they have several.
	// +optional
	Database DatabaseName `json:"database,omitempty"`
	// store is the name of the BackupStore that has them, where nothing else is known any more: what they are is read from
	// the store alone.
	// +optional
	Store ObjectName `json:"store,omitempty"`
	// path of the database's folder below the store's prefix, such as web/group/content/Content.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+/(group|server)/[^/]+/[^/]+$') && !self.matches('(^|/)[.][.]?(/|$)')",message="path is NAMESPACE/group/NAME/DATABASE or NAMESPACE/server/NAME/DATABASE, as it is below the store's prefix"
	Path string `json:"path,omitempty"`
	// files are keys of objects below the store's prefix, which any SQL Server wrote with BACKUP, in any order: such as
	// imports/Sales.bak and imports/Sales_1.trn. All files of a striped backup are needed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Files []ObjectKey `json:"files,omitempty"`
	// folder below the store's prefix: every object in it and in its folders is such a file, 1024 at most. It goes beside
	// files, or alone.
	// +optional
	Folder ObjectKey `json:"folder,omitempty"`
	// timeZone of the server that wrote the files by its name in the tz database, such as Europe/Dublin: its clock is what
	// they tell times by. SQL Server 2022 and later write it into the files; for others it is needed with to.time.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$') && self != 'Local'",message="timeZone is a name in the tz database, such as Europe/Dublin or Etc/UTC"
	TimeZone string `json:"timeZone,omitempty"`
}

// ObjectKey is the key of an object, or of a folder of them, below a store's prefix.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.split('/').all(p, size(p) > 0 && p != '.' && p != '..')",message="a key has no slash at either end, and no part that is empty, . or .., such as imports/Sales.bak"
type ObjectKey string

// Imports says that the files of any server are restored: the engine has to be asked what they are.
func (s *RestoreSource) Imports() bool { return len(s.Files) > 0 || s.Folder != "" }

// RestorePoint says to when a database is restored: a moment, a position in the log, or the end of a backup; without
// any the newest point that there is.
//
// +kubebuilder:validation:XValidation:rule="[has(self.time), has(self.lsn), has(self.backup)].filter(x, x).size() <= 1",message="name one of time, lsn and backup, or none for the newest point"
type RestorePoint struct {
	// time such as 2026-03-01T11:59:00Z: what was committed before it is in.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// lsn is a log sequence number in decimal digits, as status.chain shows them: what the log has before it is in.
	// +optional
	// +kubebuilder:validation:MaxLength=25
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+$')",message="an LSN has decimal digits alone, such as 34000000012300001"
	LSN string `json:"lsn,omitempty"`
	// backup is the ID of a full or differential backup, the end of its folder's name: the database is as it was when that
	// ended.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$')",message="a backup's ID is a GUID: the end of its folder's name in the store"
	Backup string `json:"backup,omitempty"`
}

// RestoreTarget says where a database is restored.
//
// +kubebuilder:validation:XValidation:rule="has(self.server) != has(self.availabilityGroup)",message="name exactly one of server and availabilityGroup"
type RestoreTarget struct {
	// server is the name of a SQLServer. It is no replica of a group that declares the database.
	// +optional
	Server ServerName `json:"server,omitempty"`
	// availabilityGroup is the name of an AvailabilityGroup: the database is restored at its primary, or, before there is
	// the group, at its initialPrimary, which then has it alone. The group takes it up and seeds it to the others once its
	// spec.databases declares it; until the restore has ended it makes no empty one in its place.
	// +optional
	AvailabilityGroup ObjectName `json:"availabilityGroup,omitempty"`
	// database that is made; the name that it had unless given. One that is there is never restored over.
	// +optional
	Database DatabaseName `json:"database,omitempty"`
}

// RestoreSpec declares one restore of a database. It is carried out once and never changes.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a Restore is carried out once: create another one"
// +kubebuilder:validation:XValidation:rule="!(has(self.source.files) || has(self.source.folder)) || has(self.target.database)",message="target.database is needed with source.files and source.folder: nobody knows which name it has in them"
// +kubebuilder:validation:XValidation:rule="!has(self.discard) || !self.discard || has(self.target.server)",message="discard goes with target.server: a group keeps what is restored into it"
type RestoreSpec struct {
	// source says which backups of which database.
	Source RestoreSource `json:"source"`
	// to says to when; without it the newest point.
	// +optional
	To *RestorePoint `json:"to,omitempty"`
	// target says where.
	Target RestoreTarget `json:"target"`
	// dryRun finds the backups that would be restored, shows them in the status, and changes nothing.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
	// check has the server look through the database with DBCC CHECKDB once it is ONLINE: a Restore of one that is not as
	// it should be has failed, with reason CheckFailed, and the database stays. False where it is left out.
	// +optional
	Check bool `json:"check,omitempty"`
	// discard has the database dropped once the Restore has ended, however it has, or is deleted: it was made to see that
	// it can be. Only what the Restore made itself is dropped. False where it is left out.
	// +optional
	Discard bool `json:"discard,omitempty"`
}

// DatabaseName is the name of the database that is made, as far as it is declared: that of a path is the name of the
// folder, where characters that a URL does not have are written as in one.
func (s *RestoreSpec) DatabaseName() DatabaseName {
	switch {
	case s.Target.Database != "":
		return s.Target.Database
	case s.Source.Database != "":
		return s.Source.Database
	}
	name, err := url.PathUnescape(path.Base(s.Source.Path))
	if err != nil {
		return ""
	}
	return DatabaseName(name)
}

// AsksEngine says that the server's engine is told something, also what only reads: its agent needs the right to make
// databases then.
func (s *RestoreSpec) AsksEngine() bool { return !s.DryRun || s.Source.Imports() }

// Has says whether a replica was last seen to have a database in the group.
func (s *AvailabilityGroupStatus) Has(database DatabaseName) bool {
	return slices.ContainsFunc(s.Replicas, func(r ReplicaStatus) bool {
		return slices.ContainsFunc(r.Databases, func(d ReplicaDatabaseStatus) bool {
			// Of a server that never answered every declared database is listed, with nothing known of it.
			return strings.EqualFold(d.Name, string(database)) &&
				(d.SynchronizationState != "Unknown" || d.LastHardenedLSN != "")
		})
	})
}

// ToGroup says whether the Restore is to bring a database into a group. A dry run brings nothing.
func (s *RestoreSpec) ToGroup(group string, database DatabaseName) bool {
	return string(s.Target.AvailabilityGroup) == group && !s.DryRun &&
		strings.EqualFold(string(s.DatabaseName()), string(database))
}

// UnderWay says whether the Restore may still make, or be about to hand over, a database: it has not ended, or it has
// succeeded and what it needed is not taken back yet.
func (r *Restore) UnderWay() bool {
	switch r.Status.Outcome {
	case "":
		return true
	case RestoreSucceeded:
		return r.Status.Phase != RestoreCompleted
	}
	return false
}

// Holds says whether a server has, or is to have, a copy of a database of the group.
func (s *AvailabilityGroupSpec) Holds(server ServerName, database DatabaseName) bool {
	return slices.ContainsFunc(s.Replicas, func(r Replica) bool {
		return r.Server == server && r.AvailabilityMode != ConfigurationOnly
	}) && slices.ContainsFunc(s.DatabaseNames(), func(name DatabaseName) bool {
		return strings.EqualFold(string(name), string(database))
	})
}

// RestorePhase says how far a Restore is.
type RestorePhase string

const (
	// RestorePending is not told to the server's agent yet; the condition says what it waits for.
	RestorePending RestorePhase = "Pending"
	// RestoreRunning is carried out by the server's agent.
	RestoreRunning RestorePhase = "Running"
	// RestoreFinishing has ended; outcome says how, and the agent's rights are taken back.
	RestoreFinishing RestorePhase = "Finishing"
	// RestoreCompleted is over; outcome says how it ended.
	RestoreCompleted RestorePhase = "Completed"
)

// RestoreOutcome says how a Restore ended.
type RestoreOutcome string

const (
	// RestoreSucceeded did what was asked.
	RestoreSucceeded RestoreOutcome = "Succeeded"
	// RestoreRefused changed nothing.
	RestoreRefused RestoreOutcome = "Refused"
	// RestoreFailed began and did not reach its end.
	RestoreFailed RestoreOutcome = "Failed"
)

// RestoredSet is a backup of a chain.
type RestoredSet struct {
	// id of the backup.
	ID string `json:"id"`
	// type is Full, Differential or Log.
	Type string `json:"type"`
	// firstLSN is the oldest position in the log that it has.
	FirstLSN string `json:"firstLSN"`
	// lastLSN is the position behind its last.
	LastLSN string `json:"lastLSN"`
	// finished is when it was taken.
	Finished metav1.Time `json:"finished"`
	// bytes of its files in the store.
	Bytes int64 `json:"bytes"`
	// files that have it, by their keys, where it is restored from files; of a striped backup several, the first 8.
	// +optional
	// +listType=atomic
	Files []string `json:"files,omitempty"`
	// position of the backup in them, from 1.
	// +optional
	Position int32 `json:"position,omitempty"`
}

// UnusedSet is a backup that a file has and that is not restored.
type UnusedSet struct {
	// file that has it, by its key; of a striped backup the first.
	File string `json:"file"`
	// position of the backup in it, from 1.
	Position int32 `json:"position"`
	// type is Full, Differential or Log, absent where it is none of these.
	// +optional
	Type string `json:"type,omitempty"`
	// database that it is of.
	// +optional
	Database string `json:"database,omitempty"`
	// why it is not restored.
	Why string `json:"why"`
}

// RestoredTo is to where a database is, or would be, restored.
type RestoredTo struct {
	// time is the newest moment that it has; absent with an LSN within a backup.
	// +optional
	Time *metav1.MicroTime `json:"time,omitempty"`
	// lsn is the position in the log before which it has everything; absent with a time within a backup.
	// +optional
	LSN string `json:"lsn,omitempty"`
}

// RestoreStatus is the observed state of a Restore.
type RestoreStatus struct {
	StatusBase `json:",inline"`
	// phase is Pending, Running, Finishing or Completed.
	// +optional
	Phase RestorePhase `json:"phase,omitempty"`
	// outcome is Succeeded, Refused or Failed, once it has ended.
	// +optional
	Outcome RestoreOutcome `json:"outcome,omitempty"`
	// reason of the outcome, in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message for people: what is so, and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// server on which it is restored: that of the target, or the one that was the group's primary when it began. It does
	// not change once the server's agent was told.
	// +optional
	Server ServerName `json:"server,omitempty"`
	// database that is made on the target.
	// +optional
	Database string `json:"database,omitempty"`
	// store that the backups come from.
	// +optional
	Store ObjectName `json:"store,omitempty"`
	// chain of backups that are restored, in their order; of a long one the first 32 and the last 32.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Chain []RestoredSet `json:"chain,omitempty"`
	// sets that the chain has.
	// +optional
	Sets int32 `json:"sets,omitempty"`
	// bytes of all of them; with files or folder, of all files: what they have is known once they are downloaded.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// downloadedBytes of them.
	// +optional
	DownloadedBytes int64 `json:"downloadedBytes,omitempty"`
	// restoredSets are those that the server has restored.
	// +optional
	RestoredSets int32 `json:"restoredSets,omitempty"`
	// unused are backups in the files that are not restored, and why: of many the first 64.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Unused []UnusedSet `json:"unused,omitempty"`
	// unusedSets is how many there are.
	// +optional
	UnusedSets int32 `json:"unusedSets,omitempty"`
	// restoredTo is to where the chain leads: with outcome Succeeded, where the database is.
	// +optional
	RestoredTo *RestoredTo `json:"restoredTo,omitempty"`
	// checked says that DBCC CHECKDB has looked through the database, and found nothing.
	// +optional
	Checked bool `json:"checked,omitempty"`
	// started is when the agent took it up.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// finished is when it ended.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`
}

// Restore is one restore of a database from backups to a server, carried out once.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=grest,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.server`
// +kubebuilder:printcolumn:name="Database",type=string,JSONPath=`.status.database`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.outcome`
// +kubebuilder:printcolumn:name="To",type=date,JSONPath=`.status.restoredTo.time`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Restore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RestoreSpec   `json:"spec"`
	Status RestoreStatus `json:"status,omitempty"`
}

// RestoreList is a list of Restores.
// +kubebuilder:object:root=true
type RestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Restore `json:"items"`
}

func init() { SchemeBuilder.Register(&Restore{}, &RestoreList{}) }
