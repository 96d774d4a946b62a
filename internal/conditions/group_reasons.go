// SPDX-License-Identifier: Apache-2.0

package conditions

// Reasons of an AvailabilityGroup.
const (
	// ReasonSynchronized: one primary, and every replica is as declared and synchronized.
	ReasonSynchronized = "Synchronized"
	// ReasonSynchronizing: the group serves; some databases are not synchronized yet.
	ReasonSynchronizing = "Synchronizing"
	// ReasonReplicaNotAnswering (Unknown): a replica does not answer.
	ReasonReplicaNotAnswering = "ReplicaNotAnswering"
	// ReasonVoterNotAnswering (Unknown): a voter does not answer before the group exists.
	ReasonVoterNotAnswering = "VoterNotAnswering"
	// ReasonPrimaryUnknown (Unknown): no replica that answers is primary.
	ReasonPrimaryUnknown = "PrimaryUnknown"
	// ReasonNoPrimary: every replica answers and none is primary.
	ReasonNoPrimary = "NoPrimary"
	// ReasonPrimaryNotDeclared: the primary is no longer a declared replica.
	ReasonPrimaryNotDeclared = "PrimaryNotDeclared"
	// ReasonVotesLost: the Leases of an existing group are gone at a majority of its voters.
	ReasonVotesLost = "VotesLost"
	// ReasonNoWitness: fewer than three voters; failover is manual.
	ReasonNoWitness = "NoWitness"
	// ReasonEndpointConflict: the instance has a mirroring endpoint that is not the operator's.
	ReasonEndpointConflict = "EndpointConflict"
	// ReasonSeedingFailed: a seeding failed and is started again.
	ReasonSeedingFailed = "SeedingFailed"
)
