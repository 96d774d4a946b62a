// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of an AvailabilityGroup.
const (
	// ReasonSynchronized: one primary, and every replica is as declared and synchronized.
	ReasonSynchronized = "Synchronized"
	// ReasonSynchronizing: the group serves; some databases are not synchronized yet.
	ReasonSynchronizing = "Synchronizing"
	// ReasonServersNotReady: the group is made when the servers of its replicas are ready.
	ReasonServersNotReady = "ServersNotReady"
	// ReasonReplicaNotAnswering (Unknown): a replica does not answer.
	ReasonReplicaNotAnswering = "ReplicaNotAnswering"
	// ReasonVoterNotAnswering (Unknown): a voter does not answer: before the group exists, or for a minute.
	ReasonVoterNotAnswering = "VoterNotAnswering"
	// ReasonPrimaryUnknown (Unknown): no replica that answers is primary.
	ReasonPrimaryUnknown = "PrimaryUnknown"
	// ReasonElection: a replica claims the votes and is not primary yet.
	ReasonElection = "Election"
	// ReasonReplicasNotJoined (Stalled): no replica is primary, and so many do not have the group that the others are too
	// few to agree on one.
	ReasonReplicasNotJoined = "ReplicasNotJoined"
	// ReasonReplicaModeFixed (Stalled): a replica is to become configuration-only, or to cease to be, which SQL Server
	// does not do.
	ReasonReplicaModeFixed = "ReplicaModeFixed"
	// ReasonGroupLost (Stalled): the group was made, and none of its servers has it any more; the message says who has
	// databases of it.
	ReasonGroupLost = "GroupLost"
	// ReasonNoPrimary: every replica answers and none is primary; the message says who is awaited, and what a person can
	// do.
	ReasonNoPrimary = "NoPrimary"
	// ReasonInitialPrimaryNotDeclared: the group is yet to be made, and initialPrimary is no synchronous replica any more.
	ReasonInitialPrimaryNotDeclared = "InitialPrimaryNotDeclared"
	// ReasonPrimaryNotDeclared: the primary, or the only server that has the group, is no longer a declared replica.
	ReasonPrimaryNotDeclared = "PrimaryNotDeclared"
	// ReasonVotesLost: the Leases of an existing group are gone at a majority of its voters.
	ReasonVotesLost = "VotesLost"
	// ReasonTimingsDiffer: status, the agents or spec have different timings; none change (Unknown: nobody can tell).
	ReasonTimingsDiffer = "TimingsDiffer"
	// ReasonVotersChanging: other sites are to vote than those that do; the primary serves meanwhile.
	ReasonVotersChanging = "VotersChanging"
	// ReasonNoWitness: fewer than three voters; failover is manual.
	ReasonNoWitness = "NoWitness"
	// ReasonEndpointConflict: the instance has a mirroring endpoint that is not the operator's.
	ReasonEndpointConflict = "EndpointConflict"
	// ReasonSeedingFailed: a seeding failed and is started again.
	ReasonSeedingFailed = "SeedingFailed"
	// ReasonRestoreAwaited: a database of the group, or of a SQLServer alone, comes from a Restore that is not over; the
	// group or server serves what it has.
	ReasonRestoreAwaited = "RestoreAwaited"
	// ReasonRestoreFailed (Stalled): the Restore from which a database of the group, or of a SQLServer alone, is to come
	// has ended without it.
	ReasonRestoreFailed = "RestoreFailed"
)

// Condition types of an AvailabilityGroup beside Ready, Reconciling and Stalled.
const (
	// ConditionFenced says whether votes and a write lease keep a second primary from writing.
	ConditionFenced = "Fenced"
	// ConditionDegraded is True while the group serves with less than what is declared.
	ConditionDegraded = "Degraded"
	// ConditionLogRoom is False while the log of one of the group's databases at the primary is full: transactions fail
	// (9002), and nothing fails over for it.
	ConditionLogRoom = "LogRoom"
	// ConditionVotesComplete is False while a voter of the group has lost its vote; the others may still decide.
	ConditionVotesComplete = "VotesComplete"
	// ConditionKeysComplete is False while a replica lacks a certificate by which a database of the group is encrypted, so
	// that nothing can be seeded or restored there. A group without encrypted databases does not have it.
	ConditionKeysComplete = "KeysComplete"
)

// Reasons of Fenced, Degraded, LogRoom, VotesComplete, KeysComplete and of conflicts.
const (
	// ReasonFenced: a majority of at least three voters and a write lease fence the primary.
	ReasonFenced = "Fenced"
	// ReasonNotFenced: clusterType None has no fence.
	ReasonNotFenced = "NotFenced"
	// ReasonComplete: every replica answers and is connected.
	ReasonComplete = "Complete"
	// ReasonReplicaDisconnected: a replica is not connected to the primary.
	ReasonReplicaDisconnected = "ReplicaDisconnected"
	// ReasonLogHasRoom: the logs of the group's databases can grow, or have unused space.
	ReasonLogHasRoom = "LogHasRoom"
	// ReasonLogFull: a log has less than a fiftieth of its room left; the message says what keeps it from being truncated.
	ReasonLogFull = "LogFull"
	// ReasonLogNotMeasured (Unknown): the primary does not say how large its logs are.
	ReasonLogNotMeasured = "LogNotMeasured"
	// ReasonEveryVoterVotes: every voter has the group's vote.
	ReasonEveryVoterVotes = "EveryVoterVotes"
	// ReasonVoteMissing: a minority of the voters have lost the group's Lease; the message names them, and how many more
	// may be lost.
	ReasonVoteMissing = "VoteMissing"
	// ReasonKeysPresent: every replica has the certificates of the group's encrypted databases, with their private keys.
	ReasonKeysPresent = "KeysPresent"
	// ReasonKeyMissing: a replica lacks the certificate of an encrypted database; the message has its thumbprint, and says
	// whether another replica has it.
	ReasonKeyMissing = "KeyMissing"
	// ReasonKeyOfProvider (Unknown): a database is encrypted by a key that a provider outside of the servers has; nobody
	// compares or copies those.
	ReasonKeyOfProvider = "KeyOfProvider"
	// ReasonDatabaseMissing: the group has, or is to have, a database that its primary lacks; the message says which
	// replicas have it. Of a SQLServer alone (Stalled): one that was restored, and is not there.
	ReasonDatabaseMissing = "DatabaseMissing"
	// ReasonDatabaseOutside (Stalled): a replica's server has a database of the group's that is not in the group; the
	// message says whether it is written to there, and how it comes back.
	ReasonDatabaseOutside = "DatabaseOutside"
	// ReasonDataMovementSuspended (Stalled): a person has suspended data movement of a database on a replica.
	ReasonDataMovementSuspended = "DataMovementSuspended"
	// ReasonReplicaQuarantined (Stalled): after a failover with data loss a replica alone has log, and waits for rejoin or
	// reseed.
	ReasonReplicaQuarantined = "ReplicaQuarantined"
	// ReasonVoterAddressMissing: nobody said where a voter's API server is reached from the other sites.
	ReasonVoterAddressMissing = "VoterAddressMissing"
)

// ConditionElectionsPaused is True on an AvailabilityGroup in which nobody becomes primary by itself, by a Pause or by
// its failoverPolicy.
const ConditionElectionsPaused = "ElectionsPaused"

// Reasons of ElectionsPaused.
const (
	// ReasonPausedByRequest: somebody has paused the group; the message says how it is resumed.
	ReasonPausedByRequest = "PausedByRequest"
	// ReasonPausedByPolicy: the group's failoverPolicy is Paused.
	ReasonPausedByPolicy = "PausedByPolicy"
	// ReasonNotPaused: the agents go by failoverPolicy.
	ReasonNotPaused = "NotPaused"
)
