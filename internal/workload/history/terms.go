// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// TermSpan is one server's time as the one that acknowledges, as clients saw it.
type TermSpan struct {
	Term   int64  `json:"term"`
	Server string `json:"server"`
	// First and Last are when its first and its last acknowledgement came.
	First Instant `json:"first"`
	Last  Instant `json:"last"`
	// Acknowledged inserts, writes and reads.
	Acknowledged int `json:"acknowledged"`

	// lastInvoked and firstCompleted bound when it was certainly acknowledging.
	lastInvoked, firstCompleted Instant
}

// Overlap is a pair of terms in both of which operations were certainly acknowledged at a time, or one term of two
// servers.
type Overlap struct {
	Earlier TermSpan `json:"earlier"`
	Later   TermSpan `json:"later"`
	// By is how long: an operation of the earlier term was sent that much after one of the later term had been
	// acknowledged.
	By      time.Duration `json:"by"`
	Message string        `json:"message"`
}

type termKey struct {
	term   int64
	server string
}

// checkTerms finds the servers' terms and where they overlap. A server commits an operation between its invocation and
// its completion, so an operation of an earlier term that was invoked after one of a later term was completed is proof.
// What was sent outside of a group has no term, and no server name no proof.
func checkTerms(runs []Run, a axis) ([]TermSpan, []Overlap) {
	spans := map[termKey]*TermSpan{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Outcome == OK && o.Server != "" && o.Term() > 0 {
				extend(spans, o, a)
			}
		}
	}
	sorted := slices.SortedFunc(maps.Values(spans), func(x, y *TermSpan) int {
		return cmp.Or(cmp.Compare(x.Term, y.Term), cmp.Compare(a.of(x.First), a.of(y.First)))
	})
	list := make([]TermSpan, len(sorted))
	var overlaps []Overlap
	for i, s := range sorted {
		list[i] = *s
		for _, earlier := range list[:i] {
			if o, bad := overlap(earlier, *s, a); bad {
				overlaps = append(overlaps, o)
			}
		}
	}
	return list, overlaps
}

func extend(spans map[termKey]*TermSpan, o Operation, a axis) {
	key := termKey{o.Term(), o.Server}
	s := spans[key]
	if s == nil {
		s = &TermSpan{
			Term:           key.term,
			Server:         key.server,
			First:          o.Completed,
			Last:           o.Completed,
			lastInvoked:    o.Invoked,
			firstCompleted: o.Completed,
		}
		spans[key] = s
	}
	s.Acknowledged++
	if a.of(o.Completed) < a.of(s.First) {
		s.First, s.firstCompleted = o.Completed, o.Completed
	}
	if a.of(o.Completed) > a.of(s.Last) {
		s.Last = o.Completed
	}
	if a.of(o.Invoked) > a.of(s.lastInvoked) {
		s.lastInvoked = o.Invoked
	}
}

func overlap(earlier, later TermSpan, a axis) (Overlap, bool) {
	by := a.since(earlier.lastInvoked, later.firstCompleted)
	switch {
	case earlier.Term == later.Term:
		return Overlap{
			earlier,
			later,
			max(by, 0),
			fmt.Sprintf("%s and %s both acknowledged in term %d", earlier.Server, later.Server, earlier.Term),
		}, true
	case earlier.Server != later.Server && by > a.err:
		return Overlap{
			earlier,
			later,
			by,
			fmt.Sprintf("%s acknowledged in term %d what was sent %s after %s had acknowledged in term %d",
				earlier.Server, earlier.Term, by, later.Server, later.Term),
		}, true
	}
	return Overlap{}, false
}
