// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// Outcome is what one step came to, for logs, metrics and status.
type Outcome struct {
	// Term that this run holds or claims, 0 for none.
	Term int64
	// State of that term.
	State votes.State
	// Role of the local replica, empty when the engine did not answer.
	Role ballot.Role
	// Action taken, empty for plain renewal or standing by.
	Action string
	// Waiting is what an ordered change of voters waits for, empty for nothing.
	Waiting string
	// Beyond names what was told of terms that are not believed, empty for nothing.
	Beyond string
	// Quarantined says that this replica stays suspended until a person decides about what it alone has.
	Quarantined bool
	// Soon asks for the next step after this time, instead of at the next renewal; 0 for no hurry.
	Soon time.Duration
	// Look is how long after the beginning of this step the next one finds out most about the holder's renewals, 0 for no
	// preference.
	Look time.Duration
	// Err is what went wrong, nil when nothing did.
	Err error
}

// soon is the pause before the next step of an election under way.
const soon = 10 * time.Millisecond

// Pause is how long to wait before the next step after one that took some time.
func (o Outcome) Pause(took, renew time.Duration) time.Duration {
	wait := renew - took
	if o.Look > 0 {
		wait = min(wait, max(o.Look-took, lookAgain))
	}
	if o.Soon > 0 {
		wait = min(wait, o.Soon)
	}
	return max(wait, time.Millisecond)
}
