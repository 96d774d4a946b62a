// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/transfer"
)

// takenName is the file that is being taken, where a snapshot's files gather: one under its own name is whole.
const takenName = ".taken"

// wholes takes files that are whole in a person's folder, or in one of the mirror's own, under whatever names: of a
// snapshot of which no chunks are known, since it is too large for a list of them, or its source is of an earlier
// release.
func (m *Mirrors) wholes(ctx context.Context, one *mirror, listing *Listing, p place, from filled) error {
	seeds, err := m.seeds(one, p, listing.total())
	if err != nil {
		return err
	}
	folders := []filled{from}
	for _, seed := range seeds {
		folders = append(folders, filled{seed.Dir, filesIn(seed.Dir)})
	}
	err = m.limits.Reading(ctx, one.order.Host, func() error { return m.takeWholes(ctx, one, listing, p, folders) })
	if err != nil {
		return err
	}
	for _, f := range listing.Files {
		check := func() error { return verify(ctx, p.partial(), f) }
		if err := m.limits.Reading(ctx, one.order.Host, check); err != nil {
			return err
		}
	}
	return removeRecords(p.partial())
}

// takeWholes takes what is missing. What is not in any of the folders is in a transfer.LackingError.
func (m *Mirrors) takeWholes(
	ctx context.Context,
	one *mirror,
	listing *Listing,
	p place,
	folders []filled,
) error {
	missing, sizes, have := map[string][]File{}, map[int64]bool{}, int64(0)
	held := transfer.Held(p.partial(), listing.Files)
	for _, f := range listing.Files {
		whole, err := m.isWhole(ctx, p.partial(), f, held[f.Path])
		if err != nil {
			return err
		}
		if whole {
			have += f.Size
			continue
		}
		missing[f.SHA256], sizes[f.Size] = append(missing[f.SHA256], f), true
	}
	// Who writes without the chunks has them be looked for again by who knows them. What a killed attempt was at takes
	// the room of what it was to be.
	err := errors.Join(transfer.ForgetChunks(p.partial()), durable.Remove(filepath.Join(p.partial(), takenName)))
	if err != nil {
		return err
	}
	one.meter.Attempt(have)
	for _, folder := range folders {
		for _, name := range slices.Sorted(maps.Keys(folder.whole)) {
			if len(missing) == 0 {
				return nil
			}
			if !sizes[folder.whole[name].size] {
				continue
			}
			if err := m.takeWhole(ctx, one, p, filepath.Join(folder.dir, filepath.FromSlash(name)), missing); err != nil {
				return err
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	lacking := &transfer.LackingError{}
	for _, f := range listing.Files {
		if len(missing[f.SHA256]) > 0 {
			lacking.Files = append(lacking.Files, f.Path)
		}
	}
	return lacking
}

// isWhole tells that a file is where a snapshot's files gather: as it is recorded, or by its checksum, as after a crash
// between the removal of the records and the folder's being put in place.
func (m *Mirrors) isWhole(ctx context.Context, dir string, f File, held []transfer.Extent) (bool, error) {
	if whole, err := hasWhole(dir, f, held); err != nil || whole || !hasSize(dir, f) {
		return whole, err
	}
	file, err := m.describe(ctx, filepath.Join(dir, filepath.FromSlash(f.Path)))
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil || file.SHA256 != f.SHA256 {
		return false, nil
	}
	return true, recordWhole(dir, f)
}

// describe reads a file for its checksum, unless that is known.
func (m *Mirrors) describe(ctx context.Context, name string) (File, error) {
	open := func(string) (fs.File, error) { return os.OpenInRoot(filepath.Dir(name), filepath.Base(name)) }
	return m.index.Describe(ctx, open, name, false)
}

// takeWhole takes a file, if it is one that is missing, which it is not any more then. One that cannot be read is none.
func (m *Mirrors) takeWhole(ctx context.Context, one *mirror, p place, name string, missing map[string][]File) error {
	file, err := m.describe(ctx, name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return nil
	}
	for _, f := range missing[file.SHA256] {
		if err := m.fits(p, f.Size); err != nil {
			return err
		}
		if err := take(ctx, name, p.partial(), f); err != nil {
			// It may have changed and kept size and time: it is read anew.
			m.index.Forget(func(known string) bool { return known == name })
			return err
		}
		one.meter.Reused(f.Size)
		if err := m.step("taken"); err != nil {
			return err
		}
	}
	delete(missing, file.SHA256)
	return nil
}

// take copies a file that was found to be one of the snapshot's into the folder in which these gather.
func take(ctx context.Context, name, dir string, f File) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take %s from the folder that a person fills: %w", f.Path, err)
		}
	}()
	from, err := os.OpenInRoot(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	defer from.Close()
	to, begun := filepath.Join(dir, filepath.FromSlash(f.Path)), filepath.Join(dir, takenName)
	if err := os.MkdirAll(filepath.Dir(to), 0o770); err != nil {
		return err
	}
	file, err := os.OpenFile(begun, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o660)
	if err != nil {
		return err
	}
	_, sum, err := transfer.SumOf(ctx, io.TeeReader(from, file))
	if err == nil && sum.String() != f.SHA256 {
		err = errors.New("it was changed meanwhile")
	}
	if err = errors.Join(err, file.Close()); err != nil {
		// On a volume that is full what was begun takes the room of others.
		return errors.Join(err, os.Remove(begun))
	}
	if err := os.Rename(begun, to); err != nil {
		return err
	}
	return recordWhole(dir, f)
}
