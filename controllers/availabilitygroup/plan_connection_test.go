// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// restarts are the steps of e that restart endpoints, with when they were done.
func restarts(e *environ, during time.Duration) (done []string, when []time.Duration) {
	e.t.Helper()
	from := e.up
	for e.up-from < during {
		seen := len(e.done)
		e.round()
		for _, step := range e.done[seen:] {
			if strings.HasPrefix(step, "restart endpoint") {
				done, when = append(done, step), append(when, (e.up-from).Round(time.Second))
			}
		}
	}
	return done, when
}

// An engine whose first connection failed is known not to have tried again: the replica's endpoint is restarted, less
// and less often, and the primary's only where that cuts nobody off.
func TestAReplicaThatIsNotConnectedHasItsEndpointRestarted(t *testing.T) {
	t.Run("the replica's is enough", func(t *testing.T) {
		g := NewWithT(t)
		e := newEnviron(t, declared())
		e.settle(everything)
		e.servers["quisec"].deaf = 1
		done, when := restarts(e, 10*time.Minute)
		g.Expect(done).To(HaveExactElements(ContainSubstring("of quisec-0")))
		g.Expect(when[0]).To(BeNumerically("~", connectPatience, 5*time.Second))
		g.Expect(e.servers["quisec"].mirroring.Endpoint.State).To(Equal("STARTED"))
	})
	t.Run("each attempt after twice the time, and never the primary's beside a connected replica", func(t *testing.T) {
		g := NewWithT(t)
		e := newEnviron(t, declared())
		e.settle(everything)
		e.servers["quisec"].deaf = 1 << 20
		done, when := restarts(e, 40*time.Minute)
		g.Expect(len(done)).To(BeNumerically("~", 5, 1))
		for i, step := range done {
			g.Expect(step).To(ContainSubstring("of quisec-0"))
			if i > 1 {
				g.Expect(when[i] - when[i-1]).To(BeNumerically("~", 2*(when[i-1]-when[i-2]), 10*time.Second))
			}
		}
	})
	t.Run("the third is the primary's where it has no connection at all", func(t *testing.T) {
		g := NewWithT(t)
		group := declared()
		group.Spec.Replicas = group.Spec.Replicas[:2]
		e := newEnviron(t, group)
		e.settle(everything)
		e.servers["quisec"].deaf, e.servers["quisec"].deafPrimary = 1, true
		done, _ := restarts(e, 40*time.Minute)
		g.Expect(done).To(HaveExactElements(ContainSubstring("of quisec-0"), ContainSubstring("of quisec-0"),
			ContainSubstring("of tukpub-0")))
	})
	t.Run("nobody's that carries another group's log", func(t *testing.T) {
		g := NewWithT(t)
		e := newEnviron(t, declared())
		e.settle(everything)
		e.servers["quisec"].deaf = 1
		e.servers["quisec"].mirroring.Groups = []string{"content", "blog"}
		done, _ := restarts(e, 10*time.Minute)
		g.Expect(done).To(BeEmpty())
		p := plan(e.d, e.observe())
		g.Expect(p.Outcome.Message).To(And(ContainSubstring("ALTER ENDPOINT [Hadr_endpoint] STATE = STOPPED"),
			ContainSubstring("on quisec-0")))
	})
	t.Run("nobody's that does not answer, or is connected", func(t *testing.T) {
		g := NewWithT(t)
		e := newEnviron(t, declared())
		e.settle(everything)
		e.servers["quisec"].deaf, e.silent["quisec"] = 1, true
		done, _ := restarts(e, 10*time.Minute)
		g.Expect(done).To(BeEmpty())
		g.Expect(slices.Contains(e.observe().unheard(e.d), v1alpha1.ServerName("quisec"))).To(BeFalse())
	})
}

// What a server remembers of an earlier group of the name, or of the replica that it was before it was removed and
// added again, may keep the primary from reaching it: the condition names the DROP, and nobody sends it.
func TestNothingThatAReplicaRemembersIsDropped(t *testing.T) {
	for name, c := range map[string]struct {
		remembers mssql.Group
		none      bool
		says      string
	}{
		"an earlier group of the name": {remembers: mssql.Group{ID: "0000", Role: "RESOLVING"},
			says: "DROP AVAILABILITY GROUP [content] on quisec-0"},
		"the replica that it was": {remembers: mssql.Group{ID: "6a8b", Role: "SECONDARY",
			ReplicaIDs: map[string]string{"quisec-0": "another"}},
			says: "DROP AVAILABILITY GROUP [content] on quisec-0"},
		"the same replica": {remembers: mssql.Group{ID: "6a8b", Role: "SECONDARY",
			ReplicaIDs: map[string]string{"quisec-0": "id of quisec-0"}}},
		"an earlier group as its primary": {remembers: mssql.Group{ID: "0000", Role: "PRIMARY"}},
		"another group that has a primary": {remembers: mssql.Group{ID: "0000", Role: "SECONDARY",
			Replicas: []mssql.GroupReplica{{Server: "QUISEC-0", Connected: "CONNECTED"}}},
			says: "DROP AVAILABILITY GROUP [content] on quisec-0"},
		"an earlier group, and no votes": {remembers: mssql.Group{ID: "0000", Role: "RESOLVING"}, none: true,
			says: "DROP AVAILABILITY GROUP [content] on quisec-0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := declared()
			if c.none {
				group.Spec.ClusterType, group.Spec.Voters, group.Spec.Replicas = v1alpha1.ClusterNone, nil, group.Spec.Replicas[:2]
			}
			e := newEnviron(t, group)
			e.settle(everything)
			seen := len(e.done)
			e.servers["quisec"].remembers = &c.remembers
			for e.up < 10*time.Minute && e.servers["quisec"].remembers != nil {
				e.round()
			}
			drops := slices.ContainsFunc(e.done[seen:], func(step string) bool { return strings.Contains(step, "DROP AVAIL") })
			g.Expect(drops).To(BeFalse(), "%q", e.done[seen:])
			g.Expect(plan(e.d, e.observe()).Outcome.Message).To(ContainSubstring(c.says))
		})
	}
}

// Whoever restarts an endpoint may end between STOPPED and STARTED: the next plan starts it before anything else, also
// where nothing else can be done.
func TestAnEndpointThatWasLeftStoppedIsStarted(t *testing.T) {
	for name, change := range map[string]func(*environ){
		"all is well": func(*environ) {},
		"a server is not declared": func(e *environ) {
			e.d.Group.Spec.Replicas = append(e.d.Group.Spec.Replicas, v1alpha1.Replica{Server: "nobody"})
		},
		"a site does not answer":    func(e *environ) { e.cut["dublin"] = true },
		"the primary is undeclared": func(e *environ) { e.d.Group.Spec.Replicas[0].Server = "dubthird" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			change(e)
			e.servers["quisec"].mirroring.Endpoint.State = "STOPPED"
			p := plan(e.d, e.observe())
			g.Expect(p.Steps).To(HaveLen(1))
			g.Expect(p.Steps[0].Describe()).To(ContainSubstring("start endpoint Hadr_endpoint"))
		})
	}
}
