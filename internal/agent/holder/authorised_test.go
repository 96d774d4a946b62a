// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
)

// host is an engine with replicas of two groups, each with another partner.
type host struct{ *engine }

func (host) Inspect(_ context.Context, group string) (ballot.Inspection, error) {
	partner := map[string]string{"content": "dubsec-0", "shop": "quisec-0"}[group]
	return ballot.Inspection{Sequence: 1, Replicas: []ballot.Replica{
		{Server: "tukpub-0", Mode: ballot.ModeSynchronous}, {Server: partner, Mode: ballot.ModeSynchronous},
	}}, nil
}

// A server has a say about the groups of which it is a replica. The right to fence one of them is none to fence another
// one that is on the same engine.
func TestAServerFencesOnlyTheGroupThatItIsAReplicaOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := map[string][]byte{}
	for _, name := range []string{"content", "shop"} {
		data, err := orders.Group{
			Name:      name,
			Namespace: "web",
			Voters:    []orders.Voter{{Site: "tukwila", Server: "https://127.0.0.1:1"}},
		}.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		secret[orders.Key(name)] = data
	}
	e := host{&engine{run: "run1", exists: true, role: ballot.RoleSecondary}}
	told := make(changing, 1)
	h, err := holder.New(
		holder.Options{Target: mssql.Target{Namespace: "web", Server: "tukpub"}, PodUID: "pod1", Process: e, Engine: e,
			Peers: acquaintances{make(chan string, 1000)}, Source: told, Log: slog.New(slog.DiscardHandler)},
	)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(done, patience).Should(Receive()) })
	told <- secret
	g.Eventually(h.Status, patience).Should(And(HaveKey("content"), HaveKey("shop")))
	// quisec-0 is a replica of shop alone.
	fence := func(path, body string) int {
		answer := httptest.NewRecorder()
		h.ServeHTTP(
			answer,
			asQuisec(
				g,
				path+"/fence",
				ballot.FenceRequest{
					Group:     body,
					Term:      1000,
					Candidate: votes.Holder{Server: "quisec-0", PodUID: "pod2", Engine: "run1"},
				},
			),
		)
		return answer.Code
	}
	within := func() int { return fence("content", "content") }
	g.Eventually(within, patience).
		WithPolling(100*time.Millisecond).
		Should(Equal(http.StatusForbidden), "the agent has begun, and refuses")
	g.Expect(fence("content", "shop")).To(Equal(http.StatusBadRequest))
	g.Expect(fence("content", "")).To(Equal(http.StatusBadRequest))
	e.set(func(e *engine) { g.Expect(e.calls).NotTo(ContainElement("offline")) })
	endpoint := func(group string) int {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, asQuisec(g, group+"/endpoint", ballot.FenceRequest{}))
		return answer.Code
	}
	g.Expect(endpoint("content")).To(Equal(http.StatusForbidden), "nor have its endpoint restarted")
	ask := func(method, path string) int {
		answer, request := httptest.NewRecorder(), asQuisec(g, path, ballot.FenceRequest{})
		request.Method = method
		h.ServeHTTP(answer, request)
		return answer.Code
	}
	g.Eventually(func() int { return ask(http.MethodPost, "content/wake") }, patience).
		Should(Equal(http.StatusForbidden), "nor have its votes looked at")
	g.Expect(ask(http.MethodGet, "content/report")).To(Equal(http.StatusForbidden), "nor know what it has")
	g.Eventually(func() int { return ask(http.MethodPost, "shop/wake") }, patience).Should(Equal(http.StatusNoContent))
	g.Eventually(func() int { return ask(http.MethodGet, "shop/report") }, patience).Should(Equal(http.StatusOK))
	g.Expect(endpoint("shop")).To(Equal(http.StatusServiceUnavailable), "this one does not hold it")
	g.Eventually(func() int { return fence("shop", "shop") }, patience).
		Should(Equal(http.StatusOK), "its own group it may fence")
}
