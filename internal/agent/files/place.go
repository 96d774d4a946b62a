// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/transfer"
)

// seedFolder is the folder, beside "unc" in the mirror of a distributor, into which a person may put files that have
// what snapshots have: they are read, and never removed.
const seedFolder = "seed"

// Names, beside a snapshot's folder, of that in which its files gather, of the record of what was brought, and of what
// was there under its name and is not it.
const (
	hidden        = "."
	partialSuffix = ".partial"
	recordSuffix  = ".record"
	asideSuffix   = ".aside"
	// nextSuffix has a record that is being written.
	nextSuffix = ".next"
)

func partialName(snapshot string) string { return hidden + snapshot + partialSuffix }

func recordName(snapshot string) string { return hidden + snapshot + recordSuffix }

// recordOf is the snapshot of which a file is the record. One that is being written is of none.
func recordOf(name string) (snapshot string, is bool) {
	record := strings.TrimSuffix(name, nextSuffix)
	snapshot = strings.TrimSuffix(strings.TrimPrefix(record, hidden), recordSuffix)
	if record != recordName(snapshot) || !isStamp(snapshot) {
		return "", false
	}
	if record != name {
		return "", true
	}
	return snapshot, true
}

// isAside tells whether a folder was set aside.
func isAside(name string) bool {
	return strings.HasPrefix(name, hidden) && isStamp(name[1:]) && strings.Contains(name, asideSuffix)
}

// place is where a snapshot is mirrored to.
type place struct {
	// parent is the publication's folder in the mirror, seed the distributor's seedFolder.
	parent, snapshot, seed string
	// removeAll removes a folder.
	removeAll func(name string) error
}

func (p place) final() string { return filepath.Join(p.parent, p.snapshot) }

func (p place) partial() string { return filepath.Join(p.parent, partialName(p.snapshot)) }

func (p place) record() string { return filepath.Join(p.parent, recordName(p.snapshot)) }

// whole tells that the snapshot is in its place. A folder that this sidecar has brought, and whose files are as it left
// them, is; one of which that is not known has its checksums computed. What has the name and is proven not to be the
// snapshot is set aside, for its chunks, unless this sidecar has brought it: that is an error, since an agent may be
// reading it.
func (p place) whole(
	ctx context.Context,
	limits *transfer.Limits,
	host string,
	listing *Listing,
	warn func(error),
) (bool, error) {
	if _, err := os.Stat(p.final()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for the mirror of snapshot %s: %w", p.snapshot, err)
	}
	whole, known, err := limits.Whole(ctx, host, p.final(), p.record(), listing.Files)
	if err != nil || whole && known {
		return whole, err
	}
	if whole {
		return true, p.write(p.final(), listing, warn)
	}
	switch _, err := os.Lstat(p.record()); {
	case err == nil:
		return false, fmt.Errorf("snapshot %s was mirrored whole, and is not what the distributor's sidecar lists now; an "+
			"agent may be reading it: make a new snapshot of the publication, or, while no agent reads it, remove %s, which is "+
			"then brought anew", p.snapshot, p.final())
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("look for the record of snapshot %s: %w", p.snapshot, err)
	}
	for n := 0; ; n++ {
		aside := filepath.Join(p.parent, fmt.Sprintf("%s%s%s%d", hidden, p.snapshot, asideSuffix, n))
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(p.final(), aside); err != nil {
				return false, fmt.Errorf("set aside what is not the snapshot: %w", err)
			}
			return false, nil
		}
	}
}

// write records what is in the snapshot's folder. Without a record, as on a volume that is full, its files are read
// again when it is looked at: warn is told, and nothing is left that says something else.
func (p place) write(dir string, listing *Listing, warn func(error)) error {
	record, err := transfer.NewRecord(dir, listing.Files)
	if err != nil {
		return err
	}
	content, err := record.Encode()
	if err != nil {
		return err
	}
	if err := durable.Replace(p.record(), content); err != nil {
		warn(fmt.Errorf("record what was brought of snapshot %s: %w", p.snapshot, errors.Join(err,
			durable.Remove(p.record()+nextSuffix), durable.Remove(p.record()))))
	}
	return nil
}

// finish records what was brought, and gives a complete folder its name, durably.
func (p place) finish(listing *Listing, step func(string) error, warn func(error)) error {
	if err := p.write(p.partial(), listing, warn); err != nil {
		return err
	}
	if err := step("recorded"); err != nil {
		return err
	}
	if err := syncDir(p.partial()); err != nil {
		return err
	}
	if err := os.Rename(p.partial(), p.final()); err != nil {
		return fmt.Errorf("put the mirrored snapshot in place: %w", err)
	}
	if err := step("in place"); err != nil {
		return err
	}
	return syncDir(p.parent)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("flush folder %s: %w", dir, err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// partials are the snapshots of which something was begun, sorted.
func (p place) partials() (all []string, err error) {
	entries, err := p.entries()
	for _, e := range entries {
		begun := strings.TrimSuffix(strings.TrimPrefix(e.Name(), hidden), partialSuffix)
		if e.IsDir() && e.Name() == partialName(begun) && isStamp(begun) {
			all = append(all, begun)
		}
	}
	slices.Sort(all)
	return all, err
}

func (p place) entries() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(p.parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look through the mirror: %w", err)
	}
	return entries, nil
}

// begun is the newest older snapshot of which something was begun; empty when nothing was.
func (p place) begun() (string, error) {
	all, err := p.partials()
	newest := ""
	for _, begun := range all {
		if begun < p.snapshot {
			newest = begun
		}
	}
	return newest, err
}

// seeds are the folders that may have chunks of the snapshot: what is whole of others, the newest first, what was begun
// of an older one, what was set aside, and what a person put beside.
func (p place) seeds(begun string) ([]transfer.Seed, error) {
	entries, err := p.entries()
	var others, aside []transfer.Seed
	for _, e := range entries {
		dir := filepath.Join(p.parent, e.Name())
		switch {
		case e.IsDir() && isStamp(e.Name()):
			others = append(others, transfer.Seed{Dir: dir, Record: filepath.Join(p.parent, recordName(e.Name()))})
		case e.IsDir() && isAside(e.Name()):
			aside = append(aside, transfer.Seed{Dir: dir})
		}
	}
	slices.Reverse(others)
	if begun != "" {
		others = append(others, transfer.Seed{Dir: filepath.Join(p.parent, partialName(begun))})
	}
	return append(append(others, aside...), transfer.Seed{Dir: p.seed}), err
}

// prune removes all but the newest snapshots beside the place, and so many of them. These are copies. The records of
// those that are gone go, too, and what a write of one has left.
func (p place) prune(kept int) error {
	entries, err := p.entries()
	if err != nil {
		return err
	}
	var whole, old []string
	there := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() && isStamp(e.Name()) {
			there[e.Name()] = true
			if e.Name() != p.snapshot {
				whole = append(whole, e.Name())
			}
		}
	}
	slices.Sort(whole)
	for _, name := range whole[:max(0, len(whole)-kept)] {
		old = append(old, name)
		delete(there, name)
	}
	for _, e := range entries {
		if of, is := recordOf(e.Name()); !e.IsDir() && is && !there[of] {
			old = append(old, e.Name())
		}
	}
	return p.remove(old)
}

// pruneAside removes what was set aside.
func (p place) pruneAside() error {
	old, err := p.asides()
	return errors.Join(err, p.remove(old))
}

// asides are the folders that were set aside.
func (p place) asides() (all []string, err error) {
	entries, err := p.entries()
	for _, e := range entries {
		if e.IsDir() && isAside(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, err
}

func (p place) remove(names []string) error {
	var all error
	for _, name := range names {
		if err := p.removeAll(filepath.Join(p.parent, name)); err != nil {
			all = errors.Join(all, fmt.Errorf("remove an old snapshot from the mirror: %w", err))
		}
	}
	return all
}
