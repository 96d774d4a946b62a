// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of Distributors, Publications and Subscriptions.
const (
	// ReasonConfigured: the distributor is as declared.
	ReasonConfigured = "Configured"
	// ReasonConfiguring: it is being made so.
	ReasonConfiguring = "Configuring"
	// ReasonDistributorConflict: the instance is a distributor, or has one, that somebody else made.
	ReasonDistributorConflict = "DistributorConflict"
	// ReasonEditionSubscribesOnly: the edition of a server neither publishes nor distributes.
	ReasonEditionSubscribesOnly = "EditionSubscribesOnly"
	// ReasonWaitingForServer: a server is not ready for what is to be done on it.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonWaitingForDistributor: the distributor does not admit the publisher yet.
	ReasonWaitingForDistributor = "WaitingForDistributor"
	// ReasonWaitingForDatabase: a database that another object declares is not there yet, or one is not online. SQLServers
	// have it, too.
	ReasonWaitingForDatabase = "WaitingForDatabase"
	// ReasonWaitingForTable: tables of articles do not exist yet; the other articles are published.
	ReasonWaitingForTable = "WaitingForTable"
	// ReasonNoPrimaryKey: tables of articles have no primary key; the other articles are published.
	ReasonNoPrimaryKey = "NoPrimaryKey"
	// ReasonColumnsNotPublishable: an article's columns lack some of its table's, or of its primary key.
	ReasonColumnsNotPublishable = "ColumnsNotPublishable"
	// ReasonFilterRefused: an article's filter is not one condition, and nothing of the publication is changed.
	ReasonFilterRefused = "FilterRefused"
	// ReasonPublicationConflict: a publication of the name exists that somebody else made, or that is of another type than
	// is declared: streamed, or copied by a schedule.
	ReasonPublicationConflict = "PublicationConflict"
	// ReasonDistributorLost: the distributor does not know a publication that the publisher has: its databases were lost.
	// It is published anew when a person says so, and subscribers get a new copy.
	ReasonDistributorLost = "DistributorLost"
	// ReasonPublisherLost: the published database has nothing of a publication that the distributor knows: it was lost, or
	// made anew. What is there now is published when a person says so; until then subscribers keep what they have.
	ReasonPublisherLost = "PublisherLost"
	// ReasonPublisherBehind: the published database was restored from a backup, in its place, and subscribers may have
	// rows that it lacks. Its log is not read until a person says how to go on.
	ReasonPublisherBehind = "PublisherBehind"
	// ReasonDistributorBehind: the distribution database was restored from a backup, and what had been brought there since
	// is in no log any more. The publisher's log is not read until a person says how to go on.
	ReasonDistributorBehind = "DistributorBehind"
	// ReasonSubscriberBehind: the subscription database was restored from a backup. What it received since then comes
	// again only as far as the distributor still has it: a person gives it a new copy, or brings the data and says so.
	ReasonSubscriberBehind = "SubscriberBehind"
	// ReasonSnapshotRunning: the snapshot is being made.
	ReasonSnapshotRunning = "SnapshotRunning"
	// ReasonSnapshotFailed: the snapshot agent failed; it is started again.
	ReasonSnapshotFailed = "SnapshotFailed"
	// ReasonWaitingForSchedule: what is declared needs a snapshot, and that replaces the tables of all who subscribe: it
	// comes with the next that the schedule asks for, or when somebody asks for a new copy.
	ReasonWaitingForSchedule = "WaitingForSchedule"
	// ReasonSnapshotOutdated: the subscriber's copy is older than the publication's schedule says: the snapshot that came
	// before the newest time of the schedule has not arrived.
	ReasonSnapshotOutdated = "SnapshotOutdated"
	// ReasonPublished: every article is published, and the snapshot is ready.
	ReasonPublished = "Published"
	// ReasonMaintenanceJobMissing: the publisher or the distributor lacks a job that keeps replication in order, such as
	// the one that ends expired subscriptions or cleans the distribution database up, and the engine does not make it;
	// the message has its words. Everything else is as declared.
	ReasonMaintenanceJobMissing = "MaintenanceJobMissing"
	// ReasonAgentNotRunning: SQL Server Agent has not started on a server since the engine did, so that no job runs there.
	ReasonAgentNotRunning = "AgentNotRunning"
	// ReasonLogReaderNotRunning: the log reader does not run; nothing is delivered.
	ReasonLogReaderNotRunning = "LogReaderNotRunning"
	// ReasonWaitingForPublication: the publication is not there yet.
	ReasonWaitingForPublication = "WaitingForPublication"
	// ReasonWaitingForLogReader: the subscription begins without a snapshot, and the log reader is being given the right
	// to set it up.
	ReasonWaitingForLogReader = "WaitingForLogReader"
	// ReasonSetUpFailed: the log reader had the right to set up subscribers that begin without a snapshot for an hour, and
	// somebody still needs it; it was taken back. The message says what helps.
	ReasonSetUpFailed = "SetUpFailed"
	// ReasonSnapshotFolderMissing: the publisher's engine cannot write below the distributor's snapshot folder, which it
	// does for a subscription without a snapshot; the message says what helps.
	ReasonSnapshotFolderMissing = "SnapshotFolderMissing"
	// ReasonSubscriberNotEmpty: the subscription database has something that is not the subscription's: tables, or
	// anything at all where a backup is to take its place.
	ReasonSubscriberNotEmpty = "SubscriberNotEmpty"
	// ReasonReinitializationNeeded: what is declared needs a new copy of tables that subscribers have. What is there goes
	// on until somebody asks for it; the message says what it costs.
	ReasonReinitializationNeeded = "ReinitializationNeeded"
	// ReasonCompressionPending: a table is large, and rebuilding it with the compression that is declared is left to a
	// person.
	ReasonCompressionPending = "CompressionPending"
	// ReasonBackupUnsuitable (Stalled): backups with which a subscriber was to begin came to nothing several times in a
	// row, or one took longer than the distributor keeps what comes after it; the message says why, and what helps.
	ReasonBackupUnsuitable = "BackupUnsuitable"
	// ReasonMirroring: the snapshot is being copied to the subscriber's site.
	ReasonMirroring = "Mirroring"
	// ReasonWaitingForFiles: a person is to bring files of the snapshot to the subscriber's site; the message says where
	// they are, where they go, and which are missing or wrong. Nothing is applied before all are there.
	ReasonWaitingForFiles = "WaitingForFiles"
	// ReasonCopying (event only): the subscriber's copy has come to another phase; the message says what those before
	// took.
	ReasonCopying = "Copying"
	// ReasonCopied (event only): the subscriber has its copy; the message says what it took.
	ReasonCopied = "Copied"
	// ReasonInitializing: the snapshot is being applied.
	ReasonInitializing = "Initializing"
	// ReasonValidating: a copy was kept, or an article was added to one, and is not found equal to the publisher's yet.
	ReasonValidating = "Validating"
	// ReasonSubscriptionInactive: the distributor has removed what the subscriber lacked, and delivers nothing until it
	// gets a new copy.
	ReasonSubscriptionInactive = "SubscriptionInactive"
	// ReasonDelivering: the subscription is active and its agent runs.
	ReasonDelivering = "Delivering"
	// ReasonAgentFailed: the distribution agent failed, and has delivered nothing since; it is started again.
	ReasonAgentFailed = "AgentFailed"
	// ReasonAgentRetrying: the distribution agent or the log reader could not do its work for now, such as reach a server,
	// and is tried again; Ready is True for a minute, and no longer than spec.objectives.latency after it was last seen to
	// go on.
	ReasonAgentRetrying = "AgentRetrying"
	// ReasonSecondary: a server is named whose database is in an availability group, and it is not the group's primary
	// now.
	ReasonSecondary = "IsSecondary"
	// ReasonNotSupported: what is declared is not supported; the message names what is.
	ReasonNotSupported = "NotSupported"
)

// ConditionCleanedUp says whether the distribution database of a Distributor is kept small: it is False while the
// engine's job that removes what is old from it, and old snapshots, or the one that removes the old history of agents,
// has failed last.
const ConditionCleanedUp = "CleanedUp"

// Reasons of CleanedUp.
const (
	// ReasonCleanedUp: both have ended well.
	ReasonCleanedUp = "CleanedUp"
	// ReasonCleanupFailed: one has failed, or is disabled or gone: what is old stays, and the distribution database and
	// the snapshot folder grow until their volumes are full. The message says what it ended with.
	ReasonCleanupFailed = "CleanupFailed"
	// ReasonCleanupUnknown (Unknown): what it ended with could not be read, or it has not run since it was made anew.
	ReasonCleanupUnknown = "CleanupUnknown"
)

// ConditionLogTruncated says whether the log of a subscription database that a backup has brought is kept short: it is
// False while the database keeps its log and nobody is known to back it up. A Subscription that began in another way
// does not have it.
const ConditionLogTruncated = "LogTruncated"

// Reasons of a Subscription's condition LogTruncated.
const (
	// ReasonLogTruncated: a BackupPolicy has the database, or the engine truncates the log by itself.
	ReasonLogTruncated = "LogTruncated"
	// ReasonLogGrows: neither is so: the log grows until its volume is full, and then nothing is delivered any more. The
	// message says what to do.
	ReasonLogGrows = "LogGrows"
)
