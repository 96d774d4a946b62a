// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// begun says whether this server remembers that it began with a request.
func (k *Keeper) begun(r *votes.Request) bool {
	remembered, err := k.remembered()
	return err == nil && remembered.Begun == r.ID
}

// decideFork does what a person has decided about the copies of this replica. It is on record at the voters before
// anything is given up, and remembered when it is done: whoever asked must not hear Refused of what was carried out.
func (k *Keeper) decideFork(ctx context.Context, r *votes.Request, seen ballot.Observation, told gathered) Outcome {
	remembered, err := k.remembered()
	if err != nil {
		return Outcome{Err: err}
	}
	if remembered.Decided == r.ID {
		k.requests.settle(k, r, votes.OutcomeDone, string(r.Kind), "")
		k.write(ctx)
		return Outcome{}
	}
	leading, _ := k.ballot.Leading()
	fed := !r.Reseeds() || follows(seen, leading)
	no, err := k.checkDecision(ctx, r, seen, told.fork, remembered)
	if err != nil {
		return Outcome{Err: err}
	}
	if no == nil && !fed && remembered.Begun != r.ID && k.requests.age(k, r) > k.timings.SuspectAfter() {
		no = &refusal{
			votes.ReasonNoPrimary,
			"this replica is connected to no primary that could seed its copies anew, and they may be all there is: ask " +
				"again once kubectl geosql status shows it CONNECTED",
		}
	}
	if no != nil {
		k.requests.settle(k, r, votes.OutcomeRefused, no.reason, no.message)
		k.write(ctx)
		return Outcome{Action: "request refused"}
	}
	if !fed {
		return Outcome{Action: "waiting for a primary before anything is given up"}
	}
	if _, accepted := told.answers[r.ID]; !accepted {
		if err := k.requests.begin(k, r); err != nil {
			return Outcome{Err: err}
		}
		if k.write(ctx); k.requests.answer != nil {
			return Outcome{Action: "nothing is given up before the voters have that on record"}
		}
	}
	return k.carryOutDecision(ctx, r, seen, told.fork)
}

// checkDecision says what speaks against a decision; nil for nothing. What was begun with may itself have ended the
// quarantine or the suspension: neither is asked for again.
func (k *Keeper) checkDecision(
	ctx context.Context,
	r *votes.Request,
	seen ballot.Observation,
	fork *votes.Fork,
	remembered Remembered,
) (no *refusal, err error) {
	released := &refusal{votes.ReasonNotQuarantined, "nothing on this replica waits for a decision"}
	switch {
	case seen.Role == ballot.RolePrimary:
		return released, nil
	case remembered.Begun == r.ID:
		return nil, nil
	case r.Kind == votes.RequestRejoin && fork == nil:
		return released, nil
	case r.Kind == votes.RequestRejoin && remembered.Quarantined == 0:
		return &refusal{votes.ReasonNotQuarantined, "this replica is not quarantined"}, nil
	}
	apart := k.apart(fork, remembered)
	if r.Kind != votes.RequestReseedDatabases && apart && (remembered.Quarantined != 0 || len(seen.Suspended) > 0) {
		if r.Kind == votes.RequestRejoin {
			return nil, nil
		}
		own, others, err := k.own(ctx)
		if err == nil && len(own) == 0 && len(others) > 0 {
			no = theirs(others)
		}
		return no, err
	}
	_, no, err = k.stale(ctx, r, seen, apart)
	return no, err
}

// own are the copies of the group's databases on this replica, and clauses that say of the others of those names whose
// they are.
func (k *Keeper) own(ctx context.Context) (own, others []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, rejoinTimeout)
	defer cancel()
	_, copies, err := k.copies(ctx)
	for _, c := range copies {
		if c.Other == "" {
			own = append(own, c.Name)
		} else {
			others = append(others, c.theirs())
		}
	}
	return own, others, err
}

// copies are what the engine knows of the group, and what it has under the names of the group's databases.
func (k *Keeper) copies(ctx context.Context) (ballot.Inspection, []Copy, error) {
	i, err := k.engine.Inspect(ctx, k.group)
	if err != nil {
		return i, nil, fmt.Errorf("looking for the copies of group %s on %s: %w", k.group, k.self.Server, err)
	}
	copies, err := k.engine.Copies(ctx, k.group, i.Names)
	if err != nil {
		return i, nil, fmt.Errorf("looking for the copies of group %s on %s: %w", k.group, k.self.Server, err)
	}
	return i, copies, nil
}

// theirs says in a clause whose a copy is that is not the group's.
func (c Copy) theirs() string { return fmt.Sprintf("%s here is %s", c.Name, c.Other) }

// theirs refuses to give up copies that are another group's.
func theirs(others []string) *refusal {
	return &refusal{
		votes.ReasonOwnData,
		strings.Join(others, "; ") + ": a reseed gives up copies of its own group alone. Take the database out of one of " +
			"the two groups, or give it another name there",
	}
}

// apart says that this replica may have log from before a forced failover that the others lack, and that nobody has
// decided about.
func (k *Keeper) apart(fork *votes.Fork, remembered Remembered) bool {
	return remembered.Quarantined != 0 ||
		fork != nil && fork.Term > remembered.Cleared && !has(fork, k.self.Server, remembered.Followed)
}

// stale asks the engine which of the copies that a reseed is about are of no use as they are.
func (k *Keeper) stale(
	ctx context.Context,
	r *votes.Request,
	seen ballot.Observation,
	apart bool,
) ([]string, *refusal, error) {
	ctx, cancel := context.WithTimeout(ctx, rejoinTimeout)
	defer cancel()
	i, copies, err := k.copies(ctx)
	if err != nil {
		return nil, nil, err
	}
	names, no := staleOf(r.Databases, i, seen, copies, apart)
	return names, no, nil
}

// staleOf are the copies that may be given up, of the wanted databases or, where none are named, of all: those that are
// outside of the group in state RESTORING, and those in it that take no log. Each is a secondary's copy of a group
// whose primary this replica is connected to: what it has, the primary has too, unless the replica is apart. A copy
// that can be written to beside the group is never among them, for nobody knows what was written; nor is another
// group's, whose primary this is not.
func staleOf(
	wanted []string,
	i ballot.Inspection,
	seen ballot.Observation,
	copies []Copy,
	apart bool,
) ([]string, *refusal) {
	if apart {
		return nil, &refusal{
			votes.ReasonOwnData,
			"since a failover with data loss this replica may have what the others lack: decide about all of its databases, " +
				"by rejoin or by reseed without --database",
		}
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(i.Names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return nil, &refusal{
				votes.ReasonNoSuchDatabase,
				fmt.Sprintf("%s is no database of the group; it has %s", name, strings.Join(i.Names, ", ")),
			}
		}
	}
	var names, own, others []string
	for _, c := range copies {
		meant := len(wanted) == 0 || slices.ContainsFunc(wanted, func(n string) bool { return strings.EqualFold(n, c.Name) })
		switch {
		case !meant || c.InGroup && !idle(i, seen, c.Name):
		case c.Other != "":
			others = append(others, c.theirs())
		case c.Alone():
			own = append(own, c.Name)
		default:
			names = append(names, c.Name)
		}
	}
	switch {
	case len(own) > 0:
		return nil, &refusal{
			votes.ReasonOwnData,
			fmt.Sprintf("%s is here outside of the group, and may have rows that nobody else has: save what is to be kept, "+
				"and DROP DATABASE (or rename it) here; then it is seeded by itself", strings.Join(own, ", ")),
		}
	case len(others) > 0 && (len(names) == 0 || len(wanted) > 0):
		return nil, theirs(others)
	case len(names) == 0:
		return nil, &refusal{
			votes.ReasonNotQuarantined,
			"no copy on this replica is stale: each is absent, or takes the primary's log",
		}
	}
	return names, nil
}

// idle says that the local copy of a database, which is in the group, takes no log. One that was seen to take none may
// have been resumed a moment ago by this very agent, in vain.
func idle(i ballot.Inspection, seen ballot.Observation, name string) bool {
	if slices.Contains(slices.Concat(seen.Suspended, seen.Standing), name) {
		return true
	}
	for _, d := range i.Databases {
		if d.Local && strings.EqualFold(d.Name, name) {
			return d.Suspended || d.State == "NOT SYNCHRONIZING"
		}
	}
	return true
}

// dropCopies drops the copies that a reseed is about: the stale ones, or the whole replica's where that is apart. left
// says which it has left for they are another group's, empty when there is none.
func (k *Keeper) dropCopies(
	ctx context.Context,
	r *votes.Request,
	seen ballot.Observation,
	fork *votes.Fork,
	remembered Remembered,
) (whole bool, left string, err error) {
	ctx, cancel := context.WithTimeout(ctx, rejoinTimeout)
	defer cancel()
	names, others, err := k.own(ctx)
	if err != nil {
		return false, "", err
	}
	if r.Kind == votes.RequestReseed && len(others) > 0 {
		left = theirs(others).message
	}
	apart := k.apart(fork, remembered)
	if apart && r.Kind == votes.RequestReseed {
		return true, left, k.engine.Reseed(ctx, k.group, names)
	}
	names, no, err := k.stale(ctx, r, seen, apart)
	switch {
	case err != nil:
		return false, "", err
	case no != nil && no.reason != votes.ReasonNotQuarantined:
		return false, "", fmt.Errorf("nothing more is given up: %s", no.message)
	}
	return false, left, k.engine.Reseed(ctx, k.group, names)
}

// carryOutDecision gives up what the request says, and remembers it.
func (k *Keeper) carryOutDecision(
	ctx context.Context,
	r *votes.Request,
	seen ballot.Observation,
	fork *votes.Fork,
) Outcome {
	remembered, err := k.remembered()
	if err != nil {
		return Outcome{Err: err}
	}
	whole, left := r.Kind == votes.RequestRejoin, ""
	if r.Reseeds() {
		if whole, left, err = k.dropCopies(ctx, r, seen, fork, remembered); err != nil {
			return Outcome{
				Action: "reseeding",
				Err:    fmt.Errorf("dropping the copies of group %s on %s: %w", k.group, k.self.Server, err),
			}
		}
	}
	if whole && fork != nil {
		remembered.Cleared, remembered.Quarantined = fork.Term, 0
		k.rejoin.quarantined = false
	}
	remembered.Begun, remembered.Decided = r.ID, r.ID
	if err := k.remember(remembered); err != nil {
		return Outcome{Err: err}
	}
	k.requests.settle(k, r, votes.OutcomeDone, string(r.Kind), left)
	k.write(ctx)
	return Outcome{Action: strings.ToLower(string(r.Kind)) + " accepted", Soon: soon}
}
