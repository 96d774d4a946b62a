// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"slices"
	"time"

	"geosql.dev/operator/internal/election/votes"
)

// Votes are what a group's voters say, in the order of the voters.
type Votes []Vote

// Majority says whether those that are known decide in the newest configuration of voters that they tell of.
func (v Votes) Majority() bool {
	_, majority := v.Leading()
	return majority
}

// Counts says whether agents take the vote for one: it is known, and not one that was never anybody's beside others
// that were. They read nothing at such a voter.
func (v Votes) Counts(x Vote) bool {
	return x.Err == nil &&
		(x.Record.Term > 0 || !slices.ContainsFunc(v, func(o Vote) bool { return o.Err == nil && o.Record.Term > 0 }))
}

// Leading is the record that a majority of those that vote agrees on, or else that of the highest term: see
// Configuration.Leading. It is false when no majority is known.
func (v Votes) Leading() (votes.Record, bool) {
	began := votes.Configuration{}
	records, told := map[string]votes.Record{}, []votes.Record(nil)
	for _, x := range v {
		began.Voters = append(began.Voters, x.Site)
		if v.Counts(x) {
			records[x.Site] = x.Record
			told = append(told, x.Record)
		}
	}
	return votes.Configured(began, told...).Leading(records)
}

// Answer to the request of an ID: a final one leads one that was only accepted, then the newest. nil when none was
// seen.
func (v Votes) Answer(id string) *votes.Answer {
	var best *votes.Answer
	for _, x := range v {
		a := x.Answer
		if x.Err != nil || a == nil || a.ID != id {
			continue
		}
		if best == nil || a.Final() && !best.Final() || a.Final() == best.Final() && a.At.After(best.At) {
			best = a
		}
	}
	return best
}

// Issue is when a request is issued that is made now, to a microsecond, which is what a status keeps: after every one
// that is there or was answered, whatever the clock said where that was made. Of several the agents take the newest.
func (v Votes) Issue(now time.Time) time.Time {
	now = now.Truncate(time.Microsecond)
	after := func(t time.Time) {
		if !t.Before(now) {
			now = t.Add(time.Millisecond).Truncate(time.Microsecond)
		}
	}
	for _, x := range v {
		if x.Err == nil && x.Request != nil {
			after(x.Request.Issued)
		}
		if x.Err == nil && x.Answer != nil {
			after(x.Answer.Issued)
		}
	}
	return now
}

// Overtaken tells that a voter has an answer to a newer request than that of the ID: nobody begins with it any more.
func (v Votes) Overtaken(id string, issued time.Time) bool {
	return slices.ContainsFunc(v, func(x Vote) bool {
		return x.Err == nil && x.Answer != nil && x.Answer.Overtakes(id, issued)
	})
}

// Carries says whether a voter has the request of an ID.
func (v Votes) Carries(id string) bool {
	return slices.ContainsFunc(v, func(x Vote) bool { return x.Err == nil && x.Request != nil && x.Request.ID == id })
}

// CarriedOut is the Failover of a name that was carried out as another object: the same was asked for, and its UID was
// not this one. nil when no voter tells of one.
func (v Votes) CarriedOut(name, spec, id string) *votes.CarriedOut {
	for _, x := range v {
		if x.Err != nil {
			continue
		}
		for _, c := range x.CarriedOut {
			if c.Name == name && c.Spec == spec && c.ID != id {
				return &c
			}
		}
	}
	return nil
}

// Paused says whether any voter forbids automatic elections.
func (v Votes) Paused() bool {
	return slices.ContainsFunc(v, func(x Vote) bool { return x.Err == nil && x.Paused })
}

// Timelines of all voters, by term, oldest first. Of one term the copy counts that has come farthest: a voter that was
// cut off has an older one.
func (v Votes) Timelines() []votes.Timeline {
	byTerm := map[int64]votes.Timeline{}
	for _, x := range v {
		if x.Err != nil {
			continue
		}
		for _, t := range x.Timelines {
			if old, ok := byTerm[t.Term]; !ok || progress(t) > progress(old) {
				byTerm[t.Term] = t
			}
		}
	}
	timelines := make([]votes.Timeline, 0, len(byTerm))
	for _, t := range byTerm {
		timelines = append(timelines, t)
	}
	slices.SortFunc(timelines, func(a, b votes.Timeline) int { return int(a.Term - b.Term) })
	return timelines
}

// Quarantined are the replicas that forced failovers left apart, those that were among them.
func (v Votes) Quarantined() []votes.Apart {
	var records []votes.Record
	for _, x := range v {
		if x.Err == nil {
			records = append(records, x.Record)
		}
	}
	return votes.QuarantinedReplicas(records...)
}

// TimelineOf the request of an ID, the newest if it took several terms; nil when there is none.
func (v Votes) TimelineOf(id string) *votes.Timeline {
	var found *votes.Timeline
	for _, t := range v.Timelines() {
		if t.RequestID == id && id != "" {
			found = &t
		}
	}
	return found
}

// progress counts what a timeline has reached.
func progress(t votes.Timeline) int {
	n := 0
	for _, set := range []bool{
		t.Suspected != nil, t.Claimed != nil, t.Fenced != nil, t.Promoted != nil, t.FirstWrite != nil,
		t.AllSynchronized != nil, t.Lost != nil,
	} {
		if set {
			n++
		}
	}
	if t.Outcome != votes.OutcomeAccepted && t.Outcome != "" {
		n += 8
	}
	return n
}
