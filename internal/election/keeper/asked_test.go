// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// A Failover that this server has begun with is gone on with until something has come of it, or of a term since.
func TestWhichFailoverIsUnfinished(t *testing.T) {
	at := votes.MicroTime(time.Unix(1_800_000_000, 0))
	r := &votes.Request{ID: "f", Kind: votes.RequestFailover}
	claimed := votes.Record{Term: 4, State: votes.StateClaimed, Holder: own}
	for name, c := range map[string]struct {
		begunIn int64
		leading votes.Record
		lines   []votes.Timeline
		answer  *votes.Answer
		want    bool
	}{
		"nothing has come of it":       {3, claimed, nil, nil, true},
		"nobody knows in which term":   {0, claimed, nil, nil, false},
		"the term that led then, held": {3, votes.Record{Term: 3, State: votes.StateHeld}, nil, nil, true},
		"a term since is held":         {3, votes.Record{Term: 4, State: votes.StateHeld}, nil, nil, false},
		"its attempt is under way": {
			3, claimed, []votes.Timeline{{Term: 4, RequestID: "f", Outcome: votes.OutcomeAccepted}}, nil, true,
		},
		"its attempt has failed": {
			3, claimed, []votes.Timeline{{Term: 4, RequestID: "f", Outcome: votes.OutcomeFailed}}, nil, false,
		},
		"another attempt has failed": {
			3, claimed, []votes.Timeline{{Term: 4, RequestID: "x", Outcome: votes.OutcomeFailed}}, nil, true,
		},
		"another has been promoted": {
			3, claimed, []votes.Timeline{{Term: 4, RequestID: "x", Outcome: votes.OutcomeAccepted, Promoted: at}}, nil, false,
		},
		"one was promoted before": {
			3, claimed, []votes.Timeline{{Term: 3, RequestID: "x", Outcome: votes.OutcomeDone, Promoted: at}}, nil, true,
		},
		"its final answer is to be written": {3, claimed, nil, &votes.Answer{ID: "f", Outcome: votes.OutcomeFailed}, false},
		"another's is":                      {3, claimed, nil, &votes.Answer{ID: "x", Outcome: votes.OutcomeFailed}, true},
		"its answer is not final":           {3, claimed, nil, &votes.Answer{ID: "f", Outcome: votes.OutcomeAccepted}, true},
	} {
		t.Run(name, func(t *testing.T) {
			q := &requests{answer: c.answer}
			NewWithT(t).Expect(q.unfinished(r, gathered{timelines: c.lines}, c.begunIn, c.leading)).To(Equal(c.want))
		})
	}
}

// Which Failover a server may carry out: one to it, or to any, that nobody else has begun with, nothing speaks against,
// and that it has not finished.
func TestWhichFailoverIsCarriedOut(t *testing.T) {
	leading := votes.Record{Term: 3, State: votes.StateHeld, Holder: rival}
	for name, c := range map[string]struct {
		change     func(*votes.Request)
		kind       votes.RequestKind
		accepted   string
		remembered Remembered
		later      time.Duration
		want       bool
	}{
		"to this server":                    {want: true},
		"to any":                            {change: func(r *votes.Request) { r.To = "" }, want: true},
		"to another":                        {change: func(r *votes.Request) { r.To = "third-0" }},
		"a switchover":                      {kind: votes.RequestSwitchover},
		"another has begun":                 {accepted: "third-0"},
		"somebody of this name has":         {accepted: "own-0"},
		"it has begun":                      {accepted: "own-0", remembered: Remembered{Begun: "d", BegunIn: 3}, want: true},
		"it has begun, and nobody knows":    {remembered: Remembered{Begun: "d", BegunIn: 3}, want: true},
		"it has begun, another has said so": {accepted: "third-0", remembered: Remembered{Begun: "d", BegunIn: 3}},
		"it has begun in a former term":     {accepted: "own-0", remembered: Remembered{Begun: "d", BegunIn: 2}},
		"expired":                           {later: votes.DefaultRequestLife + 1},
		"about to expire":                   {later: votes.DefaultRequestLife, want: true},
		"of another term":                   {change: func(r *votes.Request) { r.ExpectedTerm = 2 }},
		"of this term":                      {change: func(r *votes.Request) { r.ExpectedTerm = 3 }, want: true},
		"of another holder":                 {change: func(r *votes.Request) { r.FencedHolder = own.String() }},
		"of this holder":                    {change: func(r *votes.Request) { r.FencedHolder = rival.String() }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(leading)...)
			b.saved = c.remembered
			r := votes.Request{ID: "d", Kind: votes.RequestFailover, To: "own-0", Issued: b.clock.Wall()}
			if c.change != nil {
				c.change(&r)
			}
			if c.kind != "" {
				r.Kind = c.kind
			}
			told := gathered{request: &r, answers: map[string]votes.Answer{}}
			if c.accepted != "" {
				told.answers["d"] = votes.Answer{ID: "d", Outcome: votes.OutcomeAccepted, By: c.accepted}
			}
			b.requests.age(b.Keeper, &r)
			b.clock.At += c.later
			NewWithT(t).Expect(b.requests.failover(b.Keeper, told, leading) != nil).To(Equal(c.want))
		})
	}
}

// A request lapses by the time of day, and by how long it has been seen where a clock is ahead.
func TestWhenARequestLapses(t *testing.T) {
	life := votes.DefaultRequestLife
	for name, c := range map[string]struct {
		// ahead is by how much the clock was that the request was issued by, seen for how long it has been seen.
		ahead, seen, since time.Duration
		want               bool
	}{
		"at its end":                {0, life, 0, false},
		"after its end":             {0, life + 1, 0, true},
		"of a clock that is ahead":  {time.Hour, life, 0, false},
		"of one, and seen for long": {time.Hour, life + 1, 0, true},
		"of a clock that is behind": {-life - 1, 0, 0, true},
		"not for so long":           {0, life + time.Minute, time.Minute, false},
		"for so long":               {0, life + time.Minute + 1, time.Minute, true},
		"ahead, not for so long":    {time.Hour, life + time.Minute, time.Minute, false},
		"ahead, for so long":        {time.Hour, life + time.Minute + 1, time.Minute, true},
		"behind, not for so long":   {-life - 1, 0, time.Minute, false},
		"behind, for so long":       {-life - time.Minute - 1, 0, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
			r := &votes.Request{ID: "d", Issued: b.clock.Wall().Add(c.ahead)}
			b.requests.age(b.Keeper, r)
			b.clock.At += c.seen
			NewWithT(t).Expect(b.requests.lapsed(b.Keeper, r, c.since)).To(Equal(c.want))
			g := NewWithT(t)
			says := b.requests.expired(b.Keeper, r, c.seen)
			if -c.ahead > life {
				g.Expect(says).To(ContainSubstring("the clock is right"))
			} else {
				g.Expect(says).To(Equal("nobody began with it in time"))
			}
		})
	}
}

// A request of nobody's is answered by a server that stands by and has seen it for a while, after those whose clocks
// may
// be behind.
func TestWhichRequestIsNobodys(t *testing.T) {
	grace := 10*time.Second + 3*time.Second
	for name, c := range map[string]struct {
		age, seen time.Duration
		term      int64
		want      bool
	}{
		"seen for long, lapsed for long": {votes.DefaultRequestLife + grace + 1, 3*time.Second + 1, 0, true},
		"seen just now":                  {votes.DefaultRequestLife + grace + 1, 3 * time.Second, 0, false},
		"lapsed just now":                {votes.DefaultRequestLife + grace - 4*time.Second, 3*time.Second + 1, 0, false},
		"this server holds a term":       {votes.DefaultRequestLife + grace + 1, 3*time.Second + 1, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
			b.term = c.term
			r := &votes.Request{ID: "d", Issued: b.clock.Wall().Add(-c.age)}
			b.requests.age(b.Keeper, r)
			b.clock.At += c.seen
			NewWithT(t).Expect(b.orphaned(r, c.seen)).To(Equal(c.want))
		})
	}
}
