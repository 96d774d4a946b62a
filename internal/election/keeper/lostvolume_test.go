// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// empty is a server whose volumes were made anew: its engine has no group, and its agent remembers nothing.
func (s *server) empty() {
	s.exists, s.log, s.config, s.memory = false, nil, configuration{}, keeper.Remembered{}
}

// The primary comes back with empty volumes, by whatever end. It has nothing to serve, so it leaves the term to those
// that have the group, and they lose nothing.
func TestAPrimaryThatHasLostItsVolumesLeavesTheTermToOthers(t *testing.T) {
	for name, end := range map[string]func(s *server){
		"its engine was seen to end": func(s *server) {
			s.run.dead = true
			s.run.keeper.EngineEnded(t.Context())
			s.start()
		},
		"engine and agent ended together": func(s *server) {
			s.run.dead = true
			s.start()
		},
		"another pod": func(s *server) {
			s.run.dead = true
			s.pod++
			s.start()
		},
		"its agent alone has ended since": func(s *server) {
			s.run.dead = true
			s.start()
			s.step()
			s.startAgent()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			lost := w.servers[0]
			lost.empty()
			end(lost)
			w.live(30)
			g.Expect(w.primary()).NotTo(BeNil(), "one that has the group serves")
			g.Expect(w.primary()).NotTo(Equal(lost))
			g.Expect(w.voters[0].record.State).To(Equal(votes.StateHeld))
			g.Expect(w.voters[0].record.Holder.Server).To(Equal(w.primary().name))
		})
	}
}

// A claim that an agent of an earlier release made without the group is not gone on with: it would be renewed for ever.
func TestAClaimWithoutTheGroupIsNotGoneOnWith(t *testing.T) {
	w, g := held(t)
	lost := w.servers[0]
	lost.empty()
	lost.run.dead = true
	lost.start()
	for _, v := range w.voters {
		v.record.Term, v.record.State, v.record.Holder = v.record.Term+1, votes.StateClaimed, lost.run.self
		v.version++
	}
	w.live(30)
	g.Expect(w.primary()).NotTo(BeNil())
	g.Expect(w.primary()).NotTo(Equal(lost))
}

// While nobody else can be elected, the empty server says what is missing and goes on as soon as the group is there
// again.
func TestAPrimaryThatHasLostItsVolumesSaysWhatItWaitsFor(t *testing.T) {
	w, g := held(t)
	lost := w.servers[0]
	for _, other := range w.servers[1:] {
		other.run.asleep = true
	}
	exists, log, config := lost.exists, lost.log, lost.config
	lost.exists = false
	lost.crash()
	w.live(20)
	g.Expect(w.primary()).To(BeNil())
	g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
	g.Expect(lost.step().Action).To(ContainSubstring("does not have the group"))

	lost.exists, lost.log, lost.config = exists, log, config
	for _, other := range w.servers[1:] {
		other.run.asleep = false
	}
	for end := w.now + time.Minute; w.now < end && w.primary() == nil; {
		w.live(1)
	}
	g.Expect(w.primary()).NotTo(BeNil())
}
