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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// rows reads the numbers that a copy has, in their order.
func rows(ctx context.Context, db *mssql.DB) ([]int, error) {
	var have []int
	err := db.Query(ctx, tsql.Statement{Text: "SELECT id FROM dbo.Acked ORDER BY id"}, func(r mssql.Row) error {
		var id int
		err := r.Scan(&id)
		have = append(have, id)
		return err
	})
	return have, err
}

// readable waits until a copy can be read, and reads it.
func readable(t *testing.T, db *mssql.DB) []int {
	t.Helper()
	var have []int
	bed.Wait(t, "the copy can be read", time.Minute, func(ctx context.Context) (bool, string, error) {
		var err error
		have, err = rows(ctx, db)
		return err == nil, fmt.Sprint(err), nil
	})
	return have
}

// replicaStatus is what the group's status says of the server of a site.
func (gt *groupTest) replicaStatus(ctx context.Context, site string) (v1alpha1.ReplicaStatus, error) {
	_, err := gt.ready(ctx)
	for _, r := range gt.group.Status.Replicas {
		if r.Server == credentials.HostName(gt.server(site)) {
			return r, err
		}
	}
	return v1alpha1.ReplicaStatus{}, err
}

// isolate cuts Dublin off from the primary, lets it acknowledge writes that Dublin lacks, and cuts it off from Quincy
// too, so that nobody but itself has them. It returns the numbers that were acknowledged.
func (gt *groupTest) isolate(w *writer) []int {
	t, b := gt.t, gt.b
	t.Helper()
	b.Wan(t, "cut", "tukwila", "dublin")
	cut := w.count()
	bed.Wait(
		t,
		"fifty writes are acknowledged without Dublin",
		2*time.Minute,
		func(context.Context) (bool, string, error) {
			return w.count() > cut+50, fmt.Sprint(w.count() - cut), nil
		},
	)
	b.Wan(t, "cut", "tukwila", "quincy")
	timings := ballot.NewGroup()
	bed.Wait(t, "the primary acknowledges nothing any more", time.Minute, func(context.Context) (bool, string, error) {
		return time.Since(w.lastAck()) > timings.WriteLease+timings.Acknowledge+timings.Overrun, "", nil
	})
	w.end()
	return slices.Clone(w.acked)
}

// The primary's site is lost with writes that no other copy has. Nobody is promoted until a person allows the loss;
// then the record tells of it. The old primary comes back apart, with the lost rows readable, until a person says
// rejoin.
func TestForcedFailover(t *testing.T) {
	onlyInSoak(t)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.ResetWan(t)
	gt := declareGroup(t, b, "e2eforce", v1alpha1.SynchronousCommit, func(g *v1alpha1.AvailabilityGroup) {
		r := g.Spec.Replicas
		r[0].Readable, r[2].Readable = true, true
		r[1].AvailabilityMode, r[1].Readable = v1alpha1.ConfigurationOnly, false
	})
	gt.wait("the group is synchronized", 1, 5*time.Minute)
	through := gt.through(shellAt(t, b.Site("tukwila"), namespace))
	w := gt.startWriting(through)
	acked := gt.isolate(w)

	old, next := credentials.HostName(gt.server("tukwila")), credentials.HostName(gt.server("dublin"))
	_, err := gt.geosql("dublin", "failover", gt.group.Name, "--to", string(gt.server("dublin")), "--wait")
	g.Expect(err).To(HaveOccurred(), "nothing may be lost without leave")
	out, err := gt.geosql(
		"dublin",
		"failover",
		gt.group.Name,
		"--to",
		string(gt.server("dublin")),
		"--allow-data-loss",
		"--yes",
		"--wait",
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(And(ContainSubstring("WOULD LOSE"), ContainSubstring("Succeeded")))
	gt.electedAt("dublin", "dublin", time.Minute)
	g.Expect(gt.failovers(t.Context())).To(ContainElement(And(
		HaveField("Spec.AllowDataLoss", BeTrue()), HaveField("Status.Outcome", v1alpha1.FailoverSucceeded),
		HaveField("Status.To", next), HaveField("Status.Lost", And(Not(BeNil()), HaveField("Known", BeFalse()),
			HaveField("Databases", ConsistOf(And(HaveField("Name", "Content"), HaveField("FromLSN", Not(BeEmpty()))))))))))
	atDublin := open(
		t,
		connectorFrom(t, b, shellAt(t, b.Site("dublin"), namespace)),
		gt.servers["dublin"],
		credentials.RoleSA,
		"Content",
	)
	kept := readable(t, atDublin)
	var lost []int
	for _, id := range acked {
		if !slices.Contains(kept, id) {
			lost = append(lost, id)
		}
	}
	t.Logf("%d rows acknowledged, %d of them are not at Dublin", len(acked), len(lost))
	g.Expect(len(lost)).To(BeNumerically(">", 0))
	after := startWriter(t, atDublin, 1_000_000)
	after.more(t, time.Minute)

	b.Wan(t, "heal", "tukwila", "quincy")
	b.Wan(t, "heal", "tukwila", "dublin")
	bed.Wait(
		t,
		"the status says that the old primary is suspended",
		2*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			r, err := gt.replicaStatus(ctx, "tukwila")
			text := fmt.Sprintf("%s %+v", r.Role, r.Databases)
			return r.Role == "SECONDARY" && len(r.Databases) == 1 && r.Databases[0].Suspended != "", text, err
		},
	)
	atTukwila := open(
		t,
		connectorFrom(t, b, shellAt(t, b.Site("tukwila"), namespace)),
		gt.servers["tukwila"],
		credentials.RoleSA,
		"Content",
	)
	apart := readable(t, atTukwila)
	g.Expect(apart).To(ContainElements(lost), "every lost row can be salvaged")
	g.Expect(slices.Max(apart)).To(BeNumerically("<", 1_000_000), "it does not follow")
	out, err = gt.geosql("dublin", "status")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(MatchRegexp(`%s +SECONDARY .*no`, old))
	after.more(t, time.Minute)
	after.end()

	_, err = gt.geosql("dublin", "rejoin", gt.group.Name, string(gt.server("tukwila")), "--yes", "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	gt.primaryAt("dublin")
	want := readable(t, atDublin)
	bed.Wait(t, "both copies are equal", time.Minute, func(ctx context.Context) (bool, string, error) {
		have, err := rows(ctx, atTukwila)
		return err == nil && slices.Equal(have, want), fmt.Sprintf("%d of %d rows, %v", len(have), len(want), err), nil
	})
	g.Expect(want).NotTo(ContainElements(lost))
	after.verify(t, atDublin)
}
