// SPDX-License-Identifier: Apache-2.0

//go:build integration

package keeper_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/test/support/apiserver"
)

// Keepers over real Leases elect as over simulated ones, and leave alone what others wrote beside the votes.
func TestKeepersOverLeases(t *testing.T) {
	g := NewWithT(t)
	api := apiserver.StartMember(t)
	sites := []string{"site0", "site1", "site2"}
	clients, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	for _, site := range sites {
		api.Namespace(t, site)
		lease := votes.NewLease(site, "content", names[0], votes.Configuration{})
		lease.Annotations["example.com/note"] = "kept"
		g.Expect(api.Client.Create(t.Context(), lease)).To(Succeed())
	}
	timings := ballot.DefaultTimings()
	timings.APITimeout, timings.Acknowledge = 1400*time.Millisecond, 1500*time.Millisecond
	w := newWorldOver(timings, func(s *server, i int) votes.Voter {
		return mute{votes.NewLeaseVoter(sites[i], clients.CoordinationV1().Leases(sites[i]), "content"), s, i}
	})
	g.Expect(w.servers[0].step().Term).To(Equal(int64(1)))
	w.create()
	w.servers[0].cut[2] = true
	w.live(12)
	g.Expect(w.primary()).To(Equal(w.servers[0]), "two of three voters are enough")
	w.servers[0].isolate(true)
	w.live(16)
	g.Expect(w.primary()).NotTo(BeNil())
	g.Expect(w.primary()).NotTo(Equal(w.servers[0]))
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: sites[1], Name: votes.LeaseName("content")}
	g.Expect(api.Client.Get(t.Context(), key, &lease)).To(Succeed())
	g.Expect(lease.Annotations).To(HaveKeyWithValue("example.com/note", "kept"))
	lines, err := votes.ParseTimelines(lease.Annotations)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(HaveLen(2))

	votes.Request{
		ID:     "pause",
		Kind:   votes.RequestPause,
		Issued: clock{w.servers[0]}.Wall(),
	}.Annotate(
		lease.Annotations,
	)
	g.Expect(api.Client.Update(t.Context(), &lease)).To(Succeed())
	w.live(4)
	g.Expect(api.Client.Get(t.Context(), key, &lease)).To(Succeed())
	answer, ok, err := votes.ParseAnswer(lease.Annotations)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeTrue())
	g.Expect(answer.Outcome).To(Equal(votes.OutcomeDone))
	g.Expect(lease.Annotations).To(HaveKeyWithValue(votes.AnnotationPaused, "true"))
	g.Expect(w.fault).NotTo(HaveOccurred())
}

// mute is a voter that a server may be cut off from.
type mute struct {
	*votes.LeaseVoter
	s *server
	i int
}

func (m mute) Read(ctx context.Context) (votes.Record, string, error) {
	if m.s.cut[m.i] {
		return votes.Record{}, "", errNoAnswer
	}
	return m.LeaseVoter.Read(ctx)
}

func (m mute) Swap(ctx context.Context, version string, r votes.Record) (string, error) {
	if m.s.cut[m.i] {
		return "", errNoAnswer
	}
	return m.LeaseVoter.Swap(ctx, version, r)
}
