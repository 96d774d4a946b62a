// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
)

// errNoVote is that of a Lease which is there and cannot be read as a vote: agents cannot read it either.
var errNoVote = errors.New("the Lease is no vote")

// errNeverVoted is that of a Lease that was made where one was lost: agents take none of a group that there is which
// has never had a vote, because another one may have had it until a moment ago.
var errNeverVoted = fmt.Errorf(
	"the Lease that is there has never had a vote, and agents take it for none: %w",
	votes.ErrAbsent,
)

// believed is what was read, without the votes of terms that nobody can have claimed for all that a majority of a
// configuration tells: agents take those for none.
func believed(c votes.Configuration, read map[v1alpha1.SiteName]Voter) map[v1alpha1.SiteName]Voter {
	known := c.Reached(func(site string) (int64, bool) {
		v, ok := read[v1alpha1.SiteName(site)]
		return v.Record.Term, ok && v.Err == nil
	})
	all := map[v1alpha1.SiteName]Voter{}
	for site, v := range read {
		if v.Err == nil && !v.Record.Believed(known) {
			v.Err = fmt.Errorf(
				"%w: it tells of term %d, and nobody can have claimed one above %d; %s says what to do",
				errNoVote,
				max(v.Record.Term, v.Record.Configuration().Term),
				votes.Claimable(known),
				termsForgedRunbook,
			)
		}
		all[site] = v
	}
	return all
}

// termsForgedRunbook says what to do about such votes.
const termsForgedRunbook = "docs/runbooks/terms-forged.md"

// silentAfter is how long a voter's vote may be out of sight before that is said: an API server that is away for
// moments is no news.
const silentAfter = time.Minute

// silences remembers since when voters do not tell.
type silences struct {
	mu    sync.Mutex
	since map[types.NamespacedName]map[v1alpha1.SiteName]time.Time
}

// note fills in since when the voters of a group are silent. A process that has just begun counts anew.
func (s *silences) note(group types.NamespacedName, voters []Voter, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, after := s.since[group], map[v1alpha1.SiteName]time.Time{}
	for i, v := range voters {
		if v.Err == nil || gone(v) {
			continue
		}
		since, known := before[v.Site]
		if !known {
			since = now
		}
		after[v.Site], voters[i].SilentSince = since, since
	}
	if s.since == nil {
		s.since = map[types.NamespacedName]map[v1alpha1.SiteName]time.Time{}
	}
	if s.since[group] = after; len(after) == 0 {
		delete(s.since, group)
	}
}

// gone says that a voter answers and has no vote.
func gone(v Voter) bool { return errors.Is(v.Err, votes.ErrAbsent) || errors.Is(v.Err, errNoVote) }

// votesComplete says whether every voter has the group's vote. It is not known while a voter is silent that was not for
// long: what was said before stays.
func votesComplete(d Desired, o Observed) (c metav1.Condition, known bool) {
	if !d.fenced() || !o.exists(d) && d.Group.Status.GroupID == "" {
		return c, false
	}
	c = metav1.Condition{
		Type:    v1alpha1.ConditionVotesComplete,
		Status:  metav1.ConditionTrue,
		Reason:  v1alpha1.ReasonEveryVoterVotes,
		Message: "every voter has the group's vote",
	}
	missing, silent, waiting := "", "", false
	var left []v1alpha1.SiteName
	for _, v := range o.Voters {
		switch {
		case v.Err == nil:
			left = append(left, v.Site)
		case gone(v):
			missing += fmt.Sprintf(
				"; the Lease %s/%s is missing at %s (%v)",
				d.Group.Namespace,
				votes.LeaseName(d.name()),
				v.Site,
				v.Err,
			)
		case v.SilentSince.IsZero() || o.Now.Sub(v.SilentSince) < silentAfter:
			waiting = true
			left = append(left, v.Site)
		default:
			silent += fmt.Sprintf(
				"; the vote at %s is not known since %s: %v",
				v.Site,
				v.SilentSince.UTC().Format(time.RFC3339),
				v.Err,
			)
		}
	}
	switch {
	case missing != "" && lost(o):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonVotesLost, votesLost(d, o).Message
	case missing != "":
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonVoteMissing
		c.Message = fmt.Sprintf(
			"%s%s%s. Nothing makes the Lease anew by itself: %s says how the vote comes back",
			furtherLoss(o, left),
			missing,
			silent,
			votesLostRunbook,
		)
	case silent != "":
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonVoterNotAnswering
		c.Message = furtherLoss(o, left) + silent
	case waiting:
		return c, false
	}
	return c, true
}

// furtherLoss says how many of the votes that are left may be lost.
func furtherLoss(o Observed, left []v1alpha1.SiteName) string {
	has := map[string]bool{}
	for _, site := range left {
		has[string(site)] = true
	}
	quorum := func() bool { return o.Configuration.Quorum(func(site string) bool { return has[site] }) }
	if !quorum() {
		return fmt.Sprintf("of %d votes %d are known, fewer than it takes for a primary", len(o.Voters), len(left))
	}
	more := 0
	for _, site := range left {
		more++
		if delete(has, string(site)); !quorum() {
			break
		}
	}
	count := "one more of them"
	if more > 1 {
		count = fmt.Sprintf("%d more of them", more)
	}
	return fmt.Sprintf(
		"%d of %d votes are left (%s): the loss of %s stops automatic failover, and the primary",
		len(left),
		len(o.Voters),
		list(left),
		count,
	)
}
