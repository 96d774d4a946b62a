// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"geosql.dev/operator/internal/workload/history/listappend"
)

// Function is what an operation does.
type Function string

const (
	// Insert writes a row of its own into dbo.Recorded.
	Insert Function = "insert"
	// Write sets a register of dbo.Register.
	Write Function = "write"
	// Read reads a register of dbo.Register.
	Read Function = "read"
	// Query reads tables of a profile of the workload: it changes nothing, and which server answered is not asked.
	Query Function = "query"
)

// Changes says whether an operation of that function changes something when it is acknowledged.
func (f Function) Changes() bool { return f == Insert || f == Write }

// Outcome is how an operation ended, as its client saw it.
type Outcome string

const (
	// OK: the server acknowledged it.
	OK Outcome = "ok"
	// Fail: it was not sent, or the server refused it. It must not have taken effect.
	Fail Outcome = "fail"
	// Unknown: it was sent and no answer came. It may have taken effect, or may yet.
	Unknown Outcome = "unknown"
)

// Instant is one moment on two clocks.
type Instant struct {
	// Monotonic is CLOCK_BOOTTIME in nanoseconds, which runs on while a machine sleeps and is never set. Two of them are
	// comparable if they are of the same boot of the same machine (clock_gettime(2)).
	Monotonic int64 `json:"monotonic"`
	// Wall is nanoseconds since 1970 UTC.
	Wall int64 `json:"wall"`
}

// Now reads both clocks.
func Now() Instant { return Instant{Monotonic: sinceBoot(), Wall: time.Now().UnixNano()} }

// Time is the wall clock's reading in UTC.
func (i Instant) Time() time.Time { return time.Unix(0, i.Wall).UTC() }

// Operation is one thing that a client did.
type Operation struct {
	// Number of the operation within its run, from 1. With the run's number it names the row of an Insert.
	Number int64
	// Function says what it does.
	Function Function
	// Interaction is what it is in its workload's own terms, such as buy; empty where that has none.
	Interaction string
	// Key of the register, and the Value that was written or, after a Read that was acknowledged, read.
	Key, Value int64
	// Steps on lists, of an Insert that did them in the transaction of its row; what they read is known of one that was
	// acknowledged.
	Steps []listappend.Step
	// Invoked is just before it was sent, Completed just after its end was known; without an end in the file, Completed is
	// zero and Outcome Unknown.
	Invoked, Completed Instant
	Outcome            Outcome
	// Late is by how much it was sent later than its schedule has it: its intended start lies so long before Invoked. 0
	// where the run has no schedule.
	Late time.Duration
	// Server that acknowledged it, by its @@SERVERNAME.
	Server string
	// Configuration is the group's sequence_number, read by that server in the same batch. Its upper half grows with
	// every promotion: it is the term in which the server acknowledged. 0 outside a group.
	Configuration int64
	// Reason is why it failed or is unknown.
	Reason string
}

// Term is the upper half of Configuration.
func (o Operation) Term() int64 { return o.Configuration >> 32 }

// Header says whose history follows.
type Header struct {
	// Run is the number of the client's run, which no other run of any client has; at least 1.
	Run int64 `json:"run"`
	// Client names who ran it, such as a site.
	Client string `json:"client"`
	// Boot identifies the boot of the machine whose monotonic clock was read.
	Boot string `json:"boot"`
	// Address and Database that were connected to.
	Address  string `json:"address,omitempty"`
	Database string `json:"database,omitempty"`
	// Loop says what an operation waits for; empty in histories of releases that did not note it.
	Loop Loop `json:"loop,omitempty"`
	// Every is the time between the intended starts of two operations; above 0 in an open loop alone.
	Every time.Duration `json:"every,omitempty"`
}

// Loop is what an operation of a client waits for.
type Loop string

const (
	// Open: each operation has an intended start by a schedule that no answer moves. One that is held up counts from
	// there.
	Open Loop = "open"
	// Closed: a user thinks after an answer, and then begins the next operation. What he would have asked meanwhile is
	// asked by nobody.
	Closed Loop = "closed"
)

// Run is what one client did from its start to its end, one operation after another.
type Run struct {
	Header
	Started    Instant
	Operations []Operation
	// Ended says that the client stopped in good order. The last operations of one that did not may be missing.
	Ended bool
	// Next is the intended start of the operation that would have been the next one when it was asked to stop, at Asked,
	// both by its machine's monotonic clock. What was due between them was never begun. 0 where it was not held up.
	Next, Asked int64
	// Torn lines could not be read: the last one of a client that was killed while writing it.
	Torn int

	// first is the number of the first operation of the schedule, firstDue its intended start.
	first, firstDue int64
}
