// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Plan is a Chain with what the descriptions of its sets say.
type Plan struct {
	// Sets in the order in which they are restored.
	Sets []Description
	// StopAt and StopBefore are where the last of them is to stop, as in Chain; Until is the newest moment that it has.
	StopAt     time.Time
	StopBefore LSN
	Until      time.Time
}

// Stored are the bytes of all files.
func (p Plan) Stored() (bytes int64) {
	for _, d := range p.Sets {
		bytes += d.Stored()
	}
	return bytes
}

// Encryptors are the thumbprints of the certificates without which the sets do not open.
func (p Plan) Encryptors() (all []string) {
	for _, d := range p.Sets {
		if d.EncryptedBy != "" && !slices.Contains(all, d.EncryptedBy) {
			all = append(all, d.EncryptedBy)
		}
	}
	return all
}

// PlanOf is what restores the database of one folder to a target. A folder may have several databases that had its name
// one after another: the newest that reaches the target is taken, and where no target is named the newest. The error is
// a *NoChain.
func PlanOf(all []Description, to Target) (Plan, error) {
	databases := ByDatabase(all)
	newest := func(of Identity) (at time.Time) {
		for _, d := range databases[of] {
			at = later(at, d.Finished)
		}
		return at
	}
	var names []Identity
	for of := range databases {
		names = append(names, of)
	}
	slices.SortFunc(names, func(a, b Identity) int {
		return cmp.Or(newest(b).Compare(newest(a)), strings.Compare(a.family, b.family),
			strings.Compare(a.database, b.database))
	})
	switch {
	case to.ID != "":
		names = slices.DeleteFunc(names, func(of Identity) bool {
			return !slices.ContainsFunc(databases[of], func(d Description) bool { return d.ID == to.ID })
		})
	case to == (Target{}) && len(names) > 1:
		names = names[:1]
	}
	lacks := &NoChain{Target: to, Missing: "there is no such backup of it"}
	for n, of := range names {
		sets := Sets(databases[of])
		chain, missing := restoring(sets, to)
		if missing == "" {
			return planned(chain, databases[of]), nil
		}
		if n == 0 {
			lacks.Missing = missing
		}
		lacks.Windows = append(Windows(sets), lacks.Windows...)
	}
	return Plan{}, lacks
}

func planned(c Chain, all []Description) Plan {
	p := Plan{StopAt: c.StopAt, StopBefore: c.StopBefore, Until: c.Until}
	for _, s := range c.Sets {
		at := slices.IndexFunc(all, func(d Description) bool { return d.ID == s.ID })
		p.Sets = append(p.Sets, all[at])
	}
	return p
}

// restoringLSN is what restores everything before a position in the log: from the newest full backup, and with the
// newest differential, that is not behind it.
func restoringLSN(sets []Set, to LSN) (Chain, string) {
	h, missing := newHistory(sets), "no full backup ends before it"
	for _, from := range h.starts {
		if from.sets[0].LastLSN.Compare(to) > 0 || from.last().LastLSN.Compare(to) > 0 {
			continue
		}
		w := h.walk(from)
		for w.at.lsn.Compare(to) < 0 && w.step() {
		}
		if w.at.lsn.Compare(to) < 0 {
			missing = fmt.Sprintf("no log backup goes on behind the %s", w.chain.last())
			continue
		}
		if w.at.lsn.Compare(to) > 0 {
			if w.chain.last().BulkLogged {
				return Chain{}, w.chain.last().bulk()
			}
			w.chain.StopBefore = to
		}
		return w.chain, ""
	}
	return Chain{}, missing
}
