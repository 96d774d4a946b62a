// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupType is what a Backup is of.
// +kubebuilder:validation:Enum=Full;Differential
type BackupType string

const (
	// BackupFull is of the whole database; the default.
	BackupFull BackupType = "Full"
	// BackupDifferential is of what was changed since the full backup before it.
	BackupDifferential BackupType = "Differential"
)

// LabelBackupPolicy names the policy whose schedule had the set taken that a Backup is the record of. Those that people
// declare have none.
const LabelBackupPolicy = "geosql.dev/backup-policy"

// BackupRecord is the set that a Backup is the record of.
type BackupRecord struct {
	// set is its BackupSetGUID.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=36
	Set string `json:"set"`
	// finished is when its taking ended.
	Finished metav1.Time `json:"finished"`
}

// BackupSpec asks for one backup now, by what a BackupPolicy declares of how it is taken and where it is kept; or it is
// the record of one that was taken by the policy's schedule.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable: a Backup is taken once; declare another"
// +kubebuilder:validation:XValidation:rule="self.type == 'Full' || !has(self.copyOnly)",message="copyOnly goes with type Full: there are no copies of differential backups"
// +kubebuilder:validation:XValidation:rule="!has(self.record) || has(self.databases) && size(self.databases) == 1",message="record goes with the one database that the set is of"
type BackupSpec struct {
	// policy by which it is taken and kept. Its retention removes it like any other.
	Policy ObjectName `json:"policy"`
	// databases of the policy; all of them unless given.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	Databases []DatabaseName `json:"databases,omitempty"`
	// type is Full (default) or Differential, which needs a policy with replica Primary or of a server.
	// +optional
	// +kubebuilder:default=Full
	Type BackupType `json:"type,omitempty"`
	// copyOnly keeps a full backup from becoming the base of differentials. One that is not is taken at the primary; what
	// the policy takes by itself is a copy where secondaries are preferred. False where it is left out.
	// +optional
	CopyOnly bool `json:"copyOnly,omitempty"`
	// record says that the set was taken by the policy's schedule already: nothing is taken for it. The operator writes
	// it; left out for a Backup that is to be taken.
	// +optional
	Record *BackupRecord `json:"record,omitempty"`
}

// BackupOutcome is how a Backup ended.
// +kubebuilder:validation:Enum=Succeeded;Failed
type BackupOutcome string

const (
	// BackupSucceeded: every database is backed up, and every store of the policy has the set, read back where the policy
	// asks for that.
	BackupSucceeded BackupOutcome = "Succeeded"
	// BackupFailed: a store did not give a set back as it was written.
	BackupFailed BackupOutcome = "Failed"
)

// BackupSetPlace is a store that has a set.
type BackupSetPlace struct {
	// store that has it.
	Store ObjectName `json:"store"`
	// verified says that it was read back as it was written.
	// +optional
	Verified bool `json:"verified,omitempty"`
	// damaged says that it was not.
	// +optional
	Damaged bool `json:"damaged,omitempty"`
}

// BackupSet is one backup as the engine has taken it.
type BackupSet struct {
	// id is its BackupSetGUID.
	ID string `json:"id"`
	// type of it.
	Type BackupType `json:"type"`
	// copyOnly says that it is no base of differentials.
	// +optional
	CopyOnly bool `json:"copyOnly,omitempty"`
	// folder of it, below the prefix of each store.
	Folder string `json:"folder"`
	// server that has taken it.
	Server string `json:"server"`
	// firstLSN is the oldest position in the log that it has.
	FirstLSN string `json:"firstLSN"`
	// lastLSN is the position to which it is restored.
	LastLSN string `json:"lastLSN"`
	// begun is when its taking began.
	Begun metav1.Time `json:"begun"`
	// finished is when it ended: it has what was committed until shortly before.
	Finished metav1.Time `json:"finished"`
	// duration of the taking.
	Duration metav1.Duration `json:"duration"`
	// bytes are those that were backed up.
	Bytes int64 `json:"bytes"`
	// storedBytes are those of its files.
	StoredBytes int64 `json:"storedBytes"`
	// ratio of the two, with one decimal.
	// +optional
	Ratio string `json:"ratio,omitempty"`
	// bytesPerSecond that were backed up.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
	// places are the stores that have it. Without any it is on the backup volume of the server alone.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=store
	Places []BackupSetPlace `json:"places,omitempty"`
}

// BackupOfDatabase is the backup of one database.
type BackupOfDatabase struct {
	// name of the database.
	Name DatabaseName `json:"name"`
	// set that was taken; left out until it is.
	// +optional
	Set *BackupSet `json:"set,omitempty"`
}

// BackupStatus is the observed state of a Backup.
type BackupStatus struct {
	StatusBase `json:",inline"`
	// databases that are backed up, as they were when it was asked for.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Databases []BackupOfDatabase `json:"databases,omitempty"`
	// outcome of it; left out until it has one. Nothing is taken for it afterwards.
	// +optional
	Outcome BackupOutcome `json:"outcome,omitempty"`
	// completed is when it had its outcome.
	// +optional
	Completed *metav1.Time `json:"completed,omitempty"`
}

// Backup asks for one full or differential backup, which is taken once, or is the record of one that was taken by a
// policy's schedule.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gbackup,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.outcome`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BackupSpec   `json:"spec"`
	Status BackupStatus `json:"status,omitempty"`
}

// Request is what a set has that answers it for a database.
func (b *Backup) Request(database DatabaseName) string { return string(b.UID) + "/" + string(database) }

// BackupList is a list of Backups.
// +kubebuilder:object:root=true
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}

func init() { SchemeBuilder.Register(&Backup{}, &BackupList{}) }
