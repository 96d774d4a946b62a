// SPDX-License-Identifier: Apache-2.0

package election

import (
	"time"
)

// standing is what a server that holds no term knows when it judges whether it may claim the next one.
type standing struct {
	self    Holder
	leading Record
	// released says that the leading term's holder gave it up, after its replica was RESOLVING or its engine had ended.
	released bool
	// unchanged is how long a majority of the votes has stayed as it is, on this server's clock.
	unchanged time.Duration
	// seen of the local replica.
	seen Observation
	// served says that the group has had a primary, looked at only where the engine does not have it.
	served bool
	// paused forbids every claim that no request asks for; manual those of a server that did not hold the last term.
	paused, manual bool
	// request is a Failover to this server, nil for none.
	request *Request
	// behind says that a forced failover has happened whose log this replica does not have.
	behind bool
	// returns says that this server held the term before the leading one, whose holder never became primary.
	returns bool
}

// verdict of a judgement.
type verdict struct {
	claim bool
	cause Cause
	// why not, for status; empty when there is nothing to wait for.
	wait string
}

// judge says whether a server may claim the next term. What it needs is that the engine of the last holder serves no
// more: the holder released the term, or it was this very pod's and ended, or its votes have been unchanged for D(1+e),
// in which every lease has run out, or a person says that exactly this holder is fenced.
func judge(s standing, t Timings) verdict {
	own := s.leading.Holder.Server == s.self.Server
	asked := s.request != nil
	cause := CauseAutomatic
	switch {
	case asked:
		cause = CauseFailover
	case own || s.returns:
		cause = CauseRestart
	}
	switch {
	case s.seen.Exists && s.seen.Mode != "" && s.seen.Mode != ModeSynchronous &&
		!(asked && s.request.AllowDataLoss && s.seen.Mode == ModeAsynchronous):
		return verdict{}
	case !own && !s.seen.Exists:
		return verdict{}
	case !s.seen.Exists && s.served:
		// Its volumes were made anew. A claim would be renewed for a group that cannot be served here, and those that have it
		// would never see the votes expire. Only before there is a group its first primary claims without it.
		return verdict{wait: "the engine does not have the group, which has had a primary: no claim, others that have it may"}
	}
	gone := s.released || s.unchanged >= t.SuspectAfter() ||
		own && s.leading.Holder.PodUID == s.self.PodUID && s.seen.Role != RolePrimary ||
		asked && s.request.fences(s.leading.Holder)
	switch {
	case !gone && own:
		return verdict{wait: "waiting for the votes of the former pod to expire"}
	case !gone && s.unchanged >= 3*t.Renew:
		return verdict{wait: "the holder's votes are not being renewed"}
	case !gone:
		return verdict{}
	case s.behind && !(asked && s.request.AllowDataLoss):
		return verdict{wait: "a forced failover has left this replica behind: no claim before it was synchronized again"}
	case s.paused && !asked && !s.returns:
		return verdict{wait: "paused: no claim"}
	case s.manual && !asked && !own && !s.returns:
		return verdict{wait: "failover is manual: no claim"}
	}
	return verdict{claim: true, cause: cause}
}
