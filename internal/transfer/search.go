// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errAll ends a search that has found everything.
var errAll = errors.New("nothing is missing any more")

// ErrNoRoom says that a volume is as full as it may be.
var ErrNoRoom = errors.New("there is no room for it")

// Full tells that an error is one of a volume that is full, or as full as it may be.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, ErrNoRoom)
}

// search copies the chunks that seeds have. A seed that cannot be read has none: what it has is fetched. A volume that
// is full ends the search alone, where something else can bring the rest: what is not searched any more goes, and makes
// room.
func (t *Transfer) search(ctx context.Context, s *state) error {
	for _, seed := range t.Seeds {
		switch err := t.searchSeed(ctx, s, seed); {
		case errors.Is(err, errAll), Full(err) && !t.Local:
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

func (t *Transfer) searchSeed(ctx context.Context, s *state, seed Seed) error {
	root, err := os.OpenRoot(seed.Dir)
	if err != nil {
		return nil // it is not there
	}
	defer root.Close()
	record, _ := readRecord(seed.Record)
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") || seed.Only != nil && !seed.Only(name) {
			return nil // what cannot be read has nothing
		}
		if s.complete() {
			return errAll
		}
		return t.searchFile(ctx, s, root, record, seed.Dir, name)
	})
}

// searchFile copies the chunks of one file that are missing.
func (t *Transfer) searchFile(ctx context.Context, s *state, root *os.Root, record Record, dir, name string) error {
	file, ok := record.of(root, name)
	// One that came from a source without chunks has none in the record either.
	if !ok || !file.Described() {
		open := func(string) (fs.File, error) { return root.Open(name) }
		var err error
		if file, err = t.Index.Describe(ctx, open, filepath.Join(dir, name), true); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return nil // what cannot be read has nothing
		}
	}
	file.Path = name
	pieces, err := piecesOf([]File{file})
	if err != nil {
		return nil // a record of other chunks
	}
	handle, err := root.Open(name)
	if err != nil {
		return nil // what cannot be read has nothing
	}
	defer handle.Close()
	buffer := t.buffers.take()
	defer t.buffers.give(buffer)
	for _, p := range pieces {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.wanted(p.sum) {
			continue
		}
		content := buffer[:p.length]
		if _, err := handle.ReadAt(content, p.offset); err != nil && !errors.Is(err, io.EOF) {
			return nil // as above
		}
		if sha256.Sum256(content) != p.sum {
			continue
		}
		if err := t.copied(s, content, p); err != nil {
			return err
		}
	}
	return nil
}

// copied writes a chunk that was found wherever it is missing.
func (t *Transfer) copied(s *state, content []byte, p piece) error {
	if err := t.step("found"); err != nil {
		return err
	}
	if t.Room != nil {
		if err := t.Room(int64(p.length)); err != nil {
			return err
		}
	}
	put, err := s.put(content, p.sum)
	if err != nil {
		return err
	}
	t.Meter.Reused(put)
	return t.step("copied")
}

// complete tells that every piece is here.
func (s *state) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left == 0
}

// verify reads every file for its checksum and flushes it. Where one is wrong, what was recorded counts no more: the
// chunks themselves then say which of them are.
func (t *Transfer) verify(ctx context.Context, s *state) error {
	for _, f := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch err := verified(ctx, s.root, f); {
		case errors.Is(err, errDiffers):
			s.over = true
			return errors.Join(fmt.Errorf("%w; its chunks are looked through", err), s.root.RemoveAll(heldName),
				s.root.Remove(journalName))
		case err != nil:
			return err
		}
	}
	if err := t.step("verified"); err != nil {
		return err
	}
	return t.tidy(s)
}

// verified reads a file and flushes it; errDiffers says that it has another checksum.
func verified(ctx context.Context, root *os.Root, f File) error {
	handle, err := root.Open(f.Path)
	if err != nil {
		return fmt.Errorf("verify %s: %w", f.Path, err)
	}
	defer handle.Close()
	_, sum, err := SumOf(ctx, handle)
	if err != nil {
		return fmt.Errorf("verify %s: %w", f.Path, err)
	}
	if sum.String() != f.SHA256 {
		return fmt.Errorf("verify %s: %w", f.Path, errDiffers)
	}
	if err := handle.Sync(); err != nil {
		return fmt.Errorf("flush %s: %w", f.Path, err)
	}
	return nil
}

// tidy leaves nothing but the files: the journal goes, and what a former attempt at other files has left.
func (t *Transfer) tidy(s *state) error {
	s.over = true
	named := map[string]bool{}
	for _, f := range s.files {
		for name := f.Path; name != "."; name = dirOf(name) {
			named[name] = true
		}
	}
	var others []string
	err := fs.WalkDir(s.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." || named[name] {
			return err
		}
		others = append(others, name)
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	for _, name := range others {
		err = errors.Join(err, s.root.RemoveAll(name))
	}
	if err != nil {
		return fmt.Errorf("tidy up where files were gathered: %w", err)
	}
	return t.step("tidied")
}
