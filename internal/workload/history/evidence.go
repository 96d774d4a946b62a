// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"time"

	"geosql.dev/operator/internal/workload/history/listappend"
)

// RowID names a row of dbo.Recorded: the run and the number of the operation that inserted it.
type RowID struct {
	Run    int64 `json:"run"`
	Number int64 `json:"op"`
}

// Replica is what one replica has when everything is over and synchronized.
type Replica struct {
	// Server is the replica's name.
	Server string `json:"server"`
	// Rows of dbo.Recorded, as often as they are there; of a subscriber that has no such table those of which it has
	// payloads.
	Rows []RowID `json:"rows"`
	// Tables that clients wrote, with what is in each; none where nothing but which rows there are was read.
	Tables []Table `json:"tables,omitempty"`
	// Registers with their values, where they were read.
	Registers []RegisterValue `json:"registers,omitempty"`
	// Lists of dbo.List by their Ids; nil where they were not read.
	Lists map[int64]listappend.List `json:"lists,omitempty"`
	// Moved says that rows kept arriving while they were read, so that this was at no moment what is there.
	Moved bool `json:"moved,omitempty"`
}

// tellsRows says that Rows are all that the copy has: nothing else was read of it, or a table with rows of each
// transaction was. A subscriber may have neither.
func (r Replica) tellsRows() bool {
	return len(r.Tables) == 0 ||
		slices.ContainsFunc(r.Tables, func(t Table) bool { return t.Each > 0 || t.Name == TableRecorded })
}

// lacks are the rows of another copy that this one does not have.
func (r Replica) lacks(of Replica) map[RowID]bool {
	missing := make(map[RowID]bool, len(of.Rows))
	for _, id := range of.Rows {
		missing[id] = true
	}
	for _, id := range r.Rows {
		delete(missing, id)
	}
	return missing
}

// Fault is something that was done to the system while clients were at work.
type Fault struct {
	// Name of the kind of fault. Faults of one name are summed up together.
	Name string `json:"name"`
	// Target that it hit, for people.
	Target string `json:"target,omitempty"`
	// Injected is when it began.
	Injected Instant `json:"injected"`
	// Healed is when it was taken back, zero when there was nothing to take back.
	Healed Instant `json:"healed"`
	// Settled is when all replicas were synchronized again, zero when that was not seen.
	Settled Instant `json:"settled"`
	// Bounds are the looks between which these moments lie.
	Bounds FaultBounds `json:"bounds,omitzero"`
	// Proof says how it was seen to have taken effect; empty: it was not.
	Proof string `json:"proof"`
	// Moves says that it is to move service to another server: what clients were acknowledged proves it.
	Moves bool `json:"moves,omitempty"`
	// Isolated are clients that the fault itself kept from reaching anything, from Injected until Healed, or until the way
	// was open again: that time of theirs is nobody's outage.
	Isolated []string `json:"isolated,omitempty"`
	// RTO is the longest time that clients may go without an acknowledgement; 0: none is asked for.
	RTO time.Duration `json:"rto,omitempty"`
}

// FaultBounds are looks at a fault. What was not looked at is zero, and its moment is taken for exact.
type FaultBounds struct {
	// BegunBy is when the first of it was there; it was asked for at Injected.
	BegunBy Instant `json:"begunBy,omitzero"`
	// StillThere is when something of it was last seen while it was taken back, GoneBy when nothing was any more.
	StillThere Instant `json:"stillThere,omitzero"`
	GoneBy     Instant `json:"goneBy,omitzero"`
	// StillCut is when what it did was last seen though it was taken back, OpenBy when all was first seen as before.
	StillCut Instant `json:"stillCut,omitzero"`
	OpenBy   Instant `json:"openBy,omitzero"`
	// Behind is when the replicas were last seen not to be synchronized after it, by all of them.
	Behind Instant `json:"behind,omitzero"`
}

// Evidence is all that a verdict is made of.
type Evidence struct {
	Runs     []Run
	Replicas []Replica
	// Subscribers are copies that need not have all tables, nor all rows yet, and get them in the order of the commits.
	Subscribers []Replica
	Faults      []Fault
	// Baseline is when the time began in which nothing was done yet, by the clock that timed the faults; zero: there was
	// none.
	Baseline Instant
	// FaultsBoot identifies the boot of the machine whose monotonic clock timed the faults; empty when it is that of the
	// runs.
	FaultsBoot string
	// AcknowledgedAtLeast is below how many acknowledged inserts nothing can be said.
	AcknowledgedAtLeast int
	// AllowLost is how many acknowledged rows may be lost; more than 0 only where a person has allowed data loss.
	AllowLost int
	// Served is what counts as being served again; with no time the first acknowledgement does.
	Served Served
	// Clocks of the clients' machines as they were compared with the manager's. Used when not all are of one boot.
	Clocks []ClockReading
	// OwnClock are readings of the manager's own monotonic clock and wall clock.
	OwnClock []ClockReading
	// ClockError bounds the difference of the wall clocks of machines that were not compared, where somebody vouches for
	// it; 0: nobody does, and what these machines did has no time but on their own clocks.
	ClockError time.Duration
}

// Result of a check.
type Result string

const (
	// Passed: enough was seen, and all of it is as it must be.
	Passed Result = "Passed"
	// Failed: something was seen that must not be.
	Failed Result = "Failed"
	// Inconclusive: nothing wrong was seen, and not enough to say that all is right.
	Inconclusive Result = "Inconclusive"
)

// Verdict is what the evidence says.
type Verdict struct {
	Result Result `json:"result"`
	// Reasons why it is not Passed.
	Reasons []string `json:"reasons,omitempty"`
	Counts  Counts   `json:"counts"`
	// Operations of every kind, with what came of them.
	Operations Operations `json:"operations"`
	// Examples of rows that are not where they must be, some of each kind.
	Examples map[string][]RowID `json:"examples,omitempty"`
	// Terms in which servers acknowledged, in their order, and Overlaps between them.
	Terms    []TermSpan `json:"terms"`
	Overlaps []Overlap  `json:"overlaps,omitempty"`
	// Untold says of which terms the clocks do not tell whether they overlap.
	Untold []string `json:"untold,omitempty"`
	// Served is what counted as being served again, and Loops what operations of each client waited for: nothing where its
	// histories, of an earlier release, do not tell, so that its first acknowledgement counted.
	Served Served          `json:"served,omitzero"`
	Loops  map[string]Loop `json:"loops,omitempty"`
	// Clocks of the clients' machines, as they were compared with the manager's, and his own when it strayed.
	Clocks []ClockFigures `json:"clocks,omitempty"`
	// Contents is what was found in all tables that clients wrote.
	Contents Contents `json:"contents"`
	// Registers says whether their history is linearizable.
	Registers Registers `json:"registers"`
	// Order says whether transactions on lists were atomic, and had an order.
	Order Order `json:"order"`
	// Faults with what clients saw, in the order of their injection.
	Faults []FaultFigures `json:"faults"`
	// Undisturbed is what clients saw of the baseline: what the figures of faults are to be seen against.
	Undisturbed []ClientFigures `json:"undisturbed,omitempty"`
}

// Operations are what clients tried, other than what a fault may have kept from reaching anything.
type Operations struct {
	Attempted int `json:"attempted"`
	Failed    int `json:"failed"`
	Unknown   int `json:"unknown"`
	// CutOff are those that are left out.
	CutOff int `json:"cutOff,omitempty"`
}

// Counts of rows.
type Counts struct {
	Attempted    int `json:"attempted"`
	Acknowledged int `json:"acknowledged"`
	Failed       int `json:"failed"`
	Unknown      int `json:"unknown"`
	// Lost rows were acknowledged, and at least one replica lacks them.
	Lost int `json:"lost"`
	// UnknownPresent rows had an unknown outcome and are there, UnknownAbsent are not.
	UnknownPresent int `json:"unknownPresent"`
	UnknownAbsent  int `json:"unknownAbsent"`
	// FailedPresent rows are there although their client was told that they failed.
	FailedPresent int `json:"failedPresent"`
	// Duplicated rows are in one replica more than once.
	Duplicated int `json:"duplicated"`
	// Phantom rows are there and nobody wrote them.
	Phantom int `json:"phantom"`
	// Unrecorded rows are there and come after the end of a history that broke off: perhaps its client wrote them.
	Unrecorded int `json:"unrecorded"`
	// Diverging rows are in some replicas and not in others.
	Diverging int `json:"diverging"`
	// DivergingUnrecorded are those of them that no history has: whoever wrote them may have done so between the
	// readings of two replicas.
	DivergingUnrecorded int `json:"divergingUnrecorded,omitempty"`
}
