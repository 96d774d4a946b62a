// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"cmp"
	"slices"
	"strings"

	"geosql.dev/operator/internal/election/votes"
)

// Decision is what the fenced reports of a term come to.
type Decision struct {
	// Reported replicas of needed ones: half of the synchronous and configuration-only replicas, rounded down, and one.
	Reported, Needed int
	// Best replica by the reports, empty when none could be primary.
	Best string
	// Eligible says that the candidate is synchronous and knows the newest configuration: only then may the engine be
	// asked for a FAILOVER, which it grants by what it knows itself.
	Eligible bool
}

// Quorate says whether no other majority of replicas can have agreed on a configuration that nobody reported.
func (d Decision) Quorate() bool { return d.Needed > 0 && d.Reported >= d.Needed }

// ReportQuorum is how many of the synchronous and configuration-only replicas must have reported: every configuration
// that a majority has committed is then known to one of them.
func ReportQuorum(voting int) int { return voting/2 + 1 }

// Decide finds the best replica among the reports. Which replicas there are is taken from the newest configuration
// among them. The best has the highest sequence number (an older configuration may call a replica synchronized that has
// been given up since), has not been refused by its engine rather than has, is called synchronized rather than not, and
// has the longest log; candidate is preferred to its equals. What is called synchronized by a replica that has lost its
// primary may be of any age (sys.dm_hadr_database_replica_cluster_states): it orders the replicas and rules none out.
func Decide(candidate string, reports []Report) Decision {
	var d Decision
	if len(reports) == 0 {
		return d
	}
	newest := slices.MaxFunc(reports, func(a, b Report) int { return cmp.Compare(a.Sequence, b.Sequence) })
	modes := map[string]Mode{}
	voting := 0
	for _, r := range newest.Replicas {
		modes[strings.ToLower(r.Server)] = r.Mode
		// One whose mode is not known may vote: it is needed for a majority, and its report is none of a voter.
		if r.Mode.Votes() || r.Mode == "" {
			voting++
		}
	}
	if voting == 0 {
		return d
	}
	d.Needed = ReportQuorum(voting)
	var eligible []Report
	for _, r := range reports {
		mode := modes[strings.ToLower(r.Server)]
		if mode.Votes() {
			d.Reported++
		}
		if mode == ModeSynchronous && r.Sequence == newest.Sequence {
			eligible = append(eligible, r)
		}
	}
	if len(eligible) == 0 {
		return d
	}
	best := slices.MaxFunc(eligible, func(a, b Report) int {
		return cmp.Or(better(a, b), -strings.Compare(a.Server, b.Server))
	})
	d.Best = best.Server
	for _, r := range eligible {
		if strings.EqualFold(r.Server, candidate) {
			d.Eligible = true
			if better(best, r) == 0 {
				d.Best = r.Server
			}
		}
	}
	return d
}

// Most is the server that has the most of those that report though they are no majority: the best by the newest
// configuration that is known, or, where that names none of them, the one with the longest log. candidate is preferred
// to its equals.
func Most(candidate string, d Decision, reports []Report) string {
	if d.Best != "" {
		return d.Best
	}
	best := ReportOf(reports, candidate)
	for _, r := range reports {
		if r.Mode(r.Server) != ModeConfigurationOnly && CompareLogs(r.Databases, best.Databases) > 0 {
			best = r
		}
	}
	return best.Server
}

// better compares two reports of one configuration.
func better(a, b Report) int {
	return cmp.Or(
		compareBool(!a.Refused, !b.Refused), compareBool(a.Ready(), b.Ready()), CompareLogs(a.Databases, b.Databases),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// CompareLogs compares the hardened ends of the local copies, database by database in the order of their names: above 0
// where a has more.
func CompareLogs(a, b []DatabaseState) int {
	ends := func(states []DatabaseState) map[string]string {
		m := map[string]string{}
		for _, s := range states {
			if s.Local {
				m[s.Name] = s.HardenedLSN
			}
		}
		return m
	}
	x, y := ends(a), ends(b)
	names := make([]string, 0, len(x)+len(y))
	for name := range x {
		names = append(names, name)
	}
	for name := range y {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if c := votes.CompareLSN(x[name], y[name]); c != 0 {
			return c
		}
	}
	return 0
}
