// SPDX-License-Identifier: Apache-2.0

// Package transfer moves files between the sidecars of servers. The source cuts a file where its content says so, and
// the other side fetches the chunks that it finds nowhere on its own disk: of an interrupted attempt, of older files,
// of what a person put beside. Every chunk is verified as it comes, every file at the end.
package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/restic/chunker"
)

const (
	// averageBits has chunks of 1 MiB on average. docs/transfers.md says what was measured, and why not another size.
	averageBits = 20
	// minChunk and maxChunk bound the length of a chunk in bytes; the last one of a file may be shorter.
	minChunk = 256 << 10
	maxChunk = 4 << 20
	// polynomial of the rolling hash: irreducible, of degree 53, and the same for ever. With another one no chunk would be
	// found again.
	polynomial = chunker.Pol(0x3DA3358B4DC173)
)

// Sum is the SHA-256 of some bytes.
type Sum [sha256.Size]byte

// String is the sum in hexadecimal.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Chunk is a span of a file that its content has cut. It begins where the one before ends.
type Chunk struct {
	// Length in bytes, 1 to 4 MiB.
	Length uint32
	Sum    Sum
}

// Chunks of a file, in their order.
type Chunks []Chunk

// recordSize is the length of a chunk in the encoded form: its length, big-endian, and its sum.
const recordSize = 4 + sha256.Size

// MarshalText encodes chunks compactly: a file of 1 GiB has about a thousand.
func (c Chunks) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, recordSize*len(c))
	for _, one := range c {
		raw = binary.BigEndian.AppendUint32(raw, one.Length)
		raw = append(raw, one.Sum[:]...)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText reads what MarshalText wrote, and refuses chunks of a length that no chunk has.
func (c *Chunks) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("read the chunks of a file: %w", err)
	}
	if len(raw)%recordSize != 0 {
		return errors.New("read the chunks of a file: the last one is torn")
	}
	all := make(Chunks, 0, len(raw)/recordSize)
	for record := range slices.Chunk(raw, recordSize) {
		one := Chunk{Length: binary.BigEndian.Uint32(record), Sum: Sum(record[4:])}
		if one.Length == 0 || one.Length > maxChunk {
			return fmt.Errorf("read the chunks of a file: one of %d bytes, allowed are 1 to %d", one.Length, maxChunk)
		}
		all = append(all, one)
	}
	*c = all
	return nil
}

// size is the length of all in bytes.
func (c Chunks) size() (n int64) {
	for _, one := range c {
		n += int64(one.Length)
	}
	return n
}

// WriteText writes what MarshalText encodes, a part at a time.
func (c Chunks) WriteText(w io.Writer) error {
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	var record [recordSize]byte
	for _, one := range c {
		binary.BigEndian.PutUint32(record[:], one.Length)
		copy(record[4:], one.Sum[:])
		if _, err := encoder.Write(record[:]); err != nil {
			return err
		}
	}
	return encoder.Close()
}

// Cut reads a file to its end, or that of ctx, for its chunks and its checksum.
func Cut(ctx context.Context, r io.Reader) (Chunks, Sum, error) {
	return cut(&lasting{ctx, r}, averageBits, minChunk, maxChunk)
}

// lasting reads until ctx ends.
type lasting struct {
	ctx    context.Context // it is that of one file
	reader io.Reader
}

// Read implements io.Reader.
func (l *lasting) Read(b []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.reader.Read(b)
}

// SumOf reads a file to its end, or that of ctx, for its length and its checksum.
func SumOf(ctx context.Context, r io.Reader) (int64, Sum, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, &lasting{ctx, r})
	return n, Sum(hash.Sum(nil)), err
}

// cuts are buffers for the chunks of files: most files are small, and would take one each.
var cuts pool

func cut(r io.Reader, bits int, shortest, longest uint) (Chunks, Sum, error) {
	whole := sha256.New()
	cutter := chunker.NewWithBoundaries(io.TeeReader(r, whole), polynomial, shortest, longest)
	cutter.SetAverageBits(bits)
	pooled := cuts.take()
	defer cuts.give(pooled)
	buffer := pooled[:0]
	if uint(cap(buffer)) < longest {
		buffer = make([]byte, 0, longest)
	}
	var all Chunks
	for {
		one, err := cutter.Next(buffer)
		if errors.Is(err, io.EOF) {
			return all, Sum(whole.Sum(nil)), nil
		}
		if err != nil {
			return nil, Sum{}, fmt.Errorf("cut a file into chunks: %w", err)
		}
		all = append(all, Chunk{Length: uint32(one.Length), Sum: sha256.Sum256(one.Data)}) //nolint:gosec // at most longest
	}
}
