// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
)

// A voter to which the orders do not say the way is one that does not answer: nothing else is asked in its place.
func TestAVoterWithoutAWayIsNotAsked(t *testing.T) {
	g := NewWithT(t)
	v, err := newVoter(orders.Group{Name: "content", Namespace: "web"}, orders.Voter{Site: "quincy"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer v.close()
	_, _, err = v.Read(t.Context())
	g.Expect(err).To(MatchError(errNoWay))
}
