// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/election"
)

// A minority that is gone comes back, and holds up nothing.
func TestAMinorityOfLostVotesComesBack(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	delete(e.leases, "dublin")
	p := plan(e.d, e.observe())
	g.Expect(p.Steps).To(Equal([]Step{RemakeVote{Site: "dublin", Group: "content"}}))
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	e.d.Group.Spec.Databases = append(e.d.Group.Spec.Databases, "Orders")
	g.Expect(len(plan(e.d, e.observe()).Steps)).To(BeNumerically(">", 1))
	p = e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(*e.leases["dublin"]).To(And(HaveField("Term", int64(1)), HaveField("State", election.StateHeld)))
}

func TestNoLostVoteIsMadeAnewWhileNobodyHoldsTheOthers(t *testing.T) {
	for name, change := range map[string]func(e *environ){
		"an election": func(e *environ) {
			e.group.primary = ""
			for _, r := range e.leases {
				*r = election.Record{Term: 2, State: election.StateClaimed, Holder: election.Holder{Server: "quisec-0"}}
			}
		},
		"released": func(e *environ) {
			for _, r := range e.leases {
				r.State = election.StateReleased
			}
		},
		"a majority is gone":    func(e *environ) { delete(e.leases, "quincy") },
		"another one is silent": func(e *environ) { e.cut["quincy"] = true },
		"the voters change": func(e *environ) {
			c := election.Configuration{Term: 1, Number: 1, Voters: []string{"tukwila", "quincy", "dublin"}, Next: []string{"tukwila"}}
			for _, r := range e.leases {
				r.Voters = vote(e.t, "", c).Voters
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnviron(t, declared())
			e.settle(everything)
			delete(e.leases, "dublin")
			change(e)
			for _, s := range plan(e.d, e.observe()).Steps {
				NewWithT(t).Expect(s).NotTo(BeAssignableToTypeOf(RemakeVote{}), s.Describe())
			}
		})
	}
}

// The step relies on what it reads itself: first that the voter has none, then that the others are being renewed.
func TestWhatALostVoteIsMadeOf(t *testing.T) {
	c := election.Configuration{Voters: []string{"tukwila", "quincy", "dublin"}}
	at := func(renewing bool, there bool) (election.Record, []v1alpha1.SiteName, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*remakePoll)
		defer cancel()
		reads := make(chan v1alpha1.SiteName, 100)
		renewals := map[v1alpha1.SiteName]*int{"tukwila": new(int), "quincy": new(int)}
		record, err := remade(ctx, c, "dublin", func(_ context.Context, site v1alpha1.SiteName) Voter {
			reads <- site
			if site == "dublin" {
				if there {
					return Voter{Site: site}
				}
				return Voter{Site: site, Err: election.ErrAbsent}
			}
			if renewing {
				*renewals[site]++
			}
			return Voter{Site: site, Record: election.Record{Term: 5, State: election.StateHeld,
				Holder: election.Holder{Server: "tukpub-0", PodUID: "pod", Engine: "run", Nonce: fmt.Sprint(*renewals[site])}}}
		})
		close(reads)
		var order []v1alpha1.SiteName
		for site := range reads {
			order = append(order, site)
		}
		return record, order, err
	}
	g := NewWithT(t)
	record, order, err := at(true, false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record).To(And(HaveField("Term", int64(5)), HaveField("State", election.StateHeld), HaveField("Holder.Server", "tukpub-0"),
		HaveField("Holder.Nonce", Not(BeElementOf("1", "2", "")))))
	g.Expect(order).To(HaveLen(5))
	g.Expect(order[0]).To(Equal(v1alpha1.SiteName("dublin")), "what the lost vote had granted before is seen at the others")
	g.Expect(order[1:]).NotTo(ContainElement(v1alpha1.SiteName("dublin")))

	_, order, err = at(true, true)
	g.Expect(err).To(MatchError(ContainSubstring("the vote at dublin is not known to be gone")))
	g.Expect(order).To(HaveLen(1))

	_, _, err = at(false, false)
	g.Expect(err).To(MatchError(election.ErrNotRenewed))
}

// Whoever reads the condition learns which vote is missing and what that means; an API server that is away for moments changes
// nothing.
func TestMissingVotesAreSaid(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	_, known := votesComplete(e.d, e.observe(), nil)
	g.Expect(known).To(BeFalse(), "there is no group yet")
	e.settle(everything)
	var silent silences
	group := types.NamespacedName{Namespace: "web", Name: "content"}
	say := func() (metav1.Condition, bool) {
		o := e.observe()
		silent.note(group, o.Voters, o.Now)
		return votesComplete(e.d, o, map[v1alpha1.SiteName]error{"dublin": errors.New("it is forbidden")})
	}
	is := func(status metav1.ConditionStatus, reason string, texts ...string) {
		t.Helper()
		c, known := say()
		g.Expect(known).To(BeTrue())
		g.Expect(c).To(And(HaveField("Type", conditions.TypeVotesComplete), HaveField("Status", status), HaveField("Reason", reason)))
		for _, text := range texts {
			g.Expect(c.Message).To(ContainSubstring(text))
		}
	}
	is(metav1.ConditionTrue, conditions.ReasonEveryVoterVotes)

	kept := e.leases["dublin"]
	delete(e.leases, "dublin")
	missing := []string{"2 of 3 votes are left (tukwila, quincy): the loss of one more of them stops automatic failover",
		"the Lease web/geosql-content is missing at dublin", "it is forbidden", votesLostRunbook}
	is(metav1.ConditionFalse, conditions.ReasonVoteMissing, missing...)
	e.cut["quincy"] = true
	is(metav1.ConditionFalse, conditions.ReasonVoteMissing, missing...)
	delete(e.leases, "quincy")
	e.cut["quincy"] = false
	is(metav1.ConditionFalse, conditions.ReasonVotesLost, "are gone at quincy, dublin")
	e.leases["quincy"], e.leases["dublin"] = kept, kept
	is(metav1.ConditionTrue, conditions.ReasonEveryVoterVotes)

	for range 3 {
		e.cut["dublin"] = true
		_, known = say()
		g.Expect(known).To(BeFalse(), "what was said stays")
		e.now = e.now.Add(silentAfter - time.Second)
		_, known = say()
		g.Expect(known).To(BeFalse())
		e.cut["dublin"] = false
		is(metav1.ConditionTrue, conditions.ReasonEveryVoterVotes)
	}
	e.cut["dublin"] = true
	_, _ = say()
	e.now = e.now.Add(silentAfter)
	is(metav1.ConditionUnknown, conditions.ReasonVoterNotAnswering, "the loss of one more of them stops automatic failover", "the vote at dublin is not known since 2026-")
	silent = silences{}
	_, known = say()
	g.Expect(known).To(BeFalse(), "a manager that was restarted says what was said before")
	e.cut["dublin"] = false
	is(metav1.ConditionTrue, conditions.ReasonEveryVoterVotes)

	unreadable := e.observe()
	unreadable.Voters[2].Err = fmt.Errorf("%w: its term is none", errNoVote)
	c, _ := votesComplete(e.d, unreadable, nil)
	g.Expect(c).To(And(HaveField("Reason", conditions.ReasonVoteMissing), HaveField("Message", ContainSubstring("its term is none"))))

	five := unreadable
	five.Configuration = election.Configuration{Voters: []string{"tukwila", "quincy", "dublin", "blueridge", "ashburn"}}
	five.Voters = append(five.Voters, Voter{Site: "blueridge"}, Voter{Site: "ashburn"})
	c, _ = votesComplete(e.d, five, nil)
	g.Expect(c.Message).To(ContainSubstring("4 of 5 votes are left (tukwila, quincy, blueridge, ashburn): the loss of 2 more of them stops"))
}

// Credentials that have ended meanwhile are renewed once the votes are back.
func TestCredentialsAreGivenWhenTheVotesAreBack(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	votes := e.leases
	e.leases = map[v1alpha1.SiteName]*election.Record{}
	stale := func() Observed {
		o := e.observe()
		for s, a := range o.Agents {
			a.UpToDate = false
			o.Agents[s] = a
		}
		return o
	}
	g.Expect(plan(e.d, stale()).Outcome.Reason).To(Equal(conditions.ReasonVotesLost))
	e.leases, e.group.primary = votes, ""
	var given []v1alpha1.ServerName
	for _, s := range plan(e.d, stale()).Steps {
		if s, ok := s.(GiveOrders); ok {
			given = append(given, s.Server)
		}
	}
	g.Expect(given).To(ConsistOf(v1alpha1.ServerName("tukpub"), v1alpha1.ServerName("quisec"), v1alpha1.ServerName("dubcfg")), "with no primary yet")
}
