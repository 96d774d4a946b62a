// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
)

// The groups of an instance share its endpoint: restarts of whatever group are paced, and refused where another group's
// primary is there.
func TestTheGroupsOfAnInstanceShareTheRestartsOfItsEndpoint(t *testing.T) {
	g := NewWithT(t)
	e := NewEngine(nil, mssql.Target{}, nil).(*sqlEngine)
	now := time.Now()
	begin := func(group string) (bool, error) { return e.beginRestart(group, now) }

	e.saw("blog", "1", ballot.RolePrimary)
	_, err := begin("content")
	g.Expect(err).To(MatchError(ContainSubstring("carries the log of other groups as well (blog)")))
	e.saw("blog", "1", ballot.RoleSecondary)
	e.saw("content", "2", ballot.RolePrimary)
	done, err := begin("content")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done).To(BeFalse(), "its own primary may be asked")

	_, err = begin("content")
	g.Expect(err).To(MatchError(ContainSubstring("being restarted already")))
	e.gone("content")
	e.endRestart(nil)
	now = now.Add(endpointPace - 1)
	done, err = begin("blog")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done).To(BeTrue(), "another group has had it restarted")
	now = now.Add(1)
	done, err = begin("blog")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done).To(BeFalse())
	e.endRestart(errors.New("no answer"))
	done, err = begin("blog")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done).To(BeFalse(), "one that has failed is not taken for a restart")
}

// An endpoint that cannot be started, or seen, is tried again with pauses that grow, and at once no more often.
func TestHowOftenAnEndpointIsStarted(t *testing.T) {
	g := NewWithT(t)
	var s endpointState
	now := time.Now()
	var pauses []time.Duration
	for range 20 {
		s.note(errors.New("the port is taken"), now)
		g.Expect(s.looked).To(BeFalse())
		pauses = append(pauses, s.again.Sub(now))
	}
	g.Expect(pauses[:4]).To(Equal([]time.Duration{endpointPace, 2 * endpointPace, 4 * endpointPace, 8 * endpointPace}))
	g.Expect(pauses[19]).To(Equal(lookAgain))
	s.note(nil, now)
	g.Expect(s.looked).To(BeTrue())
	s.note(errors.New("no answer"), now)
	g.Expect(s.again).To(Equal(now.Add(endpointPace)))
}

// The endpoint of a primary is not restarted for one replica while it feeds another that is synchronized.
func TestWhichReplicasARestartWouldCutOff(t *testing.T) {
	g := NewWithT(t)
	of := func(server, state string, local bool) ballot.Inspection {
		return ballot.Inspection{Databases: []ballot.DatabaseState{{Server: server, State: state, Local: local}}}
	}
	g.Expect(feedsOthers(of("third-0", "SYNCHRONIZED", false), "QUISEC-0")).To(BeTrue())
	g.Expect(feedsOthers(of("third-0", "SYNCHRONIZING", false), "QUISEC-0")).To(BeFalse())
	g.Expect(feedsOthers(of("quisec-0", "SYNCHRONIZED", false), "QUISEC-0")).To(BeFalse(), "it asks itself")
	g.Expect(feedsOthers(of("own-0", "SYNCHRONIZED", true), "QUISEC-0")).To(BeFalse())
}
