// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// withPolicy is a group of three synchronous replicas that is up, with an answer to dead replicas.
func withPolicy(t *testing.T, policy v1alpha1.OnDeadReplica) *environ {
	t.Helper()
	group := three()
	group.Spec.OnDeadReplica = policy
	e := newEnviron(t, group)
	e.settle(everything)
	e.done = nil
	return e
}

// later lets time pass and does what is planned then, until nothing is; it returns what was done.
func (e *environ) later(d time.Duration) string {
	e.t.Helper()
	e.pass(d)
	e.done = nil
	for range 30 {
		p := plan(e.d, e.observe())
		if len(p.Steps) == 0 {
			e.report()
			return strings.Join(e.done, "\n")
		}
		for _, s := range p.Steps {
			if err := e.do(s); err != nil {
				e.t.Fatalf("%s: %v", s.Describe(), err)
			}
		}
		e.work()
	}
	e.t.Fatalf("the plan does not come to an end: %q", e.done)
	return ""
}

// report looks, and writes what was seen into the status, as the controller does.
func (e *environ) report() {
	e.d.Group.Status = describe(e.d.Group.Status, e.d, e.observe())
}

// lose lets a server fall silent, and the status tell of it.
func (e *environ) lose(server v1alpha1.ServerName) {
	e.silent[server] = true
	e.report()
}

func TestDeadReplicaIsWaitedFor(t *testing.T) {
	g := NewWithT(t)
	e := withPolicy(t, v1alpha1.DeadReplicaWait)
	e.lose("quisec")
	g.Expect(e.later(time.Hour)).To(BeEmpty())
	g.Expect(plan(e.d, e.observe()).Outcome.Message).To(ContainSubstring("deliver nothing until quisec-0 answers"))
}

// A dead replica is asynchronous until it answers, with the trace flag on whoever is primary.
func TestDeadReplicaIsDemoted(t *testing.T) {
	g := NewWithT(t)
	e := withPolicy(t, v1alpha1.DeadReplicaDemoteToAsync)
	e.lose("quisec")
	g.Expect(e.later(30*time.Second)).To(BeEmpty(), "a restart takes as long")
	done := e.later(31 * time.Second)
	g.Expect(done).
		To(And(ContainSubstring("N'quisec-0' WITH (AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT)"),
			ContainSubstring("DBCC TRACEON (1448, -1)")))
	g.Expect(strings.Index(done, "MODIFY REPLICA")).To(BeNumerically("<", strings.Index(done, "TRACEON")))
	g.Expect(e.group.replicas["quisec-0"].Mode).To(Equal("ASYNCHRONOUS_COMMIT"))
	g.Expect(e.group.required).To(Equal(1), "an acknowledgement is worth what it was")
	g.Expect(plan(e.d, e.observe()).Outcome.Message).To(ContainSubstring("quisec-0 is asynchronous until it answers"))
	g.Expect(e.later(time.Hour)).To(BeEmpty(), "that is all")

	// The primary restarts, and with it the flag is gone.
	e.servers["tukpub"].flag = false
	g.Expect(e.later(time.Second)).
		To(ContainSubstring("on tukpub-0 as sa: let the log reader go on without the replica that is away: DBCC TRACEON"))

	e.silent["quisec"] = false
	done = e.later(time.Second)
	g.Expect(done).
		To(And(ContainSubstring("N'quisec-0' WITH (AVAILABILITY_MODE = SYNCHRONOUS_COMMIT)"),
			ContainSubstring("DBCC TRACEOFF (1448, -1)")))
	g.Expect(e.servers["tukpub"].flag).To(BeFalse())
	g.Expect(e.later(time.Hour)).To(BeEmpty())
}

// A flag that the server is declared to start with is the user's.
func TestDeclaredTraceFlagStays(t *testing.T) {
	g := NewWithT(t)
	e := withPolicy(t, v1alpha1.DeadReplicaDemoteToAsync)
	e.d.StartsWithFlag = map[v1alpha1.ServerName]bool{"tukpub": true}
	e.servers["tukpub"].flag = true
	g.Expect(e.later(time.Second)).To(BeEmpty())
}

// A dead replica is taken out after a longer time, and joins anew when it answers.
func TestDeadReplicaIsRemoved(t *testing.T) {
	g := NewWithT(t)
	e := withPolicy(t, v1alpha1.DeadReplicaRemove)
	e.lose("quisec")
	g.Expect(e.later(5 * time.Minute)).To(BeEmpty())
	g.Expect(e.later(5 * time.Minute)).To(ContainSubstring("REMOVE REPLICA ON N'quisec-0'"))
	g.Expect(e.group.replicas).To(And(HaveLen(2), Not(HaveKey("quisec-0"))))
	g.Expect(e.group.required).To(Equal(1))
	g.Expect(e.later(time.Hour)).To(BeEmpty(), "it stays out while it is away")
	g.Expect(plan(e.d, e.observe()).Outcome.Message).To(ContainSubstring("quisec-0 is out of the group until it answers"))

	e.silent["quisec"] = false
	done := e.later(time.Second)
	dropped, added, joined := strings.Index(done, "on quisec-0 as sa: let quisec-0"),
		strings.Index(done, "ADD REPLICA"), strings.Index(done, "[content] JOIN")
	g.Expect(dropped).To(BeNumerically(">=", 0), done)
	g.Expect(added).To(BeNumerically(">", dropped), done)
	g.Expect(joined).To(BeNumerically(">", added), done)
	g.Expect(done).NotTo(ContainSubstring("DROP DATABASE"))
	g.Expect(e.group.replicas).To(HaveKey("quisec-0"))
	g.Expect(e.later(time.Hour)).To(BeEmpty())
}

// Nothing is done on less than the whole evidence.
func TestDeadReplicaTakesEvidence(t *testing.T) {
	for name, c := range map[string]func(*environ, *Observed){
		"the primary still hears it": func(_ *environ, o *Observed) {
			for i := range o.Instances["tukpub"].Group.Replicas {
				o.Instances["tukpub"].Group.Replicas[i].Connected = "CONNECTED"
			}
		},
		"the primary does not say": func(_ *environ, o *Observed) {
			for i := range o.Instances["tukpub"].Group.Replicas {
				o.Instances["tukpub"].Group.Replicas[i].Connected = ""
			}
		},
		"nobody has ever seen it": func(e *environ, _ *Observed) {
			for i := range e.d.Group.Status.Replicas {
				e.d.Group.Status.Replicas[i].ObservedAt = nil
			}
		},
		"commits need it": func(_ *environ, o *Observed) {
			o.Instances["tukpub"].Group.RequiredSynchronizedSecondaries = 2
		},
		"the votes are not known": func(_ *environ, o *Observed) {
			o.Voters[0].Err, o.Voters[1].Err = errSilent, errSilent
		},
		"it is the primary itself that does not answer": func(_ *environ, o *Observed) {
			o.Instances["tukpub"] = Instance{Err: errSilent}
		},
	} {
		for _, policy := range []v1alpha1.OnDeadReplica{v1alpha1.DeadReplicaDemoteToAsync, v1alpha1.DeadReplicaRemove} {
			t.Run(name+"/"+string(policy), func(t *testing.T) {
				e := withPolicy(t, policy)
				e.lose("quisec")
				e.pass(time.Hour)
				o := e.observe()
				c(e, &o)
				for _, step := range plan(e.d, o).Steps {
					if text := step.Describe(); strings.Contains(text, "quisec-0") || strings.Contains(text, "TRACEON") {
						t.Errorf("%s", text)
					}
				}
			})
		}
	}
	// The manager has not reached it for an hour, but the primary has, until now: that is a moment's reconnection.
	blip := withPolicy(t, v1alpha1.DeadReplicaRemove)
	blip.silent["quisec"] = true
	heard := blip.observe()
	for i := range heard.Instances["tukpub"].Group.Replicas {
		heard.Instances["tukpub"].Group.Replicas[i].Connected = "CONNECTED"
	}
	blip.d.Group.Status = describe(blip.d.Group.Status, blip.d, heard)
	blip.pass(time.Hour)
	NewWithT(t).Expect(plan(blip.d, blip.observe()).Steps).To(BeEmpty())
	blip.report()
	NewWithT(t).Expect(blip.later(9 * time.Minute)).To(BeEmpty())
	NewWithT(t).Expect(blip.later(time.Minute)).To(ContainSubstring("REMOVE REPLICA"))
	// With the whole evidence something is done: the cases above are no matter of course.
	e := withPolicy(t, v1alpha1.DeadReplicaRemove)
	e.lose("quisec")
	e.pass(time.Hour)
	NewWithT(t).Expect(plan(e.d, e.observe()).Steps).To(HaveLen(1))
}

// A clock that is set, and a manager that has just begun, find no replica dead that was seen away for a moment.
func TestDeadReplicaTakesTimeThatThisProcessHasSeen(t *testing.T) {
	for _, policy := range []v1alpha1.OnDeadReplica{v1alpha1.DeadReplicaDemoteToAsync, v1alpha1.DeadReplicaRemove} {
		t.Run(string(policy), func(t *testing.T) {
			g := NewWithT(t)
			e := withPolicy(t, policy)
			e.lose("quisec")
			e.now = e.now.Add(24 * time.Hour)
			g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty(), "the clock was put forward")
			e.absences = lasting{}
			g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty(), "another manager sees it for the first time")
			e.pass(removeAfter - time.Second)
			e.silent["quisec"] = false
			e.observe()
			e.silent["quisec"] = true
			e.observe()
			e.pass(demoteAfter - time.Second)
			g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty(), "it was there meanwhile")
			e.pass(removeAfter)
			g.Expect(plan(e.d, e.observe()).Steps).NotTo(BeEmpty())
		})
	}
}

// A server that comes back from a long pause may call itself primary for a moment. DROP AVAILABILITY GROUP would leave
// its databases writable behind nobody's lease: it keeps the group, and the agent that fences it, until it has stepped
// down.
func TestAServerThatCallsItselfPrimaryKeepsItsGroup(t *testing.T) {
	for name, c := range map[string]struct {
		server v1alpha1.ServerName
		away   func(*environ)
	}{
		"one that was taken out while it was away": {"quisec", func(e *environ) {
			e.lose("quisec")
			NewWithT(e.t).Expect(e.later(10 * time.Minute)).To(ContainSubstring("REMOVE REPLICA ON N'quisec-0'"))
		}},
		"one that is a replica no more": {"dubthird", func(e *environ) {
			e.lose("dubthird")
			e.d.Group.Spec.Replicas = slices.DeleteFunc(slices.Clone(e.d.Group.Spec.Replicas),
				func(r v1alpha1.Replica) bool { return r.Server == "dubthird" })
			NewWithT(e.t).Expect(e.later(time.Second)).To(ContainSubstring("REMOVE REPLICA ON N'dubthird-0'"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := withPolicy(t, v1alpha1.DeadReplicaRemove)
			c.away(e)
			g.Expect(e.orders).To(HaveKey(c.server), "without orders its agent would not make it step down")
			e.silent[c.server] = false
			back := func(role string) string {
				o := e.observe()
				alter(o, c.server, func(i *Instance) { i.Group.Role = role })
				var steps []string
				for _, s := range plan(e.d, o).Steps {
					steps = append(steps, s.Describe())
				}
				return strings.Join(steps, "\n")
			}
			g.Expect(back("PRIMARY")).NotTo(Or(ContainSubstring("DROP AVAILABILITY GROUP"), ContainSubstring(string(c.server))))
			for _, role := range []string{"RESOLVING", "SECONDARY"} {
				if c.server == "dubthird" && e.orders[c.server] != nil {
					g.Expect(back(role)).To(Equal(TakeOrders{Server: c.server}.Describe()), "its agent is to know before")
					delete(e.orders, c.server)
				}
				g.Expect(back(role)).To(ContainSubstring("DROP AVAILABILITY GROUP"), role)
			}
		})
	}
}

// A replica that somebody else took out of the group keeps what it remembers of it, unless onDeadReplica is Remove:
// only then may it have been the operator, which drops it to let the replica join anew.
func TestAReplicaForgetsItsGroupOnlyWhereTheDeadAreRemoved(t *testing.T) {
	for _, policy := range []v1alpha1.OnDeadReplica{"", v1alpha1.DeadReplicaWait, v1alpha1.DeadReplicaDemoteToAsync,
		v1alpha1.DeadReplicaRemove} {
		t.Run("policy "+string(policy), func(t *testing.T) {
			g := NewWithT(t)
			e := withPolicy(t, policy)
			delete(e.group.replicas, "quisec-0")
			done := e.later(time.Second)
			drops := strings.Count(done, "DROP AVAILABILITY GROUP")
			if policy == v1alpha1.DeadReplicaRemove {
				g.Expect(drops).To(Equal(1), done)
			} else {
				g.Expect(drops).To(BeZero(), done)
			}
			g.Expect(e.group.replicas).To(HaveKey("quisec-0"), done)
		})
	}
}
