// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/test/support/checkout"
)

func (e *environ) observeVotes(o *Observed) {
	if !e.d.fenced() {
		return
	}
	o.take(e.d, readVotes(e.d, o.Agents, func(sites []v1alpha1.SiteName) (voters []Voter) {
		for _, site := range sites {
			v := Voter{Site: site}
			switch record := e.leases[site]; {
			case e.cut[site]:
				v.Err = errSilent
			case record == nil:
				v.Err = votes.ErrAbsent
			default:
				v.Record = *record
			}
			voters = append(voters, v)
		}
		return voters
	}))
	o.Orders = ordersFor(e.d, *o, func(site v1alpha1.SiteName) orders.Voter { return orders.Voter{Site: string(site)} })
	o.compareOrders(e.d)
}

// changeVoters is what the primary's agent does when it is told other voters, one configuration at each call. An agent
// of an earlier release writes votes that tell nothing.
func (e *environ) changeVoters() {
	told := e.orders[e.group.primary]
	if told == nil || e.unaware || e.silent[e.group.primary] || e.cut[homes[e.group.primary]] {
		return
	}
	c := told.Voting()
	for _, r := range e.leases {
		c = votes.Configured(c, *r)
	}
	next := votes.Configuration{Term: 1, Number: c.Number + 1, Voters: c.Voters}
	switch {
	case c.Changing():
		next.Voters = c.Next
	case len(told.Wanted) > 0 && reaches(*told, told.Wanted) && !votes.SameSites(told.Wanted, c.Voters):
		next.Next = told.Wanted
	default:
		next = c
	}
	answers := func(site string) bool {
		return e.leases[v1alpha1.SiteName(site)] != nil && !e.cut[v1alpha1.SiteName(site)]
	}
	if !next.Quorum(answers) {
		return
	}
	for _, site := range siteNames(next.Sites()) {
		if r := e.leases[site]; answers(string(site)) {
			r.Voters = vote(e.t, "", next).Voters
			if r.Term == 0 {
				r.Term, r.State, r.Holder = 1, votes.StateHeld, votes.Holder{Server: host(e.group.primary)}
			}
		}
	}
	if !next.Same(c) {
		e.configurations = append(e.configurations, next)
	}
}

// vote is that of a new Lease.
func vote(t testing.TB, initial string, c votes.Configuration) votes.Record {
	record, err := votes.DecodeLease(votes.NewLease("web", "content", initial, c))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestVotersAreChanged(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.done = nil
	e.d.Group.Spec.Voters = []v1alpha1.SiteName{"tukwila", "quincy", "blueridge"}
	p := plan(e.d, e.observe())
	g.Expect(p.Steps).To(ContainElement(HaveField("Site", v1alpha1.SiteName("blueridge"))))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonVotersChanging), "it is no group in the making")
	p = e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(e.configurations).To(Equal([]votes.Configuration{
		{
			Term:   1,
			Number: 1,
			Voters: []string{"tukwila", "quincy", "dublin"},
			Next:   []string{"tukwila", "quincy", "blueridge"},
		},
		{Term: 1, Number: 2, Voters: []string{"tukwila", "quincy", "blueridge"}},
	}))
	g.Expect(at(t, e.done, "at site blueridge, which is to vote")).To(BeNumerically("<", at(t, e.done, "orders")))
	s := e.d.Group.Status
	g.Expect(s.VoterConfiguration).
		To(Equal(&v1alpha1.VoterConfiguration{Term: 1, Number: 2, Voters: []string{"tukwila", "quincy", "blueridge"}}))
	g.Expect(s.Voters).To(HaveLen(3))
	g.Expect(s.Voters[2]).To(And(HaveField("Site", "blueridge"), HaveField("State", "Held")))
	g.Expect(s.FormerVoters).To(Equal([]string{"dublin"}))
	g.Expect(e.leases).
		To(HaveKey(v1alpha1.SiteName("dublin")), "who knows the old voters alone must meet the new ones there")
	for _, told := range e.orders {
		g.Expect(told).
			To(And(HaveField("Wanted", BeEmpty()), HaveField("Joining", BeEmpty()),
				HaveField("Configuration.Voters", ContainElement("blueridge"))))
	}

	// Left out later, those that vote stay.
	e.d.Group.Spec.Voters = nil
	g.Expect(plan(e.d, e.observe()).Steps).To(BeEmpty())
	g.Expect(votersChanging(e.d, e.observe())).To(BeEmpty())

	// The Lease of the former voter goes with the group.
	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	e.d.Group.DeletionTimestamp = &metav1.Time{Time: e.now}
	for range 5 {
		for _, step := range planDelete(e.d, e.observe()).Steps {
			g.Expect(e.do(step)).To(Succeed())
		}
	}
	g.Expect(e.leases).To(BeEmpty())
	g.Expect(planDelete(e.d, e.observe()).Done).To(BeTrue())
}

// Agents are told that sites are to vote only when these answer and all agents have the way to them.
func TestNewVotersAreAwaited(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	e.d.Group.Spec.Voters = []v1alpha1.SiteName{"tukwila", "quincy", "blueridge"}
	e.cut["blueridge"] = true
	p := plan(e.d, e.observe())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonVotersChanging), HaveField("Message", And(
		ContainSubstring(
			"tukwila, quincy, blueridge are to vote, tukwila, quincy, dublin do",
		),
		ContainSubstring("waiting for site blueridge"),
	))))
	g.Expect(fenced(e.d, e.observe())).
		To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonVotersChanging)))

	e.cut["blueridge"] = false
	o := e.observe()
	for s, a := range o.Agents {
		a.Told = &orders.Group{Voters: append(slices.Clone(a.Told.Voters), orders.Voter{Site: "blueridge", Token: "token"})}
		o.Agents[s] = a
	}
	access := func(site v1alpha1.SiteName) orders.Voter { return orders.Voter{Site: string(site)} }
	o.Joining[0].Err = nil
	g.Expect(ordersFor(e.d, o, access).Wanted).NotTo(BeEmpty())
	o.Outdated = []v1alpha1.ServerName{"quisec"}
	g.Expect(ordersFor(e.d, o, access).Wanted).
		To(BeEmpty(), "a sidecar of an earlier release could not be elected afterwards")
	g.Expect(votersChanging(e.d, o)).To(ContainSubstring("waiting for the sidecars of quisec"))

	step := func() {
		for _, s := range plan(e.d, e.observe()).Steps {
			g.Expect(e.do(s)).To(Succeed())
			g.Expect(e.d.Group.Spec.Voters).To(HaveLen(3))
			for _, told := range e.orders {
				if len(told.Wanted) > 0 {
					for _, other := range e.orders {
						g.Expect(reaches(*other, told.Wanted)).To(BeTrue(), "whoever is primary next must be able to go on")
					}
				}
			}
		}
	}
	for range 5 {
		step()
	}
	g.Expect(e.orders["quisec"].Wanted).To(Equal([]string{"tukwila", "quincy", "blueridge"}))
	g.Expect(e.configurations).To(BeEmpty())

	// The holder's sidecar is of an earlier release.
	e.unaware = true
	for _, r := range e.leases {
		r.Voters = ""
	}
	e.work()
	g.Expect(plan(e.d, e.observe()).Outcome.Message).
		To(ContainSubstring("the sidecar of tukpub-0 is of a release that does not change voters: switch over, or restart " +
			"its pod"))
}

// A hub that was made again gets a manifest that names other voters: what the votes tell counts, and is changed.
func TestTheVotesKnowTheVotersBetterThanAManifest(t *testing.T) {
	for name, changed := range map[string]bool{"the first ones": false,
		"the first ones, of which votes tell nothing": false, "changed ones": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.unaware = strings.Contains(name, "nothing")
			e.settle(everything)
			manifest := []v1alpha1.SiteName{"tukwila", "blueridge", "ashburn"}
			voting := []string{"tukwila", "quincy", "dublin"}
			if changed {
				voting = []string{"quincy", "blueridge", "ashburn"}
				e.d.Group.Spec.Voters = siteNames(voting)
				e.settle(everything)
				manifest = declared().Spec.Voters
			}
			made := len(e.configurations)
			e.d.Group.Spec.Voters, e.d.Group.Status = manifest, v1alpha1.AvailabilityGroupStatus{}
			o := e.observe()
			g.Expect(o.Configuration.Voters).To(Equal(voting))
			g.Expect(o.Orders.Voting().Voters).To(Equal(voting))
			for _, s := range plan(e.d, o).Steps {
				g.Expect(s).NotTo(BeAssignableToTypeOf(CreateLease{}), "no second set: %s", s.Describe())
			}
			e.unaware = false
			e.settle(everything)
			p := e.settle(everything)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
			g.Expect(e.configurations[made].Voters).To(Equal(voting), "both sets are needed in between")
			g.Expect(siteNames(e.d.configuration().Voters)).To(Equal(manifest))
		})
	}
}

// Whatever is declared meanwhile, whoever is silent and whichever step is the last: in the end those vote that are
// declared, each configuration was made from the one before, and no Lease was taken away.
func TestChangesOfVotersSurviveAnEndAfterAnyStep(t *testing.T) {
	sites := []v1alpha1.SiteName{"tukwila", "quincy", "dublin", "blueridge", "ashburn"}
	rapid.Check(t, func(rt *rapid.T) {
		e := newEnviron(t, declared())
		e.settle(everything)
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			e.d.Group.Spec.Voters = rapid.Permutation(sites).Draw(rt,
				"voters")[:rapid.SampledFrom([]int{1, 3, 5}).Draw(rt, "size")]
			for range rapid.IntRange(0, 8).Draw(rt, "rounds") {
				for _, site := range sites {
					e.cut[site] = rapid.IntRange(0, 5).Draw(rt, "cut") == 0
				}
				before := len(e.leases)
				limit := rapid.IntRange(0, 3).Draw(rt, "steps")
				for i, s := range plan(e.d, e.observe()).Steps {
					if i >= limit || e.do(s) != nil {
						break
					}
				}
				e.work()
				e.now = e.now.Add(time.Second)
				if len(e.leases) < before {
					rt.Fatal("a Lease is gone")
				}
			}
		}
		clear(e.cut)
		e.settle(everything)
		if got := e.d.configuration(); got.Changing() || !votes.SameSites(got.Voters, siteStrings(e.d.Group.Spec.Voters)) {
			rt.Fatalf("%v vote, %v are declared", got, e.d.Group.Spec.Voters)
		}
		last := votes.Configuration{Voters: siteStrings(declared().Spec.Voters)}
		for _, c := range e.configurations {
			if !votes.SameSites(c.Voters, last.Final()) || c.Changing() && last.Changing() {
				rt.Fatalf("%v came after %v", c, last)
			}
			last = c
		}
	})
}

// Whoever reads that the votes are lost learns where, what is not known, and which page goes on.
func TestLostVotesAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*environ)
		message string
	}{
		"two of three": {
			change: func(e *environ) { delete(e.leases, "tukwila"); delete(e.leases, "dublin") },
			message: "are gone at tukwila, dublin: nobody can have a majority of tukwila, quincy, dublin, so nobody may be " +
				"primary",
		},
		"all": {
			change:  func(e *environ) { clear(e.leases) },
			message: "are gone at tukwila, quincy, dublin: nobody can have a majority of tukwila, quincy, dublin,",
		},
		"two of three, and the third is silent": {
			change: func(e *environ) {
				delete(e.leases, "tukwila")
				delete(e.leases, "quincy")
				e.cut["dublin"] = true
			},
			message: "are gone at tukwila, quincy (no answer from dublin): nobody can have",
		},
		"those that are to vote": {
			change: func(e *environ) {
				c := votes.Configuration{Term: 1, Number: 1, Voters: []string{"tukwila", "quincy", "dublin"},
					Next: []string{"blueridge"}}
				for _, r := range e.leases {
					r.Voters = vote(e.t, "", c).Voters
				}
			},
			message: "are gone at blueridge: nobody can have a majority of tukwila, quincy, dublin and one of blueridge,",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.settle(everything)
			tc.change(e)
			p := plan(e.d, e.observe())
			g.Expect(p.Steps).To(BeEmpty(), "nothing is guessed")
			g.Expect(p.Outcome).
				To(And(HaveField("Reason", v1alpha1.ReasonVotesLost), HaveField("Progress", conditions.Stuck),
					HaveField("Message", And(
						HavePrefix(
							"the Leases web/geosql-content are gone at ",
						),
						ContainSubstring(tc.message),
						ContainSubstring(votesLostRunbook),
					))))
		})
	}
	NewWithT(t).Expect(filepath.Join(checkout.Root(), votesLostRunbook)).To(BeARegularFile())
}

// Once a person has restored the Leases the manager goes on, and makes none itself.
func TestRestoredVotesAreGoneOnWith(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	clear(e.leases)
	e.group.primary = ""
	for _, site := range e.d.declaredVoters() {
		e.leases[site] = &votes.Record{
			Term:   1007,
			State:  votes.StateClaimed,
			Holder: votes.Holder{Server: "nobody-0", PodUID: "restored"},
		}
	}
	p := plan(e.d, e.observe())
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).
		To(And(HaveField("Reason", v1alpha1.ReasonElection),
			HaveField("Message", ContainSubstring("nobody-0 claims the votes in term 1007"))))
	for _, r := range e.leases {
		*r = votes.Record{Term: 1008, State: votes.StateHeld, Holder: votes.Holder{Server: "quisec-0"}}
	}
	e.group.primary = "quisec"
	p = e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
}

// Before there is the group every voter has had a vote: nobody gets one afterwards that was never anybody's.
func TestAGroupIsMadeOnceEveryVoterHasHadAVote(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	var p reconcile.Plan
	for range 30 {
		p = plan(e.d, e.observe())
		for _, s := range p.Steps {
			g.Expect(e.do(s)).To(Succeed())
		}
		e.work()
		if e.leases["dublin"] != nil {
			*e.leases["dublin"] = vote(t, "tukpub-0", votes.Configuration{})
		}
	}
	g.Expect(e.group).To(BeNil())
	g.Expect(p.Outcome.Message).To(ContainSubstring("the agent of tukpub-0 is to claim the vote of dublin, too"))
	p = e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
}

// A site was lost when a group was deleted, and votes in another one of that name: its vote is of the former group, and
// beside it no group is made, whoever says that the first primary's agent has the others.
func TestAVoteOfAFormerGroupIsSaid(t *testing.T) {
	alone := votes.Configuration{Term: 4, Number: 2, Voters: []string{"dublin"}}
	for name, tc := range map[string]struct {
		term          int64
		state         votes.State
		server        string
		configuration votes.Configuration
		says          string
	}{
		"held": {5, votes.StateHeld, "tukpub-0", votes.Configuration{},
			"the vote at dublin (term 5 of tukpub-0): what a group"},
		"released by another": {5, votes.StateReleased, "quisec-0", votes.Configuration{},
			"the vote at dublin (term 5 of quisec-0): what a group"},
		"other voters": {5, votes.StateHeld, "tukpub-0", alone,
			"the vote at dublin (term 5 of tukpub-0), which needs a majority of dublin: what a group"},
		"other voters, never anybody's": {0, votes.StateReleased, "", alone,
			"which needs a majority of dublin: what a group"},
		"other voters, and the same term": {1, votes.StateClaimed, "tukpub-0", alone,
			"which needs a majority of dublin: what a group"},
	} {
		for _, claims := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the others claimed: %t", name, claims), func(t *testing.T) {
				g := NewWithT(t)
				e := newEnviron(t, declared())
				left := vote(t, "tukpub-0", tc.configuration)
				left.Term, left.State = tc.term, tc.state
				if tc.server != "" {
					left.Holder = votes.Holder{Server: tc.server, PodUID: "former"}
				}
				e.leases["dublin"] = &left
				var p reconcile.Plan
				for range 30 {
					p = plan(e.d, e.observe())
					for _, s := range p.Steps {
						g.Expect(e.do(s)).To(Succeed())
					}
					if claims {
						before := left
						e.work()
						left = before
					}
				}
				g.Expect(e.group).To(BeNil())
				g.Expect(p.Outcome.Message).
					To(And(ContainSubstring(tc.says), ContainSubstring("takes the Leases geosql-content away"),
						ContainSubstring("If no server has that group any more")))

				e.d.Group.Spec.ReclaimPolicy, e.d.Group.DeletionTimestamp = v1alpha1.ReclaimDelete, &metav1.Time{Time: e.now}
				for range 5 {
					for _, step := range planDelete(e.d, e.observe()).Steps {
						g.Expect(e.do(step)).To(Succeed())
					}
				}
				g.Expect(e.leases).To(BeEmpty())
				g.Expect(planDelete(e.d, e.observe()).Done).To(BeTrue())
				e.d.Group.DeletionTimestamp = nil
				p = e.settle(everything)
				g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
			})
		}
	}
}

// A claim that only one vote has granted is no majority.
func TestAGroupIsMadeOnceAMajorityHasGrantedOneClaim(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.firstPod = "pod"
	for _, claim := range []struct {
		at   v1alpha1.SiteName
		term int64
	}{{"tukwila", 3}, {"quincy", 1}, {"dublin", 2}} {
		r := vote(t, "tukpub-0", votes.Configuration{})
		r.Term, r.State, r.Holder = claim.term, votes.StateClaimed, votes.Holder{Server: "tukpub-0", PodUID: "pod"}
		e.leases[claim.at] = &r
	}
	var p reconcile.Plan
	for range 30 {
		p = plan(e.d, e.observe())
		for _, s := range p.Steps {
			g.Expect(e.do(s)).To(Succeed())
		}
	}
	g.Expect(e.group).To(BeNil())
	g.Expect(p.Outcome.Message).To(ContainSubstring("the agent of tukpub-0 is to claim the votes first"))
	for _, r := range e.leases {
		r.Term = 1
	}
	p = e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
}

// The first primary's pod was replaced after its agent had claimed the votes, and its engine answers before the new
// agent has them: a group that is made then is taken OFFLINE at once, and nobody else has joined who could be agreed
// with. So it is where the engine has ended and its agent has released what it could.
func TestAGroupIsMadeOnlyForTheRunThatHasTheVotes(t *testing.T) {
	claimed := []votes.State{votes.StateClaimed, votes.StateClaimed, votes.StateClaimed}
	released := []votes.State{votes.StateReleased, votes.StateClaimed, votes.StateReleased}
	for name, c := range map[string]struct {
		pod    string
		states []votes.State
	}{"another pod": {"present", claimed}, "no pod, or one that ends": {"", claimed},
		"another run in that pod": {"former", released}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.firstPod = c.pod
			for i, site := range e.d.Group.Spec.Voters {
				r := vote(t, "tukpub-0", votes.Configuration{})
				r.Term, r.State, r.Holder = 1, c.states[i], votes.Holder{Server: "tukpub-0", PodUID: "former"}
				e.leases[site] = &r
			}
			for range 30 {
				for _, s := range plan(e.d, e.observe()).Steps {
					g.Expect(e.do(s)).To(Succeed())
				}
			}
			g.Expect(e.group).To(BeNil())
			g.Expect(plan(e.d, e.observe()).Outcome.Message).
				To(ContainSubstring("the agent of tukpub-0 is to claim the votes first"))
			e.firstPod = "present"
			for _, r := range e.leases {
				r.State, r.Holder.PodUID = votes.StateClaimed, "present"
			}
			p := e.settle(everything)
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
		})
	}
}

// A vote that is gone comes back when its site has not voted for a while.
func TestAMinorityOfLostVotesComesBack(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	delete(e.leases, "dublin")
	for _, voters := range [][]v1alpha1.SiteName{{"tukwila"}, {"tukwila", "quincy", "dublin"}} {
		e.d.Group.Spec.Voters = voters
		p := e.settle(everything)
		g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
		g.Expect(siteNames(e.d.configuration().Voters)).To(Equal(voters))
	}
	g.Expect(*e.leases["dublin"]).To(And(HaveField("Term", int64(1)), HaveField("State", votes.StateHeld)))
}
