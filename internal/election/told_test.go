// SPDX-License-Identifier: Apache-2.0

package election

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// What the notes of several votes say together: of requests and forks the newest counts, of answers and timelines what
// has ended, of a pause the newest word, and of the same time "true".
func TestWhatTheVotesTellTogether(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	request := func(id string, after time.Duration) Notes {
		return Notes{Request: encodeJSON(Request{ID: id, Kind: RequestFailover, Issued: at.Add(after)})}
	}
	answer := func(id string, o AnswerOutcome) Notes { return Notes{Answer: encodeJSON(Answer{ID: id, Outcome: o})} }
	line := func(o AnswerOutcome, message string) Notes {
		return Notes{Timelines: encodeJSON([]Timeline{{Term: 3, Outcome: o, Message: message}})}
	}
	fork := func(term int64, server string) Notes {
		return Notes{Forced: encodeJSON(Fork{Term: term, Server: server})}
	}
	requested := func(want string) func(*WithT, gathered) {
		return func(g *WithT, told gathered) { g.Expect(told.request).To(HaveValue(HaveField("ID", want))) }
	}
	answers := func(want map[string]AnswerOutcome) func(*WithT, gathered) {
		return func(g *WithT, told gathered) {
			got := map[string]AnswerOutcome{}
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
		notes []Notes
		check func(*WithT, gathered)
	}{
		"nothing": {[]Notes{{}, {}}, func(g *WithT, told gathered) {
			g.Expect(told).To(Equal(gathered{answers: map[string]Answer{}}))
		}},
		"a newer request":                 {[]Notes{request("a", 0), request("b", 1)}, requested("b")},
		"an older request":                {[]Notes{request("b", 1), request("c", 0)}, requested("b")},
		"one of the same time":            {[]Notes{request("a", 0), request("b", 0)}, requested("b")},
		"one of the same time, the other": {[]Notes{request("b", 0), request("a", 0)}, requested("b")},
		"one request twice":               {[]Notes{request("a", 0), request("a", 0)}, requested("a")},
		"an answer that is final after one": {
			[]Notes{answer("a", OutcomeAccepted), answer("a", OutcomeDone)}, answers(map[string]AnswerOutcome{"a": OutcomeDone}),
		},
		"an answer that is final before": {
			[]Notes{answer("a", OutcomeDone), answer("a", OutcomeAccepted)}, answers(map[string]AnswerOutcome{"a": OutcomeDone}),
		},
		"two that are final": {
			[]Notes{answer("a", OutcomeDone), answer("a", OutcomeRefused)}, answers(map[string]AnswerOutcome{"a": OutcomeDone}),
		},
		"answers to two": {
			[]Notes{answer("a", OutcomeDone), answer("b", OutcomeAccepted)},
			answers(map[string]AnswerOutcome{"a": OutcomeDone, "b": OutcomeAccepted}),
		},
		"a term that has ended after":  {[]Notes{line(OutcomeAccepted, "1"), line(OutcomeDone, "2")}, lined("2")},
		"a term that has ended before": {[]Notes{line(OutcomeDone, "1"), line(OutcomeAccepted, "2")}, lined("1")},
		"a term that is under way":     {[]Notes{line(OutcomeAccepted, "1"), line(OutcomeAccepted, "2")}, lined("1")},
		"a term that has ended twice":  {[]Notes{line(OutcomeDone, "1"), line(OutcomeFailed, "2")}, lined("1")},
		"a newer fork":                 {[]Notes{fork(2, "a-0"), fork(3, "b-0")}, forked("b-0")},
		"an older fork":                {[]Notes{fork(3, "b-0"), fork(2, "a-0")}, forked("b-0")},
		"a fork twice":                 {[]Notes{fork(3, "b-0"), fork(3, "c-0")}, forked("b-0")},
		"a fork at one vote":           {[]Notes{{}, fork(3, "b-0"), {}}, forked("b-0")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			told := gather(c.notes)
			g.Expect(told.errs).To(BeEmpty())
			c.check(g, told)
		})
	}
}

// What cannot be read is said, and hides nothing else.
func TestWhatCannotBeReadIsSaid(t *testing.T) {
	for name, n := range map[string]Notes{
		"request": {Request: "{"}, "answer": {Answer: "{"}, "timelines": {Timelines: "{"}, "forced": {Forced: "{"},
		"apart": {Apart: "{"}, "paused-at": {Paused: "true", PausedAt: "yesterday"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			other := Notes{Forced: encodeJSON(Fork{Term: 3}), Answer: encodeJSON(Answer{ID: "a", Outcome: OutcomeDone})}
			told := gather([]Notes{n, other})
			g.Expect(told.errs).To(ConsistOf(MatchError(ContainSubstring("geosql.dev/" + name))))
			g.Expect(told.fork).NotTo(BeNil())
			g.Expect(told.answers).To(HaveLen(1))
			g.Expect(told.paused).To(Equal(name == "paused-at"))

			b := newBench(t, alike(Record{Term: 3, State: StateHeld, Holder: rival, Notes: n})...)
			g.Expect(b.Step(t.Context()).Err).NotTo(HaveOccurred(), "the holder says so")
			h := holding(t, StateHeld)
			h.vote(Record{Term: 3, State: StateHeld, Holder: own, Notes: n})
			g.Expect(h.Step(t.Context()).Err).To(MatchError(ContainSubstring("geosql.dev/" + name)))
		})
	}
	h := holding(t, StateHeld)
	NewWithT(t).Expect(h.Step(t.Context()).Err).NotTo(HaveOccurred())
}

// A pause that was asked for is so once it is done, whatever a voter that could not be written says still.
func TestWhatAPauseComesTo(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	before, after := at.Add(-time.Second).Format(time.RFC3339Nano), at.Add(time.Second).Format(time.RFC3339Nano)
	for name, c := range map[string]struct {
		kind    RequestKind
		outcome AnswerOutcome
		notes   Notes
		paused  bool
	}{
		"a pause that is done":     {RequestPause, OutcomeDone, Notes{}, true},
		"a pause that is not":      {RequestPause, OutcomeAccepted, Notes{}, false},
		"a pause that was refused": {RequestPause, OutcomeRefused, Notes{}, false},
		"a resume that is done":    {RequestResume, OutcomeDone, Notes{Paused: "true", PausedAt: before}, false},
		"a resume that is not":     {RequestResume, OutcomeAccepted, Notes{Paused: "true", PausedAt: before}, true},
		"paused again since":       {RequestResume, OutcomeDone, Notes{Paused: "true", PausedAt: after}, true},
		"paused at the very time": {
			RequestResume, OutcomeDone, Notes{Paused: "true", PausedAt: at.Format(time.RFC3339Nano)}, false,
		},
		"a switchover that is done":  {RequestSwitchover, OutcomeDone, Notes{Paused: "true", PausedAt: before}, true},
		"a resume after one by hand": {RequestResume, OutcomeDone, Notes{Paused: "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := c.notes
			n.Request = encodeJSON(Request{ID: "p", Kind: c.kind, To: "own-0", Issued: at})
			n.Answer = encodeJSON(Answer{ID: "p", Outcome: c.outcome})
			NewWithT(t).Expect(gather([]Notes{n}).paused).To(Equal(c.paused))
		})
	}
}

// The newest word on a pause is written where any voter says something else, of the pause or of its time.
func TestWhereTheWordOnAPauseIsWritten(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	told := gathered{paused: true, pausedAt: at}
	word := Notes{Paused: "true", PausedAt: at.Format(time.RFC3339Nano)}
	for name, c := range map[string]struct {
		other Notes
		due   bool
	}{
		"all say so":      {word, false},
		"one is silent":   {Notes{}, true},
		"another word":    {Notes{Paused: "false", PausedAt: word.PausedAt}, true},
		"another time":    {Notes{Paused: "true", PausedAt: at.Add(-1).Format(time.RFC3339Nano)}, true},
		"one without one": {Notes{Paused: "true"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := told.pauseNotes([]Notes{word, c.other})
			if c.due {
				g.Expect(got).To(Equal(word))
			} else {
				g.Expect(got).To(BeZero())
			}
			g.Expect(gathered{paused: true}.pauseNotes([]Notes{c.other})).To(BeZero(), "no word has a time")
		})
	}
}

// Notes that are due are written until a majority has them: the answer, the history and the word on a pause.
func TestNotesAreDueUntilAMajorityHasThem(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, StateHeld)
	b.requests.pause, b.requests.pausedAt = "true", "2027-01-15T08:00:00Z"
	b.requests.answer = &Answer{ID: "a", Outcome: OutcomeDone}
	due := b.dueNotes()
	g.Expect(due).To(And(HaveField("Paused", "true"), HaveField("PausedAt", "2027-01-15T08:00:00Z"),
		HaveField("Answer", ContainSubstring(`"a"`))))
	b.chronicle.line, b.chronicle.due = &Timeline{Term: 3}, true
	g.Expect(b.dueNotes().Timelines).To(ContainSubstring(`"term":3`))
	b.noted(Notes{Timelines: "[]"})
	g.Expect(b.dueNotes()).To(Equal(due))
	b.noted(Notes{Answer: "{}"})
	g.Expect(b.requests.answer).To(BeNil())
	g.Expect(b.requests.pause).To(Equal("true"))
	b.requests.answer = &Answer{ID: "a", Outcome: OutcomeDone}
	b.noted(Notes{Paused: "true"})
	g.Expect(b.requests.answer).NotTo(BeNil())
	g.Expect(b.requests.pause).To(BeEmpty())
}

// A holder identity has four parts, of which the server's is never empty.
func TestWhoseIdentityIsRead(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ParseHolder("")).To(BeZero())
	g.Expect(ParseHolder("a-0/pod/run/n")).To(Equal(Holder{"a-0", "pod", "run", "n"}))
	g.Expect(ParseHolder("a-0///")).To(Equal(Holder{Server: "a-0"}))
	for _, text := range []string{"a-0", "a-0/pod/run", "a-0/pod/run/n/more", "/pod/run/n", "///"} {
		_, err := ParseHolder(text)
		g.Expect(err).To(MatchError(ContainSubstring("is not server/podUID/engine/nonce")), text)
	}
}

// Two votes are alike that are of one run, term and state, and the same swap where the nonce is, too.
func TestWhichVotesAreAlike(t *testing.T) {
	base := Record{Term: 3, State: StateHeld, Holder: Holder{"a-0", "pod", "run", "n"}}
	for name, c := range map[string]struct {
		change            func(*Record)
		alike, same, lead bool
	}{
		"itself":                  {func(*Record) {}, true, true, false},
		"other notes":             {func(r *Record) { r.Notes.Paused = "true" }, true, true, false},
		"another nonce":           {func(r *Record) { r.Holder.Nonce = "m" }, true, false, false},
		"another engine":          {func(r *Record) { r.Holder.Engine = "x" }, false, false, false},
		"another pod":             {func(r *Record) { r.Holder.PodUID = "x" }, false, false, false},
		"another server":          {func(r *Record) { r.Holder.Server = "x" }, false, false, false},
		"claimed":                 {func(r *Record) { r.State = StateClaimed }, false, false, false},
		"released":                {func(r *Record) { r.State = StateReleased }, false, false, true},
		"a lower term":            {func(r *Record) { r.Term = 2 }, false, false, true},
		"a higher term":           {func(r *Record) { r.Term = 4 }, false, false, false},
		"a higher term, released": {func(r *Record) { r.Term, r.State = 4, StateReleased }, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			other := base
			c.change(&other)
			g.Expect(base.alike(other)).To(Equal(c.alike))
			g.Expect(base.sameVote(other)).To(Equal(c.same))
			g.Expect(base.leads(other)).To(Equal(c.lead))
		})
	}
}

// Who votes is read from annotations that belong together.
func TestWhichConfigurationsAreRead(t *testing.T) {
	const sites = `"voters":["a","b","c"]`
	g := NewWithT(t)
	g.Expect(parseConfiguration("1", "")).To(BeZero())
	g.Expect(parseConfiguration("1", `{"term":0,"number":0,`+sites+`}`)).
		To(Equal(Configuration{Voters: []string{"a", "b", "c"}}))
	g.Expect(parseConfiguration("2.1", `{"term":2,"number":1,`+sites+`,"next":["d"]}`)).
		To(Equal(Configuration{Term: 2, Number: 1, Voters: []string{"a", "b", "c"}, Next: []string{"d"}}))
	long := `{"term":0,"number":0,` + sites + `}`
	long += strings.Repeat(" ", maxVotersBytes-len(long))
	_, err := parseConfiguration("1", long)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = parseConfiguration("1", long+" ")
	g.Expect(err).To(MatchError(ContainSubstring("is longer than")))
	for name, c := range map[string]struct{ generation, voters, says string }{
		"none, in a later generation": {"2.1", "", "annotation geosql.dev/voters"},
		"no JSON":                     {"1", "{", "annotation geosql.dev/voters"},
		"nobody votes":                {"2.1", `{"term":2,"number":1,"voters":[]}`, "is not a configuration"},
		"a term below 0":              {"-2.1", `{"term":-2,"number":1,` + sites + `}`, "is not a configuration"},
		"a number below 0":            {"2.-1", `{"term":2,"number":-1,` + sites + `}`, "is not a configuration"},
		"a number without a term":     {"1", `{"term":0,"number":1,` + sites + `}`, "is not a configuration"},
		"a term without a number":     {"2.0", `{"term":2,"number":0,` + sites + `}`, "is not a configuration"},
		"a first one that changes":    {"1", `{"term":0,"number":0,` + sites + `,"next":["d"]}`, "is not a configuration"},
		"another generation":          {"2.2", `{"term":2,"number":1,` + sites + `}`, "do not belong together"},
	} {
		_, err := parseConfiguration(c.generation, c.voters)
		g.Expect(err).To(MatchError(ContainSubstring(c.says)), name)
	}
}

// What is needed is said of both sets while the voters change.
func TestAConfigurationSaysWhatItNeeds(t *testing.T) {
	g := NewWithT(t)
	c := Configuration{Term: 2, Number: 1, Voters: []string{"a", "b", "c"}}
	g.Expect(c.String()).To(Equal("a majority of a, b, c"))
	c.Next = []string{"d", "e"}
	g.Expect(c.String()).To(Equal("a majority of a, b, c and one of d, e"))
}

// An observer who does not hear every site says who leads by those that answer.
func TestWhoLeadsForAnObserver(t *testing.T) {
	g := NewWithT(t)
	c := Configuration{Voters: []string{"a", "b", "c"}}
	his, mine := Record{Term: 3, State: StateHeld, Holder: rival}, Record{Term: 4, State: StateClaimed, Holder: own}
	leading, ok := c.Leading(map[string]Record{"b": his, "c": his})
	g.Expect(ok).To(BeTrue())
	g.Expect(leading).To(Equal(his))
	leading, ok = c.Leading(map[string]Record{"b": his, "c": mine})
	g.Expect(ok).To(BeTrue())
	g.Expect(leading).To(Equal(mine), "no majority agrees")
	leading, ok = c.Leading(map[string]Record{"b": mine, "c": his})
	g.Expect(ok).To(BeTrue())
	g.Expect(leading).To(Equal(mine))
	leading, ok = c.Leading(map[string]Record{"c": his})
	g.Expect(ok).To(BeFalse())
	g.Expect(leading).To(Equal(his))
	_, ok = c.Leading(map[string]Record{"x": his, "y": his})
	g.Expect(ok).To(BeFalse(), "they do not vote")
}

// A Lease is a vote when its term is a number that is not below 0.
func TestWhichLeasesAreVotes(t *testing.T) {
	g := NewWithT(t)
	lease := NewLease("web", "content", "own-0", Configuration{})
	g.Expect(DecodeLease(lease)).To(And(HaveField("Term", BeZero()), HaveField("InitialPrimary", "own-0"),
		HaveField("Notes", BeZero())))
	g.Expect(lease.Annotations).NotTo(HaveKey(AnnotationRequest), "an empty note is none")
	below := int32(-1)
	for _, term := range []*int32{nil, &below} {
		lease.Spec.LeaseTransitions = term
		_, err := DecodeLease(lease)
		g.Expect(err).To(MatchError(ContainSubstring("is not a term")))
	}
}

// Of timelines the newest are kept. Attempts that came to nothing make room first, and never for one before them.
func TestWhichTimelinesAreKept(t *testing.T) {
	line := func(term int64, o AnswerOutcome) Timeline { return Timeline{Term: term, Outcome: o} }
	terms := func(timelines []Timeline) (terms []int64) {
		for _, t := range timelines {
			terms = append(terms, t.Term)
		}
		return terms
	}
	done := []Timeline{line(1, OutcomeDone), line(2, OutcomeDone), line(3, OutcomeDone), line(4, OutcomeDone)}
	g := NewWithT(t)
	five := mergeTimelines(done, line(5, OutcomeFailed))
	g.Expect(terms(five)).To(Equal([]int64{1, 2, 3, 4, 5}))
	g.Expect(terms(mergeTimelines(five, line(6, OutcomeDone)))).To(Equal([]int64{1, 2, 3, 4, 6}))
	full := mergeTimelines(done, line(5, OutcomeDone))
	g.Expect(terms(mergeTimelines(full, line(6, OutcomeFailed)))).To(Equal([]int64{2, 3, 4, 5, 6}))
	g.Expect(mergeTimelines(done, line(3, OutcomeFailed))).
		To(Equal([]Timeline{done[0], done[1], line(3, OutcomeFailed), done[3]}))
}
