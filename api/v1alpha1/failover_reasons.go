// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a Failover before its end. Those with which the agents answer are in docs/failover.md.
const (
	// ReasonGroupMissing: there is no AvailabilityGroup of the name.
	ReasonGroupMissing = "GroupMissing"
	// ReasonWaiting: an older Failover of the group is not completed yet.
	ReasonWaiting = "Waiting"
	// ReasonVotersNotAnswering: no voter answers at which the request could be written.
	ReasonVotersNotAnswering = "VotersNotAnswering"
	// ReasonRequested: the request is written at a voter, and no agent has answered yet.
	ReasonRequested = "Requested"
	// ReasonAccepted: an agent has begun with it.
	ReasonAccepted = "Accepted"
	// ReasonTimelineMissing: a record of an election of which no voter that answers has the timeline.
	ReasonTimelineMissing = "TimelineMissing"
)

// Reasons of a completed Failover, where the agents' answer gives none.
const (
	// ReasonDone: what was asked for is so.
	ReasonDone = "Done"
	// ReasonRefused: nothing was changed.
	ReasonRefused = "Refused"
	// ReasonFailed: it was tried and is not so.
	ReasonFailed = "Failed"
	// ReasonCarriedOut: a Failover, or a PublisherMove, of the name that asked for the same was carried out before; this
	// one has come back without its status.
	ReasonCarriedOut = "CarriedOut"
	// ReasonTermMissing: a Failover that may cost acknowledged writes does not say in which term that was decided on.
	ReasonTermMissing = "TermMissing"
	// ReasonExpired: nobody began with it in time.
	ReasonExpired = "Expired"
	// ReasonAnswerMissing: nobody can tell any more what became of it.
	ReasonAnswerMissing = "AnswerMissing"
)
