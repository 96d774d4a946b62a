// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// Handover is what a keeper must know that takes the place of another one for the same run of the engine: moments on
// the Clock of both.
type Handover struct {
	// Outstanding is until when the engine may yet begin with a statement that has had no answer, 0 for none: a replica
	// that reports before that could be made a secondary again afterwards.
	Outstanding time.Duration
	// InFlight says that a FAILOVER that was sent may make the replica PRIMARY yet.
	InFlight bool
	// Unanswered is since when the engine has not answered, 0 when it has: it is killed before the votes expire that count
	// from then.
	Unanswered time.Duration
	// Held is from when the votes count that it has held last, 0 when it holds no term: an engine that does not answer
	// this keeper's successor from the beginning has not answered since then, for all that one knows.
	Held time.Duration
}

// Handover is what this keeper leaves to the next one; nothing of a keeper that never was.
func (k *Keeper) Handover() Handover {
	if k == nil {
		return Handover{}
	}
	l := Handover{Outstanding: k.outstanding, Unanswered: k.unanswered, Held: k.inherited}
	l.InFlight = k.inFlight || k.claim.issued && k.state == votes.StateClaimed
	if k.term > 0 {
		l.Held = k.renewed
	}
	return l
}
