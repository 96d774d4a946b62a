// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// Standing is what a server that holds no term knows when it judges whether it may claim the next one.
type Standing struct {
	Self    votes.Holder
	Leading votes.Record
	// Released says that the leading term's holder gave it up, after its replica was RESOLVING or its engine had ended.
	Released bool
	// Unchanged is how long a majority of the votes has stayed as it is, on this server's clock.
	Unchanged time.Duration
	// Seen of the local replica.
	Seen Observation
	// Served says that the group has had a primary, looked at only where the engine does not have it.
	Served bool
	// Paused forbids every claim that no request asks for; Manual those of a server that did not hold the last term.
	Paused, Manual bool
	// Request is a Failover to this server, nil for none.
	Request *votes.Request
	// Behind says that a forced failover has happened whose log this replica does not have.
	Behind bool
	// Returns says that this server held the term before the leading one, whose holder never became primary.
	Returns bool
}

// Verdict of a judgement.
type Verdict struct {
	Claim bool
	Cause votes.Cause
	// why not, for status; empty when there is nothing to wait for.
	Wait string
}

// Judge says whether a server may claim the next term. What it needs is that the engine of the last holder serves no
// more: the holder released the term, or it was this very pod's and ended, or its votes have been unchanged for D(1+e),
// in which every lease has run out, or a person says that exactly this holder is fenced.
func Judge(s Standing, t Timings) Verdict {
	own := s.Leading.Holder.Server == s.Self.Server
	asked := s.Request != nil
	cause := votes.CauseAutomatic
	switch {
	case asked:
		cause = votes.CauseFailover
	case own || s.Returns:
		cause = votes.CauseRestart
	}
	switch {
	case s.Seen.Exists && s.Seen.Mode != "" && s.Seen.Mode != ModeSynchronous &&
		!(asked && s.Request.AllowDataLoss && s.Seen.Mode == ModeAsynchronous):
		return Verdict{}
	case !own && !s.Seen.Exists:
		return Verdict{}
	case !s.Seen.Exists && s.Served:
		// Its volumes were made anew. A claim would be renewed for a group that cannot be served here, and those that have it
		// would never see the votes expire. Only before there is a group its first primary claims without it.
		return Verdict{Wait: "the engine does not have the group, which has had a primary: no claim, others that have it may"}
	}
	gone := s.Released || s.Unchanged >= t.SuspectAfter() ||
		own && s.Leading.Holder.PodUID == s.Self.PodUID && s.Seen.Role != RolePrimary ||
		asked && s.Request.Fences(s.Leading.Holder)
	switch {
	case !gone && own:
		return Verdict{Wait: "waiting for the votes of the former pod to expire"}
	case !gone && s.Unchanged >= 3*t.Renew:
		return Verdict{Wait: "the holder's votes are not being renewed"}
	case !gone:
		return Verdict{}
	case s.Behind && !(asked && s.Request.AllowDataLoss):
		return Verdict{Wait: "a forced failover has left this replica behind: no claim before it was synchronized again"}
	case s.Paused && !asked && !s.Returns:
		return Verdict{Wait: "paused: no claim"}
	case s.Manual && !asked && !own && !s.Returns:
		return Verdict{Wait: "failover is manual: no claim"}
	}
	return Verdict{Claim: true, Cause: cause}
}
