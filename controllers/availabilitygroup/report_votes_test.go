// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
)

// Whoever reads the condition learns which vote is missing and what that means; an API server that is away for moments
// changes nothing.
func TestMissingVotesAreSaid(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	_, known := votesComplete(e.d, e.observe())
	g.Expect(known).To(BeFalse(), "there is no group yet")
	e.settle(everything)
	var silent silences
	group := types.NamespacedName{Namespace: "web", Name: "content"}
	say := func() (metav1.Condition, bool) {
		o := e.observe()
		silent.note(group, o.Voters, o.Now)
		return votesComplete(e.d, o)
	}
	is := func(status metav1.ConditionStatus, reason string, texts ...string) {
		t.Helper()
		c, known := say()
		g.Expect(known).To(BeTrue())
		g.Expect(c).
			To(And(HaveField("Type", v1alpha1.ConditionVotesComplete), HaveField("Status", status), HaveField("Reason", reason)))
		for _, text := range texts {
			g.Expect(c.Message).To(ContainSubstring(text))
		}
	}
	is(metav1.ConditionTrue, v1alpha1.ReasonEveryVoterVotes)

	kept := e.leases["dublin"]
	delete(e.leases, "dublin")
	missing := []string{"2 of 3 votes are left (tukwila, quincy): the loss of one more of them stops automatic failover",
		"the Lease web/geosql-content is missing at dublin", "Nothing makes the Lease anew", votesLostRunbook}
	is(metav1.ConditionFalse, v1alpha1.ReasonVoteMissing, missing...)
	never := vote(t, "tukpub-0", votes.Configuration{})
	e.leases["dublin"] = &never
	is(metav1.ConditionFalse, v1alpha1.ReasonVoteMissing, append(missing, "has never had a vote")...)
	e.cut["quincy"] = true
	is(metav1.ConditionFalse, v1alpha1.ReasonVoteMissing, missing...)
	delete(e.leases, "quincy")
	e.cut["quincy"] = false
	is(metav1.ConditionFalse, v1alpha1.ReasonVotesLost, "are gone at quincy, dublin")
	e.leases["quincy"], e.leases["dublin"] = kept, kept
	is(metav1.ConditionTrue, v1alpha1.ReasonEveryVoterVotes)

	forged := *kept
	forged.Term = votes.MaxTerm
	forged.Voters = votes.Configuration{Term: votes.MaxTerm, Number: 1, Voters: []string{"dublin"}}.Encode()
	e.leases["dublin"] = &forged
	is(metav1.ConditionFalse, v1alpha1.ReasonVoteMissing, missing[0], "at dublin", "it tells of term 1073741824",
		termsForgedRunbook)
	g.Expect(e.observe().Configuration.Voters).To(HaveLen(3), "nor does it tell who votes")
	e.leases["dublin"] = kept
	is(metav1.ConditionTrue, v1alpha1.ReasonEveryVoterVotes)

	for range 3 {
		e.cut["dublin"] = true
		_, known = say()
		g.Expect(known).To(BeFalse(), "what was said stays")
		e.now = e.now.Add(silentAfter - time.Second)
		_, known = say()
		g.Expect(known).To(BeFalse())
		e.cut["dublin"] = false
		is(metav1.ConditionTrue, v1alpha1.ReasonEveryVoterVotes)
	}
	e.cut["dublin"] = true
	_, _ = say()
	e.now = e.now.Add(silentAfter)
	is(
		metav1.ConditionUnknown,
		v1alpha1.ReasonVoterNotAnswering,
		"the loss of one more of them stops automatic failover",
		"the vote at dublin is not known since 2026-",
	)
	silent = silences{}
	_, known = say()
	g.Expect(known).To(BeFalse(), "a manager that was restarted says what was said before")
	e.cut["dublin"] = false
	is(metav1.ConditionTrue, v1alpha1.ReasonEveryVoterVotes)

	unreadable := e.observe()
	unreadable.Voters[2].Err = fmt.Errorf("%w: its term is none", errNoVote)
	c, _ := votesComplete(e.d, unreadable)
	g.Expect(c).
		To(And(HaveField("Reason", v1alpha1.ReasonVoteMissing), HaveField("Message", ContainSubstring("its term is none"))))

	five := unreadable
	five.Configuration = votes.Configuration{Voters: []string{"tukwila", "quincy", "dublin", "blueridge", "ashburn"}}
	five.Voters = append(five.Voters, Voter{Site: "blueridge"}, Voter{Site: "ashburn"})
	c, _ = votesComplete(e.d, five)
	g.Expect(c.Message).
		To(ContainSubstring("4 of 5 votes are left (tukwila, quincy, blueridge, ashburn): the loss of 2 more of them stops"))
}

// Credentials that have ended meanwhile are renewed once the votes are back.
func TestCredentialsAreGivenWhenTheVotesAreBack(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	leases := e.leases
	e.leases = map[v1alpha1.SiteName]*votes.Record{}
	stale := func() Observed {
		o := e.observe()
		for s, a := range o.Agents {
			a.UpToDate = false
			o.Agents[s] = a
		}
		return o
	}
	g.Expect(plan(e.d, stale()).Outcome.Reason).To(Equal(v1alpha1.ReasonVotesLost))
	e.leases, e.group.primary = leases, ""
	var given []v1alpha1.ServerName
	for _, s := range plan(e.d, stale()).Steps {
		if s, ok := s.(GiveOrders); ok {
			given = append(given, s.Server)
		}
	}
	g.Expect(given).
		To(ConsistOf(v1alpha1.ServerName("tukpub"), v1alpha1.ServerName("quisec"), v1alpha1.ServerName("dubcfg")),
			"with no primary yet")
}
