// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"encoding/pem"
	"errors"
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

// pair is an engine whose group has one other replica.
type pair struct{ *engine }

func (p pair) Inspect(ctx context.Context, group string) (ballot.Inspection, error) {
	i, err := p.engine.Inspect(ctx, group)
	i.Replicas = append(i.Replicas, ballot.Replica{Server: "quisec-0", Mode: ballot.ModeSynchronous})
	return i, err
}

// acquaintances are sidecars of which only greetings matter.
type acquaintances struct{ greeted chan string }

func (a acquaintances) Fence(context.Context, string, ballot.FenceRequest) (ballot.Report, error) {
	return ballot.Report{}, errors.New("no answer")
}

func (a acquaintances) Report(context.Context, string, string) (ballot.Report, error) {
	return ballot.Report{}, errors.New("no answer")
}

func (a acquaintances) Wake(context.Context, string, string) error { return nil }

func (a acquaintances) Reconnect(context.Context, string, string) error { return nil }

func (a acquaintances) Hello(_ context.Context, server, group string) error {
	a.greeted <- group + " " + server
	return nil
}

// A sidecar greets those of the group's other servers as soon as it knows of them, and again and again, long before an
// election needs them.
func TestPartnersAreGreeted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := newLeaseServer(t)
	held := v.get()
	holding, term := votes.Holder{Server: "quisec-0", PodUID: "pod2", Engine: "run1", Nonce: "n"}.String(), int32(1)
	held.Spec.HolderIdentity, held.Spec.LeaseTransitions = &holding, &term
	held.Annotations["geosql.dev/vote-state"] = string(votes.StateHeld)
	v.lease = held
	group := orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{{
		Site: "tukwila", Server: v.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw}),
		Token: "token", Issued: time.Now(), Expires: time.Now().Add(time.Hour)}}}
	data, err := group.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	e := &engine{run: "run1", exists: true, role: ballot.RoleSecondary}
	friends := acquaintances{make(chan string, 10)}
	h, err := holder.New(holder.Options{
		Target: mssql.Target{Namespace: "web", Server: "tukpub"}, PodUID: "pod1", Process: e, Engine: pair{e}, Peers: friends,
		Source: ordered{orders.Key("content"): data}, Log: slog.New(slog.DiscardHandler),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(done, patience).Should(Receive()) })
	for range 2 {
		g.Eventually(friends.greeted, patience).Should(Receive(Equal("content quisec-0")))
	}
}
