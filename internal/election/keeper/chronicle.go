// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// chronicle writes the timeline of the term that this run claims or holds.
type chronicle struct {
	// line of the term, nil when there is none to write.
	line *votes.Timeline
	// others are timelines of former terms to be written with it.
	others []votes.Timeline
	// fork of a forced failover, to be written before it is forced.
	fork *votes.Fork
	// due says that a majority of the voters does not have it all yet.
	due bool
	// suspected is when this run first saw a reason to claim; zero before.
	suspected time.Time
}

// suspect notes when a reason to claim was first seen.
func (c *chronicle) suspect(now time.Time) {
	if c.suspected.IsZero() {
		c.suspected = now
	}
}

// trust ends a suspicion: somebody holds the votes, and renews them. Else a switchover long after would be timed from
// the failure that another server has ended.
func (c *chronicle) trust() { c.suspected = time.Time{} }

// begin starts a term's timeline.
func (c *chronicle) begin(k *Keeper, t votes.Timeline, request *votes.Request) {
	now := k.clock.Wall()
	c.suspect(now)
	t.Suspected, t.Outcome = votes.MicroTime(c.suspected), votes.OutcomeAccepted
	if request != nil {
		t.RequestID, t.Failover = request.ID, request.Failover
		if request.Kind == votes.RequestSwitchover {
			t.Cause = votes.CauseSwitchover
		}
	}
	c.suspected = time.Time{}
	if c.line != nil && c.line.Term != t.Term {
		c.others = votes.MergeTimelines(c.others, *c.line)
	}
	c.line, c.fork, c.due = &t, nil, true
}

// resume goes on with the timeline that the votes have of this run's term.
func (c *chronicle) resume(k *Keeper) {
	c.line = nil
	if t := votes.LineOf(k.told().timelines, k.leadingOf()); t != nil && t.Outcome == votes.OutcomeAccepted {
		c.line = t
	}
}

func (c *chronicle) forget() { c.line, c.others, c.fork, c.due = nil, nil, nil, false }

// mark changes the line, if there is one.
func (c *chronicle) mark(change func(*votes.Timeline)) {
	if c.line != nil {
		change(c.line)
		c.due = true
	}
}

func (c *chronicle) claimed(k *Keeper) {
	c.mark(func(t *votes.Timeline) { votes.Stamp(&t.Claimed, k.clock.Wall()) })
}

func (c *chronicle) fenced(k *Keeper) {
	c.mark(func(t *votes.Timeline) { votes.Stamp(&t.Fenced, k.clock.Wall()) })
}

// end closes the line.
func (c *chronicle) end(_ *Keeper, outcome votes.AnswerOutcome, message string) {
	c.mark(func(t *votes.Timeline) { t.Outcome, t.Message = outcome, message })
}

// from is the server that held the term before the present one.
func (c *chronicle) from(k *Keeper) string {
	if c.line != nil {
		return c.line.From
	}
	return k.self.Server
}

func (c *chronicle) cause() votes.Cause {
	if c.line != nil {
		return c.line.Cause
	}
	return votes.CauseAutomatic
}

// promoted notes that the engine is PRIMARY in the claimed term, and answers the request that led to it.
func (c *chronicle) promoted(k *Keeper) {
	c.primary(k)
	if c.line == nil {
		return
	}
	if r := k.told().request; r != nil && r.ID == c.line.RequestID {
		k.requests.settle(k, r, votes.OutcomeDone, votes.ReasonPromoted, k.self.Server+" is primary")
	}
}

// ledBy says whether the request led to the term of the line, in which this run became primary.
func (c *chronicle) ledBy(r *votes.Request) bool {
	return c.line != nil && c.line.Promoted != nil && c.line.RequestID == r.ID
}

// recorded says whether a majority of the voters has what was written so far.
func (c *chronicle) recorded() bool { return !c.due }

// primary notes that the engine has been seen PRIMARY in the claimed term. Its databases are looked at once its lease
// is renewed: an engine that does not tell of them must not cost the lease.
func (c *chronicle) primary(k *Keeper) {
	c.mark(func(t *votes.Timeline) { votes.Stamp(&t.Promoted, k.clock.Wall()) })
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
	enough, all := i.Synchronized()
	if enough && c.line.FirstWrite == nil {
		c.mark(func(t *votes.Timeline) { votes.Stamp(&t.FirstWrite, now) })
	}
	if all {
		c.mark(func(t *votes.Timeline) {
			votes.Stamp(&t.AllSynchronized, now)
			t.Outcome = votes.OutcomeDone
		})
	}
}

// estimate writes what a forced failover may lose, and where it forks the log, before anything is forced.
func (c *chronicle) estimate(k *Keeper, reports []ballot.Report) {
	if c.line == nil {
		return
	}
	own, old := ballot.ReportOf(reports, k.self.Server), ballot.ReportOf(reports, c.line.From)
	lost := &votes.LostRange{Known: old.Server != "" && old.Server != own.Server}
	c.fork = &votes.Fork{Term: k.term, Server: k.self.Server, Databases: map[string]string{}}
	for _, d := range own.Databases {
		if !d.Local {
			continue
		}
		c.fork.Databases[d.Name] = d.HardenedLSN
		one := votes.LostDatabase{Name: d.Name, FromLSN: d.HardenedLSN, LastCommit: votes.OptionalTime(d.LastCommit)}
		for _, r := range reports {
			for _, o := range r.Databases {
				if o.Local && o.Name == d.Name && votes.CompareLSN(o.HardenedLSN, one.ToLSN) > 0 {
					one.ToLSN, one.OldLastCommit = o.HardenedLSN, votes.OptionalTime(o.LastCommit)
				}
			}
		}
		lost.Databases = append(lost.Databases, one)
	}
	c.mark(func(t *votes.Timeline) { t.Lost = lost })
}

// dueNotes are the notes that the next swap has to carry.
func (k *Keeper) dueNotes() votes.Notes {
	var n votes.Notes
	c := &k.chronicle
	if c.due && c.line != nil {
		all := k.told().timelines
		for _, t := range append(c.others, *c.line) {
			all = votes.MergeTimelines(all, t)
		}
		n.Timelines = votes.EncodeNote(all)
		if c.fork != nil {
			n.Forced = votes.EncodeNote(*c.fork)
		}
	}
	switch a, last := k.requests.answer, k.told().last(); {
	case a == nil:
	case k.told().answers[a.ID].Final(), last.Overtakes(a.ID, a.Issued):
		// Somebody else has said how it ended; or it would take the place of the answer to a newer request, and that would
		// be open again. How a term ended that was asked for is in its timeline.
		k.requests.answer = nil
	default:
		n.Answer = votes.EncodeNote(*a)
	}
	if k.requests.pause != "" {
		n.Paused, n.PausedAt = k.requests.pause, k.requests.pausedAt
	} else {
		word := k.told().pauseNotes(k.ballot.Notes())
		n.Paused, n.PausedAt = word.Paused, word.PausedAt
	}
	return n
}

// noted is called once a majority has the notes.
func (k *Keeper) noted(n votes.Notes) {
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
