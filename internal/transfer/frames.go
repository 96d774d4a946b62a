// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

const (
	// ContentType of an answer in frames: a frame for each span that was asked for, in their order.
	ContentType = "application/vnd.geosql.frames"
	// batchSize is about how many bytes one request asks for: on a long link a round trip for each chunk would take longer
	// than the chunk.
	batchSize = 8 << 20
	// maxSpans bounds the spans of one request.
	maxSpans = 256
	// MaxRequest bounds the JSON of a request in bytes.
	MaxRequest = 1 << 20
)

// Span is a part of a file.
type Span struct {
	// Path below the folder, with slashes.
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	// Length in bytes, 1 to 4 MiB.
	Length uint32 `json:"length"`
	// SHA256 in hexadecimal that the source promised.
	SHA256 string `json:"sha256"`
}

// Request is what one request asks for.
type Request struct {
	Spans []Span `json:"spans"`
	// Compression of the answer, Auto when it is empty.
	Compression Compression `json:"compression,omitempty"`
	// Link is how many bytes per second one stream brought lately; 0 is not known.
	Link int64 `json:"link,omitempty"`
}

// Check refuses what no request of a sidecar asks for.
func (r *Request) Check() error {
	total := 0
	for _, s := range r.Spans {
		total += int(s.Length)
		if s.Length == 0 || s.Length > maxChunk || s.Offset < 0 || !filepath.IsLocal(s.Path) {
			return fmt.Errorf("a span of %d bytes from %d of %q", s.Length, s.Offset, s.Path)
		}
	}
	if len(r.Spans) == 0 || len(r.Spans) > maxSpans || total > batchSize+maxChunk {
		return fmt.Errorf("%d spans of %d bytes", len(r.Spans), total)
	}
	return nil
}

// Kinds of frames.
const (
	frameRaw = 1 + iota
	frameZstd
	// frameWait says that the source is there and has no worker free yet.
	frameWait
	// frameFailed says why the source cannot send the span; nothing follows.
	frameFailed
	// frameStale says that the file does not have the bytes that were promised; nothing follows.
	frameStale
)

// ErrStale says that a source has other bytes than it promised: its files have to be listed anew.
var ErrStale = errors.New("the source's file has changed since it was listed; it is listed anew")

// frameHead is a kind and the length of what follows, big-endian.
const frameHead = 5

// errFrame is an answer that is none: what comes after it cannot be told.
var errFrame = errors.New("the answer is torn or of an unknown form")

func writeFrame(w io.Writer, kind byte, content []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(content))) //nolint:gosec // at most a chunk
	if _, err := w.Write(head); err != nil {
		return err
	}
	// A part at a time: each has its own time on a slow link.
	for len(content) > 0 {
		n, err := w.Write(content[:min(len(content), 64<<10)])
		if err != nil {
			return err
		}
		content = content[n:]
	}
	return nil
}

// readFrame reads the next frame's content into the buffer, which takes a chunk.
func readFrame(r io.Reader, buffer []byte) (kind byte, content []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if head[0] < frameRaw || head[0] > frameStale || int64(length) > int64(len(buffer)) {
		return 0, nil, errFrame
	}
	content = buffer[:length]
	if _, err := io.ReadFull(r, content); err != nil {
		return 0, nil, err
	}
	return head[0], content, nil
}
