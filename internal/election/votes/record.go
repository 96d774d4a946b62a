// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// State of a vote.
type State string

const (
	// StateReleased means that nobody holds the vote: the group is new, or its holder took the engine OFFLINE and saw
	// RESOLVING.
	StateReleased State = "Released"
	// StateClaimed means that a server asks for the vote and has not been seen as PRIMARY in this term.
	StateClaimed State = "Claimed"
	// StateHeld means that the holder was PRIMARY in this term.
	StateHeld State = "Held"
)

// Holder identifies one run of one engine.
type Holder struct {
	// Server is the instance's name, "<object name>-0".
	Server string
	// PodUID is the pod's UID.
	PodUID string
	// Engine identifies the run of the engine within the pod: the start time of its process, or the container's id.
	Engine string
	// Nonce tells one swap from another: a swap whose answer was lost is recognised by it.
	Nonce string
}

// String is "server/podUID/engine/nonce", the Lease's holderIdentity; empty for nobody.
func (h Holder) String() string {
	if h.Server == "" {
		return ""
	}
	return strings.Join([]string{h.Server, h.PodUID, h.Engine, h.Nonce}, "/")
}

// ParseHolder reads what String wrote.
func ParseHolder(s string) (Holder, error) {
	if s == "" {
		return Holder{}, nil
	}
	parts := strings.Split(s, "/")
	if len(parts) != 4 || parts[0] == "" {
		return Holder{}, fmt.Errorf("holder identity %q is not server/podUID/engine/nonce", s)
	}
	return Holder{Server: parts[0], PodUID: parts[1], Engine: parts[2], Nonce: parts[3]}, nil
}

// SameRun says whether both are one run of one engine.
func (h Holder) SameRun(o Holder) bool {
	return h.Server == o.Server && h.PodUID == o.PodUID && h.Engine == o.Engine
}

// Record is one vote: what one group's Lease at one voter says.
type Record struct {
	// Term grows with every claim; 0 is a group that was never held.
	Term int64
	// State of the vote.
	State State
	// Holder of the vote.
	Holder Holder
	// InitialPrimary is the only server that may claim term 1.
	InitialPrimary string
	// Voters is the configuration of voters that the vote was given in, as Configuration.encode writes it: records are
	// compared. Empty in votes that tell nothing of it.
	Voters string
	// Notes beside the vote.
	Notes Notes
	// Fill are notes for a vote that has none of the kind; they are no part of a record that was read.
	Fill Notes
}

// Configuration of voters that the vote was given in; zero where it tells none.
func (r Record) Configuration() Configuration {
	if r.Voters == "" {
		return Configuration{}
	}
	var c Configuration
	if json.Unmarshal([]byte(r.Voters), &c) != nil {
		return Configuration{}
	}
	return c
}

// Unused says that the vote has never been anybody's. It is so in a Lease of a new group or of a site that is to vote,
// and where a vote was lost and another Lease was made: by somebody's hand, or by a Create that was sent long before.
// Once there is the group such a Lease counts as absent (model/README.md).
func (r Record) Unused() bool { return r.Term == 0 }

// TellsOfPrimary says that some server was PRIMARY in this term or one before. Timelines that cannot be read tell of
// nothing.
func (r Record) TellsOfPrimary() bool {
	timelines, _ := ParseTimelines(r.Notes.Annotations())
	return r.State == StateHeld || slices.ContainsFunc(timelines, func(t Timeline) bool { return t.Promoted != nil })
}

// Leads says whether r is of a higher term than o; within a term a Held or Claimed one leads a Released one.
func (r Record) Leads(o Record) bool {
	return r.Term > o.Term || r.Term == o.Term && o.State == StateReleased
}

// Alike says whether both are a vote for one run in one term and state.
func (r Record) Alike(o Record) bool {
	return r.Term == o.Term && r.State == o.State && r.Holder.SameRun(o.Holder)
}

// SameVote says whether two readings of a Lease show the same swap: notes and foreign annotations may differ.
func (r Record) SameVote(o Record) bool {
	return r.Term == o.Term && r.State == o.State && r.Holder == o.Holder
}

// Over is the record that replaces another one by r.
func (r Record) Over(present Record) Record {
	r.InitialPrimary, r.Voters, r.Notes = present.InitialPrimary, present.Voters, r.Fill.With(present.Notes).With(r.Notes)
	r.Fill = Notes{}
	return r
}

// InTheWay says what keeps a holder, in a configuration, from making one that needs a site that does not vote and has
// this vote; nil if nothing does. The holder must be able to replace the vote in its own term, and what it makes must
// be newer than what the vote tells: else the group would lose its majority there, or its voters to those of another
// group (model/README.md).
func (r Record) InTheWay(holder Record, present Configuration) error {
	c := r.Configuration()
	if err := c.Contradicts(present); err != nil {
		return err
	}
	if c.Term >= holder.Term && c.Newer(present) {
		return fmt.Errorf("the vote there needs %s, in term %d; here it is %s, in term %d", c, r.Term, present, holder.Term)
	}
	replaceable := r.Term < holder.Term || r.Term == holder.Term &&
		(r.State == StateClaimed || r.State == StateHeld && r.Holder.SameRun(holder.Holder))
	if !replaceable {
		return fmt.Errorf(
			"the vote there is of term %d of %s, and cannot be replaced in term %d",
			r.Term,
			r.Holder.Server,
			holder.Term,
		)
	}
	return nil
}
