// SPDX-License-Identifier: Apache-2.0

package votes_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// What an annotation tells is read, what is not there is nothing, and what nobody can read is said.
func TestWhatAnnotationsTell(t *testing.T) {
	g := NewWithT(t)
	answer := votes.Answer{ID: "a", Outcome: votes.OutcomeDone, At: time.Unix(1_800_000_000, 0).UTC()}
	lines := []votes.Timeline{{Term: 3, To: "quisec-0"}}
	fork := votes.Fork{Term: 3, Server: "quisec-0", Databases: map[string]string{"App": "5"}}
	notes := votes.Notes{Answer: votes.EncodeNote(answer), Timelines: votes.EncodeNote(lines)}
	told := notes.Annotations()
	g.Expect(told).To(Equal(map[string]string{
		votes.AnnotationAnswer: notes.Answer, votes.AnnotationTimelines: notes.Timelines}), "an empty note is none")

	read, ok, err := votes.ParseAnswer(told)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeTrue())
	g.Expect(read).To(Equal(answer))
	g.Expect(votes.ParseTimelines(told)).To(Equal(lines))
	forked, ok, err := votes.ParseFork(votes.EncodeNote(fork))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeTrue())
	g.Expect(forked).To(Equal(fork))

	read, ok, err = votes.ParseAnswer(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeFalse())
	g.Expect(read).To(BeZero())
	g.Expect(votes.ParseTimelines(nil)).To(BeNil())
	forked, ok, err = votes.ParseFork("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeFalse())
	g.Expect(forked).To(BeZero())

	_, ok, err = votes.ParseAnswer(map[string]string{votes.AnnotationAnswer: "{"})
	g.Expect(err).To(MatchError(ContainSubstring(votes.AnnotationAnswer)))
	g.Expect(ok).To(BeFalse())
	_, err = votes.ParseTimelines(map[string]string{votes.AnnotationTimelines: "{"})
	g.Expect(err).To(MatchError(ContainSubstring(votes.AnnotationTimelines)))
	_, ok, err = votes.ParseFork("{")
	g.Expect(err).To(MatchError(ContainSubstring("geosql.dev/forced")))
	g.Expect(ok).To(BeFalse())
}

// Notes are changed by those that are there, and kept where there are none.
func TestNotesAreChangedByThoseThatAreThere(t *testing.T) {
	g := NewWithT(t)
	before := votes.Notes{Request: "r", Answer: "a"}
	g.Expect(before.With(votes.Notes{Answer: "b", Paused: "true"})).
		To(Equal(votes.Notes{Request: "r", Answer: "b", Paused: "true"}))
	g.Expect(before.With(votes.Notes{})).To(Equal(before))
	g.Expect(before).To(Equal(votes.Notes{Request: "r", Answer: "a"}))
}

// The newest configuration that votes tell counts, over the one that a group began with where any is told.
func TestTheNewestConfigurationThatIsTold(t *testing.T) {
	began := votes.Configuration{Voters: []string{"a", "b", "c"}}
	first := votes.Configuration{Term: 2, Number: 1, Voters: []string{"d"}}
	second := votes.Configuration{Term: 2, Number: 2, Voters: []string{"e"}}
	of := func(c votes.Configuration) votes.Record { return votes.Record{Voters: c.Encode()} }
	for name, c := range map[string]struct {
		began votes.Configuration
		told  []votes.Record
		want  votes.Configuration
	}{
		"nothing is told":                  {began, []votes.Record{{}, {}}, began},
		"one is told":                      {began, []votes.Record{{}, of(first)}, first},
		"two, the newer first":             {began, []votes.Record{of(second), of(first)}, second},
		"two, the newer last":              {began, []votes.Record{of(first), of(second), {}}, second},
		"an older one":                     {second, []votes.Record{of(first)}, second},
		"the first, where none was known":  {votes.Configuration{}, []votes.Record{of(began)}, began},
		"none, where none was known":       {votes.Configuration{}, []votes.Record{{}}, votes.Configuration{}},
		"none, where one of a stamp alone": {votes.Configuration{Term: 3, Number: 1}, []votes.Record{of(first)}, first},
	} {
		NewWithT(t).Expect(votes.Configured(c.began, c.told...)).To(Equal(c.want), name)
	}
}

// A vote tells of a primary when it is held, or when any of its timelines came to serve.
func TestWhatTellsOfAPrimary(t *testing.T) {
	g := NewWithT(t)
	served := votes.Timeline{Promoted: votes.MicroTime(time.Unix(1_800_000_000, 0))}
	lines := func(lines ...votes.Timeline) votes.Notes { return votes.Notes{Timelines: votes.EncodeNote(lines)} }
	for name, c := range map[string]struct {
		vote  votes.Record
		tells bool
	}{
		"held":                     {votes.Record{Term: 1, State: votes.StateHeld}, true},
		"claimed":                  {votes.Record{Term: 1, State: votes.StateClaimed}, false},
		"one came to serve":        {votes.Record{State: votes.StateClaimed, Notes: lines(votes.Timeline{}, served)}, true},
		"none came to serve":       {votes.Record{State: votes.StateReleased, Notes: lines(votes.Timeline{})}, false},
		"its timelines are unread": {votes.Record{State: votes.StateReleased, Notes: votes.Notes{Timelines: "{"}}, false},
	} {
		g.Expect(c.vote.TellsOfPrimary()).To(Equal(c.tells), name)
	}
	g.Expect(votes.Record{}.Unused()).To(BeTrue())
	g.Expect(votes.Record{Term: 1}.Unused()).To(BeFalse())
}

// An answer is final unless it says that somebody has begun, or nothing.
func TestWhichAnswersAreFinal(t *testing.T) {
	for outcome, final := range map[votes.AnswerOutcome]bool{"": false, votes.OutcomeAccepted: false,
		votes.OutcomeRefused: true, votes.OutcomeDone: true, votes.OutcomeFailed: true, votes.OutcomeUnknown: true} {
		NewWithT(t).Expect(votes.Answer{Outcome: outcome}.Final()).To(Equal(final), "%q", outcome)
	}
}

// Which requests are about automatic elections, about what one replica alone has, and about seeding copies anew.
func TestWhatKindsOfRequestsAreAbout(t *testing.T) {
	for kind, c := range map[votes.RequestKind]struct{ pauses, decides, reseeds bool }{
		votes.RequestSwitchover:      {},
		votes.RequestFailover:        {},
		votes.RequestPause:           {pauses: true},
		votes.RequestResume:          {pauses: true},
		votes.RequestRejoin:          {decides: true},
		votes.RequestReseed:          {decides: true, reseeds: true},
		votes.RequestReseedDatabases: {decides: true, reseeds: true},
	} {
		g := NewWithT(t)
		r := votes.Request{Kind: kind}
		g.Expect(r.Pauses()).To(Equal(c.pauses), "%s", kind)
		g.Expect(r.Decides()).To(Equal(c.decides), "%s", kind)
		g.Expect(r.Reseeds()).To(Equal(c.reseeds), "%s", kind)
	}
}

// A moment of a timeline is set once, in whole microseconds, and a time that is not known is none.
func TestAMomentIsStampedOnce(t *testing.T) {
	g := NewWithT(t)
	first, second := time.Unix(1_800_000_000, 1999), time.Unix(1_800_000_001, 0)
	var line votes.Timeline
	votes.Stamp(&line.Claimed, first)
	g.Expect(line.Claimed.Time).To(Equal(time.Unix(1_800_000_000, 1000).UTC()))
	votes.Stamp(&line.Claimed, second)
	g.Expect(line.Claimed.Time).To(Equal(time.Unix(1_800_000_000, 1000).UTC()))
	g.Expect(votes.OptionalTime(nil)).To(BeNil())
	g.Expect(votes.OptionalTime(&second).Time).To(Equal(second.UTC()))
}
