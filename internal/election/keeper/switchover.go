// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// refusal is why something is not begun with.
type refusal struct{ reason, message string }

// checkSwitchover says what speaks against a planned move to a server, by what the primary sees; nil for nothing.
func checkSwitchover(r *votes.Request, self string, term int64, i ballot.Inspection) *refusal {
	if strings.EqualFold(r.To, self) {
		return &refusal{votes.ReasonAlreadyPrimary, self + " is the primary"}
	}
	if r.ExpectedTerm != 0 && r.ExpectedTerm != term {
		return &refusal{
			votes.ReasonSuperseded,
			fmt.Sprintf("the request expects term %d, the group is in term %d", r.ExpectedTerm, term),
		}
	}
	var target *ballot.Replica
	for _, p := range i.Replicas {
		if strings.EqualFold(p.Server, r.To) {
			target = &p
		}
	}
	switch {
	case target == nil || target.Mode == ballot.ModeConfigurationOnly:
		return &refusal{votes.ReasonNotAReplica, r.To + " holds no databases of the group"}
	case target.Mode != ballot.ModeSynchronous:
		return &refusal{votes.ReasonNotSynchronous, r.To + " is an asynchronous replica: make it synchronous first"}
	}
	for _, name := range i.Names {
		if no := checkCopy(i, r.To, name); no != nil {
			return no
		}
	}
	return nil
}

// checkCopy says what speaks against a server's copy of a database.
func checkCopy(i ballot.Inspection, server, name string) *refusal {
	for _, d := range i.Databases {
		if !strings.EqualFold(d.Server, server) || d.Name != name {
			continue
		}
		switch {
		case d.Suspended:
			return &refusal{votes.ReasonSuspended, fmt.Sprintf("data movement of database %s on %s is suspended", name, server)}
		case d.State == "REVERTING" || d.State == "INITIALIZING":
			return &refusal{votes.ReasonReverting, fmt.Sprintf("database %s on %s is %s", name, server, d.State)}
		case d.State != "SYNCHRONIZED":
			return &refusal{votes.ReasonNotSynchronized, fmt.Sprintf("database %s on %s is %s", name, server, d.State)}
		}
		return nil
	}
	return &refusal{votes.ReasonNotSynchronized, fmt.Sprintf("server %s has no copy of database %s", server, name)}
}

// switchOver moves the primary as a request asks: everything is checked first, then the replica is taken OFFLINE and,
// once it is RESOLVING, the term is handed to the target.
func (k *Keeper) switchOver(ctx context.Context, r *votes.Request, _ ballot.Observation) Outcome {
	refuse := func(no refusal) Outcome {
		k.requests.settle(k, r, votes.OutcomeRefused, no.reason, no.message)
		return Outcome{Action: "switchover refused: " + no.message, Soon: soon}
	}
	bounded, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	inspection, err := k.engine.Inspect(bounded, k.group)
	if err != nil {
		return Outcome{Err: fmt.Errorf("looking at group %s before a switchover: %w", k.group, err)}
	}
	if no := checkSwitchover(r, k.self.Server, k.term, inspection); no != nil {
		return refuse(*no)
	}
	target, err := k.peers.Report(bounded, r.To, k.group)
	if err != nil {
		return refuse(refusal{votes.ReasonTargetUnreachable, fmt.Sprintf("the agent of %s does not answer", r.To)})
	}
	if target.Role != ballot.RoleSecondary {
		return refuse(refusal{votes.ReasonNotSynchronized, fmt.Sprintf("%s calls itself %s", r.To, target.Role)})
	}
	if target.Sequence < inspection.Sequence {
		// The primary has the target's copies SYNCHRONIZED in a configuration that a majority knows, and the target not
		// yet. Begun now, the switchover would fail when nobody is primary any more.
		why := r.To + " does not know the newest configuration of the group"
		if k.requests.age(k, r) >= k.timings.Expiry {
			return refuse(refusal{votes.ReasonNotSynchronized, why})
		}
		return Outcome{Action: "switchover waits: " + why, Soon: k.timings.Renew / 4}
	}
	if fork := k.told().fork; fork != nil && !has(fork, r.To, target.Followed) {
		// It would not count among the eligible once the primary is OFFLINE.
		return refuse(refusal{votes.ReasonNotSynchronized, fmt.Sprintf(
			"%s does not say yet that it has the log of the forced failover of term %d: ask again once it has been "+
				"synchronized for some seconds",
			r.To,
			fork.Term,
		)})
	}
	if err := k.requests.begin(k, r); err != nil {
		return Outcome{Err: err}
	}
	k.chronicle.suspect(k.clock.Wall())
	// OFFLINE is answered before the votes expire, or the process is killed: either way nobody serves afterwards. If
	// neither is so the replica may serve until its lease ends: then the votes are left to expire.
	out := k.revoke(ctx, k.renewed+k.timings.HolderBound()-k.timings.Kill, nil)
	if out.Action == takenOffline {
		bounded, cancel := context.WithTimeout(ctx, fenceTimeout)
		defer cancel()
		if _, err := k.awaitResolving(bounded); err != nil {
			k.forgo()
			return Outcome{Action: "switchover", Err: err}
		}
	}
	if out.Err != nil {
		k.requests.settle(k, r, votes.OutcomeFailed, votes.ReasonEngineRefused, "the primary could not be taken offline")
		if out.Action == engineKilled {
			k.release(ctx)
		} else {
			k.forgo()
		}
		return out
	}
	return k.handOver(ctx, target, votes.Timeline{Cause: votes.CauseSwitchover, From: k.self.Server}, r)
}
