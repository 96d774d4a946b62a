// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// revote declares other voters and waits until these alone vote, by the word of the votes and of the group's status.
func (gt *groupTest) revote(policy v1alpha1.FailoverPolicy, sites ...v1alpha1.SiteName) {
	gt.t.Helper()
	bed.Wait(gt.t, fmt.Sprintf("%v are declared", sites), 30*time.Second, func(ctx context.Context) (bool, string, error) {
		if err := gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(gt.group), gt.group); err != nil {
			return false, "", err
		}
		gt.group.Spec.FailoverPolicy, gt.group.Spec.Voters = policy, sites
		err := gt.b.Hub().Client.Update(ctx, gt.group)
		return err == nil, fmt.Sprint(err), nil
	})
	bed.Wait(gt.t, fmt.Sprintf("%v alone vote", sites), 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		for _, site := range sites {
			_, r, err := gt.vote(ctx, string(site))
			if c := r.Configuration(); err != nil || c.Changing() || !sameVoters(c.Voters, sites) ||
				r.State != votes.StateHeld {
				return false, fmt.Sprintf("%s: %s, %s", site, r.State, c), err
			}
		}
		c, err := gt.ready(ctx)
		told := gt.group.Status.VoterConfiguration
		return err == nil && c.Status == "True" && told != nil && len(told.Next) == 0 && sameVoters(told.Voters, sites) &&
			len(gt.group.Status.Voters) == len(sites), c.Reason + ": " + c.Message, err
	})
}

func sameVoters(voters []string, sites []v1alpha1.SiteName) bool {
	return len(voters) == len(sites) &&
		!slices.ContainsFunc(sites, func(s v1alpha1.SiteName) bool { return !slices.Contains(voters, string(s)) })
}

// One of three voters loses its vote, three become one, and one becomes three, which gives the lost vote back, while a
// client writes: the primary serves on in its term. By whoever votes then a killed primary is back, and a switchover
// goes through. The sites that vote no more keep the group's Lease, which still says who voted after them, until the
// group is deleted. Then one vote is a rival's that claimed it in vain, and at last two are lost and restored by hand.
func TestVotersChangeUnderAPrimaryThatServes(t *testing.T) {
	groupA.Beside(t, 3, 130)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	gt.backAt("tukwila")
	gt.policy(v1alpha1.FailoverManual)
	db := gt.wherever(shellAt(t, b.Site("dublin"), namespace))
	w := gt.startWriting(db)
	term := gt.group.Status.Term
	g.Expect(gt.group.Status.VoterConfiguration).To(BeNil(), "it has the voters that it began with")

	change := func(policy v1alpha1.FailoverPolicy, sites ...v1alpha1.SiteName) {
		t.Helper()
		began := time.Now()
		gap := w.gap(t, func() { gt.revote(policy, sites...) }, func() {})
		t.Logf(
			"%v vote after %.1f s, no acknowledgement for %.1f s at most",
			sites,
			time.Since(began).Seconds(),
			gap.Seconds(),
		)
		g.Expect(gt.group.Status.Term).To(Equal(term), "other voters are no failover")
		g.Expect(gt.group.Status.Primary).To(Equal(credentials.HostName(gt.server("tukwila"))))
	}
	gt.loseVotes("quincy")
	gt.votesComplete(metav1.ConditionFalse, "quincy")
	change(v1alpha1.FailoverManual, "dublin")
	g.Expect(gt.group.Status.FormerVoters).To(ContainElement("tukwila"))
	_, left, err := gt.vote(t.Context(), "tukwila")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left.Configuration().Next).
		To(Equal([]string{"dublin"}), "with dublin a majority of those that voted before tells of the change")
	gt.killEngine("tukwila")
	gt.wait("the group is synchronized again by one vote", term+1, 2*time.Minute)
	gt.primaryAt("tukwila")
	w.more(t, time.Minute)
	term = gt.group.Status.Term

	change(v1alpha1.FailoverAutomatic, "tukwila", "quincy", "dublin")
	g.Expect(gt.group.Status.FormerVoters).To(BeEmpty())
	gt.votesComplete(metav1.ConditionTrue, "")
	_, err = gt.geosql("tukwila", "switchover", gt.group.Name, "--to", string(gt.server("quincy")), "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	gt.primaryAt("quincy")
	w.more(t, time.Minute)
	gt.outgrowsAClaim(w)
	gt.isNotStoppedByAForgedTerm(w)
	gt.bearsIdleConnections(w)
	gt.losesItsVotes(w)
	w.end()
	w.verify(t, db)
}
