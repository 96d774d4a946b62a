// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a Restore before its end.
const (
	// ReasonRestoring: the server's agent is at it: the message says how far it is, and what it waits for.
	ReasonRestoring = "Restoring"
	// ReasonReplacing: the database is restored, and takes the place of the one that it replaces.
	ReasonReplacing = "Replacing"
	// ReasonKeyAwaited: the backups are encrypted, and the server lacks the certificate whose thumbprint the message has;
	// it is made there where spec.keys or the policy's opens what the store keeps, else by hand.
	ReasonKeyAwaited = "KeyAwaited"
	// ReasonRestoreFinishing: it has ended, and what it needed at the server is taken back.
	ReasonRestoreFinishing = "RestoreFinishing"
	// ReasonRestoreUnknown (Unknown): nobody says how far it is.
	ReasonRestoreUnknown = "RestoreUnknown"
)

// Reasons of a Restore that has ended.
const (
	// ReasonRestored: the database is there, and ONLINE.
	ReasonRestored = "Restored"
	// ReasonRestorePlanned: it was a dry run: status says what would be restored, and nothing was changed.
	ReasonRestorePlanned = "RestorePlanned"
	// ReasonNoChain: no chain of backups leads to where it was asked for; nothing was changed.
	ReasonNoChain = "NoChain"
	// ReasonDatabaseExists: the server has a database of the name, which is never restored over; nothing was changed.
	ReasonDatabaseExists = "DatabaseExists"
	// ReasonRestoreRefused: what is declared does not allow it; nothing was changed.
	ReasonRestoreRefused = "RestoreRefused"
	// ReasonSetDamaged: a backup was not given back as it was written; nothing was restored.
	ReasonSetDamaged = "SetDamaged"
	// ReasonDecryptionKeyMissing: the backups are encrypted to a key that the store's Secret does not have; nothing was
	// changed. The message names the public key.
	ReasonDecryptionKeyMissing = "DecryptionKeyMissing"
	// ReasonFileNotUsable: a file is not there, was stored anew meanwhile, is no backup, or is damaged; nothing was
	// restored.
	ReasonFileNotUsable = "FileNotUsable"
	// ReasonDatabaseNotNamed: the files have backups of several databases; nothing was restored.
	ReasonDatabaseNotNamed = "DatabaseNotNamed"
	// ReasonBackupNewer: a newer version of the engine wrote the backup; nothing was restored.
	ReasonBackupNewer = "BackupNewer"
	// ReasonCertificateMissing: the server lacks the certificate that opens the backup; nothing was restored.
	ReasonCertificateMissing = "CertificateMissing"
	// ReasonNoRoom: the backup volume has no room for the files; nothing was downloaded.
	ReasonNoRoom = "NoRoom"
	// ReasonEngineRefused: the server refused it again and again: the message has its words.
	ReasonEngineRefused = "EngineRefused"
	// ReasonCheckFailed: the database is restored, and DBCC CHECKDB found that it is not as it should be, or could not be
	// carried out: the message has its words.
	ReasonCheckFailed = "CheckFailed"
	// ReasonPrimaryMoved: another server has become the group's primary before the restore was over; what was restored
	// stays where it is, and is in no group.
	ReasonPrimaryMoved = "PrimaryMoved"
	// ReasonReplaceRefused: what is restored stands beside the database that it was to replace, which stays as it is: a
	// Publication or Subscription has that one, say.
	ReasonReplaceRefused = "ReplaceRefused"
	// ReasonRestoreDisturbed: somebody else dropped, made or recovered the database meanwhile.
	ReasonRestoreDisturbed = "RestoreDisturbed"
)
