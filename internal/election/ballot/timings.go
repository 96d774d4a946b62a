// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"cmp"
	"fmt"
	"time"
)

// Timings bound how long an isolated primary may go on serving.
type Timings struct {
	// Expiry (D) is how long a vote counts after its last renewal.
	Expiry time.Duration
	// Renew (R) is the interval of renewals.
	Renew time.Duration
	// APITimeout bounds one call to a voter.
	APITimeout time.Duration
	// AgentRestart is how long an agent may need to come back.
	AgentRestart time.Duration
	// Acknowledge (X) is how long after the start of a round the engine may acknowledge its lease.
	Acknowledge time.Duration
	// WriteLease (W) is WRITE_LEASE_VALIDITY; the engine counts whole seconds.
	WriteLease time.Duration
	// Overrun (G) is how late an engine may act on an expired lease.
	Overrun time.Duration
	// Kill (K) is how long it takes to end the engine's process.
	Kill time.Duration
	// Failover is how long FAILOVER may take, from when it was sent first until the role is PRIMARY; 0 for
	// DefaultFailover. Orders of earlier managers do not have it.
	Failover time.Duration
	// Offline is how long OFFLINE may take on a replica that is fenced, until the role is RESOLVING; 0 for DefaultOffline.
	Offline time.Duration
	// Drift (e) is the largest relative error between two clocks, such as 0.01.
	Drift float64
}

// DefaultTimings are D 10 s, R 1 s, API time-out 1 s, agent restart 2 s, X 1.5 s, W 6 s, G 1 s, K 0.5 s, e 1 %. They
// are what orders without timings mean, for agents of every release, and must never change: two that count differently
// could have two primaries. What new groups have is written into their orders.
func DefaultTimings() Timings {
	return Timings{
		Expiry: 10 * time.Second, Renew: time.Second, APITimeout: time.Second, AgentRestart: 2 * time.Second,
		Acknowledge: 1500 * time.Millisecond, WriteLease: 6 * time.Second, Overrun: time.Second,
		Kill: 500 * time.Millisecond, Drift: 0.01,
	}
}

// NewGroup are the timings of a new group that declares none: the default ones, for an engine that acts as late on an
// expired lease as Microsoft's agent waits for (G 5 s), and votes that live as long as that takes (D 14 s).
func NewGroup() Timings {
	t := DefaultTimings()
	t.Expiry, t.Overrun = 14*time.Second, 5*time.Second
	return t
}

// Tolerates is the latest that an engine may act on an expired lease with no two of a group writable.
func (t Timings) Tolerates() time.Duration {
	return t.HolderBound() - t.Acknowledge - t.WriteLease - t.Kill
}

// Safety are those of the timings by which agents that count differently could be primary at a time.
func (t Timings) Safety() Timings {
	t.Failover, t.Offline = 0, 0
	return t
}

// Check says which of the inequalities that safety rests on does not hold.
func (t Timings) Check() error {
	if t.WriteLease%time.Second != 0 || t.WriteLease <= 0 {
		return fmt.Errorf("write lease %s must be whole seconds, at least 1 s", t.WriteLease)
	}
	if sum := t.Acknowledge + t.WriteLease + t.Overrun + t.Kill; sum > t.HolderBound() {
		return fmt.Errorf(
			"acknowledge + write lease + overrun + kill = %s must not exceed the vote expiry less drift, %s",
			sum,
			t.HolderBound(),
		)
	}
	if sum := t.Renew + t.Acknowledge + t.AgentRestart; sum >= t.WriteLease {
		return fmt.Errorf("renew + acknowledge + agent restart = %s must be less than the write lease, %s", sum, t.WriteLease)
	}
	if t.APITimeout >= t.Acknowledge {
		return fmt.Errorf("API time-out %s must be less than the acknowledge bound, %s", t.APITimeout, t.Acknowledge)
	}
	return nil
}

// LeastExpiry is the least D with which Check finds no fault in it, in whole tenths of a second.
func (t Timings) LeastExpiry() time.Duration {
	const tenth = 100 * time.Millisecond
	sum := t.Acknowledge + t.WriteLease + t.Overrun + t.Kill
	least := time.Duration(float64(sum) / (1 - t.Drift)).Truncate(tenth)
	for (Timings{Expiry: least, Drift: t.Drift}).HolderBound() < sum {
		least += tenth
	}
	return least
}

// HolderBound is D(1-e): how long after the start of its last successful round a holder may rely on its votes.
func (t Timings) HolderBound() time.Duration {
	return time.Duration(float64(t.Expiry) * (1 - t.Drift))
}

// BecomeWithin bounds when the engine may begin with SET (ROLE = SECONDARY).
const BecomeWithin = 3 * time.Second

// BegunWithin is after what time the engine begins with no statement any more that was sent before and may undo a
// fence.
func (t Timings) BegunWithin() time.Duration { return max(BecomeWithin, t.Acknowledge) }

// DefaultFailover is how long FAILOVER may take unless the group declares something else. Microsoft's agent leaves it
// to Pacemaker's time-outs, a minute by default.
const DefaultFailover = 15 * time.Second

// DefaultOffline is how long OFFLINE may take unless the group declares something else.
const DefaultOffline = 15 * time.Second

// OfflineWithin is how long OFFLINE may take on a replica that is fenced.
func (t Timings) OfflineWithin() time.Duration { return cmp.Or(t.Offline, DefaultOffline) }

// FailoverWithin is how long FAILOVER may take.
func (t Timings) FailoverWithin() time.Duration { return cmp.Or(t.Failover, DefaultFailover) }

// SuspectAfter is D(1+e): how long a record must stay unchanged before anybody may act as if its holder were gone.
func (t Timings) SuspectAfter() time.Duration {
	return time.Duration(float64(t.Expiry) * (1 + t.Drift))
}
