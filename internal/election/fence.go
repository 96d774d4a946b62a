// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// FenceRequest asks a replica's agent for a promise and a report.
type FenceRequest struct {
	// Group by name.
	Group string `json:"group"`
	// Term that a majority of votes has for Candidate.
	Term int64 `json:"term"`
	// Candidate that asks. Its own replica stays as it is; every other one is taken OFFLINE.
	Candidate Holder `json:"candidate"`
}

// Report is what a fenced replica has.
type Report struct {
	// Server that reports.
	Server string `json:"server"`
	// Holder is the run of its engine that a claim could be handed to.
	Holder Holder `json:"holder"`
	// Role after fencing.
	Role Role `json:"role"`
	// Followed is the newest forced term whose log the replica has.
	Followed int64 `json:"followed,omitempty"`
	Inspection
}

// ready says whether the reporter's configuration calls all of its databases synchronized.
func (r Report) ready() bool {
	local := 0
	for _, d := range r.Databases {
		if d.Local {
			local++
			if !d.Ready {
				return false
			}
		}
	}
	return local == len(r.Names)
}

// ErrPromised is a refusal: the replica has promised a term that is not lower to somebody else.
var ErrPromised = errors.New("another term was promised")

// promised is a refusal with the term that was promised.
type promised struct {
	error
	term int64
}

func (p promised) Unwrap() error { return p.error }

// Promised adds to a refusal which term was promised.
func Promised(term int64, refusal error) error { return promised{refusal, term} }

// PromisedTerm is the term because of which somebody refused; 0 where that is not told.
func PromisedTerm(refusal error) int64 {
	var p promised
	if errors.As(refusal, &p) {
		return p.term
	}
	return 0
}

// Peers are the agents of the group's other replicas. An error leaves open whether anything was done.
type Peers interface {
	// Fence asks a server's agent to fence its replica. It is asked to the end also when ctx ends before that.
	Fence(ctx context.Context, server string, r FenceRequest) (Report, error)
	// Report asks a server's agent what its replica has, and changes nothing.
	Report(ctx context.Context, server, group string) (Report, error)
	// Wake lets a server's agent look at the votes at once.
	Wake(ctx context.Context, server, group string) error
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
// anything else, the replica is OFFLINE before anything is said of its log. A request that comes so late that its term
// is held already, or over, is refused: it would take a replica OFFLINE that follows the primary.
func (k *Keeper) Fence(ctx context.Context, r FenceRequest) (Report, error) {
	if err := k.late(r); err != nil {
		return Report{}, err
	}
	if err := k.promise(r); err != nil {
		return Report{}, err
	}
	if k.term != 0 && k.term < r.Term {
		k.forgo()
	}
	if !strings.EqualFold(r.Candidate.Server, k.self.Server) {
		if k.clock.Now() < k.outstanding {
			return Report{}, fmt.Errorf(
				"fencing %s in group %s: an earlier statement has had no answer and could undo it",
				k.self.Server,
				k.group,
			)
		}
		seen, err := k.offline(ctx)
		if err != nil {
			return Report{}, fmt.Errorf("fencing %s in group %s: %w", k.self.Server, k.group, err)
		}
		return k.reportOf(ctx, seen)
	}
	return k.report(ctx)
}

// late refuses what another candidate asked for a term that came to be held since, or came to nothing before one that
// is. Following raises no promise, so the promise does not tell.
func (k *Keeper) late(r FenceRequest) error {
	leading, ok := k.ballot.Leading()
	if !ok || leading.State != StateHeld || strings.EqualFold(r.Candidate.Server, k.self.Server) {
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
func (k *Keeper) promise(r FenceRequest) error {
	remembered, err := k.remembered()
	if err != nil {
		return err
	}
	p := remembered.Promise
	if r.Term < p.Term || r.Term == p.Term && !strings.EqualFold(p.To, r.Candidate.Server) {
		return Promised(
			p.Term,
			fmt.Errorf("%s has promised term %d of group %s to %s: %w", k.self.Server, p.Term, k.group, p.To, ErrPromised),
		)
	}
	own := strings.EqualFold(r.Candidate.Server, k.self.Server)
	if r.Term < k.term || r.Term == k.term && !own {
		return Promised(
			k.term,
			fmt.Errorf("%s has term %d of group %s itself: %w", k.self.Server, k.term, k.group, ErrPromised),
		)
	}
	if r.Term == p.Term {
		return nil
	}
	remembered.Promise = Promise{Term: r.Term, To: r.Candidate.Server}
	return k.remember(remembered)
}

// offline takes the replica OFFLINE and returns what is seen of it once it says RESOLVING.
func (k *Keeper) offline(ctx context.Context) (Observation, error) {
	seen, err := k.engine.Observe(ctx, k.group)
	if err != nil || !seen.Exists {
		return seen, err
	}
	if err := k.engine.Offline(ctx, k.group); err != nil {
		return seen, err
	}
	return k.awaitResolving(ctx)
}

// awaitResolving waits until the replica says RESOLVING.
func (k *Keeper) awaitResolving(ctx context.Context) (Observation, error) {
	for {
		seen, err := k.engine.Observe(ctx, k.group)
		if err != nil || seen.Role == RoleResolving {
			return seen, err
		}
		if err := k.clock.Sleep(ctx, resolvingPoll); err != nil {
			return seen, fmt.Errorf("the replica is %s still: %w", seen.Role, err)
		}
	}
}

// Report says what this replica has.
func (k *Keeper) Report(ctx context.Context) (Report, error) { return k.report(ctx) }

func (k *Keeper) report(ctx context.Context) (Report, error) {
	seen, err := k.engine.Observe(ctx, k.group)
	if err != nil {
		return Report{}, fmt.Errorf("reporting of group %s on %s: %w", k.group, k.self.Server, err)
	}
	return k.reportOf(ctx, seen)
}

// reportOf reports of a replica that was seen just now.
func (k *Keeper) reportOf(ctx context.Context, seen Observation) (Report, error) {
	remembered, err := k.remembered()
	if err != nil {
		return Report{}, err
	}
	r := Report{Server: k.self.Server, Holder: k.self, Role: seen.Role, Followed: remembered.Followed}
	if r.Inspection, err = k.inspect(ctx); err != nil {
		return Report{}, fmt.Errorf("reporting of group %s on %s: %w", k.group, k.self.Server, err)
	}
	return r, nil
}

// gatherReports fences this replica and all others that answer. Those that do not are left out, unless all are wanted.
// Once enough have reported the rest gets a short grace; none where this replica is the best by then: it has what was
// acknowledged. The former holder gets none either when its votes have expired. A claim without a round of votes of its
// own gets one meanwhile: both take a round trip, and neither needs the other.
func (k *Keeper) gatherReports(ctx context.Context, all bool) ([]Report, error) {
	request := FenceRequest{Group: k.group, Term: k.term, Candidate: k.self}
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
		report Report
		err    error
	}
	reports, answers := []Report{own}, make(chan answer, len(own.Replicas))
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
		_, _ = k.round(ctx, Quick, k.state)
	}
	hurried := false
	for len(waiting) > 0 {
		a := <-answers
		delete(waiting, a.server)
		if a.err == nil {
			reports = append(reports, a.report)
		}
		k.outbid = max(k.outbid, PromisedTerm(a.err))
		d := decide(k.self.Server, k.eligible(reports))
		if all || !d.quorate() {
			continue
		}
		switch {
		case d.eligible && d.best == k.self.Server && own.ready(),
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
