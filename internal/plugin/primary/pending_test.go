// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
)

// A request that stands on a vote holds up another one only while somebody may begin with it or has: not once a newer
// one was answered.
func TestWhichRequestIsPending(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	r := votes.Request{ID: "a", Kind: votes.RequestFailover, Issued: at}
	for name, c := range map[string]struct {
		answer  *votes.Answer
		after   time.Duration
		pending bool
	}{
		"asked for":                   {nil, time.Second, true},
		"expired":                     {nil, 3 * time.Minute, false},
		"begun with":                  {&votes.Answer{ID: "a", Outcome: votes.OutcomeAccepted}, 3 * time.Minute, true},
		"begun with, and never ended": {&votes.Answer{ID: "a", Outcome: votes.OutcomeAccepted}, 5 * time.Minute, false},
		"done":                        {&votes.Answer{ID: "a", Outcome: votes.OutcomeDone}, time.Second, false},
		"an older one is answered":    {&votes.Answer{ID: "b", Issued: at.Add(-1)}, time.Second, true},
		"a newer one is answered":     {&votes.Answer{ID: "b", Issued: at.Add(1)}, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := pending(requests.Vote{Request: &r, Answer: c.answer}, at.Add(c.after))
			NewWithT(t).Expect(got != nil).To(Equal(c.pending))
		})
	}
	NewWithT(t).Expect(pending(requests.Vote{}, at)).To(BeNil())
}
