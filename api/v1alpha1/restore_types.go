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
// +kubebuilder:validation:XValidation:rule="has(self.policy) != has(self.store)",message="name exactly one of policy, with database, and store, with path"
// +kubebuilder:validation:XValidation:rule="has(self.policy) == has(self.database)",message="database goes with policy, and is needed there"
// +kubebuilder:validation:XValidation:rule="has(self.store) == has(self.path)",message="path goes with store, and is needed there"
type RestoreSource struct {
	// policy is the name of the BackupPolicy that had them taken; it needs a store.
	// +optional
	Policy ObjectName `json:"policy,omitempty"`
	// database of the policy's target.
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
}

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
	// bytes of all of them.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// downloadedBytes of them.
	// +optional
	DownloadedBytes int64 `json:"downloadedBytes,omitempty"`
	// restoredSets are those that the server has restored.
	// +optional
	RestoredSets int32 `json:"restoredSets,omitempty"`
	// restoredTo is to where the chain leads: with outcome Succeeded, where the database is.
	// +optional
	RestoredTo *RestoredTo `json:"restoredTo,omitempty"`
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
