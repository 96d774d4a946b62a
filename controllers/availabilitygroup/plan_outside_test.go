// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// takeOut takes a server's copy out of the group by hand.
func (e *environ) takeOut(server v1alpha1.ServerName, state string) {
	d := e.servers[server].mirroring.Databases["Content"]
	d.InGroup, d.State = false, state
	e.servers[server].mirroring.Databases["Content"] = d
}

// dropByHand drops the group on a server: a primary's databases go on there as its own, a secondary's are left
// RESTORING.
func (e *environ) dropByHand(server v1alpha1.ServerName) {
	state := "RESTORING"
	if e.group.primary == server {
		state, e.group.primary = "ONLINE", ""
	}
	e.servers[server].joined, e.servers[server].granted = false, false
	e.takeOut(server, state)
}

// elect makes another server primary, as its agent and its engine would.
func (e *environ) elect(server v1alpha1.ServerName) {
	e.group.primary = server
	for _, r := range e.leases {
		r.Term++
		r.State, r.Holder = votes.StateHeld, votes.Holder{Server: host(server), PodUID: "b"}
	}
}

// A copy that stands outside of its group is named with the way back, whatever was done by hand, and nothing is seeded
// over it.
func TestACopyOutsideOfTheGroupIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		byHand  func(*environ)
		says    []string
		outside []string
	}{
		"DROP on the primary, nobody is elected": {func(e *environ) { e.dropByHand("tukpub") },
			[]string{"no replica is primary",
				"outside of the group: Content on tukpub-0 (ONLINE), which has no such group any more", "DROP DATABASE"},
			[]string{"Content"}},
		"DROP on the primary, and a replica is silent": {func(
			e *environ) {
			e.dropByHand("tukpub")
			e.silent["dubcfg"] = true
		},
			[]string{"no replica is primary", "Content on tukpub-0"}, []string{"Content"}},
		"DROP on the primary, and another is elected": {func(e *environ) { e.dropByHand("tukpub"); e.elect("quisec") },
			[]string{"quisec-0 is primary and serves", "outside of the group: Content on tukpub-0 (ONLINE)"},
			[]string{"Content"}},
		"DROP on the secondary": {func(e *environ) { e.dropByHand("quisec") },
			[]string{"Content on quisec-0 (restoring)", "SET HADR AVAILABILITY GROUP = [content]",
				"kubectl geosql reseed content quisec --database Content -n web"}, nil},
		"SET HADR OFF on the secondary": {func(e *environ) { e.takeOut("quisec", "RESTORING") },
			[]string{"Content on quisec-0 (restoring)", "reseed"}, nil},
		"REMOVE DATABASE on the primary": {func(e *environ) {
			e.takeOut("tukpub", "ONLINE")
			e.takeOut("quisec", "RESTORING")
			e.group.databases = nil
		}, []string{"Content on quisec-0 (restoring)"}, nil},
		"somebody else's database on the secondary": {func(e *environ) { e.takeOut("quisec", "ONLINE") },
			[]string{"tukpub-0 is primary and serves", "outside of the group: Content on quisec-0 (ONLINE)."},
			[]string{"Content"}},
		"one that was written to, and does not answer now": {func(e *environ) { e.takeOut("quisec", "OFFLINE") },
			[]string{"outside of the group: Content on quisec-0 (OFFLINE).", "save what is to be kept"}, []string{"Content"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			c.byHand(e)
			var p reconcile.Plan
			for range 20 {
				p = plan(e.d, e.observe())
				for _, s := range p.Steps {
					g.Expect(e.do(s)).To(Succeed())
				}
				e.work()
			}
			g.Expect(p.Steps).To(BeEmpty(), "nothing is repeated that changes nothing")
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDatabaseOutside))
			g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			for _, text := range c.says {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
			var outside []string
			for _, r := range describe(e.d.Group.Status, e.d, e.observe()).Replicas {
				outside = append(outside, r.Outside...)
			}
			g.Expect(outside).To(Equal(c.outside))

			// Once the copy is gone it is seeded by itself; without a primary nobody could.
			for _, server := range []v1alpha1.ServerName{"tukpub", "quisec"} {
				if d := e.servers[server].mirroring.Databases["Content"]; !d.InGroup {
					delete(e.servers[server].mirroring.Databases, "Content")
				}
			}
			if e.group.primary == "" {
				return
			}
			clear(e.silent)
			e.settle(everything)
		})
	}
}

// What the engine says of a failed seeding is in the condition, also where the primary has a row of the copy that is in
// the way.
func TestAFailedSeedingIsTold(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.takeOut("quisec", "RESTORING")
	o := e.observe()
	alter(o, "tukpub", func(i *Instance) {
		group := *i.Group
		group.SeedingFailures = []mssql.SeedingFailure{
			{Server: "QUISEC-0", Database: "content", Reason: "Database With Name Already Exists"},
		}
		group.States = append(
			group.States,
			mssql.GroupDatabaseState{Server: "quisec-0", Database: "Content", State: "NOT SYNCHRONIZING"},
		)
		i.Group = &group
	})
	p := plan(e.d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Message).
		To(And(ContainSubstring("Database With Name Already Exists"), ContainSubstring("kubectl geosql reseed")))

	alter(o, "quisec", func(i *Instance) {
		i.Mirroring.Databases = nil
	})
	p = plan(e.d, o)
	g.Expect(steps(p)).
		To(And(ContainSubstring("GRANT CREATE ANY DATABASE"), ContainSubstring("SEEDING_MODE = AUTOMATIC")),
			"the copy that was in the way is gone")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSeedingFailed))
}

// A condition names who holds data movement up, not only that nothing moves.
func TestWhatIsSuspendedIsTold(t *testing.T) {
	suspend := func(reason string) func(*Observed) {
		return func(o *Observed) {
			alter(*o, "quisec", func(i *Instance) {
				group := *i.Group
				group.States = []mssql.GroupDatabaseState{
					{
						Server:        "quisec-0",
						Database:      "Content",
						Local:         true,
						State:         "NOT SYNCHRONIZING",
						Suspended:     true,
						SuspendReason: reason,
					},
				}
				i.Group = &group
			})
			alter(*o, "tukpub", func(i *Instance) {
				group := *i.Group
				group.States = []mssql.GroupDatabaseState{
					{Server: "tukpub-0", Database: "Content", Local: true, State: "SYNCHRONIZED"},
					{Server: "quisec-0", Database: "Content", State: "NOT SYNCHRONIZING"},
				}
				i.Group = &group
			})
		}
	}
	for name, c := range map[string]struct {
		change func(*Observed)
		reason string
		says   string
	}{
		"by a person":   {suspend("SUSPEND_FROM_USER"), v1alpha1.ReasonDataMovementSuspended, "Content on quisec-0"},
		"by the engine": {suspend("SUSPEND_FROM_REDO"), v1alpha1.ReasonSynchronizing, "SUSPEND_FROM_REDO"},
		"kept apart after a failover with data loss": {func(o *Observed) {
			suspend("SUSPEND_FROM_PARTNER")(o)
			for i := range o.Voters {
				o.Voters[i].Record.Notes.Apart = `[{"server":"quisec-0","term":1}]`
			}
		}, v1alpha1.ReasonReplicaQuarantined, "kubectl geosql rejoin content quisec -n web"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			o := e.observe()
			c.change(&o)
			p := plan(e.d, o)
			g.Expect(p.Steps).To(BeEmpty(), "nobody resumes what a person has suspended")
			g.Expect(p.Outcome.Reason).To(Equal(c.reason))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			g.Expect(p.Outcome.Progress == conditions.Stuck).To(Equal(c.reason != v1alpha1.ReasonSynchronizing))
			if c.reason == v1alpha1.ReasonDataMovementSuspended {
				g.Expect(p.Outcome.Message).To(And(ContainSubstring("tukpub-0 is primary and serves"),
					ContainSubstring("SET HADR RESUME"), ContainSubstring("keeps all log")))
			}
		})
	}
}

// A copy that was seeded once and is gone has no failure, and is seeded again all the same: once a seeding had time to
// begin by itself.
func TestACopyThatIsGoneIsSeededAgain(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	delete(e.servers["quisec"].mirroring.Databases, "Content")
	p := plan(e.d, e.observe())
	g.Expect(steps(p)).To(And(ContainSubstring("GRANT CREATE ANY DATABASE"), Not(ContainSubstring("SEEDING_MODE"))))
	e.pass(seedingPatience)
	g.Expect(steps(plan(e.d, e.observe()))).To(ContainSubstring("SEEDING_MODE = AUTOMATIC"))
	e.servers["quisec"].mirroring.Databases["Content"] = mssql.Database{Name: "Content", State: "ONLINE", InGroup: true}
	g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty())
	delete(e.servers["quisec"].mirroring.Databases, "Content")
	g.Expect(steps(plan(e.d, e.observe()))).NotTo(ContainSubstring("SEEDING_MODE"), "it is counted anew")
}

// A copy that has joined in another way than by its seeding may leave the failure the newest that there is.
func TestAFailureOfASeedingIsOverWhereTheCopyTakesLog(t *testing.T) {
	g := NewWithT(t)
	group := &mssql.Group{
		SeedingFailures: []mssql.SeedingFailure{{Server: "QUISEC-0", Database: "content", Reason: "full"}},
	}
	g.Expect(failureOf(group, "quisec-0", "Content")).NotTo(BeNil(), "nothing is known of the copy")
	for state, over := range map[string]bool{"SYNCHRONIZED": true, "SYNCHRONIZING": true, "NOT SYNCHRONIZING": false,
		"INITIALIZING": false} {
		group.States = []mssql.GroupDatabaseState{{Server: "quisec-0", Database: "Content", State: state}}
		g.Expect(failureOf(group, "quisec-0", "Content") == nil).To(Equal(over), state)
	}
}
