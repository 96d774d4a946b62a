// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// Nobody knows of a replica without a role whether it serves: its term is not given up, which would spare the others
// the wait.
func TestATermIsNotReleasedForARoleThatIsNotKnown(t *testing.T) {
	w, g := held(t)
	w.servers[0].run.role = ""
	w.servers[0].step()
	g.Expect(w.voters[0].record).To(And(HaveField("Term", int64(1)), HaveField("State", votes.StateHeld)))
}
