// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"geosql.dev/operator/internal/backup"
)

// errNotAsTaken says that an own set's files are not as they were when it was taken.
var errNotAsTaken = errors.New("its files are not as they were taken")

// whole says whether an own set's files are as they were taken, by their sizes or, read, by their sums. One that is not
// so is a set no more: it is put aside, and the error says where. One that cannot be read now may be whole.
func (l *local) whole(ctx context.Context, o Own, read bool) error {
	for _, f := range o.Files {
		differs, err := l.differs(ctx, o, f, read)
		if err != nil {
			return fmt.Errorf("look whether the %s is whole: %w", o.Set, err)
		}
		if differs == "" {
			continue
		}
		to, err := l.putAside(o)
		if err != nil {
			return fmt.Errorf("the %s: %w: %s %s: %w", o.Set, errNotAsTaken, f.Name, differs, err)
		}
		return fmt.Errorf("the %s: %w: %s %s: it is no set any more, and what is left is kept in %s", o.Set, errNotAsTaken,
			f.Name, differs, to)
	}
	return nil
}

// differs says in what a file of an own set is not as it was taken; empty for nothing.
func (l *local) differs(ctx context.Context, o Own, f backup.File, read bool) (string, error) {
	info, err := os.Stat(l.path(o, f.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not there", nil
	case err != nil:
		return "", err
	case info.Size() != f.Bytes:
		return fmt.Sprintf("has %d bytes instead of %d", info.Size(), f.Bytes), nil
	case !read:
		return "", nil
	}
	is, err := sum(ctx, l.path(o, f.Name))
	if err != nil {
		return "", err
	}
	if is.SHA256 != f.SHA256 {
		return fmt.Sprintf("has the SHA-256 %s instead of %s", is.SHA256, f.SHA256), nil
	}
	return "", nil
}

// putAside takes a set's folder out of the sets, and keeps what is left there as it does with a backup of which the
// server notes nothing: that of a log is missed until a full backup is behind it.
func (l *local) putAside(o Own) (to string, err error) {
	to = filepath.Join(l.dir, asidePrefix+o.ID)
	return to, l.takeOut(o, to, func() {})
}
