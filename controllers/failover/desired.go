// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
)

const (
	// defaultLife is how long after its creation a Failover may begin.
	defaultLife = 5 * time.Minute
	// answerGrace is how long after its end a request may still be answered: clocks differ, and an agent that began in the
	// last second needs time.
	answerGrace = 30 * time.Second
	// unknownAfter is how long after its end a request whose answer cannot be read is waited for.
	unknownAfter = 10 * time.Minute
	// otherVoterAfter is how long a voter's agents may be silent before the request is written at the next voter too.
	otherVoterAfter = 4 * time.Second
	// electionTime is how long after a request there is a primary again if the agents can do as it says, D and 3 s with
	// the defaults, and as much again.
	electionTime = 30 * time.Second
	// settleFor is how long after its promotion the record of an election waits for every replica to be synchronized again
	// before it is completed without: a lost site may be away for days.
	settleFor = time.Minute
	// followFor is how long after its completion the timeline of a Failover is kept up to date: databases may need long to
	// be synchronized again.
	followFor = 24 * time.Hour
	// recordsKept is how many records of a group's own elections are kept, and how many switchovers that the operator
	// asked for to restart or drain a server; the Leases have the last five.
	recordsKept = 50
)

// expires is when a Failover may no longer begin.
func expires(f *v1alpha1.Failover) time.Time {
	life := defaultLife
	if f.Spec.Expires != nil {
		life = f.Spec.Expires.Duration
	}
	return f.CreationTimestamp.Add(life)
}

// request is what the agents are asked for. It is the same however often it is made: a manager that ended between
// saying so in the status and writing it asks for the same thing again.
func request(f *v1alpha1.Failover, issued time.Time) votes.Request {
	r := requests.Asked(f.Spec)
	r.ID, r.Issued, r.ExpiresSeconds = string(f.UID), issued.UTC(), max(1, int(expires(f).Sub(issued)/time.Second))
	r.By, r.Failover = "Failover "+f.Namespace+"/"+f.Name, f.Name
	return r
}
