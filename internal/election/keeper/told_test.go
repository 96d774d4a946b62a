// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// What the notes of several votes say together: of requests and forks the newest counts, of answers and timelines what
// has ended, of a pause the newest word, and of the same time "true".
func TestWhatTheVotesTellTogether(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	request := func(id string, after time.Duration) votes.Notes {
		return votes.Notes{
			Request: votes.EncodeNote(votes.Request{ID: id, Kind: votes.RequestFailover, Issued: at.Add(after)}),
		}
	}
	answer := func(id string, o votes.AnswerOutcome) votes.Notes {
		return votes.Notes{Answer: votes.EncodeNote(votes.Answer{ID: id, Outcome: o})}
	}
	line := func(o votes.AnswerOutcome, message string) votes.Notes {
		return votes.Notes{Timelines: votes.EncodeNote([]votes.Timeline{{Term: 3, Outcome: o, Message: message}})}
	}
	fork := func(term int64, server string) votes.Notes {
		return votes.Notes{Forced: votes.EncodeNote(votes.Fork{Term: term, Server: server})}
	}
	requested := func(want string) func(*WithT, gathered) {
		return func(g *WithT, told gathered) { g.Expect(told.request).To(HaveValue(HaveField("ID", want))) }
	}
	answers := func(want map[string]votes.AnswerOutcome) func(*WithT, gathered) {
		return func(g *WithT, told gathered) {
			got := map[string]votes.AnswerOutcome{}
			for id, a := range told.answers {
				got[id] = a.Outcome
			}
			g.Expect(got).To(Equal(want))
		}
	}
	lined := func(want string) func(*WithT, gathered) {
		return func(g *WithT, told gathered) {
			g.Expect(told.timelines).To(ConsistOf(HaveField("Message", want)))
		}
	}
	forked := func(want string) func(*WithT, gathered) {
		return func(g *WithT, told gathered) { g.Expect(told.fork).To(HaveValue(HaveField("Server", want))) }
	}
	for name, c := range map[string]struct {
		notes []votes.Notes
		check func(*WithT, gathered)
	}{
		"nothing": {[]votes.Notes{{}, {}}, func(g *WithT, told gathered) {
			g.Expect(told).To(Equal(gathered{answers: map[string]votes.Answer{}}))
		}},
		"a newer request":                 {[]votes.Notes{request("a", 0), request("b", 1)}, requested("b")},
		"an older request":                {[]votes.Notes{request("b", 1), request("c", 0)}, requested("b")},
		"one of the same time":            {[]votes.Notes{request("a", 0), request("b", 0)}, requested("b")},
		"one of the same time, the other": {[]votes.Notes{request("b", 0), request("a", 0)}, requested("b")},
		"one request twice":               {[]votes.Notes{request("a", 0), request("a", 0)}, requested("a")},
		"an answer that is final after one": {
			[]votes.Notes{answer("a", votes.OutcomeAccepted), answer("a", votes.OutcomeDone)},
			answers(map[string]votes.AnswerOutcome{"a": votes.OutcomeDone}),
		},
		"an answer that is final before": {
			[]votes.Notes{answer("a", votes.OutcomeDone), answer("a", votes.OutcomeAccepted)},
			answers(map[string]votes.AnswerOutcome{"a": votes.OutcomeDone}),
		},
		"two that are final": {
			[]votes.Notes{answer("a", votes.OutcomeDone), answer("a", votes.OutcomeRefused)},
			answers(map[string]votes.AnswerOutcome{"a": votes.OutcomeDone}),
		},
		"answers to two": {
			[]votes.Notes{answer("a", votes.OutcomeDone), answer("b", votes.OutcomeAccepted)},
			answers(map[string]votes.AnswerOutcome{"a": votes.OutcomeDone, "b": votes.OutcomeAccepted}),
		},
		"a term that has ended after": {[]votes.Notes{line(votes.OutcomeAccepted, "1"), line(votes.OutcomeDone, "2")},
			lined("2")},
		"a term that has ended before": {[]votes.Notes{line(votes.OutcomeDone, "1"), line(votes.OutcomeAccepted, "2")},
			lined("1")},
		"a term that is under way": {[]votes.Notes{line(votes.OutcomeAccepted, "1"), line(votes.OutcomeAccepted, "2")},
			lined("1")},
		"a term that has ended twice": {[]votes.Notes{line(votes.OutcomeDone, "1"), line(votes.OutcomeFailed, "2")},
			lined("1")},
		"a newer fork":       {[]votes.Notes{fork(2, "a-0"), fork(3, "b-0")}, forked("b-0")},
		"an older fork":      {[]votes.Notes{fork(3, "b-0"), fork(2, "a-0")}, forked("b-0")},
		"a fork twice":       {[]votes.Notes{fork(3, "b-0"), fork(3, "c-0")}, forked("b-0")},
		"a fork at one vote": {[]votes.Notes{{}, fork(3, "b-0"), {}}, forked("b-0")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			told := gather(c.notes)
			g.Expect(told.errs).To(BeEmpty())
			c.check(g, told)
		})
	}
}

// The newest request is open until it has a final answer, or a newer one has any.
func TestWhichRequestIsOpen(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	answer := func(id string, after time.Duration, o votes.AnswerOutcome) *votes.Answer {
		return &votes.Answer{ID: id, Outcome: o, Issued: at.Add(after)}
	}
	accepted, done := votes.OutcomeAccepted, votes.OutcomeDone
	for name, c := range map[string]struct {
		first, second *votes.Answer
		open          bool
	}{
		"no answer":                          {nil, nil, true},
		"accepted":                           {answer("a", 0, accepted), nil, true},
		"accepted, of another copy of it":    {answer("a", time.Nanosecond, accepted), nil, true},
		"done":                               {answer("a", 0, done), nil, false},
		"an older one is done":               {answer("x", -1, done), nil, true},
		"a newer one is done":                {answer("x", 1, done), nil, false},
		"a newer one is accepted":            {answer("x", 1, accepted), nil, false},
		"accepted, and a newer one is done":  {answer("a", 0, accepted), answer("x", 1, done), false},
		"accepted, and an older one is done": {answer("a", 0, accepted), answer("x", -1, done), true},
		"by an earlier release":              {&votes.Answer{ID: "a", Outcome: done}, nil, false},
		"another's, by an earlier release":   {&votes.Answer{ID: "x", Outcome: done}, nil, true},
		"accepted by an earlier release":     {&votes.Answer{ID: "a", Outcome: accepted}, answer("x", -1, done), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := votes.EncodeNote(votes.Request{ID: "a", Kind: votes.RequestFailover, Issued: at})
			notes := []votes.Notes{{Request: request}, {}, {}}
			for i, a := range []*votes.Answer{c.first, c.second} {
				if a != nil {
					notes[i+1].Answer = votes.EncodeNote(a)
				}
			}
			g.Expect(gather(notes).open() != nil).To(Equal(c.open))
		})
	}
	g := NewWithT(t)
	told := gather([]votes.Notes{
		{Request: votes.EncodeNote(votes.Request{ID: "a", Kind: votes.RequestFailover, Issued: at})},
		{Answer: votes.EncodeNote(votes.Answer{ID: "a", Outcome: done})}, {Answer: votes.EncodeNote(answer("x", -1, done))},
	})
	g.Expect(told.last().ID).To(Equal("a"), "new voters are told that of the newest request, whoever wrote it")
}

// What cannot be read is said, and hides nothing else.
func TestWhatCannotBeReadIsSaid(t *testing.T) {
	for name, n := range map[string]votes.Notes{
		"request": {Request: "{"}, "answer": {Answer: "{"}, "timelines": {Timelines: "{"}, "forced": {Forced: "{"},
		"apart": {Apart: "{"}, "paused-at": {Paused: "true", PausedAt: "yesterday"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			other := votes.Notes{
				Forced: votes.EncodeNote(votes.Fork{Term: 3}),
				Answer: votes.EncodeNote(votes.Answer{ID: "a", Outcome: votes.OutcomeDone}),
			}
			told := gather([]votes.Notes{n, other})
			g.Expect(told.errs).To(ConsistOf(MatchError(ContainSubstring("geosql.dev/" + name))))
			g.Expect(told.fork).NotTo(BeNil())
			g.Expect(told.answers).To(HaveLen(1))
			g.Expect(told.paused).To(Equal(name == "paused-at"))

			b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival, Notes: n})...)
			g.Expect(b.Step(t.Context()).Err).NotTo(HaveOccurred(), "the holder says so")
			h := holding(t, votes.StateHeld)
			h.vote(votes.Record{Term: 3, State: votes.StateHeld, Holder: own, Notes: n})
			g.Expect(h.Step(t.Context()).Err).To(MatchError(ContainSubstring("geosql.dev/" + name)))
		})
	}
	h := holding(t, votes.StateHeld)
	NewWithT(t).Expect(h.Step(t.Context()).Err).NotTo(HaveOccurred())
}

// A pause that was asked for is so once it is done, whatever a voter that could not be written says still.
func TestWhatAPauseComesTo(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	before, after := at.Add(-time.Second).Format(time.RFC3339Nano), at.Add(time.Second).Format(time.RFC3339Nano)
	for name, c := range map[string]struct {
		kind    votes.RequestKind
		outcome votes.AnswerOutcome
		notes   votes.Notes
		paused  bool
	}{
		"a pause that is done":     {votes.RequestPause, votes.OutcomeDone, votes.Notes{}, true},
		"a pause that is not":      {votes.RequestPause, votes.OutcomeAccepted, votes.Notes{}, false},
		"a pause that was refused": {votes.RequestPause, votes.OutcomeRefused, votes.Notes{}, false},
		"a resume that is done": {votes.RequestResume, votes.OutcomeDone, votes.Notes{Paused: "true", PausedAt: before},
			false},
		"a resume that is not": {votes.RequestResume, votes.OutcomeAccepted,
			votes.Notes{Paused: "true", PausedAt: before}, true},
		"paused again since": {votes.RequestResume, votes.OutcomeDone, votes.Notes{Paused: "true", PausedAt: after},
			true},
		"paused at the very time": {
			votes.RequestResume, votes.OutcomeDone, votes.Notes{Paused: "true", PausedAt: at.Format(time.RFC3339Nano)}, false,
		},
		"a switchover that is done": {votes.RequestSwitchover, votes.OutcomeDone,
			votes.Notes{Paused: "true", PausedAt: before}, true},
		"a resume after one by hand": {votes.RequestResume, votes.OutcomeDone, votes.Notes{Paused: "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := c.notes
			n.Request = votes.EncodeNote(votes.Request{ID: "p", Kind: c.kind, To: "own-0", Issued: at})
			n.Answer = votes.EncodeNote(votes.Answer{ID: "p", Outcome: c.outcome})
			NewWithT(t).Expect(gather([]votes.Notes{n}).paused).To(Equal(c.paused))
		})
	}
}

// The newest word on a pause is written where any voter says something else, of the pause or of its time.
func TestWhereTheWordOnAPauseIsWritten(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	told := gathered{paused: true, pausedAt: at}
	word := votes.Notes{Paused: "true", PausedAt: at.Format(time.RFC3339Nano)}
	for name, c := range map[string]struct {
		other votes.Notes
		due   bool
	}{
		"all say so":      {word, false},
		"one is silent":   {votes.Notes{}, true},
		"another word":    {votes.Notes{Paused: "false", PausedAt: word.PausedAt}, true},
		"another time":    {votes.Notes{Paused: "true", PausedAt: at.Add(-1).Format(time.RFC3339Nano)}, true},
		"one without one": {votes.Notes{Paused: "true"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := told.pauseNotes([]votes.Notes{word, c.other})
			if c.due {
				g.Expect(got).To(Equal(word))
			} else {
				g.Expect(got).To(BeZero())
			}
			g.Expect(gathered{paused: true}.pauseNotes([]votes.Notes{c.other})).To(BeZero(), "no word has a time")
		})
	}
}

// Notes that are due are written until a majority has them: the answer, the history and the word on a pause.
func TestNotesAreDueUntilAMajorityHasThem(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, votes.StateHeld)
	b.requests.pause, b.requests.pausedAt = "true", "2027-01-15T08:00:00Z"
	b.requests.answer = &votes.Answer{ID: "a", Outcome: votes.OutcomeDone}
	due := b.dueNotes()
	g.Expect(due).To(And(HaveField("Paused", "true"), HaveField("PausedAt", "2027-01-15T08:00:00Z"),
		HaveField("Answer", ContainSubstring(`"a"`))))
	b.chronicle.line, b.chronicle.due = &votes.Timeline{Term: 3}, true
	g.Expect(b.dueNotes().Timelines).To(ContainSubstring(`"term":3`))
	b.noted(votes.Notes{Timelines: "[]"})
	g.Expect(b.dueNotes()).To(Equal(due))
	b.noted(votes.Notes{Answer: "{}"})
	g.Expect(b.requests.answer).To(BeNil())
	g.Expect(b.requests.pause).To(Equal("true"))
	b.requests.answer = &votes.Answer{ID: "a", Outcome: votes.OutcomeDone}
	b.noted(votes.Notes{Paused: "true"})
	g.Expect(b.requests.answer).NotTo(BeNil())
	g.Expect(b.requests.pause).To(BeEmpty())
}
