// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"cmp"
	"slices"

	"geosql.dev/operator/internal/backup"
)

// past are the newest full and differential sets of the policy that nobody has asked for, and whether none is missed
// among them.
func (r *runner) past(o *Observed) (all []PastSet, whole bool) {
	found := map[string]*PastSet{}
	note := func(d backup.Description) *PastSet {
		if d.Kind == backup.Log || d.Request != "" || d.Policy != r.order.Policy {
			return nil
		}
		if found[d.ID] == nil {
			one := PastOf(d, nil)
			found[d.ID] = &one
		}
		return found[d.ID]
	}
	for _, own := range o.Own {
		note(own.Description)
	}
	whole = o.listed()
	for _, s := range o.Stores {
		whole = whole && s.Err == nil
		for _, k := range s.Sets {
			if one := note(k.Description); one != nil {
				one.In = append(one.In, AnswerPlace{s.Name, k.Verified && !k.Damaged, k.Damaged})
			}
		}
	}
	for _, one := range found {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b PastSet) int {
		return cmp.Or(b.Finished.Compare(a.Finished), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(len(all), PastMost)], whole
}
