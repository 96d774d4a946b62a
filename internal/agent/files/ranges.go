// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/transfer"
)

const (
	// partSize is what one request asks for.
	partSize = 8 << 20
	// stall is how long a stream may bring nothing.
	stall = 20 * time.Second
)

// fetchRanges brings all files of a snapshot of which no chunks are known into dir, and verifies them: a sidecar is
// renewed only with its pod, and that of the distributor may be of an earlier release. What is there of an earlier
// attempt is kept, also of one that knew the chunks.
func (s *source) fetchRanges(ctx context.Context, listing *Listing, dir string) error {
	if err := os.MkdirAll(dir, 0o770); err != nil {
		return fmt.Errorf("make a folder for the mirror: %w", err)
	}
	var files []*partialFile
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	held, have := transfer.Held(dir, listing.Files), int64(0)
	for _, file := range listing.Files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(filepath.FromSlash(file.Path))), 0o770); err != nil {
			return fmt.Errorf("make a folder for the mirror: %w", err)
		}
		f, err := openPartial(dir, file, held[file.Path])
		if err != nil {
			return err
		}
		files, have = append(files, f), have+f.have
	}
	if err := transfer.ForgetChunks(dir); err != nil {
		return err
	}
	s.meter.Attempt(have)
	if err := s.parts(ctx, listing, files); err != nil {
		return err
	}
	for _, file := range listing.Files {
		if err := s.limits.Reading(ctx, s.order.Host, func() error { return verify(ctx, dir, file) }); err != nil {
			return err
		}
	}
	return removeRecords(dir)
}

// parts brings the parts of files that are missing.
func (s *source) parts(ctx context.Context, listing *Listing, files []*partialFile) error {
	// A stream that fails takes no other one along: what these have under way would be sent again.
	var group errgroup.Group
	var failed atomic.Bool
	for _, f := range files {
		for _, part := range f.missing() {
			if err := s.limits.Enter(ctx, s.order.Host); err != nil {
				return errors.Join(group.Wait(), err)
			}
			if failed.Load() {
				s.limits.Leave(s.order.Host)
				return group.Wait()
			}
			group.Go(func() error {
				defer s.limits.Leave(s.order.Host)
				if err := s.part(ctx, listing, f, part); err != nil {
					failed.Store(true)
					return err
				}
				s.meter.Fetched(part.length)
				return nil
			})
		}
	}
	return group.Wait()
}

// part copies one part of a file.
func (s *source) part(ctx context.Context, listing *Listing, f *partialFile, p part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A stream that brings nothing for a while is given up; the parts that are whole stay.
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %v", stall)) })
	defer watch.Stop()
	response, err := s.get(
		ctx,
		nil,
		fmt.Sprintf("bytes=%d-%d", p.offset, p.offset+p.length-1),
		listing.Folder,
		listing.Snapshot,
		f.file.Path,
	)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if p.length != f.file.Size && response.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("the distributor's sidecar sends the whole of %s instead of a part", f.file.Path)
	}
	body := &watched{ctx: ctx, reader: response.Body, watch: watch, source: s}
	n, err := io.Copy(io.NewOffsetWriter(f.handle, p.offset), io.LimitReader(body, p.length))
	if err == nil && n != p.length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("copy %s from %d: %w", f.file.Path, p.offset+n, err)
	}
	return f.mark(p)
}

// watched winds the stall watch up with every byte that comes, within the rate.
type watched struct {
	ctx    context.Context // it is that of one request
	reader io.Reader
	watch  *time.Timer
	source *source
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.reader.Read(b[:min(len(b), 32<<10)])
	if n > 0 {
		w.source.meter.Moved(int64(n))
		if waited := w.source.limits.Wait(w.ctx, n); waited != nil && err == nil {
			err = waited
		}
		w.watch.Reset(stall)
	}
	return n, err
}

// verify compares a file's checksum; a file that is wrong is forgotten, so that the next attempt brings it anew.
func verify(ctx context.Context, dir string, file File) error {
	name := filepath.Join(dir, filepath.FromSlash(file.Path))
	handle, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("verify %s: %w", file.Path, err)
	}
	defer handle.Close()
	_, sum, err := transfer.SumOf(ctx, handle)
	if err != nil {
		return fmt.Errorf("verify %s: %w", file.Path, err)
	}
	if sum.String() != file.SHA256 {
		return errors.Join(
			fmt.Errorf("%s does not have the checksum that the distributor's sidecar gave; it is copied again", file.Path),
			// It may be what an attempt has left that knew the chunks: that says no more which part of it is right.
			transfer.ForgetHeld(dir),
			os.Remove(name),
			os.Remove(partsName(dir, file)),
		)
	}
	if err := handle.Sync(); err != nil {
		return fmt.Errorf("flush %s: %w", file.Path, err)
	}
	return nil
}

// removeRecords leaves nothing but the snapshot's own files.
func removeRecords(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, partsPrefix+"*"))
	for _, name := range names {
		if removed := os.Remove(name); err == nil {
			err = removed
		}
	}
	if err == nil {
		err = errors.Join(transfer.ForgetHeld(dir), durable.Remove(filepath.Join(dir, takenName)),
			durable.Remove(filepath.Join(dir, listName)))
	}
	if err != nil {
		return fmt.Errorf("tidy up the mirror: %w", err)
	}
	return nil
}
