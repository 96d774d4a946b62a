// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"geosql.dev/operator/hack/bed/netem/shape"
)

// Link is one direction between two sites, as somebody asked for it.
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Rule is the link's shape while it is not cut.
	Rule shape.Rule `json:"rule"`
	// Cut drops everything until the link is healed.
	Cut bool `json:"cut,omitempty"`
}

// Effective returns the rule to put in force.
func (l Link) Effective() shape.Rule {
	rule := l.Rule
	rule.Cut = l.Cut
	return rule
}

// Asked is all that was asked for: the links that differ from a direct one,
// by From and To.
type Asked struct {
	Links []Link `json:"links"`
}

// Link returns the link between two sites; a direct one if nothing was asked.
func (a *Asked) Link(from, to string) Link {
	if i := a.find(from, to); i >= 0 {
		return a.Links[i]
	}
	return Link{From: from, To: to}
}

// Put replaces the link between its two sites.
func (a *Asked) Put(link Link) {
	if i := a.find(link.From, link.To); i >= 0 {
		a.Links[i] = link
		return
	}
	a.Links = append(a.Links, link)
	slices.SortFunc(a.Links, func(x, y Link) int {
		return strings.Compare(x.From+" "+x.To, y.From+" "+y.To)
	})
}

func (a *Asked) find(from, to string) int {
	return slices.IndexFunc(a.Links, func(l Link) bool { return l.From == from && l.To == to })
}

// matrixRate is the speed of every link of the default matrix in bit/s.
const matrixRate = 1e9

// roundTrips are the round-trip times between the sites of the default
// topology: those measured between the data centres of a large web site that
// replicated its content world-wide in 2008.
var roundTrips = []struct {
	a, b string
	rtt  time.Duration
}{
	{"tukwila", "quincy", 4 * time.Millisecond},
	{"tukwila", "santa-clara", 19 * time.Millisecond},
	{"tukwila", "blueridge", 77 * time.Millisecond},
	{"tukwila", "dublin", 150 * time.Millisecond},
	{"quincy", "santa-clara", 23 * time.Millisecond},
	{"quincy", "blueridge", 68 * time.Millisecond},
	{"quincy", "dublin", 146 * time.Millisecond},
	{"santa-clara", "blueridge", 79 * time.Millisecond},
	{"santa-clara", "dublin", 156 * time.Millisecond},
	{"blueridge", "dublin", 84 * time.Millisecond},
}

// DefaultMatrix returns the default links between those of the sites that the
// matrix knows: half of the round trip each way, 1 Gbit/s.
func DefaultMatrix(sites []Site) Asked {
	var asked Asked
	known := func(name string) bool {
		return slices.ContainsFunc(sites, func(s Site) bool { return s.Name == name })
	}
	for _, pair := range roundTrips {
		if !known(pair.a) || !known(pair.b) {
			continue
		}
		rule := shape.Rule{Delay: pair.rtt / 2, Rate: matrixRate}
		asked.Put(Link{From: pair.a, To: pair.b, Rule: rule})
		asked.Put(Link{From: pair.b, To: pair.a, Rule: rule})
	}
	return asked
}

// Store keeps what was asked for across commands and restarts of the nodes.
type Store struct{ directory string }

// OpenStore locks the store in the bed's cache directory against other
// commands, waiting for them at most patience; release unlocks it.
func OpenStore(directory string, patience time.Duration) (_ Store, release func(), _ error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return Store{}, nil, fmt.Errorf("make the bed's cache: %w", err)
	}
	path := filepath.Join(directory, "wan.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return Store{}, nil, fmt.Errorf("lock the WAN: %w", err)
	}
	deadline := time.Now().Add(patience)
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return Store{directory}, func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			file.Close()
			return Store{}, nil, fmt.Errorf("lock the WAN (%s): %w: does another wan command hang?", path, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s Store) path() string { return filepath.Join(s.directory, "wan.json") }

// Read returns what was asked for; nothing if nobody asked yet.
func (s Store) Read() (Asked, error) {
	var asked Asked
	text, err := os.ReadFile(s.path())
	if errors.Is(err, os.ErrNotExist) {
		return asked, nil
	}
	if err != nil {
		return asked, fmt.Errorf("read what was asked of the WAN: %w", err)
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		return asked, fmt.Errorf("%s is damaged (%w): remove it and run wan reset", s.path(), err)
	}
	return asked, nil
}

// Write replaces what was asked for, as a whole or not at all.
func (s Store) Write(asked Asked) error {
	text, err := json.MarshalIndent(asked, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(s.directory, "wan.json.*")
	if err != nil {
		return fmt.Errorf("keep what is asked of the WAN: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.path())
	}
	if err != nil {
		return fmt.Errorf("keep what is asked of the WAN: %w", err)
	}
	return nil
}
