// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"encoding/json"
	"fmt"
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

// With is n with what changes has.
func (n Notes) With(changes Notes) Notes {
	from, to := changes.fields(), n.fields()
	for name, text := range from {
		if *text != "" {
			*to[name] = *text
		}
	}
	return n
}

// Annotations are those of the notes that are there.
func (n Notes) Annotations() map[string]string {
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

// ParseFork reads the newest fork; false when nothing was ever forced.
func ParseFork(text string) (Fork, bool, error) {
	if text == "" {
		return Fork{}, false, nil
	}
	var f Fork
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Fork{}, false, fmt.Errorf("annotation %s: %w", annotationForced, err)
	}
	return f, true, nil
}
