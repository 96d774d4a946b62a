// SPDX-License-Identifier: Apache-2.0

package listappend

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind of an anomaly.
type Kind string

const (
	// G0 is a dirty write: appends of transactions that are interleaved.
	G0 Kind = "G0"
	// G1a is an aborted read: something was read whose client was told that it failed.
	G1a Kind = "G1a"
	// G1b is an intermediate read: something was read that its transaction had not finished with.
	G1b Kind = "G1b"
	// G1c is circular information flow: transactions that each read or append after the other.
	G1c Kind = "G1c"
	// GSingle is read skew: a cycle with one read that lacks what was appended later.
	GSingle Kind = "G-single"
	// G2 is a cycle with several such reads, such as write skew.
	G2 Kind = "G2"
	// G1cSession, GSingleSession and G2Session are cycles that only the order of one client's own transactions closes:
	// such as a stale read, which lacks what the same client had been acknowledged before.
	G1cSession     Kind = "G1c-session"
	GSingleSession Kind = "G-single-session"
	G2Session      Kind = "G2-session"
	// Internal: a transaction did not read what it had itself appended or read.
	Internal Kind = "internal"
	// Lost is an append that was acknowledged, or read, and is not there.
	Lost Kind = "lost append"
	// Duplicate is an element that is in a list twice.
	Duplicate Kind = "duplicate"
	// Incompatible are two reads of a list of which neither is a beginning of the other.
	Incompatible Kind = "incompatible order"
	// Phantom is an element that nobody has appended to that list.
	Phantom Kind = "phantom"
	// Partial is a transaction of which a copy has one append and not another.
	Partial Kind = "partial transaction"
	// NotPrefix is a transaction that a subscriber has without one that came before it.
	NotPrefix Kind = "not a prefix"
	// Ahead is an append that a subscriber has and no replica of the publisher.
	Ahead Kind = "ahead of the publisher"
)

// Kinds are all of them. At SERIALIZABLE on one primary, which is what the workload asks for, none may be.
func Kinds() []Kind {
	return []Kind{
		G0, G1a, G1b, G1c, GSingle, G2, G1cSession, GSingleSession, G2Session, Internal, Lost, Duplicate, Incompatible,
		Phantom, Partial, NotPrefix, Ahead,
	}
}

// examples of each kind that are told.
const examples = 3

// Anomaly is something that must not be.
type Anomaly struct {
	Kind Kind `json:"kind"`
	// Message names the operations, and what each has to do with the next.
	Message string `json:"message"`
	// Transactions that have a part in it.
	Transactions []ID `json:"transactions"`
}

// Verdict on a history.
type Verdict struct {
	// Transactions that were judged: acknowledged ones, and others of which something was seen.
	Transactions int `json:"transactions"`
	// Reads and Appends of theirs, and Lists that they were of.
	Reads   int `json:"reads"`
	Appends int `json:"appends"`
	Lists   int `json:"lists"`
	// Copies of the lists that were compared, and Subscribers whose order was judged.
	Copies      int `json:"copies"`
	Subscribers int `json:"subscribers,omitempty"`
	// Counts of anomalies, by kind; a component of transactions that depend on each other counts once.
	Counts map[Kind]int `json:"counts,omitempty"`
	// Anomalies are examples, some of each kind.
	Anomalies []Anomaly `json:"anomalies,omitempty"`
	// Open is what could not be told.
	Open []string `json:"open,omitempty"`
}

// Has says whether an anomaly of a kind was found.
func (v Verdict) Has(k Kind) bool { return v.Counts[k] > 0 }

func (v *Verdict) found(k Kind, who []ID, format string, args ...any) {
	if v.Counts == nil {
		v.Counts = map[Kind]int{}
	}
	if v.Counts[k]++; v.Counts[k] <= examples {
		v.Anomalies = append(v.Anomalies, Anomaly{k, fmt.Sprintf(format, args...), who})
	}
}

// write is where an element comes from.
type write struct {
	node int
	list int64
	// next is what the same transaction appends to the same list after it.
	next Element
}

// node is a transaction with its place in the histories.
type node struct {
	id      ID
	session int
	*Transaction
	// seen says that some of what it appended was read.
	seen bool
}

// effective says that the transaction took effect, as far as anybody knows.
func (n node) effective() bool { return n.Outcome == Committed || n.seen }

// checker is a history under judgement.
type checker struct {
	h      History
	nodes  []node
	writes map[Element]write
	orders map[int64]order
	v      Verdict
}

// Check judges a history. It is a pure function of it.
func Check(h History) Verdict {
	c := &checker{h: h, writes: map[Element]write{}, orders: map[int64]order{}}
	c.v.Open = slices.Clone(h.Open)
	c.index()
	c.findOrders()
	c.checkReads()
	c.checkReplicas()
	g := c.graph()
	c.cycles(g)
	c.checkSubscribers(g)
	c.count()
	slices.SortStableFunc(c.v.Anomalies, func(a, b Anomaly) int {
		return cmp.Compare(slices.Index(Kinds(), a.Kind), slices.Index(Kinds(), b.Kind))
	})
	return c.v
}

// index gives each transaction a number and each element its transaction.
func (c *checker) index() {
	for s := range c.h.Sessions {
		session := &c.h.Sessions[s]
		for i := range session.Transactions {
			t := &session.Transactions[i]
			at := len(c.nodes)
			c.nodes = append(c.nodes, node{id: ID{session.Run, t.Number}, session: s, Transaction: t})
			last := map[int64]Element{}
			for _, step := range t.Steps {
				if step.Append == "" {
					continue
				}
				if _, twice := c.writes[step.Append]; twice {
					c.v.Open = append(c.v.Open, fmt.Sprintf("the histories say twice that %s was appended", step.Append))
				}
				c.writes[step.Append] = write{node: at, list: step.List}
				if before, some := last[step.List]; some {
					w := c.writes[before]
					w.next = step.Append
					c.writes[before] = w
				}
				last[step.List] = step.Append
			}
		}
	}
}

// count what was judged.
func (c *checker) count() {
	lists := map[int64]bool{}
	for _, n := range c.nodes {
		if !n.effective() {
			continue
		}
		c.v.Transactions++
		for _, step := range n.Steps {
			lists[step.List] = true
			if step.Append != "" {
				c.v.Appends++
			} else if n.Outcome == Committed {
				c.v.Reads++
			}
		}
	}
	c.v.Lists = len(lists)
}
