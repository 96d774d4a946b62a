// SPDX-License-Identifier: Apache-2.0

// Package endpoint decides when the mirroring endpoint of an instance is restarted for a replica that gets no
// connection: for the agents and for the manager alike. A restart breaks the connections of all that the endpoint
// carries.
package endpoint

import (
	"fmt"
	"strings"
	"time"
)

const (
	// Settling is for how long a new primary is left alone.
	Settling = 30 * time.Second
	// Again is the pause between the first two restarts for a replica; it doubles up to mostDoublings times, to 96
	// minutes.
	Again         = 90 * time.Second
	mostDoublings = 6
	// Spared is how often in a term a holder restarts its endpoint for one replica though another one takes its log:
	// nothing less is known to bring a former primary back, and what does not help twice is no cure.
	Spared = 2
)

// Facts are what is known of an instance whose endpoint may be restarted. What is not known counts against it.
type Facts struct {
	// Server is the instance's name, Group that of the group for which it is to be done.
	Server, Group string
	// Carries are the other groups whose log would be cut off: those of which the instance is the primary, or, where that
	// is not known, all that it has.
	Carries []string
	// Primary says that the instance is the primary of the group, Held since how long.
	Primary bool
	Held    time.Duration
	// Feeds says that it has connections of other replicas, Spared how often it may break them all the same: none where
	// nobody counts the restarts of its term.
	Feeds  bool
	Spared int
	// Made is how often it was done for the replica before, in this term, Ago how long ago the last time was.
	Made int
	Ago  time.Duration
}

// After is how long after the last of so many restarts for a replica the next one comes.
func After(made int) time.Duration { return Again << max(0, min(made-1, mostDoublings)) }

// May says whether the endpoint is restarted now; false without an error when it was done lately. An error says why it
// is not, and what else may be done.
func (f Facts) May() (bool, error) {
	switch {
	case len(f.Carries) > 0:
		return false, fmt.Errorf("the endpoint of %s carries the log of other groups as well (%s): it is not restarted for "+
			"group %s", f.Server, strings.Join(f.Carries, ", "), f.Group)
	case f.Primary && f.Held < Settling:
		return false, fmt.Errorf("%s has held group %s for less than %s: its endpoint is not restarted yet", f.Server,
			f.Group, Settling)
	case f.Made > 0 && f.Ago < After(f.Made):
		return false, nil
	case f.Primary && f.Feeds && f.Made >= f.Spared:
		return false, fmt.Errorf("%s feeds another replica of group %s, and has restarted its endpoint %d times: it does "+
			"not again", f.Server, f.Group, f.Made)
	}
	return true, nil
}
