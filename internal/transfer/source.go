// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"sync"
	"time"
)

// waitTime is after how long a source says that it is there while it has no worker free.
const waitTime = 5 * time.Second

// Opener opens a file by its path below the folder.
type Opener func(path string) (fs.File, error)

// Source sends spans of files. No more chunks are read and packed at the same time than its Limits let; who takes long
// to receive keeps none of these workers.
type Source struct {
	limits *Limits
	packer packer
	// streams are those under way, of which each has a chunk in memory.
	streams gate
	buffers pool
}

// NewSource sends within the limits.
func NewSource(limits *Limits) *Source {
	s := &Source{limits: limits}
	s.streams.resize(maxStreams)
	return s
}

// Keep forgets what is known of the links of receivers but those of which keep says so.
func (s *Source) Keep(keep func(receiver string) bool) {
	s.packer.mu.Lock()
	defer s.packer.mu.Unlock()
	maps.DeleteFunc(s.packer.judges, func(receiver string, _ *judge) bool { return !keep(receiver) })
}

// Send answers a request that was checked, of a receiver. A failure after the answer has begun is said in it, and
// returned: a StaleError for bytes that are not those which were promised.
func (s *Source) Send(w http.ResponseWriter, r *http.Request, receiver string, asked *Request, open Opener) error {
	return s.SendFrom(nil, w, r, receiver, asked, open)
}

// SendFrom does the same with chunks that a pack keeps, unless it is nil: each that shrinks goes packed, however fast
// the link is, and what the pack does not have yet is added to it.
func (s *Source) SendFrom(
	pack *Pack,
	w http.ResponseWriter,
	r *http.Request,
	receiver string,
	asked *Request,
	open Opener,
) error {
	w.Header().Set("Content-Type", ContentType)
	if err := enter(r.Context(), w, &s.streams, receiver); err != nil {
		return err
	}
	defer s.streams.leave(receiver)
	one := sending{source: s, ctx: r.Context(), w: w, receiver: receiver, asked: asked, open: open, pack: pack}
	defer one.close()
	for _, span := range asked.Spans {
		if err := one.send(span); err != nil {
			return errors.Join(fmt.Errorf("send %s: %w", span.Path, err), one.say(err))
		}
	}
	return nil
}

// StaleError says which span does not have the bytes that were promised.
type StaleError struct{ Span Span }

// Error implements error.
func (e *StaleError) Error() string { return "its bytes are not those which were listed" }

// enter waits for a turn, and says now and then that it waits.
func enter(ctx context.Context, w http.ResponseWriter, g *gate, receiver string) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, waitTime)
		err := g.enter(bounded, receiver)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := writeFrame(w, frameWait, nil); err != nil {
			return err
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return fmt.Errorf("say that a transfer waits: %w", err)
		}
	}
}

// sending is one answer.
type sending struct {
	source   *Source
	ctx      context.Context // it is that of one request
	w        http.ResponseWriter
	receiver string
	asked    *Request
	open     Opener
	// pack may be nil.
	pack *Pack

	// file that was opened last, and its path.
	file fs.File
	path string
}

func (o *sending) close() {
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
}

// send sends one span. The worker is free again while the receiver takes it.
func (o *sending) send(span Span) error {
	if err := enter(o.ctx, o.w, &o.source.limits.gate, o.receiver); err != nil {
		return err
	}
	kind, content, buffer, err := func() (byte, []byte, []byte, error) {
		defer o.source.limits.gate.leave(o.receiver)
		return o.prepare(span)
	}()
	if err != nil {
		return err
	}
	defer o.source.buffers.give(buffer)
	return writeFrame(o.w, kind, content)
}

// say tells the receiver of a failure; one of its link cannot be told.
func (o *sending) say(err error) error {
	var stale *StaleError
	switch {
	case o.ctx.Err() != nil:
		return nil
	case errors.As(err, &stale):
		return writeFrame(o.w, frameStale, nil)
	case errors.Is(err, fs.ErrNotExist):
		return writeFrame(o.w, frameFailed, []byte("the source has no such file"))
	}
	return writeFrame(o.w, frameFailed, []byte("the source cannot read a file"))
}

// prepare reads a span, and packs it where that is worth it: the content of a frame, in a buffer that is to be given
// back.
func (o *sending) prepare(span Span) (kind byte, content, buffer []byte, err error) {
	sum, _ := sumOf(span.SHA256)
	flat := false
	if o.pack != nil {
		held := o.source.buffers.take()
		kept, ok := o.pack.get(sum, held)
		if len(kept) > 0 {
			return frameZstd, kept, held, nil
		}
		o.source.buffers.give(held)
		flat = ok
	}
	reader, err := o.reader(span.Path)
	if err != nil {
		return 0, nil, nil, err
	}
	held := o.source.buffers.take()
	raw := held[:span.Length]
	if n, err := reader.ReadAt(raw, span.Offset); n < len(raw) {
		o.source.buffers.give(held)
		if errors.Is(err, io.EOF) {
			err = &StaleError{span}
		}
		return 0, nil, nil, err
	}
	if Sum(sha256.Sum256(raw)).String() != span.SHA256 {
		o.source.buffers.give(held)
		return 0, nil, nil, &StaleError{span}
	}
	if flat {
		return frameRaw, raw, held, nil
	}
	into := o.source.buffers.take()
	packed, err := o.packed(raw, into, sum)
	if err == nil && packed != nil {
		o.source.buffers.give(held)
		return frameZstd, packed, into, nil
	}
	o.source.buffers.give(into)
	if err != nil {
		o.source.buffers.give(held)
		return 0, nil, nil, err
	}
	return frameRaw, raw, held, nil
}

// packed is a chunk as it is packed, in a buffer; nil says that it goes as it is.
func (o *sending) packed(raw, into []byte, sum Sum) ([]byte, error) {
	if o.pack == nil {
		return o.source.packer.pack(raw, into, o.asked.Compression, o.receiver, o.asked.Link)
	}
	packed, err := o.source.packer.squeeze(raw, into)
	if err == nil {
		o.pack.put(sum, packed)
	}
	return packed, err
}

func (o *sending) reader(path string) (io.ReaderAt, error) {
	if o.file == nil || o.path != path {
		o.close()
		next, err := o.open(path)
		if err != nil {
			return nil, err
		}
		o.file, o.path = next, path
	}
	reader, ok := o.file.(io.ReaderAt)
	if !ok {
		return nil, errors.New("it is no regular file")
	}
	return reader, nil
}

// pool of buffers, of which each takes a chunk, packed or not.
type pool struct{ pool sync.Pool }

func (p *pool) take() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, maxChunk+64<<10)
}

func (p *pool) give(b []byte) {
	b = b[:cap(b)]
	p.pool.Put(&b)
}
