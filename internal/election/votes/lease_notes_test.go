// SPDX-License-Identifier: Apache-2.0

package votes_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"geosql.dev/operator/internal/election/votes"
)

// leaseOf is a voter with its Lease, as a manager makes it, and the client that both are of.
func leaseOf(t *testing.T, c votes.Configuration) (*votes.LeaseVoter, *fake.Clientset) {
	t.Helper()
	lease := votes.NewLease("web", "content", "tukpub-0", c)
	lease.UID = "made"
	lease.Labels = map[string]string{"app.kubernetes.io/managed-by": "geosql-operator"}
	lease.Annotations["example.com/foreign"] = "kept"
	clients := fake.NewClientset(lease)
	return votes.NewLeaseVoter("tukwila", clients.CoordinationV1().Leases("web"), "content"), clients
}

// What is swapped in is read again as it was written, down to term 0, and leaves alone what is not the vote's. A note
// or a configuration that the record does not have is taken away.
func TestAVoteIsReadAsItWasSwapped(t *testing.T) {
	made := votes.Configuration{Term: 2, Number: 1, Voters: []string{"tukwila", "quincy"}, Next: []string{"quincy"}}
	full := votes.Record{Term: 3, State: votes.StateHeld, InitialPrimary: "tukpub-0", Voters: made.Encode(),
		Holder: votes.Holder{Server: "quisec-0", PodUID: "pod", Engine: "run", Nonce: "n"},
		Notes: votes.Notes{Request: "r", Answer: "a", Timelines: "t", Paused: "true", PausedAt: "p", Forced: "f",
			Apart: "x"}}
	bare := votes.Record{Term: 3, State: votes.StateReleased}
	first := votes.Configuration{Voters: []string{"a"}}.Encode()
	for name, records := range map[string][]votes.Record{
		"with all notes":     {full},
		"without any":        {bare},
		"notes taken away":   {full, bare},
		"notes that come":    {bare, full},
		"of no term":         {{State: votes.StateReleased, InitialPrimary: "tukpub-0"}},
		"claimed":            {{Term: 1, State: votes.StateClaimed, Holder: votes.Holder{Server: "tukpub-0"}}},
		"of the first sites": {{Term: 1, State: votes.StateHeld, Voters: first}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			voter, clients := leaseOf(t, votes.Configuration{})
			g.Expect(voter.Name()).To(Equal("tukwila"))
			_, version, err := voter.Read(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			for _, r := range records {
				version, err = voter.Swap(t.Context(), version, r)
				g.Expect(err).NotTo(HaveOccurred())
				read, _, err := voter.Read(t.Context())
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(read).To(Equal(r))
			}
			lease, err := clients.CoordinationV1().Leases("web").Get(t.Context(), "geosql-content", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(lease.Labels).To(HaveKey("app.kubernetes.io/managed-by"))
			g.Expect(lease.Annotations).To(HaveKeyWithValue("example.com/foreign", "kept"))
		})
	}
}

// A Lease that this package did not write grants nothing. One that names no holder is nobody's.
func TestWhichLeasesAreRead(t *testing.T) {
	holder := func(text string) *string { return &text }
	note := func(name, text string) func(*coordinationv1.Lease) {
		return func(l *coordinationv1.Lease) { l.Annotations[name] = text }
	}
	for name, c := range map[string]struct {
		change func(*coordinationv1.Lease)
		says   string
	}{
		"as it was made":     {func(*coordinationv1.Lease) {}, ""},
		"no holder":          {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }, ""},
		"an empty holder":    {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = holder("") }, ""},
		"a foreign holder":   {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = holder("x") }, "holder identity"},
		"no annotations":     {func(l *coordinationv1.Lease) { l.Annotations = nil }, "vote-state"},
		"a foreign state":    {note("geosql.dev/vote-state", "Free"), `"Free"`},
		"voters of no sense": {note("geosql.dev/voters", "{"), "geosql.dev/voters"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
			c.change(lease)
			r, err := votes.DecodeLease(lease)
			if c.says != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.says)))
				g.Expect(r).To(BeZero())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r).To(Equal(votes.Record{State: votes.StateReleased, InitialPrimary: "tukpub-0"}))
		})
	}
	g := NewWithT(t)
	c := votes.Configuration{Term: 2, Number: 1, Voters: []string{"a", "b"}}
	g.Expect(votes.DecodeLease(votes.NewLease("web", "content", "", c))).To(HaveField("Voters", c.Encode()))
	group, ok := votes.GroupOf(votes.LeaseName("content"))
	g.Expect(ok).To(BeTrue())
	g.Expect(group).To(Equal("content"))
	_, ok = votes.GroupOf("content")
	g.Expect(ok).To(BeFalse())
}

// What the API server answers is told apart: no Lease, one that was changed, and anything else, of which nothing is
// known. What was not read is not swapped, nor is a term that a Lease cannot hold.
func TestWhatAVoterSaysOfAnAnswer(t *testing.T) {
	lease := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	other := errors.New("the connection was lost")
	for name, c := range map[string]struct {
		verb         string
		answer, want error
	}{
		"read: not there":    {"get", apierrors.NewNotFound(lease, "geosql-content"), votes.ErrAbsent},
		"read: unknown":      {"get", other, other},
		"swap: was changed":  {"update", apierrors.NewConflict(lease, "geosql-content", other), votes.ErrConflict},
		"swap: not there":    {"update", apierrors.NewNotFound(lease, "geosql-content"), nil},
		"swap: not answered": {"update", other, other},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			voter, clients := leaseOf(t, votes.Configuration{})
			_, version, err := voter.Read(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			clients.PrependReactor(c.verb, "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, c.answer
			})
			if c.verb == "get" {
				_, _, err = voter.Read(t.Context())
			} else {
				_, err = voter.Swap(t.Context(), version, votes.Record{Term: 1, State: votes.StateHeld})
			}
			g.Expect(err).To(HaveOccurred())
			if c.want != nil {
				g.Expect(err).To(MatchError(c.want))
			}
			g.Expect(errors.Is(err, votes.ErrAbsent)).To(Equal(errors.Is(c.want, votes.ErrAbsent)))
			g.Expect(errors.Is(err, votes.ErrConflict)).To(Equal(errors.Is(c.want, votes.ErrConflict)))
		})
	}
	g := NewWithT(t)
	voter, _ := leaseOf(t, votes.Configuration{})
	_, err := voter.Swap(t.Context(), "", votes.Record{State: votes.StateReleased})
	g.Expect(err).To(MatchError(votes.ErrAbsent), "it was not read")
	_, version, err := voter.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = voter.Swap(t.Context(), version, votes.Record{Term: -1, State: votes.StateReleased})
	g.Expect(err).To(MatchError(ContainSubstring("a Lease holds no term -1")))
}
