// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
)

// Somebody whose clock is ahead has asked for something at a site. What is asked for now counts, as the newest does
// with agents, and not only once that clock's time has come.
func TestARequestIsNewerThanThoseThatAreThere(t *testing.T) {
	g := NewWithT(t)
	o := world(failover("f", 0, v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover}))
	ahead := begun.Add(10 * time.Minute)
	o.Votes[2].Request = &votes.Request{ID: "laptop", Issued: ahead}
	p := plan(o)
	first := p.Steps[1].(Ask)
	g.Expect(first.Request.Issued).To(BeTemporally(">", ahead))
	o.Failovers[0].Status = statusOf(o, p, "f")
	o.Votes[0].Request = &first.Request
	p = plan(o)
	g.Expect(asks(p)).To(Equal([]string{"quincy"}), "nobody can tell how long the agents have been silent")
	g.Expect(p.Steps[len(p.Steps)-1].(Ask).Request).To(Equal(first.Request), "it is the same request")
}

// Who asks for a Failover because there is no primary is not kept waiting by a switchover that waits for one, nor by
// what agents have begun with and cannot end any more.
func TestAFailoverGoesAheadOfWhatCannotGoOn(t *testing.T) {
	second := failover("second", 0, v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover})
	second.CreationTimestamp = metav1.NewTime(begun.Add(time.Second))
	accepted := asked(-time.Minute)
	accepted.Name = "first"
	for name, tc := range map[string]struct {
		first v1alpha1.Failover
		asked bool
	}{
		"a switchover waits for a primary":               {failover("first", time.Minute, switchover("quisec")), true},
		"an agent began with it a minute ago":            {accepted, true},
		"agents were asked for another one a moment ago": {asked(-time.Second), false},
		"they have had just the time of an election":     {asked(-electionTime), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := world(tc.first, second)
			o.Group.Status.Primary = ""
			o.Votes[0].Answer = &votes.Answer{ID: string(accepted.UID), Outcome: votes.OutcomeAccepted}
			p := plan(o)
			s := statusOf(o, p, "second")
			if !tc.asked {
				g.Expect(s).
					To(And(HaveField("Phase", v1alpha1.FailoverPending),
						HaveField("Message", ContainSubstring("kubectl delete failover f -n web"))))
				return
			}
			g.Expect(s.Phase).To(Equal(v1alpha1.FailoverRequested), s.Message)
			g.Expect(statusOf(o, p, "first").Phase).NotTo(Equal(v1alpha1.FailoverCompleted))

			o.Failovers[1].Status, o.Votes[0].Request = s, &votes.Request{ID: string(second.UID)}
			o.Group.Status.Primary = "tukpub-0"
			g.Expect(asks(plan(o))).To(BeEmpty(), "one at a time: what waited goes on waiting for what went ahead")
		})
	}
}

// Only a Failover goes ahead, and only while there is no primary.
func TestNobodyElseGoesAhead(t *testing.T) {
	for name, tc := range map[string]struct {
		second  v1alpha1.FailoverSpec
		primary string
	}{
		"a switchover, without a primary":   {switchover("quisec"), ""},
		"a switchover":                      {switchover("quisec"), "tukpub-0"},
		"a failover, while a primary is up": {v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover}, "tukpub-0"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := asked(-time.Minute), failover("second", 0, tc.second)
			second.CreationTimestamp = metav1.NewTime(begun.Add(time.Second))
			o := world(first, second)
			o.Group.Status.Primary = tc.primary
			NewWithT(
				t,
			).Expect(statusOf(o, plan(o), "second")).
				To(And(HaveField("Phase", v1alpha1.FailoverPending), HaveField("Reason", "Waiting"),
					HaveField("Message", ContainSubstring("Failover f of group content"))))
		})
	}
}

// Where the agents choose, the estimate is of the one that they are expected to choose.
func TestTheLossOfAFailoverWithoutATarget(t *testing.T) {
	g := NewWithT(t)
	spec := v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, AllowDataLoss: true, ExpectedTerm: ptr.To[int64](3)}
	o := world(failover("f", 0, spec))
	g.Expect(statusOf(o, plan(o), "f").EstimatedDataLoss).To(HaveValue(HaveField("Duration", 7*time.Second)))
	spec.To = "quisec"
	o = world(failover("f", 0, spec))
	g.Expect(statusOf(o, plan(o), "f").EstimatedDataLoss).To(BeNil(), "nothing is known of that one's commits")
}
