// SPDX-License-Identifier: Apache-2.0

//go:build integration

package votes_test

import (
	"errors"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/election/votes"
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
	voter := func() *votes.LeaseVoter {
		return votes.NewLeaseVoter("tukwila", clients.CoordinationV1().Leases("web"), "content")
	}
	a, b := voter(), voter()
	_, _, err = a.Read(t.Context())
	g.Expect(err).To(MatchError(votes.ErrAbsent), "a missing Lease is not a free one")
	_, err = a.Swap(
		t.Context(),
		"1",
		votes.Record{Term: 1, State: votes.StateClaimed, Holder: votes.Holder{Server: "tukpub-0"}},
	)
	g.Expect(err).To(MatchError(votes.ErrAbsent), "what was not read is not swapped")

	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	lease.Labels = map[string]string{"app.kubernetes.io/managed-by": "geosql-operator"}
	g.Expect(api.Client.Create(t.Context(), lease)).To(Succeed())
	record, version, err := a.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record).To(Equal(votes.Record{State: votes.StateReleased, InitialPrimary: "tukpub-0"}))
	_, sameVersion, err := b.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sameVersion).To(Equal(version))

	claim := func(nonce string) votes.Record {
		return votes.Record{Term: 1, State: votes.StateClaimed, InitialPrimary: "tukpub-0",
			Holder: votes.Holder{Server: "tukpub-0", PodUID: "pod", Engine: "engine", Nonce: nonce}}
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, v := range []*votes.LeaseVoter{a, b} {
		wg.Go(func() { _, errs[i] = v.Swap(t.Context(), version, claim(string(rune('a'+i)))) })
	}
	wg.Wait()
	g.Expect(errors.Join(errs...)).To(MatchError(votes.ErrConflict))
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
		To(MatchError(votes.ErrAbsent),
			"a renewal does not bring a deleted Lease back: API servers let an update create one")

	now = *votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	now.Annotations = nil
	g.Expect(api.Client.Create(t.Context(), &now)).To(Succeed())
	_, _, err = a.Read(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("vote-state")), "what this package did not write grants nothing")
}
