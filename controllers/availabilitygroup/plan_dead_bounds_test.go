// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

// silentFor is a group with a third replica of a mode, which has been silent for an hour under an answer to dead
// replicas.
func silentFor(t *testing.T, mode v1alpha1.AvailabilityMode, policy v1alpha1.OnDeadReplica) *environ {
	t.Helper()
	group := three()
	group.Spec.OnDeadReplica, group.Spec.Replicas[2].AvailabilityMode = policy, mode
	e := newEnviron(t, group)
	if mode == v1alpha1.AsynchronousCommit {
		e.d.Group.Spec.RequiredSynchronizedSecondaries = ptr.To[int32](0)
	}
	e.settle(everything)
	e.lose("dubthird")
	return e
}

// A replica that no commit waits for is never demoted, and only one that holds data can be seeded again, so is taken
// out.
func TestWhoIsNoDeadReplica(t *testing.T) {
	for mode, policies := range map[v1alpha1.AvailabilityMode][]v1alpha1.OnDeadReplica{
		v1alpha1.ConfigurationOnly: {v1alpha1.DeadReplicaRemove, v1alpha1.DeadReplicaDemoteToAsync,
			v1alpha1.DeadReplicaWait},
		v1alpha1.AsynchronousCommit: {v1alpha1.DeadReplicaDemoteToAsync, v1alpha1.DeadReplicaWait},
	} {
		for _, policy := range policies {
			t.Run(string(mode)+"/"+string(policy), func(t *testing.T) {
				g := NewWithT(t)
				e := silentFor(t, mode, policy)
				g.Expect(e.later(time.Hour)).To(BeEmpty())
				g.Expect(plan(e.d, e.observe()).Outcome.Message).
					NotTo(Or(ContainSubstring("until it answers"), ContainSubstring("deliver nothing")))
			})
		}
	}
}

// A minute is enough to be made asynchronous, and less is not.
func TestAMinuteIsEnoughToBeDemoted(t *testing.T) {
	g := NewWithT(t)
	e := withPolicy(t, v1alpha1.DeadReplicaDemoteToAsync)
	e.lose("quisec")
	g.Expect(e.later(demoteAfter - time.Second)).To(BeEmpty())
	g.Expect(e.later(time.Second)).To(ContainSubstring("ASYNCHRONOUS_COMMIT"))
}

// One that is in no row of the primary's is not demoted: there is nothing to change.
func TestAReplicaThatIsNoneIsNotDemoted(t *testing.T) {
	e := withPolicy(t, v1alpha1.DeadReplicaDemoteToAsync)
	e.lose("quisec")
	e.now = e.now.Add(time.Hour)
	delete(e.group.replicas, "quisec-0")
	for _, s := range plan(e.d, e.observe()).Steps {
		NewWithT(t).Expect(s.Describe()).NotTo(ContainSubstring("MODIFY REPLICA"))
	}
}

// A group that was taken out while it was away is known by its ID, or has none any more; one of another ID is somebody
// else's.
func TestWhichGroupIsForgotten(t *testing.T) {
	for id, drops := range map[string]bool{"6a8b": true, "": true, "another": false} {
		e := withPolicy(t, v1alpha1.DeadReplicaRemove)
		delete(e.group.replicas, "quisec-0")
		o := e.observe()
		alter(o, "quisec", func(i *Instance) { i.Group.ID = id })
		text := ""
		for _, s := range plan(e.d, o).Steps {
			text += s.Describe()
		}
		if drops {
			NewWithT(t).Expect(text).To(ContainSubstring("DROP AVAILABILITY GROUP"), "ID %q", id)
		} else {
			NewWithT(t).Expect(text).NotTo(ContainSubstring("DROP AVAILABILITY GROUP"), "ID %q", id)
		}
	}
}

// The trace flag is nobody's business where the dead are not demoted.
func TestTheTraceFlagIsLeftAloneUnlessTheDeadAreDemoted(t *testing.T) {
	e := withPolicy(t, v1alpha1.DeadReplicaWait)
	o := e.observe()
	alter(o, "tukpub", func(i *Instance) { i.IgnoresAsynchronous = ptr.To(true) })
	NewWithT(t).Expect(plan(e.d, o).Steps).To(BeEmpty())
}
