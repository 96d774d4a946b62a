// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Evidence takes hundreds of megabytes: of several drills that are over one is judged at a time.
func TestOneRunIsJudgedAtATime(t *testing.T) {
	g := NewWithT(t)
	r := &Reconciler{}
	r.judging.Lock()
	_, err := r.gather(t.Context(), &Observed{})
	g.Expect(err).To(MatchError(errJudging))
}
