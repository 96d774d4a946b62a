// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// slowPeers are agents that answer to a fence after a time each, with a report of a log's end.
type slowPeers struct {
	inspection ballot.Inspection
	after      map[string]time.Duration
	ends       map[string]string
	// asked is when the first was; they are asked at once.
	asked time.Time
	first sync.Once
}

func (p *slowPeers) Fence(ctx context.Context, server string, _ ballot.FenceRequest) (ballot.Report, error) {
	p.first.Do(func() { p.asked = time.Now() })
	if err := (electiontest.BubbleClock{}).Sleep(ctx, p.after[server]); err != nil {
		return ballot.Report{}, err
	}
	i := p.inspection
	i.Databases = []ballot.DatabaseState{
		{Server: server, Name: "Content", Local: true, HardenedLSN: p.ends[server], Ready: true},
	}
	return ballot.Report{
		Server:     server,
		Holder:     votes.Holder{Server: server, PodUID: "pod", Engine: "run"},
		Role:       ballot.RoleResolving,
		Inspection: i,
	}, nil
}

func (p *slowPeers) Report(ctx context.Context, server, _ string) (ballot.Report, error) {
	return p.Fence(ctx, server, ballot.FenceRequest{})
}

func (*slowPeers) Reconnect(context.Context, string, string) error { return nil }

func (p *slowPeers) Wake(context.Context, string, string) error { return nil }

// inspected is an engine that shows something, and when it was asked to fail over.
type inspected struct {
	instant
	inspection ballot.Inspection
	asked      time.Time
}

func (e *inspected) Inspect(context.Context, string) (ballot.Inspection, error) {
	return e.inspection, nil
}

func (e *inspected) Failover(ctx context.Context, group string, lease time.Duration, deadline time.Time) error {
	if e.asked.IsZero() {
		e.asked = time.Now()
	}
	return e.instant.Failover(ctx, group, lease, deadline)
}

// Once enough replicas have reported nobody is waited for if this one is the best of them, nor a former holder whose
// votes have expired; others get a moment; and all their whole time where data may be lost, since each may have more.
func TestWhoIsWaitedForOnceEnoughHaveReported(t *testing.T) {
	const grace, late = 300 * time.Millisecond, time.Second
	three, five := names, []string{names[0], names[1], names[2], "r3", "r4"}
	for name, c := range map[string]struct {
		replicas []string
		after    map[string]time.Duration
		ends     map[string]string
		// behind is a claimant that is not called synchronized; expired votes are of a holder that has not released them.
		behind, expired, loss bool
		takes                 time.Duration
		yields                bool
	}{
		"the claimant is the best": {replicas: three,
			after: map[string]time.Duration{names[0]: late}},
		"it is not called synchronized": {replicas: three, after: map[string]time.Duration{names[0]: late},
			behind: true, takes: grace, yields: true},
		"another one has more": {replicas: three, after: map[string]time.Duration{names[0]: late},
			ends: map[string]string{names[2]: "9"}, takes: grace, yields: true},
		"only the former holder is missing": {replicas: three, after: map[string]time.Duration{names[0]: late},
			behind: true, expired: true, yields: true},
		"another one is missing": {replicas: three, after: map[string]time.Duration{names[2]: late},
			behind: true, expired: true, takes: grace, yields: true},
		"the former holder and another one are missing": {replicas: five,
			after: map[string]time.Duration{names[0]: late, "r4": late}, behind: true, expired: true, takes: grace,
			yields: true},
		"data may be lost": {replicas: three, after: map[string]time.Duration{names[0]: late},
			loss: true, takes: late},
		"data may be lost and the missing one has expired": {replicas: three, after: map[string]time.Duration{names[0]: late},
			loss: true, expired: true, takes: late},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				timings := ballot.DefaultTimings()
				show := ballot.Inspection{Sequence: 1 << 32, Names: []string{"Content"},
					Databases: []ballot.DatabaseState{
						{Server: names[1], Name: "Content", Local: true, HardenedLSN: "5", Ready: !c.behind},
					}}
				for _, r := range c.replicas {
					show.Replicas = append(show.Replicas, ballot.Replica{Server: r, Mode: ballot.ModeSynchronous})
				}
				peers := &slowPeers{
					inspection: show,
					after:      c.after,
					ends:       map[string]string{names[0]: "5", names[2]: "5", "r3": "5", "r4": "5"},
				}
				for server, end := range c.ends {
					peers.ends[server] = end
				}
				engine := &inspected{instant: instant{role: ballot.RoleSecondary}, inspection: show}
				l := &landscape{far: [3]time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}}
				var voters []votes.Voter
				for i := range l.votes {
					l.votes[i] = &leaseStore{name: fmt.Sprint("site", i)}
					voters = append(voters, site{l, i, &l.far})
				}
				nonces := 0
				k := keeper.New(
					keeper.Options{Group: "content", Self: votes.Holder{Server: names[1], PodUID: "pod", Engine: "run"},
						Ballot: ballotOf(
							voters,
							electiontest.BubbleClock{},
							timings.APITimeout,
						), Engine: engine, Peers: peers, Memory: &onDisk{}, Clock: electiontest.BubbleClock{}, Timings: timings,
						Nonce: func() string { nonces++; return fmt.Sprint(nonces) }, Random: func() float64 { return 0.5 }},
				)
				l.renew()
				k.Step(t.Context())
				if !c.expired {
					l.vote(votes.StateReleased)
				}
				if c.loss {
					annotations := map[string]string{}
					votes.Request{
						ID:            "f",
						Kind:          votes.RequestFailover,
						To:            names[1],
						AllowDataLoss: true,
						Issued:        time.Now(),
					}.Annotate(
						annotations,
					)
					l.votes[0].record.Notes.Request = annotations[votes.AnnotationRequest]
					l.votes[0].version++
				}
				handed := time.Time{}
				for handed.IsZero() && engine.asked.IsZero() && time.Since(electiontest.BubbleStart) < time.Minute {
					began := time.Now()
					out := k.Step(t.Context())
					if strings.HasPrefix(out.Action, "handed term") {
						handed = time.Now()
					}
					time.Sleep(out.Pause(time.Since(began), timings.Renew))
				}
				decided := engine.asked
				if c.yields {
					decided = handed
				}
				g.Expect(decided).NotTo(BeZero(), "it yields: %t", c.yields)
				g.Expect(decided.Sub(peers.asked)).To(BeNumerically("~", c.takes+20*time.Millisecond, 60*time.Millisecond))
			})
		})
	}
}
