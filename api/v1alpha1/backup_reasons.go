// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a BackupStore.
const (
	// ReasonStoreReady: an object was written to the store, read back and removed a short time ago.
	ReasonStoreReady = "StoreReady"
	// ReasonStoreTesting: it is being tried.
	ReasonStoreTesting = "StoreTesting"
	// ReasonStoreUnreachable (Unknown): the store did not answer when it was last tried, or refused what a backup needs.
	ReasonStoreUnreachable = "StoreUnreachable"
	// ReasonStoreInUse: it is deleted, and BackupPolicies name it still.
	ReasonStoreInUse = "StoreInUse"
)

// Reasons of a BackupPolicy.
const (
	// ReasonBackedUp: every database can be restored to a moment that is no older than twice the time between two log
	// backups, and every store has what was taken.
	ReasonBackedUp = "BackedUp"
	// ReasonBackupPreparing: the servers are being told, or the first full backup is under way.
	ReasonBackupPreparing = "BackupPreparing"
	// ReasonBackupLate: the newest moment to which a database can be restored is too old.
	ReasonBackupLate = "BackupLate"
	// ReasonBackupFailing: a step fails at a server, or a backup says to be of the future: the message says which and why.
	ReasonBackupFailing = "BackupFailing"
	// ReasonBackupDamaged: a store did not give a backup, or the description of one, back as it was written. Everything
	// can be restored to a moment that is new enough; to those of the damaged backup perhaps not.
	ReasonBackupDamaged = "BackupDamaged"
	// ReasonBackupUnknown (Unknown): no server of the target says what is backed up, or none has listed a store yet.
	ReasonBackupUnknown = "BackupUnknown"
	// ReasonBackupConflict: another BackupPolicy came first for the target.
	ReasonBackupConflict = "BackupConflict"
	// ReasonBackupOtherHub: the target's folder in a store is another hub's, which removes there what this one keeps.
	// Backups go on and stay on the servers' backup volumes; the message names the annotation that takes the folder over.
	ReasonBackupOtherHub = "BackupOtherHub"
)

// ConditionBackupObjectiveMet is False while the newest moment to which a group's databases can be restored from a
// store is older than objectives.backupRPO. A group that declares none does not have it.
const ConditionBackupObjectiveMet = "BackupObjectiveMet"

// Reasons of an AvailabilityGroup's condition BackupObjectiveMet.
const (
	// ReasonBackupObjectiveMet: the newest moment to which one store alone restores every database, by backups that were
	// read back from it, is no older than the objective.
	ReasonBackupObjectiveMet = "BackupObjectiveMet"
	// ReasonBackupObjectiveMissed: it is older, or there is none.
	ReasonBackupObjectiveMissed = "BackupObjectiveMissed"
	// ReasonBackupNotDeclared: no BackupPolicy has the group as its target.
	ReasonBackupNotDeclared = "BackupNotDeclared"
	// ReasonBackupNotRead (Unknown): no store has told within the time between two log backups what it has.
	ReasonBackupNotRead = "BackupNotRead"
	// ReasonBackupNotVerified (Unknown): the policy has nothing read back, so that nobody knows what the stores have.
	ReasonBackupNotVerified = "BackupNotVerified"
)

// ConditionRestoreTested is False when the newest restore test of a BackupPolicy that is over has failed, or when one
// goes on too long. A policy without spec.restoreTest does not have it.
const ConditionRestoreTested = "RestoreTested"

// Reasons of a BackupPolicy's condition RestoreTested.
const (
	// ReasonRestoreTestPassed: every database was restored from the backups, and DBCC CHECKDB found nothing in any.
	ReasonRestoreTestPassed = "RestoreTestPassed"
	// ReasonRestoreTestFailed: one was not restored, or DBCC CHECKDB found something: the message says which, and why.
	ReasonRestoreTestFailed = "RestoreTestFailed"
	// ReasonRestoreTestLate: a test goes on still when the next is due.
	ReasonRestoreTestLate = "RestoreTestLate"
	// ReasonRestoreTestPending (Unknown): none is over yet.
	ReasonRestoreTestPending = "RestoreTestPending"
	// ReasonRestoreTestGone: a database's Restore was deleted before its end was seen (status.restoreTest.databases).
	ReasonRestoreTestGone = "RestoreTestGone"
)

// Reasons of a Backup. A set that is damaged is BackupDamaged.
const (
	// ReasonBackupTaken: every database is backed up, and every store of the policy has it.
	ReasonBackupTaken = "BackupTaken"
	// ReasonBackupTaking: a backup waits for its turn, is being taken, sent or read back: the message says which.
	ReasonBackupTaking = "BackupTaking"
	// ReasonBackupRefused: the policy takes none of the kind, or has no database that is named.
	ReasonBackupRefused = "BackupRefused"
)
