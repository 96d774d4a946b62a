// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	own   = Holder{Server: "own-0", PodUID: "pod", Engine: "run"}
	rival = Holder{Server: "rival-0", PodUID: "pod", Engine: "run"}
)

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
			g.Expect(base.Alike(other)).To(Equal(c.alike))
			g.Expect(base.SameVote(other)).To(Equal(c.same))
			g.Expect(base.Leads(other)).To(Equal(c.lead))
		})
	}
}

// A vote is in the way of a configuration that needs it when the holder cannot replace it, or when it tells of voters
// that are newer than those of the holder's and of a term that this one's does not exceed.
func TestWhichVotesAreInTheWay(t *testing.T) {
	present := Configuration{Term: 2, Number: 5, Voters: []string{"a"}}
	holder := Record{Term: 3, State: StateHeld, Holder: own}
	told := func(term, number int64) string {
		return Configuration{Term: term, Number: number, Voters: []string{"x"}}.Encode()
	}
	for name, c := range map[string]struct {
		vote Record
		way  bool
	}{
		"never used":                       {Record{State: StateReleased}, false},
		"a lower term":                     {Record{Term: 2, State: StateReleased, Holder: rival}, false},
		"its own term, held by itself":     {Record{Term: 3, State: StateHeld, Holder: own}, false},
		"its own term, held by another":    {Record{Term: 3, State: StateHeld, Holder: rival}, true},
		"its own term, claimed by another": {Record{Term: 3, State: StateClaimed, Holder: rival}, false},
		"its own term, released":           {Record{Term: 3, State: StateReleased, Holder: own}, true},
		"a higher term of its own":         {Record{Term: 4, State: StateHeld, Holder: own}, true},
		"voters of the holder's term":      {Record{Term: 3, State: StateHeld, Holder: own, Voters: told(3, 1)}, true},
		"voters of a higher term":          {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(4, 1)}, true},
		"voters of a term between":         {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(2, 6)}, false},
		"older voters":                     {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(2, 4)}, false},
		"other voters of the same stamp":   {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(2, 5)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.vote.InTheWay(holder, present)
			NewWithT(t).Expect(err != nil).To(Equal(c.way), fmt.Sprint(err))
		})
	}
	// Older voters of a term that is not below the holder's are known already.
	newest := Configuration{Term: 3, Number: 5, Voters: []string{"a"}}
	older := Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(3, 4)}
	NewWithT(t).Expect(older.InTheWay(holder, newest)).To(Succeed())
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
