// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"
)

// history are the sets of one database that can be read, sorted so that a chain is found by a few looks at each of its
// sets: a month of log backups is ten thousand.
type history struct {
	// fulls are the newest first, differentials those of a full backup, the newest first. Starts are the ways to begin in
	// this order, first the place of each full backup's.
	fulls         []Set
	differentials map[string][]Set
	starts        []start
	first         []int
	// logs that have something are in the order of FirstLSN; furthest is the highest LastLSN of each and those before it.
	logs     []Set
	furthest []LSN
	// idle are the newest log backups without anything, by where they were taken.
	idle map[place]Set
	// reached is the newest moment to which each log backup and those behind it lead, by ID.
	reached map[string]time.Time
	// looks counts those at a set, by which a test bounds the work.
	looks int
}

// place is a position in the log, in a fork.
type place struct{ lsn, fork string }

func placeOf(at LSN, fork string) place { return place{strings.TrimLeft(string(at), "0"), fork} }

// start is a way to begin: with a full backup, and perhaps a differential. The newest moment that can be reached from
// it is until, from it and those behind it furthest.
type start struct {
	sets            []Set
	until, furthest time.Time
}

func (s start) last() Set { return s.sets[len(s.sets)-1] }

// begun says whether all that it begins with was finished by a moment.
func (s start) begun(by time.Time) bool {
	return !s.sets[0].Finished.After(by) && !s.last().Finished.After(by)
}

func newHistory(sets []Set) *history {
	h := &history{differentials: map[string][]Set{}, idle: map[place]Set{}, reached: map[string]time.Time{},
		fulls: newestFirst(sets, Full)}
	for _, d := range newestFirst(sets, Differential) {
		h.differentials[d.BaseID] = append(h.differentials[d.BaseID], d)
	}
	for _, s := range sets {
		switch {
		case s.Kind != Log || s.Damaged:
		case !s.idle():
			h.logs = append(h.logs, s)
		default:
			at := placeOf(s.LastLSN, s.Fork)
			if before, there := h.idle[at]; !there || s.end().After(before.end()) {
				h.idle[at] = s
			}
		}
	}
	slices.SortStableFunc(h.logs, func(a, b Set) int { return a.FirstLSN.Compare(b.FirstLSN) })
	for i, s := range h.logs {
		furthest := s.LastLSN
		if i > 0 && h.furthest[i-1].Compare(furthest) > 0 {
			furthest = h.furthest[i-1]
		}
		h.furthest = append(h.furthest, furthest)
	}
	for _, full := range h.fulls {
		h.first = append(h.first, len(h.starts))
		for _, d := range h.differentials[full.ID] {
			h.begin(full, d)
		}
		h.begin(full)
	}
	for i := len(h.starts) - 1; i >= 0; i-- {
		h.starts[i].furthest = h.starts[i].until
		if i+1 < len(h.starts) {
			h.starts[i].furthest = later(h.starts[i].until, h.starts[i+1].furthest)
		}
	}
	return h
}

func (h *history) begin(sets ...Set) {
	s := start{sets: sets}
	at := s.last().after()
	s.until = s.last().end()
	if idle := h.last(at); idle != nil {
		s.until = later(s.until, idle.end())
	}
	if next := h.best(at); next != nil {
		s.until = later(s.until, h.reach(*next))
	}
	h.starts = append(h.starts, s)
}

// going are the log backups that continue a position.
func (h *history) going(at position) []*Set {
	var all []*Set
	look := func(i int) {
		h.looks++
		if h.logs[i].continues(at) {
			all = append(all, &h.logs[i])
		}
	}
	first := sort.Search(len(h.logs), func(i int) bool { return h.logs[i].FirstLSN.Compare(at.lsn) >= 0 })
	for i := first; i < len(h.logs) && h.logs[i].FirstLSN.Compare(at.lsn) == 0; i++ {
		look(i)
	}
	for i := first - 1; !at.logged && i >= 0 && h.furthest[i].Compare(at.lsn) > 0; i-- {
		look(i)
	}
	return all
}

// best is the log backup that goes on from a position. Where several do, that of the history which goes on longest is
// taken: what a former primary backed up at its end leads nowhere.
func (h *history) best(at position) *Set {
	var best *Set
	for _, s := range h.going(at) {
		if best == nil || cmp.Or(h.reach(*s).Compare(h.reach(*best)), s.LastLSN.Compare(best.LastLSN),
			cmp.Compare(s.ID, best.ID)) > 0 {
			best = s
		}
	}
	return best
}

// last is the newest log backup that shows that nothing was written at a position until its end; nil for none.
func (h *history) last(at position) *Set {
	if s, there := h.idle[placeOf(at.lsn, at.fork)]; there {
		return &s
	}
	return nil
}

// reach is the newest moment to which a log backup and those behind it lead.
func (h *history) reach(s Set) time.Time {
	if known, ok := h.reached[s.ID]; ok {
		return known
	}
	furthest := s.end()
	if last := h.last(s.after()); last != nil {
		furthest = later(furthest, last.end())
	}
	for _, next := range h.going(s.after()) {
		furthest = later(furthest, h.reach(*next))
	}
	h.reached[s.ID] = furthest
	return furthest
}

// startOf is how a moment is reached; nil when it is not.
func (h *history) startOf(moment time.Time) *start {
	full := sort.Search(len(h.fulls), func(i int) bool { return !h.fulls[i].Finished.After(moment) })
	if full == len(h.fulls) {
		return nil
	}
	of := h.starts[h.first[full] : h.first[full]+len(h.differentials[h.fulls[full].ID])]
	begun := sort.Search(len(of), func(i int) bool { return !of[i].last().Finished.After(moment) })
	for i := h.first[full] + begun; i < len(h.starts) && !h.starts[i].furthest.Before(moment); i++ {
		h.looks++
		if s := &h.starts[i]; s.begun(moment) && !s.until.Before(moment) {
			return s
		}
	}
	return nil
}

// newest is how the newest moment is reached; nil where there is none.
func (h *history) newest() *start {
	for i := range h.starts {
		if h.starts[i].until.Equal(h.starts[0].furthest) {
			return &h.starts[i]
		}
	}
	return nil
}

// walk is a chain that is made longer step by step.
type walk struct {
	*history
	chain Chain
	at    position
}

func (h *history) walk(from start) *walk {
	w := &walk{history: h, chain: Chain{Sets: slices.Clone(from.sets), Until: from.last().end()}, at: from.last().after()}
	w.chain.witness(h.last(w.at))
	return w
}

// step adds a log backup, if any goes on.
func (w *walk) step() bool {
	next := w.best(w.at)
	if next == nil {
		return false
	}
	w.chain.Sets, w.at = append(w.chain.Sets, *next), next.after()
	w.chain.Until, w.chain.Witness = later(w.chain.Until, next.end()), nil
	w.chain.witness(w.last(w.at))
	return true
}

// to steps until a moment is reached, or none goes on; with the zero time until none goes on.
func (w *walk) to(moment time.Time) {
	for moment.IsZero() || w.chain.Until.Before(moment) {
		if !w.step() {
			return
		}
	}
}

// within says whether a moment is one that the last of the chain's sets has, in which it stops.
func (w *walk) within(moment time.Time) bool {
	last := w.chain.last()
	return last.Kind == Log && !moment.IsZero() && !last.end().Before(moment)
}
