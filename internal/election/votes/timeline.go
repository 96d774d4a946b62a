// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cause of a term.
type Cause string

const (
	// CauseInitial is the group's first term.
	CauseInitial Cause = "Initial"
	// CauseSwitchover is a planned move.
	CauseSwitchover Cause = "Switchover"
	// CauseFailover was asked for by a person.
	CauseFailover Cause = "Failover"
	// CauseAutomatic began because the holder's votes had expired, or its end was proved.
	CauseAutomatic Cause = "Automatic"
	// CauseRestart is the same server again, after its engine or pod was restarted.
	CauseRestart Cause = "Restart"
)

// maxTimelines is how many a Lease keeps.
const maxTimelines = 5

// Timeline is one term's history, as the server saw it that claimed the term. Times are wall times of that server for
// people to read; nothing is decided by them. A time is nil while it has not come.
type Timeline struct {
	// Term that was claimed.
	Term int64 `json:"term"`
	// Cause of the claim.
	Cause Cause `json:"cause"`
	// RequestID of the request that caused it, if any.
	RequestID string `json:"requestID,omitempty"`
	// Failover is the request's Failover object, if any.
	Failover string `json:"failover,omitempty"`
	// From is the server that held the term before, empty for none.
	From string `json:"from,omitempty"`
	// To is the server that became, or was to become, primary.
	To string `json:"to"`
	// Suspected is when the old holder's silence, its proved end or a request was noticed.
	Suspected *metav1.MicroTime `json:"suspected,omitempty"`
	// Claimed is when a majority of votes had the term.
	Claimed *metav1.MicroTime `json:"claimed,omitempty"`
	// Fenced is when enough replicas had promised and reported.
	Fenced *metav1.MicroTime `json:"fenced,omitempty"`
	// Promoted is when the engine was first seen PRIMARY.
	Promoted *metav1.MicroTime `json:"promoted,omitempty"`
	// FirstWrite is when the engine could first commit, by its own views: in every database as many secondaries were
	// synchronized as a commit needs. It is looked at once per renewal, and nothing is written for it.
	FirstWrite *metav1.MicroTime `json:"firstWrite,omitempty"`
	// AllSynchronized is when every synchronous replica that takes part was synchronized again.
	AllSynchronized *metav1.MicroTime `json:"allSynchronized,omitempty"`
	// Outcome is Accepted while under way, then Done or Failed.
	Outcome AnswerOutcome `json:"outcome"`
	// Message for people; no secrets.
	Message string `json:"message,omitempty"`
	// Lost is the range that a forced failover may have lost, nil when nothing was forced.
	Lost *LostRange `json:"lost,omitempty"`
}

// LostRange is what a forced failover may have cost, as far as anybody could tell.
type LostRange struct {
	// Databases by name.
	Databases []LostDatabase `json:"databases,omitempty"`
	// Known is false when the old primary's end of log is not known: then more may be lost than is shown.
	Known bool `json:"known"`
}

// LostDatabase is one database's part of a LostRange. LSNs are numeric(25,0) as the engine shows them.
type LostDatabase struct {
	Name string `json:"name"`
	// FromLSN is the end of the log of the replica that was made primary.
	FromLSN string `json:"fromLSN,omitempty"`
	// ToLSN is the end of the log of the old primary, empty while unknown.
	ToLSN string `json:"toLSN,omitempty"`
	// LastCommit is the time of the last commit that the new primary has.
	LastCommit *metav1.MicroTime `json:"lastCommit,omitempty"`
	// OldLastCommit is the time of the last commit that the old primary was known to have.
	OldLastCommit *metav1.MicroTime `json:"oldLastCommit,omitempty"`
}

// ParseTimelines reads the timelines of a Lease's annotations, oldest first.
func ParseTimelines(annotations map[string]string) ([]Timeline, error) {
	text := annotations[AnnotationTimelines]
	if text == "" {
		return nil, nil
	}
	var timelines []Timeline
	if err := json.Unmarshal([]byte(text), &timelines); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", AnnotationTimelines, err)
	}
	return timelines, nil
}

// MergeTimelines puts one timeline among others: it replaces the one of its term, or is added. Only the newest are
// kept.
func MergeTimelines(timelines []Timeline, t Timeline) []Timeline {
	merged := make([]Timeline, 0, len(timelines)+1)
	for _, old := range timelines {
		if old.Term < t.Term {
			merged = append(merged, old)
		}
	}
	merged = append(merged, t)
	for _, old := range timelines {
		if old.Term > t.Term {
			merged = append(merged, old)
		}
	}
	for len(merged) > maxTimelines {
		// Attempts that came to nothing go first.
		drop := slices.IndexFunc(merged[:len(merged)-1], func(t Timeline) bool { return t.Outcome == OutcomeFailed })
		merged = slices.Delete(merged, max(0, drop), max(0, drop)+1)
	}
	return merged
}

// Stamp sets a time once.
func Stamp(at **metav1.MicroTime, now time.Time) {
	if *at == nil {
		*at = MicroTime(now)
	}
}

// MicroTime is a wall time as annotations have it.
func MicroTime(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
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

// OptionalTime is MicroTime of a time that need not be known.
func OptionalTime(t *time.Time) *metav1.MicroTime {
	if t == nil {
		return nil
	}
	return MicroTime(*t)
}
