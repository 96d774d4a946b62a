// SPDX-License-Identifier: Apache-2.0

// Package listappend judges transactions that append to lists and read whole lists, without any clock. Every element is
// appended once, and a list shows its elements in the order in which they were appended; so what was read tells which
// transaction came after which, and transactions that no order explains are named. The anomalies are those of Adya's
// generalized isolation levels, as Elle infers them from such histories (Kingsbury and Alvaro, "Elle: Inferring
// Isolation Anomalies from Experimental Observations", VLDB 2020). It takes time in proportion to what was done and
// read.
package listappend

import (
	"fmt"
	"strconv"
	"strings"
)

// Element of a list, as RUN.OPERATION.STEP of the step that appended it.
type Element string

// NewElement names what a step of an operation of a run appends.
func NewElement(run, operation int64, step int) Element {
	return Element(fmt.Sprintf("%d.%d.%d", run, operation, step))
}

// id of the transaction that the element's name speaks of; false where it names none.
func (e Element) id() (ID, bool) {
	parts := strings.Split(string(e), ".")
	if len(parts) != 3 {
		return ID{}, false
	}
	run, bad := strconv.ParseInt(parts[0], 10, 64)
	number, worse := strconv.ParseInt(parts[1], 10, 64)
	return ID{run, number}, bad == nil && worse == nil
}

// List is the elements of a list in their order.
type List []Element

// String is the list as dbo.List has it: its elements divided by commas.
func (l List) String() string {
	parts := make([]string, len(l))
	for i, e := range l {
		parts[i] = string(e)
	}
	return strings.Join(parts, ",")
}

// ParseList reads what String writes. Nothing is an empty list, and text that no client wrote has elements that nobody
// has appended.
func ParseList(text string) List {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	list := make(List, len(parts))
	for i, part := range parts {
		list[i] = Element(part)
	}
	return list
}

// MarshalText is String.
func (l List) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is ParseList.
func (l *List) UnmarshalText(text []byte) error {
	*l = ParseList(string(text))
	return nil
}

// Step is one thing that a transaction does: it appends to a list, or reads all of it.
type Step struct {
	// List by its number.
	List int64 `json:"l"`
	// Append is what is appended; the step reads where it is empty.
	Append Element `json:"a,omitempty"`
	// Read is what was read, of a transaction that was acknowledged.
	Read List `json:"r,omitempty"`
}

// ID names a transaction: a run and its operation.
type ID struct {
	Run    int64 `json:"run"`
	Number int64 `json:"op"`
}

// String for people.
func (i ID) String() string { return fmt.Sprintf("operation %d of run %d", i.Number, i.Run) }

// Outcome of a transaction, as its client saw it.
type Outcome int

const (
	// Unknown outcomes may have taken effect, or may yet.
	Unknown Outcome = iota
	// Committed transactions were acknowledged.
	Committed
	// Aborted ones must not have taken effect.
	Aborted
)

// Transaction is steps that take effect together or not at all.
type Transaction struct {
	// Number of the operation within its run.
	Number  int64
	Outcome Outcome
	Steps   []Step
}

// Session is what one client did, one transaction after another.
type Session struct {
	Run int64
	// Whole says that the client stopped in good order; the last transactions of one that did not may be missing.
	Whole        bool
	Transactions []Transaction
}

// Copy is what one server has when everything is over.
type Copy struct {
	Server string
	// Lists by their numbers; nil where they were not read.
	Lists map[int64]List
	// Rows are transactions whose rows are there, of a subscriber that has no lists; nil where it has.
	Rows map[ID]bool
}

// History is all that is judged.
type History struct {
	Sessions []Session
	// Replicas must have every transaction that was acknowledged.
	Replicas []Copy
	// Subscribers must have a beginning of what was done, in the order of the publisher's commits, and whole
	// transactions.
	Subscribers []Copy
	// Open is what whoever gathered the history could not tell.
	Open []string
}
