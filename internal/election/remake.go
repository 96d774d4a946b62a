// SPDX-License-Identifier: Apache-2.0

package election

import (
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNotRenewed means that a vote is not to be made anew now: no holder is seen renewing those that are left.
var ErrNotRenewed = errors.New("no holder is seen renewing a majority of the votes")

// Remake is the vote to put in the place of one whose Lease is gone, while the others still decide: the holder's own. before and
// after are two readings of the other voters, both begun after the voter was seen to have no Lease.
//
// Whatever the lost vote had granted must not count against the new one. So a majority of the voters must be left, all of them
// with votes of one run in one term, Held, and each renewed between the two readings: a claim that the lost vote had granted can
// have none of them any more, since it swaps only what it has seen unchanged for longer than a round takes, or what is over. The
// nonce is new: nobody may take this vote for one that was there before and has stayed as it was. It tells all that the others
// tell, since what a majority was to know may have been noted at the lost vote and at one of these alone.
//
// Nothing is made while the voters change, or where a vote of a higher term, or of a newer configuration than c, is known.
func Remake(c Configuration, before, after map[string]Record, nonce string) (Record, error) {
	if c.Changing() {
		return Record{}, fmt.Errorf("the voters are changing: %w", ErrNotRenewed)
	}
	leading, known := c.Leading(after)
	if !known || leading.State != StateHeld || leading.Holder.Server == "" {
		return Record{}, ErrNotRenewed
	}
	voters := Configuration{}
	var notes []Notes
	for _, site := range c.Voters {
		r, answers := after[site]
		if !answers {
			continue
		}
		if told := r.Configuration(); told.Newer(c) || told.contradicts(c) != nil {
			return Record{}, fmt.Errorf("the vote at %s tells of other voters: %w", site, ErrNotRenewed)
		}
		voters = Configured(voters, r)
		notes = append(notes, r.Notes)
	}
	if !voters.IsZero() && !voters.Same(c) {
		return Record{}, fmt.Errorf("the votes tell of other voters: %w", ErrNotRenewed)
	}
	if !c.Quorum(func(site string) bool {
		was, now := before[site], after[site]
		return now.servedBy(leading) && was.servedBy(leading) && now.Holder.Nonce != was.Holder.Nonce
	}) {
		return Record{}, ErrNotRenewed
	}
	told := gather(notes)
	if len(told.errs) > 0 {
		return Record{}, fmt.Errorf("what the other votes tell cannot be read: %w", errors.Join(told.errs...))
	}
	made := Record{Term: leading.Term, State: StateHeld, Holder: leading.Holder, InitialPrimary: leading.InitialPrimary,
		Voters: voters.encode(), Notes: told.notes()}
	made.Holder.Nonce = nonce
	return made, nil
}

// servedBy says whether r is Held by the run that holds o, in its term.
func (r Record) servedBy(o Record) bool {
	return r.Term == o.Term && r.State == StateHeld && r.Holder.SameRun(o.Holder)
}

// RemadeLease is the Lease with a vote that was made by Remake.
func RemadeLease(namespace, group string, r Record) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: LeaseName(group)}}
	encode(lease, r)
	return lease
}
