// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"fmt"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// Promise is an agent's word not to serve, nor help to serve, any lower term.
type Promise struct {
	// Term that was promised.
	Term int64 `json:"term"`
	// To is the server that asked for it.
	To string `json:"to,omitempty"`
}

// Remembered is what an agent must know of a group after a restart.
type Remembered struct {
	Promise Promise `json:"promise"`
	// Cleared is the newest forced term whose lost range is no concern of this replica any more: it has none of it, or a
	// person said what shall become of it.
	Cleared int64 `json:"cleared,omitempty"`
	// Followed is the newest forced term whose primary's log this replica has: it was synchronized behind it.
	Followed int64 `json:"followed,omitempty"`
	// Quarantined is the forced term because of which this replica stays suspended, 0 for none.
	Quarantined int64 `json:"quarantined,omitempty"`
	// Begun is the ID of the last request that this server began to carry out, BegunIn the term that led then.
	Begun   string `json:"begun,omitempty"`
	BegunIn int64  `json:"begunIn,omitempty"`
	// Decided is the ID of the last Rejoin or Reseed that this server has carried out.
	Decided string `json:"decided,omitempty"`
	// Voters is the newest configuration of voters that a run of this server made, nil for none. It is remembered before
	// it is in any vote: of one term and number there must not be two. It counts for that run and term alone: a group of
	// the same name that was made later has terms of its own.
	Voters *votes.Configuration `json:"voters,omitempty"`
	// VotersBy is the run that made Voters, as a holder without nonce.
	VotersBy string `json:"votersBy,omitempty"`
	// Sent is the run, as a holder without nonce, to whose engine a FAILOVER was sent that may make its replica PRIMARY
	// yet; empty for none. It is remembered before the statement is sent, since its answer may be lost and its effect
	// come later; with the run it ends.
	Sent string `json:"sent,omitempty"`
}

// forgetFormer forgets what is remembered of a former group of the name: its voters, and forced terms that this group
// has not had. A majority of the votes had each term that was forced, so that of the group's own no majority tells of
// lower ones. The promise stays: it holds for whoever asks.
func (k *Keeper) forgetFormer(r Remembered, leading votes.Record, seen ballot.Observation) (Remembered, error) {
	r, err := k.forgetVoters(r, leading, seen)
	if err != nil || max(r.Cleared, r.Followed, r.Quarantined) <= leading.Term {
		return r, err
	}
	r.Cleared, r.Followed, r.Quarantined = 0, 0, 0
	return r, k.remember(r)
}

// remembered is what the memory has; it is read once.
func (k *Keeper) remembered() (Remembered, error) {
	if k.recalled == nil {
		r, err := k.memory.Load()
		if err != nil {
			return Remembered{}, err
		}
		k.recalled = &r
		k.ballot.Know(r.Promise.Term)
		// Whatever an agent before this one, or this one, made of it: there is no evidence that it came to an end.
		k.inFlight = k.inFlight || r.Sent == k.self.String()
	}
	return *k.recalled, nil
}

func (k *Keeper) remember(r Remembered) error {
	if err := k.memory.Save(r); err != nil {
		// What is on disk now is not known.
		k.recalled = nil
		return err
	}
	k.recalled = &r
	return nil
}

// sending remembers that a FAILOVER is sent, which must not be before it has succeeded. It is the first one where none
// was remembered.
func (k *Keeper) sending() (first bool, err error) {
	r, err := k.remembered()
	if err != nil || r.Sent == k.self.String() {
		return false, err
	}
	r.Sent = k.self.String()
	if err := k.remember(r); err != nil {
		return false, fmt.Errorf("group %s: nothing was sent to the engine: %w", k.group, err)
	}
	return true, nil
}

// landed forgets the FAILOVERs of this run and before: the replica was seen OFFLINE since and the engine begins with
// none any more, or it has been the primary that they were to make for a while, or the engine said that it has begun
// with none. Where that cannot be saved it is OFFLINE once more than needed.
func (k *Keeper) landed() error {
	r, err := k.remembered()
	k.inFlight = false
	if err != nil || r.Sent == "" {
		return err
	}
	r.Sent = ""
	return k.remember(r)
}

// Memory keeps what an agent remembers of one group. It must be as durable as the engine's own log.
type Memory interface {
	// Load reads what was saved, or the zero value when nothing ever was. An error means that the agent may have promised
	// anything: it must not take part.
	Load() (Remembered, error)
	// Save makes the value durable before it returns.
	Save(Remembered) error
}
