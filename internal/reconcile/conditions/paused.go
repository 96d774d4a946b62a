// SPDX-License-Identifier: Apache-2.0

package conditions

// TypeElectionsPaused is True on an AvailabilityGroup in which nobody becomes primary by itself, by a Pause or by its
// failoverPolicy.
const TypeElectionsPaused = "ElectionsPaused"

// Reasons of ElectionsPaused.
const (
	// ReasonPausedByRequest: somebody has paused the group; the message says how it is resumed.
	ReasonPausedByRequest = "PausedByRequest"
	// ReasonPausedByPolicy: failoverPolicy is Paused.
	ReasonPausedByPolicy = "PausedByPolicy"
	// ReasonNotPaused: the agents go by failoverPolicy.
	ReasonNotPaused = "NotPaused"
)
