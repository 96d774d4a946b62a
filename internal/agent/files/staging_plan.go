// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"slices"
	"time"
)

// unnamedFor is how long no order has to have named a publication's folder before anything of it is removed: orders
// that are written anew after a loss come one after another, and a sidecar that has just begun has heard none.
const unnamedFor = time.Hour

// kind of what lies in a mirror.
type kind int

const (
	// whole is a snapshot under its own name.
	whole kind = iota
	// begun is a folder in which the files of one gather.
	begun
)

// spot is where a snapshot is in the mirrors: host is the distributor, folder the publication's.
type spot struct{ host, folder, snapshot string }

// staged is what lies in a mirror of a snapshot.
type staged struct {
	spot

	kind kind
	// recorded tells that a record says that a sidecar has brought it. One that is whole without it may be a person's.
	recorded bool
	// bytes that it takes, and when the last of it was written.
	bytes   int64
	written time.Time
	// unread tells that not all of it can be looked at.
	unread bool
}

// naming is what this sidecar has heard of the orders for a publication's folder.
type naming struct {
	// named tells that an order names it, also one that waits, has failed, or is done.
	named bool
	// since when none does; zero while that is not known, as while an order cannot be read.
	since time.Time
}

// removable tells that something may be removed for its room. The evidence: no order has named its publication for an
// hour, so that none is in progress, none has anything to resume, and no agent is told to apply it; nothing of it was
// written in that time; and this sidecar has brought it, which its name says of what was begun, and its record of what
// is whole. What a person put anywhere is not among what is
// staged.
func (s staged) removable(n naming, now time.Time) bool {
	switch {
	case n.named, n.since.IsZero(), s.unread:
		return false
	case now.Sub(n.since) < unnamedFor, now.Sub(s.written) < unnamedFor:
		return false
	}
	return s.kind == begun || s.kind == whole && s.recorded
}

// choose says what to remove, the oldest first, until no more than goal is taken.
func choose(all []staged, orders func(staged) naming, now time.Time, goal int64) []staged {
	var free, chosen []staged
	used := int64(0)
	for _, s := range all {
		used += s.bytes
		if s.removable(orders(s), now) {
			free = append(free, s)
		}
	}
	slices.SortFunc(free, func(a, b staged) int {
		return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.host, b.host), cmp.Compare(a.folder, b.folder),
			cmp.Compare(a.snapshot, b.snapshot), cmp.Compare(a.kind, b.kind))
	})
	for _, s := range free {
		if used <= goal {
			break
		}
		used -= s.bytes
		chosen = append(chosen, s)
	}
	return chosen
}

// needed is the quota with which every snapshot under way can come, beside what lies there: claims are how many bytes
// each is to have.
func needed(all []staged, claims map[spot]int64) int64 {
	n, here := int64(0), map[spot]int64{}
	for _, s := range all {
		n += s.bytes
		here[s.spot] += s.bytes
	}
	for at, total := range claims {
		n += max(0, total-here[at])
	}
	return n
}

// takenBy are the bytes of all.
func takenBy(all []staged) (n int64) {
	for _, s := range all {
		n += s.bytes
	}
	return n
}

// waitingOf are the bytes that may be removed when no order has named them for an hour.
func waitingOf(all []staged, orders func(staged) naming, now time.Time) (n int64) {
	for _, s := range all {
		if of := orders(s); !s.removable(of, now) && s.removable(of, now.Add(unnamedFor)) {
			n += s.bytes
		}
	}
	return n
}
