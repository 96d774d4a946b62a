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

// wholes takes files that are whole in a person's folder, under whatever names: of a snapshot of which no chunks are
// known, since it is too large for a list of them, or its source is of an earlier release.
func (m *Mirrors) wholes(ctx context.Context, one *mirror, listing *Listing, p place, from filled) error {
	m.warn(one, stays, m.prunePartial(one, p, ""))
	missing, sizes, have := map[string][]File{}, map[int64]bool{}, int64(0)
	for _, f := range listing.Files {
		info, err := os.Stat(filepath.Join(p.partial(), filepath.FromSlash(f.Path)))
		if err == nil && info.Mode().IsRegular() && info.Size() == f.Size {
			have += f.Size
			continue
		}
		missing[f.SHA256], sizes[f.Size] = append(missing[f.SHA256], f), true
	}
	one.meter.Attempt(have)
	for _, name := range slices.Sorted(maps.Keys(from.whole)) {
		if !sizes[from.whole[name].size] {
			continue
		}
		full := filepath.Join(from.dir, filepath.FromSlash(name))
		open := func(string) (fs.File, error) { return os.Open(full) }
		file, err := m.index.Describe(ctx, open, full, false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // what cannot be read has nothing
		}
		for _, f := range missing[file.SHA256] {
			if err := take(ctx, full, p.partial(), f); err != nil {
				return err
			}
			one.meter.Reused(f.Size)
			if err := m.step("taken"); err != nil {
				return err
			}
		}
		delete(missing, file.SHA256)
	}
	if len(missing) > 0 {
		lacking := &transfer.LackingError{}
		for _, f := range listing.Files {
			if len(missing[f.SHA256]) > 0 {
				lacking.Files = append(lacking.Files, f.Path)
			}
		}
		return lacking
	}
	for _, f := range listing.Files {
		check := func() error { return verify(ctx, p.partial(), f) }
		if err := m.limits.Reading(ctx, one.order.Host, check); err != nil {
			return err
		}
	}
	return errors.Join(removeRecords(p.partial()), durable.Remove(filepath.Join(p.partial(), takenName)),
		durable.Remove(filepath.Join(p.partial(), listName)))
}

// take copies a file that was found to be one of the snapshot's into the folder in which these gather.
func take(ctx context.Context, name, dir string, f File) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take %s from the folder that a person fills: %w", f.Path, err)
		}
	}()
	from, err := os.Open(name)
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
	return os.Rename(begun, to)
}
