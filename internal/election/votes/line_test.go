// SPDX-License-Identifier: Apache-2.0

package votes_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/internal/election/votes"
)

// The election that a holder goes on from is that of the last term in which anybody came to serve, whatever was claimed
// in vain since.
func TestTheElectionOfARaisedTerm(t *testing.T) {
	g := NewWithT(t)
	at := metav1.NewMicroTime(time.Unix(1_800_000_000, 0))
	served := votes.Timeline{Term: 5, From: "tukpub-0", To: "quisec-0", Promoted: &at}
	lines := []votes.Timeline{served, {Term: 7, From: "quisec-0", To: "dubsec-0"}}
	holds := func(term int64, state votes.State, server string) votes.Record {
		return votes.Record{Term: term, State: state, Holder: votes.Holder{Server: server}}
	}
	g.Expect(votes.LineOf(lines, holds(8, votes.StateHeld, "quisec-0"))).To(HaveValue(Equal(served)))
	g.Expect(votes.LineOf(lines, holds(7, votes.StateClaimed, "dubsec-0"))).To(HaveValue(Equal(lines[1])))
	g.Expect(votes.LineOf(lines, holds(8, votes.StateClaimed, "quisec-0"))).
		To(BeNil(), "it has not come to serve again")
	g.Expect(votes.LineOf(lines, holds(8, votes.StateHeld, "tukpub-0"))).To(BeNil(), "the election of another")
	g.Expect(votes.LineOf(nil, holds(8, votes.StateHeld, "quisec-0"))).To(BeNil())
}
