// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"fmt"
	"slices"
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// gathered is what the notes of all known votes say together.
type gathered struct {
	// request is the newest, nil for none.
	request *votes.Request
	// answers by the requests' IDs, final ones before others.
	answers map[string]votes.Answer
	// timelines of all terms that any voter has.
	timelines []votes.Timeline
	// paused by the newest word of any voter, of pausedAt; zero where no word has a time.
	paused   bool
	pausedAt time.Time
	// fork is the newest, nil for none.
	fork *votes.Fork
	// apart are the quarantined replicas, those that were among them.
	apart []votes.Apart
	// errs are what could not be read.
	errs []error
}

// gather reads the notes of several voters.
func gather(all []votes.Notes) gathered {
	g := gathered{answers: map[string]votes.Answer{}}
	for _, n := range all {
		annotations := n.Annotations()
		if err := g.hearPause(n); err != nil {
			g.errs = append(g.errs, err)
		}
		if r, ok, err := votes.ParseRequest(annotations); err != nil {
			g.errs = append(g.errs, err)
		} else if ok && (g.request == nil || votes.Newer(r.Issued, r.ID, g.request.Issued, g.request.ID)) {
			g.request = &r
		}
		if a, ok, err := votes.ParseAnswer(annotations); err != nil {
			g.errs = append(g.errs, err)
		} else if have, known := g.answers[a.ID]; ok && (!known || !have.Final()) {
			g.answers[a.ID] = a
		}
		timelines, err := votes.ParseTimelines(annotations)
		if err != nil {
			g.errs = append(g.errs, err)
		}
		for _, t := range timelines {
			g.timelines = keepLater(g.timelines, t)
		}
		if apart, err := votes.ParseApart(n.Apart); err != nil {
			g.errs = append(g.errs, err)
		} else {
			g.apart = votes.MergeApart(g.apart, apart)
		}
		if f, ok, err := votes.ParseFork(n.Forced); err != nil {
			g.errs = append(g.errs, err)
		} else if ok && (g.fork == nil || f.Term > g.fork.Term) {
			g.fork = &f
		}
	}
	if g.request != nil {
		// Agents of earlier releases write answers without the time.
		if a, ok := g.answers[g.request.ID]; ok && a.Issued.IsZero() {
			a.Issued = g.request.Issued
			g.answers[a.ID] = a
		}
	}
	g.settlePause()
	return g
}

// told is what the notes of the votes last read say. It is worked out again only when they changed.
func (k *Keeper) told() gathered {
	notes := k.ballot.Notes()
	if k.heard == nil || !slices.Equal(notes, k.heardOf) {
		g := gather(notes)
		k.heard, k.heardOf = &g, notes
	}
	return *k.heard
}

// keepLater adds a timeline unless one of its term is there that ended.
func keepLater(timelines []votes.Timeline, t votes.Timeline) []votes.Timeline {
	for _, have := range timelines {
		if have.Term == t.Term && (have.Outcome != votes.OutcomeAccepted || t.Outcome == votes.OutcomeAccepted) {
			return timelines
		}
	}
	return votes.MergeTimelines(timelines, t)
}

// hearPause takes what one voter says of a pause, unless another's word is newer: one that was away when the group was
// paused, or no longer, says what was so before. What cannot be read of the time counts as none.
func (g *gathered) hearPause(n votes.Notes) (err error) {
	var at time.Time
	if n.PausedAt != "" {
		if at, err = time.Parse(time.RFC3339Nano, n.PausedAt); err != nil {
			at, err = time.Time{}, fmt.Errorf("annotation %s: %w", votes.AnnotationPausedAt, err)
		}
	}
	switch {
	case n.Paused == "" || at.Before(g.pausedAt):
	case at.After(g.pausedAt):
		g.paused, g.pausedAt = n.Paused == "true", at
	default:
		g.paused = g.paused || n.Paused == "true"
	}
	return err
}

// settlePause makes paused what the newest request says, if that was a Pause or a Resume that is done: a voter that
// could not be written may say otherwise still.
func (g *gathered) settlePause() {
	if r := g.request; r != nil && r.Pauses() && g.answers[r.ID].Outcome == votes.OutcomeDone &&
		!r.Issued.Before(g.pausedAt) {
		g.paused, g.pausedAt = r.Kind == votes.RequestPause, r.Issued
	}
}

// pauseNotes are the newest word on a pause for voters that say something else; none where no word has a time.
func (g gathered) pauseNotes(all []votes.Notes) (n votes.Notes) {
	if g.pausedAt.IsZero() {
		return n
	}
	n.Paused, n.PausedAt = fmt.Sprint(g.paused), g.pausedAt.UTC().Format(time.RFC3339Nano)
	if !slices.ContainsFunc(all, func(o votes.Notes) bool { return o.Paused != n.Paused || o.PausedAt != n.PausedAt }) {
		return votes.Notes{}
	}
	return n
}

// open is the newest request if nobody has given it a final answer, nor any to a newer one, nil otherwise. A vote has
// one answer, so that to an older request is written over; and the voter that has the newer request may not be heard.
func (g gathered) open() *votes.Request {
	if g.request == nil || g.answers[g.request.ID].Final() {
		return nil
	}
	if g.last().Overtakes(g.request.ID, g.request.Issued) {
		return nil
	}
	return g.request
}

// last is the answer to the newest request that any voter has one to, zero for none.
func (g gathered) last() (last votes.Answer) {
	for _, a := range g.answers {
		if votes.Newer(a.Issued, a.ID, last.Issued, last.ID) {
			last = a
		}
	}
	return last
}
