// SPDX-License-Identifier: Apache-2.0

//go:build integration

package election_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/test/support/apiserver"
)

// A real API server decides between two that swap the same version, refuses what is stale, and makes nothing of
// nothing.
func TestLeaseVoterComparesAndSwaps(t *testing.T) {
	g := NewWithT(t)
	api := apiserver.StartMember(t)
	api.Namespace(t, "web")
	clients, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	voter := func() *election.LeaseVoter {
		return election.NewLeaseVoter("tukwila", clients.CoordinationV1().Leases("web"), "content")
	}
	a, b := voter(), voter()
	_, _, err = a.Read(t.Context())
	g.Expect(err).To(MatchError(election.ErrAbsent), "a missing Lease is not a free one")
	_, err = a.Swap(
		t.Context(),
		"1",
		election.Record{Term: 1, State: election.StateClaimed, Holder: election.Holder{Server: names[0]}},
	)
	g.Expect(err).To(MatchError(election.ErrAbsent), "what was not read is not swapped")

	lease := election.NewLease("web", "content", names[0], election.Configuration{})
	lease.Labels = map[string]string{"app.kubernetes.io/managed-by": "geosql-operator"}
	g.Expect(api.Client.Create(t.Context(), lease)).To(Succeed())
	record, version, err := a.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record).To(Equal(election.Record{State: election.StateReleased, InitialPrimary: names[0]}))
	_, sameVersion, err := b.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sameVersion).To(Equal(version))

	claim := func(nonce string) election.Record {
		return election.Record{Term: 1, State: election.StateClaimed, InitialPrimary: names[0],
			Holder: election.Holder{Server: names[0], PodUID: "pod", Engine: "engine", Nonce: nonce}}
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, v := range []*election.LeaseVoter{a, b} {
		wg.Go(func() { _, errs[i] = v.Swap(t.Context(), version, claim(string(rune('a'+i)))) })
	}
	wg.Wait()
	g.Expect(errors.Join(errs...)).To(MatchError(election.ErrConflict))
	g.Expect(errs).To(ContainElement(BeNil()), "one of two wins")

	won, version, err := a.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(won).To(BeElementOf(claim("a"), claim("b")))
	for range 3 {
		version, err = a.Swap(t.Context(), version, claim("again"))
		g.Expect(err).NotTo(HaveOccurred(), "each swap gives the version for the next")
	}
	var now coordinationv1.Lease
	g.Expect(api.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), &now)).To(Succeed())
	g.Expect(now.Labels).To(Equal(lease.Labels), "a swap keeps the labels by which the manager finds it")

	g.Expect(api.Client.Delete(t.Context(), &now)).To(Succeed())
	_, err = a.Swap(t.Context(), version, claim("late"))
	g.Expect(err).To(HaveOccurred())
	_, _, err = a.Read(t.Context())
	g.Expect(err).
		To(MatchError(election.ErrAbsent),
			"a renewal does not bring a deleted Lease back: API servers let an update create one")

	now = *election.NewLease("web", "content", names[0], election.Configuration{})
	now.Annotations = nil
	g.Expect(api.Client.Create(t.Context(), &now)).To(Succeed())
	_, _, err = a.Read(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("vote-state")), "what this package did not write grants nothing")
}

// Keepers over real Leases elect as over simulated ones, and leave alone what others wrote beside the votes.
func TestKeepersOverLeases(t *testing.T) {
	g := NewWithT(t)
	api := apiserver.StartMember(t)
	sites := []string{"site0", "site1", "site2"}
	clients, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	for _, site := range sites {
		api.Namespace(t, site)
		lease := election.NewLease(site, "content", names[0], election.Configuration{})
		lease.Annotations["example.com/note"] = "kept"
		g.Expect(api.Client.Create(t.Context(), lease)).To(Succeed())
	}
	timings := election.DefaultTimings()
	timings.APITimeout, timings.Acknowledge = 1400*time.Millisecond, 1500*time.Millisecond
	w := newWorldOver(timings, func(s *server, i int) election.Voter {
		return mute{election.NewLeaseVoter(sites[i], clients.CoordinationV1().Leases(sites[i]), "content"), s, i}
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
	key := client.ObjectKey{Namespace: sites[1], Name: election.LeaseName("content")}
	g.Expect(api.Client.Get(t.Context(), key, &lease)).To(Succeed())
	g.Expect(lease.Annotations).To(HaveKeyWithValue("example.com/note", "kept"))
	lines, err := election.ParseTimelines(lease.Annotations)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(HaveLen(2))

	election.Request{
		ID:     "pause",
		Kind:   election.RequestPause,
		Issued: clock{w.servers[0]}.Wall(),
	}.Annotate(
		lease.Annotations,
	)
	g.Expect(api.Client.Update(t.Context(), &lease)).To(Succeed())
	w.live(4)
	g.Expect(api.Client.Get(t.Context(), key, &lease)).To(Succeed())
	answer, ok, err := election.ParseAnswer(lease.Annotations)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeTrue())
	g.Expect(answer.Outcome).To(Equal(election.OutcomeDone))
	g.Expect(lease.Annotations).To(HaveKeyWithValue(election.AnnotationPaused, "true"))
	g.Expect(w.fault).NotTo(HaveOccurred())
}

// mute is a voter that a server may be cut off from.
type mute struct {
	*election.LeaseVoter
	s *server
	i int
}

func (m mute) Read(ctx context.Context) (election.Record, string, error) {
	if m.s.cut[m.i] {
		return election.Record{}, "", errNoAnswer
	}
	return m.LeaseVoter.Read(ctx)
}

func (m mute) Swap(ctx context.Context, version string, r election.Record) (string, error) {
	if m.s.cut[m.i] {
		return "", errNoAnswer
	}
	return m.LeaseVoter.Swap(ctx, version, r)
}
