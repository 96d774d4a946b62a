// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// withoutPrimary says who is awaited while every replica answers and none is primary, and what a person can do.
func withoutPrimary(d Desired, o Observed) string {
	if !d.fenced() {
		return "no replica is primary, and clusterType None has no agents that make one so"
	}
	const majority = "when a majority of voters and replicas answer"
	awaited := "the agents elect one " + majority
	switch policy := d.Group.Spec.FailoverPolicy; {
	case policy == v1alpha1.FailoverPaused || slices.ContainsFunc(o.Voters, func(v Voter) bool { return v.Paused }):
		awaited = "elections are paused, and nobody becomes primary by itself"
	case policy != v1alpha1.FailoverAutomatic:
		awaited = fmt.Sprintf(
			"failoverPolicy is %s, and only the agent of the last one makes it primary again, %s",
			v1alpha1.FailoverManual,
			majority,
		)
	}
	last := ""
	if leading, known := o.leading(); known && leading.Holder.Server != "" {
		last = fmt.Sprintf("; the votes are %s by %s in term %d", leading.State, leading.Holder.Server, leading.Term)
	}
	return fmt.Sprintf(
		"no replica is primary: %s%s. kubectl geosql failover %s --wait -n %s loses nothing, or does not happen",
		awaited,
		last,
		d.name(),
		d.Group.Namespace,
	)
}

// planHealth says what is so when nothing is left to do.
func planHealth(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	silent := o.silent(d)
	if outcome, alone := writtenOutside(d, o); alone {
		return p.Settle(outcome)
	}
	if primary == "" {
		if len(silent) > 0 {
			return p.Settle(conditions.Unknown(v1alpha1.ReasonPrimaryUnknown, fmt.Sprintf(
				"no replica that answers is primary; no answer from %s", o.why(silent))))
		}
		return p.Settle(conditions.InProgress(v1alpha1.ReasonNoPrimary, withoutPrimary(d, o)))
	}
	if outcome, isFixed := modeFixed(d, o.Instances[primary].Group); isFixed {
		return p.Settle(outcome)
	}
	if outcome, kept := staying(d, o, primary); kept && len(silent) == 0 {
		return p.Settle(outcome)
	}
	if len(silent) > 0 {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf(
			"%s is primary and serves; no answer from %s%s", host(primary), o.why(silent), withoutDead(d, o, primary))))
	}
	awaited := awaitedDatabases(d, o)
	// Copies of one that makes way for a restored one go with it: nobody is asked about them.
	if outcome, left := leftOutside(without(d, awaited), o, o.Instances[primary].Group); left {
		return p.Settle(outcome)
	}
	if outcome, waits := held(d, o, primary); waits {
		return p.Settle(outcome)
	}
	if len(awaited) > 0 {
		outcome := awaited.Outcome()
		outcome.Message = host(primary) + " is primary and serves what the group has; " + outcome.Message
		return p.Settle(outcome)
	}
	if outcome, lacks := keysLacked(d, o); lacks {
		return p.Settle(outcome)
	}
	if lagging := notSynchronized(d, o, primary); len(lagging) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonSynchronizing, fmt.Sprintf(
			"%s is primary and serves; not synchronized yet: %s", host(primary), strings.Join(lagging, ", "))))
	}
	if outcome, changing := votersOutcome(d, o); changing {
		return p.Settle(outcome)
	}
	if outcome, differs := kept(d, o).Outcome(); differs {
		return p.Settle(outcome)
	}
	message := fmt.Sprintf("%s is primary and every replica is as declared", host(primary)) +
		listenerTaken(d, o.Instances[primary].Group)
	if !d.fenced() {
		message += "; clusterType None: nothing fences a second primary"
	} else if len(o.Voters) < 3 {
		message += fmt.Sprintf("; %d voter: failover is manual (%s)", len(o.Voters), v1alpha1.ReasonNoWitness)
	}
	p.Outcome = conditions.Ready(v1alpha1.ReasonSynchronized, message)
	return true
}

// notSynchronized are the databases that lag on synchronous replicas, or are not there on asynchronous ones.
func notSynchronized(d Desired, o Observed, primary v1alpha1.ServerName) []string {
	var lagging []string
	group := o.Instances[primary].Group
	for _, r := range d.Group.Spec.Replicas {
		if r.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		want := "SYNCHRONIZED"
		if r.AvailabilityMode == v1alpha1.AsynchronousCommit {
			want = "SYNCHRONIZING"
		}
		for _, database := range d.databases() {
			if state := stateOf(group, host(r.Server), database); state != want &&
				!(r.Server == primary && state == "SYNCHRONIZED") {
				why := orUnknown(state)
				if f := failureOf(group, host(r.Server), database); f != nil {
					why += "; its seeding failed: " + f.Reason
				}
				if row := rowOf(o.Instances[r.Server].Group, host(r.Server), database); row != nil && row.Suspended {
					why += "; suspended: " + row.SuspendReason
				}
				lagging = append(lagging, fmt.Sprintf("%s on %s (%s)", database, host(r.Server), why))
			}
		}
	}
	return lagging
}

func orUnknown(s string) string {
	if s == "" {
		return "not there"
	}
	return strings.ToLower(s)
}
