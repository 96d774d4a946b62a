// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"errors"
	"strings"

	"geosql.dev/operator/internal/election/votes"
)

// FenceRequest asks a replica's agent for a promise and a report.
type FenceRequest struct {
	// Group by name.
	Group string `json:"group"`
	// Term that a majority of votes has for Candidate.
	Term int64 `json:"term"`
	// Candidate that asks. Its own replica stays as it is, and one that is PRIMARY is taken OFFLINE.
	Candidate votes.Holder `json:"candidate"`
	// Bystanders is the role in which the candidate wants the other replicas: SECONDARY, in which they stay, or RESOLVING,
	// also where it is empty: they are taken OFFLINE.
	Bystanders Role `json:"bystanders,omitempty"`
	// Revive has those become SECONDARY that are RESOLVING, where Bystanders is SECONDARY.
	Revive bool `json:"revive,omitempty"`
}

// Report is what a fenced replica has.
type Report struct {
	// Server that reports.
	Server string `json:"server"`
	// Holder is the run of its engine that a claim could be handed to.
	Holder votes.Holder `json:"holder"`
	// Role after fencing.
	Role Role `json:"role"`
	// Followed is the newest forced term whose log the replica has.
	Followed int64 `json:"followed,omitempty"`
	// Refused says that the engine has answered FAILOVER with 41142 in the configuration that is reported.
	Refused bool `json:"refused,omitempty"`
	Inspection
}

// Ready says whether the reporter's configuration calls all of its databases synchronized.
func (r Report) Ready() bool {
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

// ReportOf is a server's report, an empty one when it gave none.
func ReportOf(reports []Report, server string) Report {
	for _, r := range reports {
		if strings.EqualFold(r.Server, server) {
			return r
		}
	}
	return Report{}
}
