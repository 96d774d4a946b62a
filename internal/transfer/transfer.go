// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// stall is how long a stream may bring nothing.
	stall = 20 * time.Second
	// tries is how often a chunk is asked for that comes wrong.
	tries = 3
)

// Remote is who has the files.
type Remote interface {
	// Ask asks for spans; the answer comes in frames.
	Ask(ctx context.Context, request *Request) (io.ReadCloser, error)
}

// Seed is a folder on this side that may have chunks of the files.
type Seed struct {
	// Dir of the files.
	Dir string
	// Record says what chunks they have, as WriteRecord wrote it. Empty, or of files that have changed, they are read.
	Record string
	// Only, unless nil, says of a file, by its path with slashes, whether it is looked through.
	Only func(path string) bool
}

// Transfer brings files here. It goes on from where an earlier one into the same folder was interrupted.
type Transfer struct {
	// Dir is the folder in which the files gather; nobody else writes there.
	Dir string
	// Files with their chunks, as their source describes them.
	Files []File
	// Seeds in which chunks are looked for, one after the other.
	Seeds []Seed
	// Index remembers the chunks of files in Seeds.
	Index *Index
	// Searched, unless nil, is called when Seeds are not needed any more, before anything is fetched; once more where the
	// volume is full.
	Searched func()
	// Local has nothing be fetched: what Seeds do not have ends the transfer with a LackingError. Remote is nil then.
	Local  bool
	Remote Remote
	// Room, unless nil, is asked before so many bytes of Seeds are copied; an error ends the transfer.
	Room func(n int64) error
	// Source names who has the files: those of one name share what the limits let each have.
	Source string
	Limits *Limits
	Meter  *Meter

	// At, unless nil, is told of each step when it is done; an error ends the transfer there. Tests end it so.
	At func(step string) error

	// link is how many bytes per second one stream brought lately, and buffers are those of the workers.
	link    atomic.Int64
	buffers pool
}

func dirOf(name string) string { return path.Dir(name) }

func (t *Transfer) step(name string) error {
	if t.At == nil {
		return nil
	}
	return t.At(name)
}

// Run ends without error when all files are in the folder, with their checksums and flushed, and nothing else is.
func (t *Transfer) Run(ctx context.Context) error {
	if err := os.MkdirAll(t.Dir, 0o770); err != nil {
		return fmt.Errorf("make a folder for files: %w", err)
	}
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return fmt.Errorf("open the folder for files: %w", err)
	}
	defer root.Close()
	err = t.phases(ctx, root)
	if Full(err) && t.Searched != nil {
		// The next attempt finds more room.
		t.Searched()
	}
	return err
}

func (t *Transfer) phases(ctx context.Context, root *os.Root) error {
	var s *state
	err := t.Limits.Reading(ctx, t.Source, func() (err error) {
		if s, err = openState(ctx, root, t.Files); err != nil {
			return err
		}
		t.Meter.Attempt(s.here())
		if err := t.step("opened"); err != nil {
			return err
		}
		return t.search(ctx, s)
	})
	if s != nil {
		defer s.close()
	}
	if err != nil {
		return err
	}
	if t.Local {
		if lacking := s.lacking(); len(lacking) > 0 {
			return &LackingError{lacking}
		}
	}
	if err := t.fetch(ctx, s); err != nil {
		return err
	}
	return t.Limits.Reading(ctx, t.Source, func() error { return t.verify(ctx, s) })
}

// fetch brings what is missing.
func (t *Transfer) fetch(ctx context.Context, s *state) error {
	if t.Searched != nil {
		t.Searched()
	}
	// A stream that fails takes no other one along: what these have under way would be sent again.
	var group errgroup.Group
	var failed atomic.Bool
	for batch := range s.batches() {
		if err := t.Limits.Enter(ctx, t.Source); err != nil {
			return errors.Join(group.Wait(), err)
		}
		if failed.Load() {
			t.Limits.Leave(t.Source)
			break
		}
		group.Go(func() error {
			defer t.Limits.Leave(t.Source)
			err := t.bring(ctx, s, batch)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return group.Wait()
}

// bring fetches some chunks. What comes wrong is asked for again, alone.
func (t *Transfer) bring(ctx context.Context, s *state, batch []int32) error {
	for range tries {
		wrong, err := t.ask(ctx, s, batch)
		if err != nil || len(wrong) == 0 {
			return err
		}
		batch = wrong
	}
	p := s.pieces[batch[0]]
	return fmt.Errorf("a chunk of %s, from %d, does not have the checksum that the source gave; it is asked for again",
		s.files[p.file].Path, p.offset)
}

// ask makes one request and returns the pieces that came wrong.
func (t *Transfer) ask(ctx context.Context, s *state, batch []int32) (wrong []int32, err error) {
	request := &Request{Compression: t.Limits.how(), Link: t.link.Load()}
	for _, n := range batch {
		p := s.pieces[n]
		request.Spans = append(request.Spans, Span{Path: s.files[p.file].Path, Offset: p.offset, Length: p.length,
			SHA256: p.sum.String()})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A stream that brings nothing for a while is given up; the chunks that are whole stay.
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %v", stall)) })
	defer watch.Stop()
	body, err := t.Remote.Ask(ctx, request)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	counted := &inflow{ctx: ctx, reader: io.LimitReader(body, mostAnswer), watch: watch, transfer: t}
	defer counted.tell()
	b := buffers{raw: t.buffers.take(), packed: t.buffers.take()}
	defer func() { t.buffers.give(b.raw); t.buffers.give(b.packed) }()
	for _, n := range batch {
		p := s.pieces[n]
		content, err := t.chunk(counted, b, int(p.length))
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, fmt.Errorf("fetch %s from %d: %w", s.files[p.file].Path, p.offset, err)
		}
		if sha256.Sum256(content) != p.sum {
			wrong = append(wrong, n)
			continue
		}
		if err := t.keep(s, content, p); err != nil {
			return nil, err
		}
	}
	// Not before the end of an answer has been read does its connection take the next request. What goes wrong now costs
	// the connection alone.
	_, _ = io.Copy(io.Discard, counted)
	return wrong, nil
}

// buffers of a worker: a chunk, and what it was packed to.
type buffers struct{ raw, packed []byte }

// mostAnswer bounds an answer in bytes: its spans, and a word every few seconds for as long as a source has no worker.
const mostAnswer = batchSize + maxChunk + 1<<20

// keep writes a chunk that came wherever it is missing.
func (t *Transfer) keep(s *state, content []byte, p piece) error {
	put, err := s.put(content, p.sum)
	if err != nil {
		return err
	}
	t.Meter.Fetched(min(put, int64(p.length)))
	t.Meter.Reused(max(0, put-int64(p.length)))
	return t.step("fetched")
}

// chunk reads the next chunk; one that cannot be unpacked is empty.
func (t *Transfer) chunk(r *inflow, b buffers, length int) ([]byte, error) {
	for {
		kind, content, err := readFrame(r, b.packed)
		if err != nil {
			return nil, err
		}
		switch kind {
		case frameWait:
			continue
		case frameStale:
			return nil, ErrStale
		case frameFailed:
			return nil, fmt.Errorf("the source says: %q", content)
		case frameZstd:
			// A bit that flipped shows here, too.
			if content, err = unpack(content, b.raw); err != nil {
				return nil, nil // what came wrong is asked for again
			}
		}
		if len(content) > length {
			content = nil
		}
		return content, nil
	}
}

// inflow reads what comes, within the rate, and counts it.
type inflow struct {
	ctx      context.Context // it is that of one request
	reader   io.Reader
	watch    *time.Timer
	transfer *Transfer
	// bytes that came in the time that was spent on reading them.
	bytes int64
	spent time.Duration
}

// Read implements io.Reader.
func (f *inflow) Read(b []byte) (int, error) {
	began := time.Now()
	n, err := f.reader.Read(b[:min(len(b), burst)])
	if n == 0 {
		return n, err
	}
	f.transfer.Meter.Moved(int64(n))
	if waited := f.transfer.Limits.Wait(f.ctx, n); waited != nil && err == nil {
		err = waited
	}
	f.watch.Reset(stall)
	// Before a frame's head the source may be busy with packing: that says nothing of the link.
	if len(b) > frameHead {
		f.bytes += int64(n)
		f.spent += time.Since(began)
	}
	return n, err
}

// tell has the next requests know how fast bytes come.
func (f *inflow) tell() {
	if f.spent > 0 && f.bytes > batchSize/8 {
		f.transfer.link.Store(int64(float64(f.bytes) / f.spent.Seconds()))
	}
}
