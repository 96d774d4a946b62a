// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"slices"
)

// compare says why a set that could be restored is not, where it is no part of the chain.
func (f *found) compare(chain Plan, to Target, usable []*found) {
	has := func(id string) bool {
		return slices.ContainsFunc(chain.Sets, func(d Description) bool { return d.ID == id })
	}
	if f.why != "" || has(f.ID) {
		return
	}
	full, last := chain.Sets[0], chain.Sets[len(chain.Sets)-1]
	d := f.described
	switch {
	case d.Identity() != full.Identity():
		f.why = "it is of another database that had the name, with another history"
	case to != (Target{}) && d.Kind != Log && d.LastLSN.Compare(last.LastLSN) > 0:
		f.why = "it is behind what is asked for"
	case d.Kind == Full:
		f.why = "the " + full.String() + " is restored instead"
	case d.Kind == Differential:
		f.why = f.compareDifferential(full, usable)
	default:
		f.why = f.compareLog(chain, to)
	}
}

func (f *found) compareDifferential(full Description, usable []*found) string {
	base := slices.IndexFunc(usable, func(b *found) bool { return b.ID == f.BaseID })
	switch {
	case base < 0 && f.BaseID == "":
		return "its files have several bases, which are no full backup of the database"
	case base < 0:
		return fmt.Sprintf("the full backup that is its base, which begins at LSN %s, is not there", f.BaseLSN)
	case f.BaseID != full.ID:
		return "its base is not the " + full.String() + ", which is restored"
	}
	return "nothing of it is needed: what else is restored has it"
}

func (f *found) compareLog(chain Plan, to Target) string {
	start, last := chain.Sets[0], chain.Sets[len(chain.Sets)-1]
	for _, d := range chain.Sets {
		if d.Kind != Log {
			start = d
		}
	}
	switch {
	case f.idle():
		return "it has nothing: nobody wrote then"
	case f.LastLSN.Compare(start.LastLSN) <= 0:
		return "the " + start.String() + " has all of it"
	case f.LastLSN.Compare(last.LastLSN) > 0 && to != (Target{}):
		return "it leads further than what is asked for"
	case f.FirstLSN.Compare(last.LastLSN) > 0:
		return fmt.Sprintf("the log between LSN %s, at which the chain ends, and LSN %s, at which this one begins, is not "+
			"there", last.LastLSN, f.FirstLSN)
	case f.forkAt(last.LastLSN) != last.Fork:
		return "it is of another history of the log, recovery fork " + f.Fork
	}
	return "what else is restored has it"
}
