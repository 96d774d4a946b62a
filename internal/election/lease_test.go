// SPDX-License-Identifier: Apache-2.0

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
	"geosql.dev/operator/internal/testenv"
)

// A real API server decides between two that swap the same version, refuses what is stale, and makes nothing of nothing.
func TestLeaseVoterComparesAndSwaps(t *testing.T) {
	g := NewWithT(t)
	api := testenv.StartMember(t)
	api.Namespace(t, "web")
	clients, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	voter := func() *election.LeaseVoter {
		return election.NewLeaseVoter("tukwila", clients.CoordinationV1().Leases("web"), "content")
	}
	a, b := voter(), voter()
	_, _, err = a.Read(t.Context())
	g.Expect(err).To(MatchError(election.ErrAbsent), "a missing Lease is not a free one")
	_, err = a.Swap(t.Context(), "1", election.Record{Term: 1, State: election.StateClaimed, Holder: election.Holder{Server: server}})
	g.Expect(err).To(MatchError(election.ErrAbsent), "what was not read is not swapped")

	lease := election.NewLease("web", "content", server, 1)
	lease.Labels = map[string]string{"app.kubernetes.io/managed-by": "geosql-operator"}
	g.Expect(api.Client.Create(t.Context(), lease)).To(Succeed())
	record, version, err := a.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record).To(Equal(election.Record{State: election.StateReleased, InitialPrimary: server, Generation: 1}))
	_, sameVersion, err := b.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sameVersion).To(Equal(version))

	claim := func(nonce string) election.Record {
		return election.Record{Term: 1, State: election.StateClaimed, InitialPrimary: server, Generation: 1,
			Holder: election.Holder{Server: server, PodUID: "pod", Engine: "engine", Nonce: nonce}}
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
	g.Expect(err).To(MatchError(election.ErrAbsent), "a renewal does not bring a deleted Lease back: API servers let an update create one")

	now = *election.NewLease("web", "content", server, 1)
	now.Annotations = nil
	g.Expect(api.Client.Create(t.Context(), &now)).To(Succeed())
	_, _, err = a.Read(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("vote-state")), "what this package did not write grants nothing")
}

// A keeper over real Leases survives a voter that falls silent, and stops when two of three do.
func TestKeeperOverLeases(t *testing.T) {
	g := NewWithT(t)
	api := testenv.StartMember(t)
	w := newWorld()
	r := w.start("pod1", "engine1", 1, election.DefaultTimings())
	silent := map[string]bool{}
	var voters []election.Voter
	for _, site := range []string{"tukwila", "quincy", "dublin"} {
		api.Namespace(t, site)
		clients, err := kubernetes.NewForConfig(api.Config)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(api.Client.Create(t.Context(), election.NewLease(site, "content", server, 1))).To(Succeed())
		voters = append(voters, mute{election.NewLeaseVoter(site, clients.CoordinationV1().Leases(site), "content"), silent, site})
	}
	nonces := 0
	ballot := election.NewBallot(voters, runClock{r}, 10*time.Second)
	r.keeper = election.NewKeeper("content", r.self, ballot, r, runClock{r}, r.timings, func() string { nonces++; return string(rune('a' + nonces)) })
	g.Expect(r.step().Action).To(Equal("claimed term 1"))
	r.create()
	silent["dublin"] = true
	r.stepFor(20)
	g.Expect(r.writable()).To(BeTrue())
	silent["quincy"] = true
	r.stepFor(9)
	g.Expect(r.writable()).To(BeFalse())
	clear(silent)
	r.stepFor(3)
	g.Expect(r.writable()).To(BeTrue())
	record, _, err := voters[0].Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record.Term).To(BeNumerically(">", 1))
}

// mute is a voter that can fall silent.
type mute struct {
	*election.LeaseVoter
	silent map[string]bool
	site   string
}

func (m mute) Read(ctx context.Context) (election.Record, string, error) {
	if m.silent[m.site] {
		return election.Record{}, "", errNoAnswer
	}
	return m.LeaseVoter.Read(ctx)
}

func (m mute) Swap(ctx context.Context, version string, r election.Record) (string, error) {
	if m.silent[m.site] {
		return "", errNoAnswer
	}
	return m.LeaseVoter.Swap(ctx, version, r)
}
