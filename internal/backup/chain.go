// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Target is to where a database is restored: the newest point that there is, a moment, or the end of one backup.
type Target struct {
	// Time to which it is restored; commits of that very moment are in. The zero value is the newest point.
	Time time.Time
	// ID of the full or differential backup at whose end it is restored, instead of a time.
	ID string
	// LSN to which it is restored, instead of a time: what the log has before that position is in, the rest is not.
	LSN LSN
}

// Chain is what is restored, in its order: a full backup, perhaps a differential, and log backups.
type Chain struct {
	Sets []Set
	// Witness is a log backup without anything in it, by which it is known that nothing was written between the last of
	// the sets and Until; nil when there is none. It is not restored: an engine may refuse what takes it no further.
	Witness *Set
	// StopAt is the moment at which the last of the sets is to stop; zero where all of it is restored.
	StopAt time.Time
	// StopBefore is the position in the log before which the last of the sets is to stop, instead of a moment.
	StopBefore LSN
	// Until is the newest moment that it has; where it stops before a position, that of the set in which that is, which
	// may be later.
	Until time.Time
}

// NoChain says why a database cannot be restored to a target.
type NoChain struct {
	Target Target
	// Windows are between which moments it can be restored.
	Windows []Window
	// Missing is what the most promising attempt lacked.
	Missing string
}

func (e *NoChain) Error() string {
	what := "to the newest point"
	switch {
	case e.Target.ID != "":
		what = "to backup " + e.Target.ID
	case e.Target.LSN != "":
		what = "to LSN " + string(e.Target.LSN)
	case !e.Target.Time.IsZero():
		what = "to " + e.Target.Time.UTC().Format(time.RFC3339Nano)
	}
	text := fmt.Sprintf("no chain of backups restores it %s: %s", what, e.Missing)
	if len(e.Windows) == 0 {
		return text + "; there is no point to which it can be restored"
	}
	text += "; it can be restored to"
	for i, w := range e.Windows {
		if i > 0 {
			text += ","
		}
		text += " " + w.String()
	}
	return text
}

// Restoring is the chain that restores one database (one Identity) to a target: from the newest full backup from which
// it can be reached, with as few bytes of log as a differential saves. The error is a *NoChain.
func Restoring(sets []Set, to Target) (Chain, error) {
	chain, missing := restoring(sets, to)
	if missing != "" {
		return Chain{}, &NoChain{Target: to, Windows: Windows(sets), Missing: missing}
	}
	return chain, nil
}

func restoring(sets []Set, to Target) (Chain, string) {
	switch {
	case to.ID != "":
		return restoringSet(sets, to.ID)
	case to.LSN != "":
		return restoringLSN(sets, to.LSN)
	}
	h := newHistory(sets)
	from := h.newest()
	if !to.Time.IsZero() {
		from = h.startOf(to.Time)
	}
	if from == nil {
		return Chain{}, h.missing(to.Time)
	}
	w := h.walk(*from)
	w.to(to.Time)
	switch {
	case to.Time.IsZero():
	case w.within(to.Time):
		w.chain.StopAt, w.chain.Until, w.chain.Witness = to.Time, to.Time, nil
		last := w.chain.last()
		switch {
		case last.BulkLogged && !to.Time.Equal(last.end()):
			return Chain{}, last.bulk()
		case last.BulkLogged:
			// Any time to stop at is refused for it.
			w.chain.StopAt = time.Time{}
		}
	default:
		w.chain.Until = to.Time
	}
	return w.chain, ""
}

// missing is what the most promising attempt to reach a moment lacks.
func (h *history) missing(moment time.Time) string {
	if len(h.starts) == 0 {
		return "there is no full backup"
	}
	for _, s := range slices.Backward(h.starts) {
		if s.begun(moment) {
			w := h.walk(s)
			w.to(moment)
			return fmt.Sprintf("no log backup goes on behind the %s", w.chain.last())
		}
	}
	return "no full backup was finished by then"
}

// restoringSet is what restores to the end of one backup.
func restoringSet(sets []Set, id string) (Chain, string) {
	at := slices.IndexFunc(sets, func(s Set) bool { return s.ID == id })
	switch {
	case at < 0:
		return Chain{}, "there is no such backup"
	case sets[at].Damaged:
		return Chain{}, "it is damaged"
	case sets[at].Kind == Log:
		return Chain{}, "it is one of the log: name a time"
	case sets[at].Kind == Full:
		return Chain{Sets: []Set{sets[at]}, Until: sets[at].end()}, ""
	}
	for _, full := range newestFirst(sets, Full) {
		if full.ID == sets[at].BaseID {
			return Chain{Sets: []Set{full, sets[at]}, Until: sets[at].end()}, ""
		}
	}
	return Chain{}, "the full backup that is its base, " + sets[at].BaseID + ", is not there"
}

// newestFirst are the sets of a kind that can be read.
func newestFirst(sets []Set, kind Kind) []Set {
	var all []Set
	for _, s := range sets {
		if s.Kind == kind && !s.Damaged {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Set) int {
		return cmp.Or(b.Finished.Compare(a.Finished), cmp.Compare(b.ID, a.ID))
	})
	return all
}

func (c *Chain) last() Set { return c.Sets[len(c.Sets)-1] }

// bulk says that a restore cannot stop within a log backup.
func (s Set) bulk() string {
	return fmt.Sprintf("the %s has changes that were logged in bulk, so that a restore cannot stop within it: name the "+
		"LSN at its end, %s, or one at or before its begin, %s", s, s.LastLSN, s.FirstLSN)
}

// witness takes the chain to the end of a log backup without anything in it.
func (c *Chain) witness(s *Set) {
	if s != nil && s.end().After(c.Until) {
		c.Witness, c.Until = s, s.end()
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
