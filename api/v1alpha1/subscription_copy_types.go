// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CopyPhase is how far a copy is.
// +kubebuilder:validation:Enum=Snapshot;Backup;Transfer;Restore;Apply;Done
type CopyPhase string

const (
	// CopySnapshot waits for the snapshot, which the publication's agent makes.
	CopySnapshot CopyPhase = "Snapshot"
	// CopyBackup has the publisher take the backup with which the subscriber begins.
	CopyBackup CopyPhase = "Backup"
	// CopyTransfer has the subscriber's site mirror it.
	CopyTransfer CopyPhase = "Transfer"
	// CopyRestore has the subscriber restore the backup.
	CopyRestore CopyPhase = "Restore"
	// CopyApply has the distribution agent apply it.
	CopyApply CopyPhase = "Apply"
	// CopyDone is when the subscriber has it.
	CopyDone CopyPhase = "Done"
)

// SubscriptionCopy is the newest copy that the subscriber gets, or got, by a snapshot or a backup. Its figures are
// those of ten seconds ago at most while they change; seconds are counted from when the operator sees a phase begin.
type SubscriptionCopy struct {
	// phase is Snapshot, Backup, Transfer, Restore, Apply or Done.
	Phase CopyPhase `json:"phase"`
	// again says that it is not the first: tables come anew, or in addition to others.
	// +optional
	Again bool `json:"again,omitempty"`
	// snapshot that is transferred, by the name of its folder.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Snapshot string `json:"snapshot,omitempty"`
	// backup with which the subscriber begins, by the name of its folder, while it may be on a volume; absent of
	// snapshots.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Backup string `json:"backup,omitempty"`
	// unwritten is the backup of which the subscriber's database was restored, and where its log ended when it was
	// READ_ONLY first, while the subscription is not registered: a later attempt drops it where both are so yet, and asks
	// otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Unwritten string `json:"unwritten,omitempty"`
	// bytes of the files in all.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// presentBytes of them are at the subscriber's site.
	// +optional
	PresentBytes int64 `json:"presentBytes,omitempty"`
	// movedBytes came over the link, as they were sent.
	// +optional
	MovedBytes int64 `json:"movedBytes,omitempty"`
	// reusedBytes were at the subscriber's site already, and were not sent.
	// +optional
	ReusedBytes int64 `json:"reusedBytes,omitempty"`
	// bytesPerSecond at which it is transferred, or was.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
	// remainingSeconds of the transfer at that rate; absent while nobody can tell.
	// +optional
	RemainingSeconds *int64 `json:"remainingSeconds,omitempty"`
	// expectedSeconds that it is on its way at least, by what the Sites declare of the links and what the publisher had
	// measured when it began; absent where they declare no bandwidth.
	// +optional
	ExpectedSeconds *int64 `json:"expectedSeconds,omitempty"`
	// snapshotSeconds that the snapshot was waited for; absent when it was there.
	// +optional
	SnapshotSeconds *int64 `json:"snapshotSeconds,omitempty"`
	// backupSeconds that the publisher took for the backup.
	// +optional
	BackupSeconds *int64 `json:"backupSeconds,omitempty"`
	// restoreSeconds that the subscriber took for it.
	// +optional
	RestoreSeconds *int64 `json:"restoreSeconds,omitempty"`
	// transferSeconds, absent where nothing has to be transferred, as to an agent at the distributor.
	// +optional
	TransferSeconds *int64 `json:"transferSeconds,omitempty"`
	// applySeconds. Of a copy that is not the first they last until nothing is pending, or a later tracer token has
	// arrived; of a Publication of type Snapshot until the subscriber has the snapshot.
	// +optional
	ApplySeconds *int64 `json:"applySeconds,omitempty"`
	// started is when the operator saw it begin.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// phaseStarted is when it saw the phase begin.
	// +optional
	PhaseStarted *metav1.Time `json:"phaseStarted,omitempty"`
	// seen is when the figures were read.
	// +optional
	Seen *metav1.Time `json:"seen,omitempty"`
	// brought is what a person brings, and where; absent of other methods than Manual, and until the snapshot is made.
	// +optional
	Brought *BroughtCopy `json:"brought,omitempty"`
}

// BroughtCopy says where the files of a snapshot are that a person brings, where they go, and which are not there.
type BroughtCopy struct {
	// server that has the files: the name of its pod, such as dist-0.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Server string `json:"server,omitempty"`
	// source is the folder of that pod with the files.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Source string `json:"source,omitempty"`
	// folder of the subscriber's pod into which they are brought, at any depth and in any order.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Folder string `json:"folder,omitempty"`
	// manifest is the SHA-256 of the list of the files as sha256sum writes it, sorted by their paths.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Manifest string `json:"manifest,omitempty"`
	// files of the snapshot.
	// +optional
	Files int32 `json:"files,omitempty"`
	// lackingFiles of them are not there, or not whole; absent once all are.
	// +optional
	LackingFiles int32 `json:"lackingFiles,omitempty"`
	// lacking are the first of these.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Lacking []LackingFile `json:"lacking,omitempty"`
}

// LackingFile is a file of a snapshot that is not there.
type LackingFile struct {
	// file by its path in the snapshot.
	// +kubebuilder:validation:MaxLength=512
	File string `json:"file"`
	// why is Missing (nothing of its name is there, or it is still being written), Differs (what has its name is not the
	// file, or not all of it) or Unreadable (the engine's user may not read it).
	Why LackingWhy `json:"why"`
}

// LackingWhy is why a file is not taken.
// +kubebuilder:validation:Enum=Missing;Differs;Unreadable
type LackingWhy string
