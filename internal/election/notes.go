// SPDX-License-Identifier: Apache-2.0

package election

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// annotationForced is on a group's Leases from the first forced failover on.
const annotationForced = "geosql.dev/forced"

// Notes are what a group's Lease carries beside the vote, as it stands in the annotations. A swap of the vote keeps
// them; an empty field is no note.
type Notes struct {
	// Request is what somebody wants, Answer what came of it, Timelines the history, Paused "true" or not.
	Request, Answer, Timelines, Paused string
	// PausedAt is when what Paused says was asked for, RFC 3339; empty where somebody has annotated the Lease by hand.
	PausedAt string
	// Forced is the newest forced failover, a Fork.
	Forced string
	// Apart are the replicas that forced failovers left quarantined.
	Apart string
}

// noteAnnotations names the annotations of the fields.
func (n *Notes) fields() map[string]*string {
	return map[string]*string{
		AnnotationRequest: &n.Request, AnnotationAnswer: &n.Answer, AnnotationTimelines: &n.Timelines,
		AnnotationPaused: &n.Paused, AnnotationPausedAt: &n.PausedAt, annotationForced: &n.Forced, annotationApart: &n.Apart,
	}
}

// with is n with what changes has.
func (n Notes) with(changes Notes) Notes {
	from, to := changes.fields(), n.fields()
	for name, text := range from {
		if *text != "" {
			*to[name] = *text
		}
	}
	return n
}

// annotations are those of the notes that are there.
func (n Notes) annotations() map[string]string {
	all := map[string]string{}
	for name, text := range n.fields() {
		if *text != "" {
			all[name] = *text
		}
	}
	return all
}

// Fork is where a forced failover left the log that was there before. It stays on the Leases until another is forced,
// so that a replica that was away for long finds it.
type Fork struct {
	// Term that was forced.
	Term int64 `json:"term"`
	// Server that was made primary.
	Server string `json:"server"`
	// Databases with the end of their log on Server at the time, by name: numeric(25,0) in decimal.
	Databases map[string]string `json:"databases"`
}

// parseFork reads the newest fork; false when nothing was ever forced.
func parseFork(text string) (Fork, bool, error) {
	if text == "" {
		return Fork{}, false, nil
	}
	var f Fork
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Fork{}, false, fmt.Errorf("annotation %s: %w", annotationForced, err)
	}
	return f, true, nil
}

// gathered is what the notes of all known votes say together.
type gathered struct {
	// request is the newest, nil for none.
	request *Request
	// answers by the requests' IDs, final ones before others.
	answers map[string]Answer
	// timelines of all terms that any voter has.
	timelines []Timeline
	// paused by the newest word of any voter, of pausedAt; zero where no word has a time.
	paused   bool
	pausedAt time.Time
	// fork is the newest, nil for none.
	fork *Fork
	// apart are the quarantined replicas, those that were among them.
	apart []Apart
	// errs are what could not be read.
	errs []error
}

// gather reads the notes of several voters.
func gather(all []Notes) gathered {
	g := gathered{answers: map[string]Answer{}}
	for _, n := range all {
		annotations := n.annotations()
		if err := g.hearPause(n); err != nil {
			g.errs = append(g.errs, err)
		}
		if r, ok, err := ParseRequest(annotations); err != nil {
			g.errs = append(g.errs, err)
		} else if ok && (g.request == nil || newer(r.Issued, r.ID, g.request.Issued, g.request.ID)) {
			g.request = &r
		}
		if a, ok, err := ParseAnswer(annotations); err != nil {
			g.errs = append(g.errs, err)
		} else if have, known := g.answers[a.ID]; ok && (!known || !have.Final()) {
			g.answers[a.ID] = a
		}
		timelines, err := ParseTimelines(annotations)
		if err != nil {
			g.errs = append(g.errs, err)
		}
		for _, t := range timelines {
			g.timelines = keepLater(g.timelines, t)
		}
		if apart, err := parseApart(n.Apart); err != nil {
			g.errs = append(g.errs, err)
		} else {
			g.apart = mergeApart(g.apart, apart)
		}
		if f, ok, err := parseFork(n.Forced); err != nil {
			g.errs = append(g.errs, err)
		} else if ok && (g.fork == nil || f.Term > g.fork.Term) {
			g.fork = &f
		}
	}
	g.settlePause()
	return g
}

// told is what the notes of the votes last read say. It is worked out again only when they changed.
func (k *Keeper) told() gathered {
	notes := k.ballot.notes()
	if k.heard == nil || !slices.Equal(notes, k.heardOf) {
		g := gather(notes)
		k.heard, k.heardOf = &g, notes
	}
	return *k.heard
}

// newer says whether the first of two requests counts; IDs decide between equal times.
func newer(at time.Time, id string, thanAt time.Time, thanID string) bool {
	return at.After(thanAt) || at.Equal(thanAt) && id > thanID
}

// keepLater adds a timeline unless one of its term is there that ended.
func keepLater(timelines []Timeline, t Timeline) []Timeline {
	for _, have := range timelines {
		if have.Term == t.Term && (have.Outcome != OutcomeAccepted || t.Outcome == OutcomeAccepted) {
			return timelines
		}
	}
	return mergeTimelines(timelines, t)
}

// hearPause takes what one voter says of a pause, unless another's word is newer: one that was away when the group was
// paused, or no longer, says what was so before. What cannot be read of the time counts as none.
func (g *gathered) hearPause(n Notes) (err error) {
	var at time.Time
	if n.PausedAt != "" {
		if at, err = time.Parse(time.RFC3339Nano, n.PausedAt); err != nil {
			at, err = time.Time{}, fmt.Errorf("annotation %s: %w", AnnotationPausedAt, err)
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
	if r := g.request; r != nil && r.pauses() && g.answers[r.ID].Outcome == OutcomeDone && !r.Issued.Before(g.pausedAt) {
		g.paused, g.pausedAt = r.Kind == RequestPause, r.Issued
	}
}

// pauses says whether the request is about automatic elections.
func (r *Request) pauses() bool { return r.Kind == RequestPause || r.Kind == RequestResume }

// pauseNotes are the newest word on a pause for voters that say something else; none where no word has a time.
func (g gathered) pauseNotes(all []Notes) (n Notes) {
	if g.pausedAt.IsZero() {
		return n
	}
	n.Paused, n.PausedAt = fmt.Sprint(g.paused), g.pausedAt.UTC().Format(time.RFC3339Nano)
	if !slices.ContainsFunc(all, func(o Notes) bool { return o.Paused != n.Paused || o.PausedAt != n.PausedAt }) {
		return Notes{}
	}
	return n
}

// open is the newest request if nobody has given it a final answer, nil otherwise.
func (g gathered) open() *Request {
	if g.request == nil || g.answers[g.request.ID].Final() {
		return nil
	}
	return g.request
}
