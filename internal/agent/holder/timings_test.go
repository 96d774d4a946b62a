// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"encoding/pem"
	"log/slog"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
)

func (e *engine) leased() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Until(e.lease)
}

// A primary's lease is renewed for as long as the timings of its group's orders say, and for the default when they say
// nothing.
func TestTimingsAreThoseOfTheOrders(t *testing.T) {
	t.Parallel()
	own := ballot.DefaultTimings()
	own.Expiry, own.WriteLease = 120*time.Second, 100*time.Second
	for name, c := range map[string]struct {
		timings   *ballot.Timings
		longer    time.Duration
		atLongest time.Duration
	}{
		"their own": {&own, 50 * time.Second, 100 * time.Second},
		"none":      {nil, time.Second, ballot.DefaultTimings().WriteLease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := newLeaseServer(t)
			held := v.get()
			holding, term := votes.Holder{Server: "tukpub-0", PodUID: "pod1", Engine: "run1", Nonce: "n"}.String(), int32(1)
			held.Spec.HolderIdentity, held.Spec.LeaseTransitions = &holding, &term
			held.Annotations["geosql.dev/vote-state"] = string(votes.StateHeld)
			v.lease = held
			group := orders.Group{Name: "content", Namespace: "web", Timings: c.timings, Voters: []orders.Voter{{
				Site: "tukwila", Server: v.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw}),
				Token: "token", Issued: time.Now(), Expires: time.Now().Add(time.Hour)}}}
			data, err := group.Encode()
			g.Expect(err).NotTo(HaveOccurred())
			e := &engine{run: "run1", exists: true, role: ballot.RolePrimary}
			h, err := holder.New(holder.Options{
				Target: mssql.Target{
					Namespace: "web",
					Server:    "tukpub",
				}, PodUID: "pod1", Process: e, Engine: e, Peers: acquaintances{make(chan string, 10)},
				Source: ordered{group.Key(): data}, Log: slog.New(slog.DiscardHandler),
			})
			g.Expect(err).NotTo(HaveOccurred())
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- h.Run(ctx) }()
			t.Cleanup(func() { cancel(); g.Eventually(done, patience).Should(Receive()) })
			g.Eventually(e.leased, patience).Should(And(BeNumerically(">", c.longer), BeNumerically("<=", c.atLongest)))
		})
	}
}
