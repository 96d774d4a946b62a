// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/votes"
)

var (
	own   = votes.Holder{Server: "own-0", PodUID: "pod", Engine: "run"}
	rival = votes.Holder{Server: "rival-0", PodUID: "pod", Engine: "run"}
)

// ballotWith is a ballot of sites a, b, c, ... that has read these votes.
func ballotWith(t *testing.T, clock ballot.Clock, records ...votes.Record) (*ballot.Ballot, []*electiontest.Kept) {
	t.Helper()
	var c votes.Configuration
	var voters []votes.Voter
	var all []*electiontest.Kept
	for i, r := range records {
		v := &electiontest.Kept{Site: string(rune('a' + i)), Record: r}
		c.Voters, voters, all = append(c.Voters, v.Site), append(voters, v), append(all, v)
	}
	b := ballot.New(c, voters, clock, time.Second)
	b.Read(t.Context(), ballot.Patient)
	return b, all
}

// errAway is why somebody does not answer.
var errAway = errors.New("it does not answer")

// bench is a keeper of server own-0 whose engine, memory, peers and clock do what the test says.
type bench struct {
	*Keeper
	clock  *electiontest.Moved
	voters []*electiontest.Kept

	// seen, shown and copies are what the engine says, seenNext in the looks that come after seenAfter of them.
	seen             ballot.Observation
	seenNext         *ballot.Observation
	seenAfter, looks int
	unseen, unshown  error
	shown            ballot.Inspection
	copies           []Copy
	// statements are what it was asked for, refused is its answer to them, and follows what they bring about.
	statements []string
	refused    error
	follows    func(statement string)
	// writers are how many sessions the engine has refused a write, lookedForWriters how often they were looked for.
	writers, lookedForWriters int
	// endedWithin is within what time the sessions began that were ended last.
	endedWithin time.Duration
	// allowed is how long the last call that ends sessions may take.
	allowed time.Duration
	// reports are what other replicas have, and refuses is why they do not say.
	reports map[string]ballot.Report
	refuses map[string]error
	// saved is on disk.
	saved  Remembered
	unread error
	// unsaved keeps anything more from being saved, and saving takes as long as the disk is slow.
	unsaved error
	slow    time.Duration
	// random is every random number.
	random float64
}

// newBench is one at which nothing happens yet: one of three synchronous replicas, that follows rival-0.
func newBench(t *testing.T, votes ...votes.Record) *bench {
	t.Helper()
	b := &bench{
		clock:  &electiontest.Moved{At: time.Hour},
		random: 0.5,
		seen: ballot.Observation{
			Exists:    true,
			Role:      ballot.RoleSecondary,
			Mode:      ballot.ModeSynchronous,
			Connected: true,
			Primary:   "rival-0",
		},
		shown: ballot.Inspection{Sequence: 1, Names: []string{"App"}, Replicas: []ballot.Replica{
			{Server: "own-0", Mode: ballot.ModeSynchronous}, {Server: "rival-0", Mode: ballot.ModeSynchronous},
			{Server: "third-0", Mode: ballot.ModeSynchronous}},
			Databases: []ballot.DatabaseState{
				{Server: "own-0", Name: "App", Local: true, State: "SYNCHRONIZED", HardenedLSN: "5", Ready: true},
			}},
		reports: map[string]ballot.Report{},
		refuses: map[string]error{},
	}
	polled, voters := ballotWith(t, b.clock, votes...)
	b.voters = voters
	nonces := 0
	b.Keeper = New(Options{Group: "content", Self: own, Ballot: polled, Engine: b, Peers: asPeers{b}, Memory: b,
		Clock: b.clock, Timings: ballot.DefaultTimings(), Nonce: func() string { nonces++; return fmt.Sprint(nonces) },
		Random: func() float64 { return b.random }})
	return b
}

// said notes a statement. One that is out of time is not begun with.
func (b *bench) said(ctx context.Context, statement string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.statements = append(b.statements, statement)
	if b.follows != nil {
		b.follows(statement)
	}
	return b.refused
}

func (b *bench) Observe(context.Context, string) (ballot.Observation, error) {
	b.looks++
	if b.seenNext != nil && b.looks > b.seenAfter {
		return *b.seenNext, b.unseen
	}
	return b.seen, b.unseen
}

func (b *bench) Inspect(ctx context.Context, _ string) (ballot.Inspection, error) {
	return b.shown, errors.Join(b.unshown, ctx.Err())
}

func (b *bench) Copies(ctx context.Context, _ string, _ []string) ([]Copy, error) {
	return b.copies, ctx.Err()
}

func (b *bench) Offline(ctx context.Context, _ string) error { return b.said(ctx, "OFFLINE") }

func (b *bench) Resume(ctx context.Context, _ string, names []string) error {
	return b.said(ctx, "RESUME "+strings.Join(names, " "))
}

func (b *bench) Reseed(ctx context.Context, _ string, names []string) error {
	return b.said(ctx, "RESEED "+strings.Join(names, " "))
}

func (b *bench) EndSessions(ctx context.Context, _ string, within time.Duration) error {
	b.endedWithin = within
	b.allowedFor(ctx)
	return b.said(ctx, "END SESSIONS")
}

func (b *bench) allowedFor(ctx context.Context) {
	b.allowed = time.Hour
	if until, ok := ctx.Deadline(); ok {
		b.allowed = time.Until(until)
	}
}

func (b *bench) EndWriters(ctx context.Context, _ string) (int, error) {
	b.lookedForWriters++
	b.allowedFor(ctx)
	if b.writers == 0 {
		return 0, nil
	}
	return b.writers, b.said(ctx, "END WRITERS")
}

func (b *bench) Kill() error { return b.said(context.Background(), "KILL") }

func (b *bench) RenewLease(ctx context.Context, _ string, _ time.Duration, _ time.Time) error {
	return b.said(ctx, "LEASE")
}

func (b *bench) Failover(ctx context.Context, _ string, _ time.Duration, _ time.Time) error {
	return b.said(ctx, "FAILOVER")
}

func (b *bench) Force(ctx context.Context, _ string, _ time.Duration, _ time.Time) error {
	return b.said(ctx, "FORCE")
}

func (b *bench) BecomeSecondary(ctx context.Context, _ string, _ time.Time) error {
	return b.said(ctx, "SECONDARY")
}

func (b *bench) RestartEndpoint(ctx context.Context, _ string) error { return b.said(ctx, "ENDPOINT") }

// asPeers are the agents of the other replicas.
type asPeers struct{ *bench }

func (p asPeers) Fence(_ context.Context, server string, _ ballot.FenceRequest) (ballot.Report, error) {
	return p.Report(context.Background(), server, "")
}

func (p asPeers) Report(_ context.Context, server, _ string) (ballot.Report, error) {
	if err := p.refuses[server]; err != nil {
		return ballot.Report{}, err
	}
	if r, ok := p.reports[server]; ok {
		return r, nil
	}
	return ballot.Report{}, errors.New("away")
}

func (p asPeers) Reconnect(ctx context.Context, server, _ string) error {
	return p.said(ctx, "ENDPOINT OF "+server)
}

func (p asPeers) Wake(context.Context, string, string) error { return nil }

func (b *bench) Load() (Remembered, error) { return b.saved, b.unread }

func (b *bench) Save(r Remembered) error {
	b.clock.At += b.slow
	if b.unsaved != nil {
		return b.unsaved
	}
	b.saved = r
	return nil
}
