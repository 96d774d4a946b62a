// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
)

// synchronizedNow are the secondaries that have every commit.
func (e *environ) synchronizedNow() int {
	return synchronized(e.view(e.group.primary, e.servers[e.group.primary]), func(string) bool { return true })
}

// further gives the world two more servers, at sites that are there.
func further(t *testing.T) {
	homes["tuknew"], homes["quinew"] = "tukwila", "quincy"
	t.Cleanup(func() { delete(homes, "tuknew"); delete(homes, "quinew") })
}

func synchronous(servers ...v1alpha1.ServerName) (replicas []v1alpha1.Replica) {
	for _, s := range servers {
		replicas = append(replicas, v1alpha1.Replica{Server: s, AvailabilityMode: v1alpha1.SynchronousCommit})
	}
	return replicas
}

// short is how many synchronized secondaries are missing for commits to return, and for one more copy of them to be
// there.
func (e *environ) short() int { return max(0, max(e.group.required, 1)-e.synchronizedNow()) }

// Whatever is declared in one change, whoever is silent and whichever step is the last: no step takes from commits the
// synchronized secondaries that they need, nor the last one that has the data. A replica that falls silent by itself
// may do so.
func TestReplicasLeaveWhenOthersHaveTheData(t *testing.T) {
	further(t)
	rapid.Check(t, func(rt *rapid.T) {
		e := newEnviron(t, rapid.SampledFrom([]func() *v1alpha1.AvailabilityGroup{declared, three}).Draw(rt, "group")())
		e.settle(everything)
		e.d.Group.Spec.Replicas = rapid.SampledFrom([][]v1alpha1.Replica{
			synchronous("tukpub", "tuknew", "quinew"),
			synchronous("tukpub", "quisec", "quinew"),
			append(
				synchronous("tukpub", "quinew"),
				v1alpha1.Replica{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
			),
			append(
				synchronous("tukpub", "tuknew", "quinew"),
				v1alpha1.Replica{Server: "quisec", AvailabilityMode: v1alpha1.AsynchronousCommit},
			),
		}).Draw(rt, "replicas")
		for range rapid.IntRange(1, 25).Draw(rt, "rounds") {
			for _, s := range []v1alpha1.ServerName{"tuknew", "quinew"} {
				e.silent[s] = rapid.IntRange(0, 2).Draw(rt, "silent") == 0
			}
			most := rapid.IntRange(0, 4).Draw(rt, "steps")
			for i, s := range plan(e.d, e.observe()).Steps {
				before := e.short()
				if i == most || e.do(s) != nil {
					break
				}
				if e.short() > before {
					rt.Fatalf(
						"%d synchronized secondaries, and commits need %d, after %q",
						e.synchronizedNow(),
						e.group.required,
						e.done[max(0, len(e.done)-6):],
					)
				}
			}
			e.work()
			e.pass(time.Second)
		}
		clear(e.silent)
		e.settle(everything)
		if len(e.group.replicas) != len(e.d.Group.Spec.Replicas) {
			rt.Fatalf("the replicas are %v", e.group.replicas)
		}
	})
}

func TestWhatAReplicaThatIsToLeaveWaitsFor(t *testing.T) {
	further(t)
	g := NewWithT(t)
	e := newEnviron(t, three())
	e.settle(everything)
	e.d.Group.Spec.Replicas = synchronous("tukpub", "tuknew", "quinew")
	for range 30 {
		for _, server := range []v1alpha1.ServerName{"tuknew", "quinew"} {
			if _, has := e.servers[server].mirroring.Databases["Content"]; has {
				e.servers[server].lag["Content"] = 2
			}
		}
		for _, s := range plan(e.d, e.observe()).Steps {
			g.Expect(e.do(s)).To(Succeed())
		}
		e.work()
	}
	p := plan(e.d, e.observe())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSynchronizing))
	g.Expect(p.Outcome.Message).
		To(And(ContainSubstring("tuknew, quinew, which must have the data first"), ContainSubstring("quisec-0"),
			ContainSubstring("dubthird-0")))
	g.Expect(e.group.replicas).To(HaveLen(5))
	g.Expect(e.group.required).To(Equal(2), "five synchronous replicas need two")
	g.Expect(strings.Join(e.done, "\n")).NotTo(ContainSubstring("REMOVE REPLICA"))
	e.settle(everything)
	g.Expect(e.group.replicas).To(And(HaveLen(3), HaveKey("tuknew-0"), HaveKey("quinew-0")))
	g.Expect(e.group.required).To(Equal(1))
}

// A dead replica is given up only while commits find others that have the data.
func TestADeadReplicaStaysWhileTheOthersAreBehind(t *testing.T) {
	for _, policy := range []v1alpha1.OnDeadReplica{v1alpha1.DeadReplicaDemoteToAsync, v1alpha1.DeadReplicaRemove} {
		t.Run(string(policy), func(t *testing.T) {
			g := NewWithT(t)
			e := withPolicy(t, policy)
			e.servers["dubthird"].lag["Content"] = 1 << 20
			e.lose("quisec")
			g.Expect(e.later(time.Hour)).To(BeEmpty())
			e.servers["dubthird"].lag["Content"] = 0
			g.Expect(e.later(time.Second)).To(ContainSubstring("quisec-0"))
		})
	}
}
