// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"

	"geosql.dev/operator/internal/election/ballot"
)

// SetPolicy says whether claims that nobody asked for are forbidden, to all servers (paused) or to those that did not
// hold the last term (manual). What safety asks for is done all the same.
func (k *Keeper) SetPolicy(paused, manual bool) { k.paused, k.manual = paused, manual }

// SetEnding says whether the manager is about to drop the group on this server, the last that has it: that the group is
// not there any more is then as ordered, and no reason to end the engine. As long as it is there nothing is different.
func (k *Keeper) SetEnding(ending bool) { k.ending = ending }

// droppedAsOrdered says that the group is gone because the manager dropped it. That stays so when the order is taken
// back afterwards, until there is a group again.
func (k *Keeper) droppedAsOrdered(seen ballot.Observation, seenErr error) bool {
	if seenErr == nil {
		k.dropped = !seen.Exists && (k.ending || k.dropped)
	}
	return seenErr == nil && k.dropped
}

// afterDrop renews the votes of a run whose group was dropped as ordered. Its databases go on alone: no other replica
// has the group, so nothing is ended whatever the votes say. They are kept until the orders end: others that know
// nothing of it would otherwise claim the next term.
func (k *Keeper) afterDrop(ctx context.Context) Outcome {
	k.unanswered = 0
	granted, _ := k.round(ctx, ballot.Patient, k.state)
	if granted.Carried {
		return Outcome{}
	}
	if leading, known := k.ballot.Leading(); known && !leading.Holder.SameRun(k.self) {
		k.forgo()
	}
	return Outcome{Err: fmt.Errorf("group %s was dropped as ordered: renewing: %s", k.group, granted)}
}
