// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
)

// A majority of the votes is left of a former group that had a primary. The first primary's agent claims nothing then,
// and the plan says what is in the way instead of waiting for it.
func TestVotesThatTellOfAPrimaryAreNamedWhereNobodyClaims(t *testing.T) {
	promoted, err := json.Marshal(
		[]votes.Timeline{{Term: 4, To: "tukpub-0", Promoted: &metav1.MicroTime{Time: time.Unix(1_800_000_000, 0)}}},
	)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, r := range map[string]votes.Record{
		"held":     {Term: 4, State: votes.StateHeld},
		"released": {Term: 4, State: votes.StateReleased, Notes: votes.Notes{Timelines: string(promoted)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared())
			e.firstPod = "present"
			for _, site := range e.d.Group.Spec.Voters {
				left := vote(t, "tukpub-0", votes.Configuration{})
				left.Term, left.State, left.Notes, left.Holder = r.Term, r.State, r.Notes, votes.Holder{
					Server: "tukpub-0",
					PodUID: "former",
				}
				e.leases[site] = &left
			}
			for range 30 {
				for _, s := range plan(e.d, e.observe()).Steps {
					g.Expect(e.do(s)).To(Succeed())
				}
			}
			g.Expect(e.group).To(BeNil())
			g.Expect(plan(e.d, e.observe()).Outcome.Message).To(And(ContainSubstring("the vote at tukwila (term 4 of tukpub-0)"),
				ContainSubstring("delete this one with reclaimPolicy Delete")))
		})
	}
}

// What a former group has left at a site that is to vote is named, and what it tells of voters is believed by nobody.
func TestAVoteOfAFormerGroupIsInTheWayOfAChange(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	made := votes.Configuration{Term: 7, Number: 2, Voters: []string{"blueridge"}}
	left := vote(t, "tukpub-0", made)
	left.Term, left.State, left.Holder = 9, votes.StateHeld, votes.Holder{Server: "quisec-0", PodUID: "former"}
	e.leases["blueridge"] = &left
	e.d.Group.Spec.Voters = []v1alpha1.SiteName{"tukwila", "quincy", "blueridge"}
	o := e.observe()
	g.Expect(o.Configuration.Voters).To(Equal([]string{"tukwila", "quincy", "dublin"}))
	g.Expect(o.Orders.Configuration).To(BeNil())
	status := e.d.Group.Status
	e.d.Group.Status = v1alpha1.AvailabilityGroupStatus{}
	g.Expect(e.observe().Configuration.Voters).
		To(Equal([]string{"tukwila", "quincy", "dublin"}), "nor by a hub that was made again")
	e.d.Group.Status = status
	g.Expect(votersChanging(e.d, o)).To(And(ContainSubstring("the vote there needs a majority of blueridge, in term 9"),
		ContainSubstring("`kubectl delete lease geosql-content -n web` there")))

	delete(e.leases, "blueridge")
	p := e.settle(everything)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(e.d.configuration().Voters).To(Equal([]string{"tukwila", "quincy", "blueridge"}))
}
