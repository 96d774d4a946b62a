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
}

// Chain is what is restored, in its order: a full backup, perhaps a differential, and log backups.
type Chain struct {
	Sets []Set
	// Witness is a log backup without anything in it, by which it is known that nothing was written between the last of
	// the sets and Until; nil when there is none. It is not restored: an engine may refuse what takes it no further.
	Witness *Set
	// StopAt is the moment at which the last of the sets is to stop; zero where all of it is restored.
	StopAt time.Time
	// Until is the newest moment that it has.
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

func restoring(sets []Set, to Target) (best Chain, missing string) {
	if to.ID != "" {
		return restoringSet(sets, to.ID)
	}
	missing = "there is no full backup"
	if !to.Time.IsZero() {
		missing = "no full backup was finished by then"
	}
	for _, full := range newestFirst(sets, Full) {
		if !to.Time.IsZero() && full.Finished.After(to.Time) {
			continue
		}
		for _, start := range starts(sets, full, to.Time) {
			chain, lacks := follow(sets, start, to.Time)
			switch {
			case lacks != "":
				missing = lacks
			case !to.Time.IsZero():
				return chain, ""
			case best.Sets == nil || chain.Until.After(best.Until):
				best = chain
			}
		}
	}
	if best.Sets != nil {
		return best, ""
	}
	return Chain{}, missing
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

// starts are the ways to begin with a full backup: with each of its differentials, the newest first, and without one.
func starts(sets []Set, full Set, until time.Time) [][]Set {
	var all [][]Set
	for _, d := range newestFirst(sets, Differential) {
		if d.BaseID == full.ID && (until.IsZero() || !d.Finished.After(until)) {
			all = append(all, []Set{full, d})
		}
	}
	return append(all, []Set{full})
}

// follow adds log backups until a moment is reached, or none goes on.
func follow(sets []Set, start []Set, until time.Time) (Chain, string) {
	chain := Chain{Sets: slices.Clone(start)}
	last := start[len(start)-1]
	at := last.after()
	chain.Until = last.end()
	ways := ways{sets: sets, reached: map[string]time.Time{}}
	chain.witness(ways.last(at))
	for until.IsZero() || chain.Until.Before(until) {
		next := ways.best(at)
		if next == nil {
			break
		}
		chain.Sets, at = append(chain.Sets, *next), next.after()
		chain.Until, chain.Witness = later(chain.Until, next.end()), nil
		chain.witness(ways.last(at))
	}
	switch last = chain.Sets[len(chain.Sets)-1]; {
	case until.IsZero():
	case chain.Until.Before(until):
		return Chain{}, fmt.Sprintf("no log backup goes on behind the %s", last)
	case last.Kind == Log && !last.end().Before(until):
		chain.StopAt, chain.Until, chain.Witness = until, until, nil
	default:
		chain.Until = until
	}
	return chain, ""
}

// witness takes the chain to the end of a log backup without anything in it.
func (c *Chain) witness(s *Set) {
	if s != nil && s.end().After(c.Until) {
		c.Witness, c.Until = s, s.end()
	}
}

// ways knows how far log backups lead. Where several go on from a position, that of the history which goes on longest
// is taken: what a former primary backed up at its end leads nowhere.
type ways struct {
	sets    []Set
	reached map[string]time.Time
}

func (w ways) best(at position) *Set {
	var best *Set
	for i, s := range w.sets {
		if s.continues(at) && (best == nil ||
			cmp.Or(w.reach(s).Compare(w.reach(*best)), s.LastLSN.Compare(best.LastLSN), cmp.Compare(s.ID, best.ID)) > 0) {
			best = &w.sets[i]
		}
	}
	return best
}

// last is the newest log backup that shows that nothing was written at a position; nil when there is none.
func (w ways) last(at position) *Set {
	var last *Set
	for i, s := range w.sets {
		if s.witnesses(at) && (last == nil || s.end().After(last.end())) {
			last = &w.sets[i]
		}
	}
	return last
}

// reach is the newest moment to which a log backup and those behind it lead.
func (w ways) reach(s Set) time.Time {
	if known, ok := w.reached[s.ID]; ok {
		return known
	}
	furthest := s.end()
	if last := w.last(s.after()); last != nil {
		furthest = later(furthest, last.end())
	}
	for _, next := range w.sets {
		if next.continues(s.after()) {
			furthest = later(furthest, w.reach(next))
		}
	}
	w.reached[s.ID] = furthest
	return furthest
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
