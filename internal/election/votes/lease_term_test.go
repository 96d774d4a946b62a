// SPDX-License-Identifier: Apache-2.0

package votes_test

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes/fake"

	"geosql.dev/operator/internal/election/votes"
)

// A term that a Lease cannot hold is not written as another one: nobody could read the vote any more.
func TestATermThatALeaseCannotHoldIsNotWritten(t *testing.T) {
	g := NewWithT(t)
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	lease.UID = "made"
	voter := votes.NewLeaseVoter("tukwila", fake.NewClientset(lease).CoordinationV1().Leases("web"), "content")
	before, version, err := voter.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	r := votes.Record{Term: math.MaxInt32 + 1, State: votes.StateClaimed, Holder: votes.Holder{Server: "tukpub-0"}}
	_, err = voter.Swap(t.Context(), version, r)
	g.Expect(err).To(MatchError(ContainSubstring("a Lease holds no term 2147483648")))
	after, _, err := voter.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(Equal(before))
	r.Term = math.MaxInt32
	_, err = voter.Swap(t.Context(), version, r)
	g.Expect(err).NotTo(HaveOccurred())
}
