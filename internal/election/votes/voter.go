// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"context"
	"errors"
)

var (
	// ErrAbsent means that the voter has no Lease for the group. An absent Lease is not a free Lease: it grants nothing.
	ErrAbsent = errors.New("the voter has no lease for this group")
	// ErrConflict means that somebody else changed the Lease since it was read.
	ErrConflict = errors.New("the lease was changed by somebody else")
)

// Voter keeps one vote, in a Lease at one API server.
type Voter interface {
	// Name of the voter: its site.
	Name() string
	// Read returns the vote and the version that Swap needs. ErrAbsent when there is none; any other error means
	// that nothing is known.
	Read(ctx context.Context) (Record, string, error)
	// Swap replaces the vote if it still has that version and returns the new version. ErrConflict when it has not;
	// any other error leaves open whether the swap took place.
	Swap(ctx context.Context, version string, r Record) (string, error)
}
