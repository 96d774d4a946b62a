// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
	"geosql.dev/operator/test/support/checkout"
)

// loseVotes deletes the group's Lease at sites.
func (gt *groupTest) loseVotes(sites ...string) {
	gt.t.Helper()
	for _, site := range sites {
		lease, _, err := gt.vote(gt.t.Context(), site)
		NewWithT(gt.t).Expect(err).NotTo(HaveOccurred())
		NewWithT(gt.t).Expect(gt.b.Site(site).Client.Delete(gt.t.Context(), &lease)).To(Succeed())
	}
}

// votesComplete waits until the condition says so, or that a vote is missing and at which site.
func (gt *groupTest) votesComplete(want metav1.ConditionStatus, site string) {
	gt.t.Helper()
	bed.Wait(gt.t, "VotesComplete is "+string(want), time.Minute, func(ctx context.Context) (bool, string, error) {
		_, err := gt.ready(ctx)
		c := meta.FindStatusCondition(gt.group.Status.Conditions, v1alpha1.ConditionVotesComplete)
		if c == nil {
			return false, "no condition yet", err
		}
		return c.Status == want && strings.Contains(c.Message, site), c.Reason + ": " + c.Message, err
	})
}

// restoreVotes creates the Leases at sites as docs/runbooks/votes-lost.md says, with the voters that the Lease at left
// tells of.
func (gt *groupTest) restoreVotes(left string, sites ...string) {
	gt.t.Helper()
	g := NewWithT(gt.t)
	known, vote, err := gt.vote(gt.t.Context(), left)
	g.Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(checkout.Root(), "docs", "runbooks", "votes-lost.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, manifest, _ := strings.Cut(string(page), "<<EOF\n")
	manifest, _, found := strings.Cut(manifest, "\nEOF\n")
	g.Expect(found).To(BeTrue(), "the page has a manifest")
	for _, site := range sites {
		var lease coordinationv1.Lease
		g.Expect(yaml.UnmarshalStrict([]byte(manifest), &lease)).To(Succeed())
		lease.Namespace, lease.Name = known.Namespace, known.Name
		lease.Labels["geosql.dev/availability-group"] = gt.group.Name
		lease.Labels["geosql.dev/hub-namespace"] = gt.group.Namespace
		lease.Annotations["geosql.dev/initial-primary"] = credentials.HostName(gt.server("tukwila"))
		for _, name := range []string{"geosql.dev/voter-generation", "geosql.dev/voters"} {
			if text, told := known.Annotations[name]; told {
				lease.Annotations[name] = text
			}
		}
		term := int32(vote.Term) + 1000
		lease.Spec.LeaseTransitions = &term
		g.Expect(gt.b.Site(site).Client.Create(gt.t.Context(), &lease)).To(Succeed())
	}
}

// outgrowsAClaim writes what a candidate leaves behind whose claim the voter at dublin alone has granted. The primary
// serves on, has all votes again in a term above that claim, and everybody sees that it leads.
func (gt *groupTest) outgrowsAClaim(w *writer) {
	gt.t.Helper()
	g := NewWithT(gt.t)
	before := gt.group.Status.DeepCopy()
	began := time.Now()
	gap := w.gap(gt.t, func() {
		bed.Wait(gt.t, "a rival's claim is at dublin", 30*time.Second, func(ctx context.Context) (bool, string, error) {
			lease, vote, err := gt.vote(ctx, "dublin")
			if err != nil {
				return false, "", err
			}
			term, rival := int32(
				vote.Term,
			)+2, votes.Holder{
				Server: credentials.HostName(gt.server("dublin")),
				PodUID: "none",
				Engine: "none",
				Nonce:  "none",
			}.String()
			lease.Spec.LeaseTransitions, lease.Spec.HolderIdentity = &term, &rival
			lease.Annotations["geosql.dev/vote-state"] = string(votes.StateClaimed)
			// Its holder renews the vote at any moment: then this one comes too late, and is written anew.
			err = gt.b.Site("dublin").Client.Update(ctx, &lease)
			return err == nil, fmt.Sprint(err), nil
		})
	}, func() {
		gt.wait("the holder goes on in a higher term", before.Term+3, time.Minute)
		bed.Wait(
			gt.t,
			"the vote at dublin is the holder's again",
			time.Minute,
			func(ctx context.Context) (bool, string, error) {
				_, vote, err := gt.vote(ctx, "dublin")
				return vote.Holder.Server == before.Primary, vote.Holder.Server, err
			},
		)
	})
	gt.t.Logf(
		"a claim at one voter is outgrown after %.1f s, no acknowledgement for %.1f s at most",
		time.Since(began).Seconds(),
		gap.Seconds(),
	)
	g.Expect(gt.group.Status.Primary).To(Equal(before.Primary))
	g.Expect(gap).To(BeNumerically("<", lapse), "it is no failover")
}

// losesItsVotes deletes the Leases of two voters of three while a client writes, and goes by the runbook.
func (gt *groupTest) losesItsVotes(w *writer) {
	gt.t.Helper()
	term := gt.group.Status.Term
	gt.loseVotes("tukwila", "quincy")
	bed.Wait(
		gt.t,
		"the group says that its votes are lost",
		2*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			c, err := gt.ready(ctx)
			return c.Reason == v1alpha1.ReasonVotesLost, c.Reason + ": " + c.Message, err
		},
	)
	bed.Wait(
		gt.t,
		"nobody serves: the last write lease has ended",
		time.Minute,
		func(context.Context) (bool, string, error) {
			since := time.Since(w.lastAck())
			return since > 10*time.Second, "acknowledged " + since.Round(time.Second).String() + " ago", nil
		},
	)
	began := time.Now()
	gt.restoreVotes("dublin", "tukwila", "quincy")
	w.more(gt.t, 2*time.Minute)
	gt.t.Logf("the votes are restored by hand: fifty writes are acknowledged after %.1f s", time.Since(began).Seconds())
	gt.wait("the group is synchronized by the restored votes", term+1000, 2*time.Minute)
	gt.votesComplete(metav1.ConditionTrue, "")
}
