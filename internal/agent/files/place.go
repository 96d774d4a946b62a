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
)

func partialName(snapshot string) string { return hidden + snapshot + partialSuffix }

func recordName(snapshot string) string { return hidden + snapshot + recordSuffix }

// isAside tells whether a folder was set aside.
func isAside(name string) bool {
	return strings.HasPrefix(name, hidden) && isStamp(name[1:]) && strings.Contains(name, asideSuffix)
}

// place is where a snapshot is mirrored to.
type place struct {
	// parent is the publication's folder in the mirror, seed the distributor's seedFolder.
	parent, snapshot, seed string
}

func (p place) final() string { return filepath.Join(p.parent, p.snapshot) }

func (p place) partial() string { return filepath.Join(p.parent, partialName(p.snapshot)) }

func (p place) record() string { return filepath.Join(p.parent, recordName(p.snapshot)) }

// whole tells that the snapshot is in its place. A folder that this sidecar has brought, and whose files are as it left
// them, is; one of which that is not known has its checksums computed. What has the name and is proven not to be the
// snapshot is set aside, for its chunks. Nothing else is: an agent may be reading it.
func (p place) whole(ctx context.Context, listing *Listing) (bool, error) {
	if _, err := os.Stat(p.final()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for the mirror of snapshot %s: %w", p.snapshot, err)
	}
	whole, known, err := transfer.Whole(ctx, p.final(), p.record(), listing.Files)
	if err != nil || whole && known {
		return whole, err
	}
	if whole {
		return true, p.write(p.final(), listing)
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

// write records what is in the snapshot's folder.
func (p place) write(dir string, listing *Listing) error {
	record, err := transfer.NewRecord(dir, listing.Files)
	if err != nil {
		return err
	}
	content, err := record.Encode()
	if err != nil {
		return err
	}
	return durable.Replace(p.record(), content)
}

// finish records what was brought, and gives a complete folder its name, durably.
func (p place) finish(listing *Listing, step func(string) error) error {
	if err := p.write(p.partial(), listing); err != nil {
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

// prune removes all but the newest snapshots beside the place, and so many of them. These are copies.
func (p place) prune(kept int) error {
	entries, err := p.entries()
	if err != nil {
		return err
	}
	var whole, old []string
	for _, e := range entries {
		if e.IsDir() && isStamp(e.Name()) && e.Name() != p.snapshot {
			whole = append(whole, e.Name())
		}
	}
	slices.Sort(whole)
	for _, name := range whole[:max(0, len(whole)-kept)] {
		old = append(old, name, recordName(name))
	}
	return p.remove(old)
}

// pruneAside removes what was set aside.
func (p place) pruneAside() error {
	entries, err := p.entries()
	if err != nil {
		return err
	}
	var old []string
	for _, e := range entries {
		if e.IsDir() && isAside(e.Name()) {
			old = append(old, e.Name())
		}
	}
	return p.remove(old)
}

func (p place) remove(names []string) error {
	var all error
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(p.parent, name)); err != nil {
			all = errors.Join(all, fmt.Errorf("remove an old snapshot from the mirror: %w", err))
		}
	}
	return all
}
