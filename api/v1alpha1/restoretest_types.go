// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelRestoreTest names the BackupPolicy that makes a Restore to see that its backups can be restored.
const LabelRestoreTest = "geosql.dev/restore-test"

// RestoreTestSuffix ends the name of the database that a restore test makes.
const RestoreTestSuffix = "_restoretest"

// RestoreTest says when the backups of a policy are restored to see that they can be, and where.
type RestoreTest struct {
	BackupTimes `json:",inline"`
	// server is the name of a SQLServer that is a replica of no AvailabilityGroup, and not the policy's target. It needs
	// room for the largest database, and for its backups on the backup volume. Each database is restored there to its
	// newest point as NAME_restoretest, checked with DBCC CHECKDB, and dropped again, one after the other.
	Server ServerName `json:"server"`
	// databases that are restored; all of the policy unless given.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	Databases []DatabaseName `json:"databases,omitempty"`
	// historyLimit is how many of the newest Restores of tests are kept as a record, 10 unless given: of all databases
	// together. Those of the newest test are kept in any case.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HistoryLimit int32 `json:"historyLimit,omitempty"`
}

// RestoreTestOutcome is how a restore test ended.
// +kubebuilder:validation:Enum=Passed;Failed
type RestoreTestOutcome string

const (
	// RestoreTestPassed: every database was restored, and DBCC CHECKDB found nothing in any.
	RestoreTestPassed RestoreTestOutcome = "Passed"
	// RestoreTestFailed: one was not, or something was found.
	RestoreTestFailed RestoreTestOutcome = "Failed"
)

// TestedDatabase is a database of a restore test.
type TestedDatabase struct {
	// name of the database.
	Name DatabaseName `json:"name"`
	// restore is the name of the Restore that is made of it; left out until it was seen.
	// +optional
	Restore string `json:"restore,omitempty"`
	// outcome is Passed or Failed, once it is over.
	// +optional
	Outcome RestoreTestOutcome `json:"outcome,omitempty"`
	// reason of the outcome, in CamelCase: that of the Restore.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message for people.
	// +optional
	Message string `json:"message,omitempty"`
	// restoredTo is the moment to which it was restored.
	// +optional
	RestoredTo *metav1.MicroTime `json:"restoredTo,omitempty"`
	// duration from the download of its backups to the end of the check.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// RestoreTestStatus is the newest restore test of a policy, and when the next is due.
type RestoreTestStatus struct {
	// next is when the next test is due.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
	// due is when the newest test was due; left out before the first.
	// +optional
	Due *metav1.Time `json:"due,omitempty"`
	// started is when it began.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// finished is when it ended.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`
	// outcome is Passed or Failed; left out while it goes on.
	// +optional
	Outcome RestoreTestOutcome `json:"outcome,omitempty"`
	// databases that it is of.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Databases []TestedDatabase `json:"databases,omitempty"`
	// lastPassed is when the newest test ended that passed.
	// +optional
	LastPassed *metav1.Time `json:"lastPassed,omitempty"`
}
