// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// vainAfter is for how many API time-outs a vote that no round of a term replaces stays as it is before that term is
// given up. By then the candidate of a claim without a majority has stopped waiting, and may come back with another
// one.
const vainAfter = 2

// outgrow goes on in a higher term where another run has a vote that no round of this one replaces, while this run has
// a majority. Mostly a rival has claimed it in vain in a higher term; a vote of this term is another's where a round of
// it once reached too few, and that one claimed the same term at others. The claim may be of this very run, too: an
// agent that was started again beside the same engine knows nothing of a claim whose voter it cannot read, and gets a
// lower term elsewhere. None of them comes back for that vote: this run would be one lost voter from losing its lease
// for as long as it holds, and its end would be known to nobody before its votes expire.
//
// Nothing is fenced for it. What this run relies on in the new term are votes that were its own right before, at a
// majority, so no other run can have had one in a term between (search writable-outgrown of model/README.md). The round
// that follows is a renewal like every other; when too few have answered it the next one is of the new term as well.
func (k *Keeper) outgrow(seen ballot.Observation) (action string) {
	if k.state != votes.StateHeld || k.voted != votes.StateHeld || seen.Role != ballot.RolePrimary ||
		!k.ballot.Outbid(k.term, k.self, vainAfter*k.timings.APITimeout) {
		return ""
	}
	next := k.above()
	if next <= k.term {
		return ""
	}
	k.term, k.agreed = next, false
	return fmt.Sprintf("goes on in term %d, above a claim that came to nothing", k.term)
}

// regain takes back votes that are older than what this run has seen there, as those of a site whose etcd was restored:
// nobody counts them, and no round replaces them. It does so only while nobody else can have had a majority since this
// run's last one, which was one without them: whoever had the vote meanwhile had it in vain. Those that do not take it
// now are asked again after the next round. So it does with votes of terms that are not believed, whose voter would be
// lost for good.
func (k *Keeper) regain(ctx context.Context) {
	older, beyond := k.ballot.Restored(k.term), k.ballot.Beyond()
	if len(older) == 0 && beyond == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	if beyond != "" && k.alone() {
		own := k.leadingOf()
		own.Holder.Nonce = k.nonce()
		k.ballot.ReplaceBeyond(ctx, own)
	}
	for _, i := range older {
		if !k.alone() {
			return
		}
		own := k.leadingOf()
		own.Holder.Nonce = k.nonce()
		k.ballot.ReplaceRestored(ctx, i, own)
	}
}
