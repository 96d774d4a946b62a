// SPDX-License-Identifier: Apache-2.0

package stored

// States of an agent's run (runstatus of the history tables).
const (
	RunStarted    = 1
	RunSucceeded  = 2
	RunInProgress = 3
	RunIdle       = 4
	RunRetrying   = 5
	RunFailed     = 6
)

// Kinds of agents (MSagent_profiles.agent_type).
const (
	SnapshotAgent     = 1
	LogReaderAgent    = 2
	DistributionAgent = 3
)

// Parts of a snapshot, as sp_MSget_snapshot streams them.
const (
	PartPosition = 0
	PartScript   = 1
	PartData     = 2
	PartIndexes  = 3
)

// States of subscriptions (syssubscriptions.status, MSsubscriptions.status).
const (
	Inactive   = 0
	Subscribed = 1
	Activated  = 2
)

// Kinds of subscriptions (subscription_type).
const (
	PushType = 0
	PullType = 1
)
