// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"
	"time"
)

// waitTime is after how long a source says that it is there while it has no worker free.
const waitTime = 5 * time.Second

// Opener opens a file by its path below the folder.
type Opener func(path string) (fs.File, error)

// Source sends spans of files, no more streams at the same time than its Limits let.
type Source struct {
	limits *Limits
	packer packer
	// buffers of a stream: a chunk, and what it is packed to.
	buffers sync.Pool
}

// NewSource sends within the limits.
func NewSource(limits *Limits) *Source { return &Source{limits: limits} }

// Send answers a request that was checked. A failure after the answer has begun is said in it, and returned.
func (s *Source) Send(w http.ResponseWriter, r *http.Request, asked *Request, open Opener) error {
	w.Header().Set("Content-Type", ContentType)
	if err := s.enter(r.Context(), w); err != nil {
		return err
	}
	defer s.limits.Leave()
	err := s.spans(w, asked, open)
	if err != nil {
		text := "the source cannot read a file"
		if errors.Is(err, fs.ErrNotExist) {
			text = "the source has no such file"
		}
		err = errors.Join(err, writeFrame(w, frameFailed, []byte(text)))
	}
	return err
}

// enter waits for a worker, and says now and then that it waits.
func (s *Source) enter(ctx context.Context, w http.ResponseWriter) error {
	control := http.NewResponseController(w)
	for {
		bounded, cancel := context.WithTimeout(ctx, waitTime)
		err := s.limits.Enter(bounded)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := writeFrame(w, frameWait, nil); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return fmt.Errorf("say that a transfer waits: %w", err)
		}
	}
}

func (s *Source) spans(w io.Writer, asked *Request, open Opener) error {
	b := takeBuffers(&s.buffers)
	defer s.buffers.Put(b)
	var file fs.File
	opened := ""
	defer func() {
		if file != nil {
			_ = file.Close()
		}
	}()
	for _, span := range asked.Spans {
		if file == nil || opened != span.Path {
			next, err := open(span.Path)
			if err != nil {
				return fmt.Errorf("send %s: %w", span.Path, err)
			}
			if file != nil {
				_ = file.Close()
			}
			file, opened = next, span.Path
		}
		raw := b.raw[:span.Length]
		reader, ok := file.(io.ReaderAt)
		if !ok {
			return fmt.Errorf("send %s: it is no regular file", span.Path)
		}
		if n, err := reader.ReadAt(raw, span.Offset); n < len(raw) {
			return fmt.Errorf("send %s: %w", span.Path, err)
		}
		packed, err := s.packer.pack(raw, b.packed, asked.Compression, asked.Link)
		if err != nil {
			return err
		}
		kind := byte(frameRaw)
		if packed != nil {
			kind, raw = frameZstd, packed
		}
		if err := writeFrame(w, kind, raw); err != nil {
			return fmt.Errorf("send %s: %w", span.Path, err)
		}
	}
	return nil
}

// buffers of a worker.
type buffers struct{ raw, packed []byte }

func takeBuffers(from *sync.Pool) *buffers {
	if b, ok := from.Get().(*buffers); ok {
		return b
	}
	return &buffers{raw: make([]byte, maxChunk), packed: make([]byte, maxChunk+64<<10)}
}
