// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"errors"
	"fmt"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// errTermsOver means that no claim can be made above the terms that are known.
var errTermsOver = errors.New("no term is left above it: see the runbook terms-forged")

// above is the next term above all that are known, or the last one that others believe: then votes that are of that
// one already are not granted, and the others may be.
func (k *Keeper) above(known ...int64) int64 {
	term := k.ballot.HighestTerm()
	for _, t := range known {
		term = max(term, t)
	}
	return min(term+1, k.ballot.Claimable())
}

// mayClaim says why nothing can be claimed in a term, above what leads and what this server has promised; nil when it
// can.
func (k *Keeper) mayClaim(term, leading, promised int64) error {
	switch {
	case leading >= votes.MaxTerm:
		return fmt.Errorf("group %s is in term %d: %w", k.group, leading, errTermsOver)
	case term <= promised:
		return fmt.Errorf("%s has promised term %d of group %s: %w", k.self.Server, promised, k.group, errTermsOver)
	}
	return nil
}

// believed refuses a request of a term that nobody can have claimed, for all that this server knows. One that was away
// for long believes it once it has read the votes.
func (k *Keeper) believed(r ballot.FenceRequest) error {
	if _, err := k.remembered(); err != nil {
		return err
	}
	most := k.ballot.Promisable()
	if r.Term <= most {
		k.forged = ""
		return nil
	}
	k.forgedTerm = r.Term
	k.forged = fmt.Sprintf("%s has asked to be promised term %d, and terms up to %d are believed", r.Candidate.Server,
		r.Term, most)
	return fmt.Errorf("fencing %s in group %s: %s", k.self.Server, k.group, k.forged)
}

// beyond names what was told of terms that are not believed, empty for nothing: votes, or else the last request.
func (k *Keeper) beyond() string {
	if k.forgedTerm <= k.ballot.Promisable() {
		// It was honest: the votes have come to such terms since.
		k.forged = ""
	}
	return cmp.Or(k.ballot.Beyond(), k.forged)
}
