// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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

	// lastInvoked and firstCompleted, by the clients' machines, bound when it was certainly acknowledging.
	lastInvoked, firstCompleted map[string]Instant
}

// Overlap is a pair of terms in both of which operations were certainly acknowledged at a time, or one term of two
// servers.
type Overlap struct {
	Earlier TermSpan `json:"earlier"`
	Later   TermSpan `json:"later"`
	// By is how long: an operation of the earlier term was sent at least that much after one of the later term had been
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
// What was sent outside of a group has no term, and no server name no proof. The texts say of which terms the clients'
// clocks do not tell whether they overlap.
func checkTerms(runs []Run, a axis) (list []TermSpan, overlaps []Overlap, untold []string) {
	spans := map[termKey]*TermSpan{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Outcome == OK && o.Server != "" && o.Term() > 0 {
				extend(spans, o, run.Boot, a)
			}
		}
	}
	sorted := slices.SortedFunc(maps.Values(spans), func(x, y *TermSpan) int {
		return cmp.Or(cmp.Compare(x.Term, y.Term), cmp.Compare(a.of(x.First), a.of(y.First)))
	})
	list = make([]TermSpan, len(sorted))
	for i, s := range sorted {
		list[i] = *s
		for _, earlier := range list[:i] {
			o, told := overlap(earlier, *s, a)
			if o != nil {
				overlaps = append(overlaps, *o)
			} else if !told {
				untold = append(untold, fmt.Sprintf("the clients' clocks do not tell whether %s in term %d and %s in term %d "+
					"acknowledged at a time", earlier.Server, earlier.Term, s.Server, s.Term))
			}
		}
	}
	return list, overlaps, untold
}

func extend(spans map[termKey]*TermSpan, o Operation, boot string, a axis) {
	key := termKey{o.Term(), o.Server}
	s := spans[key]
	if s == nil {
		s = &TermSpan{Term: key.term, Server: key.server, First: o.Completed, Last: o.Completed,
			lastInvoked: map[string]Instant{}, firstCompleted: map[string]Instant{}}
		spans[key] = s
	}
	s.Acknowledged++
	if a.of(o.Completed) < a.of(s.First) {
		s.First = o.Completed
	}
	if a.of(o.Completed) > a.of(s.Last) {
		s.Last = o.Completed
	}
	if last, known := s.lastInvoked[boot]; !known || a.of(o.Invoked) > a.of(last) {
		s.lastInvoked[boot] = o.Invoked
	}
	if first, known := s.firstCompleted[boot]; !known || a.of(o.Completed) < a.of(first) {
		s.firstCompleted[boot] = o.Completed
	}
}

// overlap is proof that two terms overlap; nil when there is none. False: there may be an overlap all the same.
func overlap(earlier, later TermSpan, a axis) (*Overlap, bool) {
	by, told := time.Duration(math.MinInt64), true
	for one, invoked := range earlier.lastInvoked {
		for other, completed := range later.firstCompleted {
			apart, known := a.apart(one, other)
			between := a.since(invoked, completed)
			told = told && known && between <= -apart
			if known {
				by = max(by, between-apart)
			}
		}
	}
	switch {
	case earlier.Term == later.Term:
		return &Overlap{earlier, later, max(by, 0),
			fmt.Sprintf("%s and %s both acknowledged in term %d", earlier.Server, later.Server, earlier.Term)}, true
	case earlier.Server == later.Server:
		return nil, true
	case by > 0:
		return &Overlap{earlier, later, by,
			fmt.Sprintf("%s acknowledged in term %d what was sent %s after %s had acknowledged in term %d",
				earlier.Server, earlier.Term, by, later.Server, later.Term)}, true
	}
	return nil, told
}
