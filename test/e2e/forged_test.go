// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// isNotStoppedByAForgedTerm has somebody write the last term that a Lease takes at one voter: the primary serves on in
// its term, and takes the vote back.
func (gt *groupTest) isNotStoppedByAForgedTerm(w *writer) {
	gt.t.Helper()
	g := NewWithT(gt.t)
	before := gt.group.Status.DeepCopy()
	gap := w.gap(gt.t, func() {
		bed.Wait(gt.t, "a forged vote is at dublin", 30*time.Second, func(ctx context.Context) (bool, string, error) {
			lease, _, err := gt.vote(ctx, "dublin")
			if err != nil {
				return false, "", err
			}
			term := int32(1<<31 - 1)
			nobody := votes.Holder{Server: "nobody-0", PodUID: "none", Engine: "none", Nonce: "none"}.String()
			lease.Spec.LeaseTransitions, lease.Spec.HolderIdentity = &term, &nobody
			lease.Annotations["geosql.dev/vote-state"] = string(votes.StateHeld)
			// Its holder renews the vote at any moment: then this one comes too late, and is written anew.
			err = gt.b.Site("dublin").Client.Update(ctx, &lease)
			return err == nil, fmt.Sprint(err), nil
		})
	}, func() {
		bed.Wait(gt.t, "the vote at dublin is the holder's again", time.Minute,
			func(ctx context.Context) (bool, string, error) {
				_, vote, err := gt.vote(ctx, "dublin")
				return vote.Holder.Server == before.Primary && vote.Term == before.Term,
					fmt.Sprintf("term %d %s", vote.Term, vote.Holder.Server), err
			})
	})
	gt.t.Logf("a forged term: no acknowledgement for %.1f s at most", gap.Seconds())
	g.Expect(gap).To(BeNumerically("<", lapse), "it is no failover")
	gt.votesComplete(metav1.ConditionTrue, "")
	g.Expect(gt.group.Status.Term).To(Equal(before.Term))
	g.Expect(gt.group.Status.Primary).To(Equal(before.Primary))
}

// lapse is the time of a write lease. An election waits for the end of the former one, so a failover takes longer; a
// busy machine alone holds a write up for two seconds.
var lapse = ballot.DefaultTimings().WriteLease

// idle is how many connections another pod opens, by as many processes as openers says.
const idle, openers = 3000, 50

// bearsIdleConnections has another pod open connections to the primary's sidecar, at both of its ports, and say
// nothing: its lease is renewed meanwhile.
func (gt *groupTest) bearsIdleConnections(w *writer) {
	gt.t.Helper()
	g := NewWithT(gt.t)
	before := gt.group.Status.DeepCopy()
	shell := shellAt(gt.t, gt.b.Site("dublin"), namespace)
	// Each takes a round trip of the WAN, so many open theirs side by side.
	script := fmt.Sprintf(`open() { for i in $(seq %d); do exec {fd}<>"/dev/tcp/%s/$1" || exit 1; done; sleep 3; }; `+
		`for p in $(seq %d); do open "$1" & all+=($!); done; for p in "${all[@]}"; do wait "$p" || exit 1; done; `+
		`echo "$1 opened"`, idle/openers, before.Primary, openers)
	gap := w.gap(gt.t, func() {
		for _, port := range []int{credentials.AgentPort, credentials.ElectionPort} {
			out, errors, err := shell.Site.Exec(gt.t.Context(), shell.Pod.Namespace, shell.Pod.Name, "shell", "bash", "-c",
				script, "bash", fmt.Sprint(port))
			g.Expect(err).NotTo(HaveOccurred(), errors)
			g.Expect(out).To(ContainSubstring(fmt.Sprintf("%d opened", port)))
		}
	}, func() { w.more(gt.t, time.Minute) })
	gt.t.Logf("%d idle connections at each port: no acknowledgement for %.1f s at most", idle, gap.Seconds())
	g.Expect(gap).To(BeNumerically("<", lapse), "the lease is renewed")
	_, err := gt.ready(gt.t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(gt.group.Status.Term).To(Equal(before.Term))
	g.Expect(gt.group.Status.Primary).To(Equal(before.Primary))
}
