// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// Peers are the agents of the group's other replicas. An error leaves open whether anything was done.
type Peers interface {
	// Fence asks a server's agent to fence its replica. It is asked to the end also when ctx ends before that.
	Fence(ctx context.Context, server string, r ballot.FenceRequest) (ballot.Report, error)
	// Report asks a server's agent what its replica has, and changes nothing.
	Report(ctx context.Context, server, group string) (ballot.Report, error)
	// Wake lets a server's agent look at the votes at once.
	Wake(ctx context.Context, server, group string) error
	// Reconnect has a server's agent, which holds the group, restart the endpoint there.
	Reconnect(ctx context.Context, server, group string) error
}

const (
	// fenceTimeout bounds one replica's fencing.
	fenceTimeout = 3 * time.Second
	// fenceGrace is what the others get once enough replicas have reported.
	fenceGrace = 300 * time.Millisecond
	// resolvingPoll is the pause between looks at the role after OFFLINE.
	resolvingPoll = 20 * time.Millisecond
)

// Fence promises the request's term and reports. The order is what safety rests on: the promise is durable before
// anything else, and the replica is in the role in which the candidate wants it before anything is said of its log. A
// request that comes so late that its term
// is held already, or over, is refused: it would take a replica OFFLINE that follows the primary.
func (k *Keeper) Fence(ctx context.Context, r ballot.FenceRequest) (ballot.Report, error) {
	if err := k.late(r); err != nil {
		return ballot.Report{}, err
	}
	if err := k.believed(r); err != nil {
		return ballot.Report{}, err
	}
	if err := k.promise(r); err != nil {
		return ballot.Report{}, err
	}
	if k.term != 0 && k.term < r.Term {
		k.forgo()
	}
	if !strings.EqualFold(r.Candidate.Server, k.self.Server) {
		if k.clock.Now() < k.outstanding {
			return ballot.Report{}, fmt.Errorf(
				"fencing %s in group %s: an earlier statement has had no answer and could undo it",
				k.self.Server,
				k.group,
			)
		}
		seen, err := k.standBeside(ctx, r)
		if err != nil {
			return ballot.Report{}, fmt.Errorf("fencing %s in group %s: %w", k.self.Server, k.group, err)
		}
		return k.reportOf(ctx, seen)
	}
	return k.report(ctx)
}

// late refuses what another candidate asked for a term that came to be held since, or came to nothing before one that
// is. Following raises no promise, so the promise does not tell.
func (k *Keeper) late(r ballot.FenceRequest) error {
	leading, ok := k.ballot.Leading()
	if !ok || leading.State != votes.StateHeld || strings.EqualFold(r.Candidate.Server, k.self.Server) {
		return nil
	}
	if leading.Term > r.Term || leading.Term == r.Term && leading.Holder.SameRun(r.Candidate) {
		return fmt.Errorf(
			"fencing %s in group %s for term %d: %s holds term %d already",
			k.self.Server,
			k.group,
			r.Term,
			leading.Holder.Server,
			leading.Term,
		)
	}
	return nil
}

// promise makes the promise durable, or refuses.
func (k *Keeper) promise(r ballot.FenceRequest) error {
	remembered, err := k.remembered()
	if err != nil {
		return err
	}
	p := remembered.Promise
	if r.Term < p.Term || r.Term == p.Term && !strings.EqualFold(p.To, r.Candidate.Server) {
		return ballot.Promised(
			p.Term,
			fmt.Errorf(
				"%s has promised term %d of group %s to %s: %w",
				k.self.Server,
				p.Term,
				k.group,
				p.To,
				ballot.ErrPromised,
			),
		)
	}
	own := strings.EqualFold(r.Candidate.Server, k.self.Server)
	if r.Term < k.term || r.Term == k.term && !own {
		return ballot.Promised(
			k.term,
			fmt.Errorf("%s has term %d of group %s itself: %w", k.self.Server, k.term, k.group, ballot.ErrPromised),
		)
	}
	if r.Term == p.Term {
		return nil
	}
	remembered.Promise = Promise{Term: r.Term, To: r.Candidate.Server}
	return k.remember(remembered)
}

// offline takes the replica OFFLINE and returns what is seen of it once it says RESOLVING. No FAILOVER that was sent
// before can make it PRIMARY then, unless the engine had yet to begin with it.
func (k *Keeper) offline(ctx context.Context) (ballot.Observation, error) {
	seen, err := k.engine.Observe(ctx, k.group)
	if err != nil || !seen.Exists {
		return seen, err
	}
	begun := k.clock.Now() >= k.outstanding
	if err := k.engine.Offline(ctx, k.group); err != nil {
		return seen, err
	}
	if seen, err = k.awaitResolving(ctx); err == nil && begun {
		err = k.landed()
	}
	return seen, err
}

// awaitResolving waits until the replica says RESOLVING.
func (k *Keeper) awaitResolving(ctx context.Context) (ballot.Observation, error) {
	for {
		seen, err := k.engine.Observe(ctx, k.group)
		if err != nil || seen.Role == ballot.RoleResolving {
			return seen, err
		}
		if err := k.clock.Sleep(ctx, resolvingPoll); err != nil {
			return seen, fmt.Errorf("the replica is %s still: %w", seen.Role, err)
		}
	}
}

// Report says what this replica has.
func (k *Keeper) Report(ctx context.Context) (ballot.Report, error) { return k.report(ctx) }

func (k *Keeper) report(ctx context.Context) (ballot.Report, error) {
	seen, err := k.engine.Observe(ctx, k.group)
	if err != nil {
		return ballot.Report{}, fmt.Errorf("reporting of group %s on %s: %w", k.group, k.self.Server, err)
	}
	return k.reportOf(ctx, seen)
}

// reportOf reports of a replica that was seen just now.
func (k *Keeper) reportOf(ctx context.Context, seen ballot.Observation) (ballot.Report, error) {
	remembered, err := k.remembered()
	if err != nil {
		return ballot.Report{}, err
	}
	r := ballot.Report{Server: k.self.Server, Holder: k.self, Role: seen.Role, Followed: remembered.Followed}
	if r.Inspection, err = k.inspect(ctx); err != nil {
		return ballot.Report{}, fmt.Errorf("reporting of group %s on %s: %w", k.group, k.self.Server, err)
	}
	r.Refused = k.refuses(r.Sequence)
	return r, nil
}

// gatherReports fences this replica and all others that answer. Those that do not are left out, unless all are wanted.
// Once enough have reported the rest gets a short grace; none where this replica is the best by then: it has what was
// acknowledged. The former holder gets none either when its votes have expired. A claim without a round of votes of its
// own gets one meanwhile: both take a round trip, and neither needs the other.
func (k *Keeper) gatherReports(ctx context.Context, all bool) ([]ballot.Report, error) {
	by := k.by()
	request := ballot.FenceRequest{Group: k.group, Term: k.term, Candidate: k.self, Bystanders: by.role, Revive: by.revive}
	bounded, done := context.WithTimeout(ctx, fenceTimeout)
	defer done()
	own, err := k.Fence(bounded, request)
	if err != nil {
		return nil, err
	}
	// The others get the whole time, however long this replica took.
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	type answer struct {
		server string
		report ballot.Report
		err    error
	}
	reports, answers := []ballot.Report{own}, make(chan answer, len(own.Replicas))
	waiting := map[string]bool{}
	for _, replica := range own.Replicas {
		if strings.EqualFold(replica.Server, k.self.Server) {
			continue
		}
		waiting[replica.Server] = true
		go func() {
			r, err := k.peers.Fence(ctx, replica.Server, request)
			answers <- answer{replica.Server, r, err}
		}()
	}
	if !k.fresh() {
		_, _ = k.round(ctx, ballot.Quick, k.state)
	}
	hurried := false
	for len(waiting) > 0 {
		a := <-answers
		delete(waiting, a.server)
		if a.err == nil {
			reports = append(reports, a.report)
		}
		if promised := ballot.PromisedTerm(a.err); promised <= k.ballot.Promisable() {
			k.outbid = max(k.outbid, promised)
		}
		d := ballot.Decide(k.self.Server, k.eligible(reports))
		if all || !d.Quorate() {
			continue
		}
		switch {
		case d.Eligible && d.Best == k.self.Server && own.Ready(),
			len(waiting) == 1 && waiting[k.claim.former] && k.claim.expired:
			cancel()
		case !hurried:
			hurried = true
			timer := time.AfterFunc(fenceGrace, cancel)
			defer timer.Stop()
		}
	}
	return reports, nil
}
