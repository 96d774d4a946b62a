// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"fmt"
	"time"
)

// Link is what lies between two sites. The zero Link is none: both are on one machine.
type Link struct {
	// Rate in bit/s, of each direction.
	Rate float64
	// RoundTrip of the smallest packet.
	RoundTrip time.Duration
}

// None tells that nothing lies between.
func (l Link) None() bool { return l.Rate == 0 && l.RoundTrip == 0 }

// String is the link as tables have it.
func (l Link) String() string {
	if l.None() {
		return "none"
	}
	return fmt.Sprintf("%s, %d ms", rate(l.Rate), l.RoundTrip.Milliseconds())
}

func rate(bits float64) string {
	switch {
	case bits == 0:
		return "no limit"
	case bits >= 1e9:
		return fmt.Sprintf("%.4g Gbit/s", bits/1e9)
	case bits >= 1e6:
		return fmt.Sprintf("%.4g Mbit/s", bits/1e6)
	}
	return fmt.Sprintf("%.4g kbit/s", bits/1e3)
}

// Least is how long so many bytes take over the link at its rate, without anything around them.
func (l Link) Least(bytes int64) time.Duration {
	if l.Rate == 0 {
		return 0
	}
	return time.Duration(float64(bytes) * 8 / l.Rate * float64(time.Second))
}

// Phases of a subscriber's first copy, one after the other.
type Phases struct {
	// Made: until the source has written what is sent.
	Made time.Duration
	// Listed: until the subscriber's side knows what it consists of.
	Listed time.Duration
	// Sent: until the last byte has come over the link.
	Sent time.Duration
	// Verified: until what came is known to be whole, and is flushed.
	Verified time.Duration
	// Applied: until the subscriber's tables have it.
	Applied time.Duration
	// CaughtUp: until what was written meanwhile is there, too.
	CaughtUp time.Duration
}

// All is how long all phases took together.
func (p Phases) All() time.Duration { return p.Sent + p.local() }

// local are the phases that need no link.
func (p Phases) local() time.Duration { return p.Made + p.Listed + p.Verified + p.Applied + p.CaughtUp }

// MostOfLink is what the phase Sent may be at most, beside what the link's rate allows for the bytes as they were sent.
const MostOfLink = 1.10

// Copy is a subscriber's first copy as it was measured.
type Copy struct {
	// Way is how it came, such as Snapshot.
	Way  string
	Link Link
	// Bytes of the publisher's tables; Sent are those that crossed the link for the copy, as they were sent.
	Bytes, Sent int64
	// Phases over the link, and Alone those of the same copy on the same machine without one.
	Phases, Alone Phases
	// Overlap is how long phases could have gone on at the same time as others, in this way as it is built.
	Overlap time.Duration
	// Rows that the subscriber has at the end, each once; Written are those that were written while it was copied.
	Rows, Written int64
	// Differ tells that publisher and subscriber were not equal at the end.
	Differ bool
}

// Limit is how long the copy takes at least: its bytes as they were sent at the link's rate, and what the machine needs
// for the phases that need no link, less what can overlap.
func (c Copy) Limit() time.Duration {
	return c.Alone.local() + c.Link.Least(c.Sent) - c.Overlap
}

// bars that a copy has to hold.
func (c Copy) bars() []Bar {
	bars := []Bar{{What: "differences", Most: 0}}
	if c.Differ {
		bars[0].Value = 1
	}
	if least := c.Link.Least(c.Sent); least > 0 {
		bars = append(bars, Bar{What: "transfer, times bytes over bandwidth",
			Value: c.Phases.Sent.Seconds() / least.Seconds(), Most: MostOfLink})
	}
	return bars
}

// Copies is the table of first copies.
func Copies(title string, all []Copy) *Table {
	t := &Table{Title: title, Head: []string{"way", "MB", "link", "sent MB", "made s", "listed s", "sent s", "verified s",
		"applied s", "caught up s", "all s", "bytes over bandwidth s", "limit s", "times the limit", "rows",
		"written meanwhile"},
		Note: "Limit: bytes as sent over bandwidth, and what the same machine needed in the same run without a link for " +
			"all phases but `sent`, less what can overlap."}
	for _, c := range all {
		p := c.Phases
		t.Add([]string{c.Way, MB(c.Bytes), c.Link.String(), MB(c.Sent), Seconds(p.Made), Seconds(p.Listed), Seconds(p.Sent),
			Seconds(p.Verified), Seconds(p.Applied), Seconds(p.CaughtUp), Seconds(p.All()), Seconds(c.Link.Least(c.Sent)),
			Seconds(c.Limit()), Times(p.All(), c.Limit()), fmt.Sprint(c.Rows), fmt.Sprint(c.Written)}, c.bars()...)
	}
	return t
}

// MB is a cell of so many bytes.
func MB(bytes int64) string { return fmt.Sprintf("%.2f", float64(bytes)/1e6) }

// Seconds is a cell of a duration.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }

// Times is a cell that says how many times another a duration is.
func Times(one, other time.Duration) string {
	if other <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", one.Seconds()/other.Seconds())
}
