// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// chronicle writes the timeline of the term that this run claims or holds.
type chronicle struct {
	// line of the term, nil when there is none to write.
	line *Timeline
	// others are timelines of former terms to be written with it.
	others []Timeline
	// fork of a forced failover, to be written before it is forced.
	fork *Fork
	// due says that a majority of the voters does not have it all yet.
	due bool
	// suspected is when this run first saw a reason to claim; zero before.
	suspected time.Time
}

// stamp sets a time once.
func stamp(at **metav1.MicroTime, now time.Time) {
	if *at == nil {
		*at = microTime(now)
	}
}

// suspect notes when a reason to claim was first seen.
func (c *chronicle) suspect(now time.Time) {
	if c.suspected.IsZero() {
		c.suspected = now
	}
}

// begin starts a term's timeline.
func (c *chronicle) begin(k *Keeper, t Timeline, request *Request) {
	now := k.clock.Wall()
	c.suspect(now)
	t.Suspected, t.Outcome = microTime(c.suspected), OutcomeAccepted
	if request != nil {
		t.RequestID, t.Failover = request.ID, request.Failover
		if request.Kind == RequestSwitchover {
			t.Cause = CauseSwitchover
		}
	}
	c.suspected = time.Time{}
	if c.line != nil && c.line.Term != t.Term {
		c.others = mergeTimelines(c.others, *c.line)
	}
	c.line, c.fork, c.due = &t, nil, true
}

// resume goes on with the timeline that the votes have of this run's term.
func (c *chronicle) resume(k *Keeper) {
	c.line = nil
	if t := LineOf(k.told().timelines, k.leadingOf()); t != nil && t.Outcome == OutcomeAccepted {
		c.line = t
	}
}

// LineOf is the timeline of a term, nil for none. A holder may go on in a higher term than the one that it was elected
// in, above claims that came to nothing: then it is that one's.
func LineOf(timelines []Timeline, leading Record) *Timeline {
	var line *Timeline
	for _, t := range timelines {
		if t.Term == leading.Term || t.Term < leading.Term && t.Promoted != nil {
			line = &t
		}
	}
	if line != nil &&
		(line.Term == leading.Term || leading.State == StateHeld && strings.EqualFold(line.To, leading.Holder.Server)) {
		return line
	}
	return nil
}

func (c *chronicle) forget() { c.line, c.others, c.fork, c.due = nil, nil, nil, false }

// mark changes the line, if there is one.
func (c *chronicle) mark(change func(*Timeline)) {
	if c.line != nil {
		change(c.line)
		c.due = true
	}
}

func (c *chronicle) claimed(k *Keeper) {
	c.mark(func(t *Timeline) { stamp(&t.Claimed, k.clock.Wall()) })
}

func (c *chronicle) fenced(k *Keeper) {
	c.mark(func(t *Timeline) { stamp(&t.Fenced, k.clock.Wall()) })
}

// end closes the line.
func (c *chronicle) end(_ *Keeper, outcome AnswerOutcome, message string) {
	c.mark(func(t *Timeline) { t.Outcome, t.Message = outcome, message })
}

// from is the server that held the term before the present one.
func (c *chronicle) from(k *Keeper) string {
	if c.line != nil {
		return c.line.From
	}
	return k.self.Server
}

func (c *chronicle) cause() Cause {
	if c.line != nil {
		return c.line.Cause
	}
	return CauseAutomatic
}

// promoted notes that the engine is PRIMARY in the claimed term, and answers the request that led to it.
func (c *chronicle) promoted(k *Keeper) {
	c.primary(k)
	if c.line == nil {
		return
	}
	if r := k.told().request; r != nil && r.ID == c.line.RequestID {
		k.requests.settle(k, r, OutcomeDone, ReasonPromoted, k.self.Server+" is primary")
	}
}

// ledBy says whether the request led to the term of the line, in which this run became primary.
func (c *chronicle) ledBy(r *Request) bool {
	return c.line != nil && c.line.Promoted != nil && c.line.RequestID == r.ID
}

// recorded says whether a majority of the voters has what was written so far.
func (c *chronicle) recorded() bool { return !c.due }

// primary notes that the engine has been seen PRIMARY in the claimed term. Its databases are looked at once its lease
// is renewed: an engine that does not tell of them must not cost the lease.
func (c *chronicle) primary(k *Keeper) {
	c.mark(func(t *Timeline) { stamp(&t.Promoted, k.clock.Wall()) })
}

// follow looks at the databases of a new primary until all are synchronized again.
func (c *chronicle) follow(ctx context.Context, k *Keeper) {
	if c.line == nil || c.line.AllSynchronized != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.timings.APITimeout)
	defer cancel()
	i, err := k.inspect(ctx)
	if err != nil {
		return
	}
	now := k.clock.Wall()
	enough, all := i.synchronized()
	if enough && c.line.FirstWrite == nil {
		c.mark(func(t *Timeline) { stamp(&t.FirstWrite, now) })
	}
	if all {
		c.mark(func(t *Timeline) {
			stamp(&t.AllSynchronized, now)
			t.Outcome = OutcomeDone
		})
	}
}

// synchronized says whether every database has as many synchronized secondaries as a commit needs, and whether every
// synchronous replica is synchronized in every database; on a primary.
func (i Inspection) synchronized() (enough, all bool) {
	secondaries := map[string]bool{}
	for _, r := range i.Replicas {
		if r.Mode == ModeSynchronous {
			secondaries[strings.ToLower(r.Server)] = true
		}
	}
	enough, all = true, true
	for _, name := range i.Names {
		count, local := 0, false
		for _, d := range i.Databases {
			if d.Name != name {
				continue
			}
			if d.Local {
				local = true
			} else if secondaries[strings.ToLower(d.Server)] && d.State == "SYNCHRONIZED" {
				count++
			}
		}
		enough = enough && local && count >= i.Required
		all = all && local && count >= len(secondaries)-1
	}
	return enough, all
}

// estimate writes what a forced failover may lose, and where it forks the log, before anything is forced.
func (c *chronicle) estimate(k *Keeper, reports []Report) {
	if c.line == nil {
		return
	}
	own, old := find(reports, k.self.Server), find(reports, c.line.From)
	lost := &LostRange{Known: old.Server != "" && old.Server != own.Server}
	c.fork = &Fork{Term: k.term, Server: k.self.Server, Databases: map[string]string{}}
	for _, d := range own.Databases {
		if !d.Local {
			continue
		}
		c.fork.Databases[d.Name] = d.HardenedLSN
		one := LostDatabase{Name: d.Name, FromLSN: d.HardenedLSN, LastCommit: optionalTime(d.LastCommit)}
		for _, r := range reports {
			for _, o := range r.Databases {
				if o.Local && o.Name == d.Name && compareLSN(o.HardenedLSN, one.ToLSN) > 0 {
					one.ToLSN, one.OldLastCommit = o.HardenedLSN, optionalTime(o.LastCommit)
				}
			}
		}
		lost.Databases = append(lost.Databases, one)
	}
	c.mark(func(t *Timeline) { t.Lost = lost })
}

func optionalTime(t *time.Time) *metav1.MicroTime {
	if t == nil {
		return nil
	}
	return microTime(*t)
}

// dueNotes are the notes that the next swap has to carry.
func (k *Keeper) dueNotes() Notes {
	var n Notes
	c := &k.chronicle
	if c.due && c.line != nil {
		all := k.told().timelines
		for _, t := range append(c.others, *c.line) {
			all = mergeTimelines(all, t)
		}
		n.Timelines = encodeJSON(all)
		if c.fork != nil {
			n.Forced = encodeJSON(*c.fork)
		}
	}
	if a := k.requests.answer; a != nil && k.told().answers[a.ID].Final() {
		// Somebody else has said how it ended.
		k.requests.answer = nil
	} else if a != nil {
		n.Answer = encodeJSON(*a)
	}
	if k.requests.pause != "" {
		n.Paused, n.PausedAt = k.requests.pause, k.requests.pausedAt
	} else {
		word := k.told().pauseNotes(k.ballot.notes())
		n.Paused, n.PausedAt = word.Paused, word.PausedAt
	}
	return n
}

// noted is called once a majority has the notes.
func (k *Keeper) noted(n Notes) {
	if n.Timelines != "" {
		k.chronicle.due, k.chronicle.others = false, nil
	}
	if n.Answer != "" {
		k.requests.answer = nil
	}
	if n.Paused != "" {
		k.requests.pause = ""
	}
}
