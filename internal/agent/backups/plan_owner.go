// SPDX-License-Identifier: Apache-2.0

package backups

import "slices"

// owns says whether this server may write to a store and remove from it: by its last list the target's folder there is
// the order's hub's. An order of a manager that says nothing of its hub goes on where nobody else says so.
func (p planner) owns(s Stored) bool {
	if s.Owner == nil {
		return p.order.Owner == ""
	}
	return p.order.Owner != "" && s.Owner.Hub == p.order.Owner
}

// ownsStore is owns of the store of a name.
func (p planner) ownsStore(o *Observed, name string) bool {
	i := slices.IndexFunc(o.Stores, func(s Stored) bool { return s.Name == name })
	return i >= 0 && p.owns(o.Stores[i]) || i < 0 && p.order.Owner == ""
}

// planClaim says whether the target's folder in a store is to become the order's hub's: it is nobody's, or somebody has
// said that what has it now may be taken over. It goes by a list that succeeded.
func (p planner) planClaim(s Stored) bool {
	if p.order.Owner == "" || s.Listed.IsZero() || s.Err != nil || p.owns(s) {
		return false
	}
	return s.Owner == nil || slices.Contains(p.order.TakeOver, s.Owner.Claim)
}
