// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// How age encrypts what is behind its header (age-encryption.org/v1, "Payload"): in chunks, each with its number as
// nonce, under a key that is made of the file's key and of the 16 bytes behind the header.
const (
	chunk     = 64 << 10
	sealed    = chunk + chacha20poly1305.Overhead
	nonceSize = 16
	// blockChunks are the chunks that are encrypted and looked at together, before any byte of them is given away.
	blockChunks = 16
	block       = blockChunks * sealed
)

// ErrChanged says that a file has other bytes than when its Seal was made. Nothing of what differs was given away: two
// contents under one key would show in what they differ.
var ErrChanged = errors.New("it is not what it was when its encryption was begun")

// Content is what a file has.
type Content struct {
	Bytes int64 `json:"bytes"`
	// SHA256 in hexadecimal digits.
	SHA256 string `json:"sha256"`
}

// Seal is what makes the encryption of one file the same each time. It is a secret as long as the file is one.
type Seal struct {
	// Recipient to whom the file is encrypted.
	Recipient string `json:"recipient"`
	// Header is what the encrypted file begins with, Key the key of the file.
	Header []byte `json:"header"`
	Key    []byte `json:"key"`
	// Plain is the file, Stored what it is encrypted to.
	Plain  Content `json:"plain"`
	Stored Content `json:"stored"`
}

// SumsBytes is how many bytes Make wrote to sums: less is not all of it.
func (s Seal) SumsBytes() int64 { return blocksOf(s.Plain.Bytes) * sha256.Size }

// capturing is a recipient that keeps the key of the file that is encrypted to it.
type capturing struct {
	*age.X25519Recipient
	key []byte
}

// Wrap implements age.Recipient.
func (c *capturing) Wrap(key []byte) ([]*age.Stanza, error) {
	c.key = bytes.Clone(key)
	return c.X25519Recipient.Wrap(key)
}

// Make begins the encryption of a file that does not change any more, with a key of its own that no other file ever
// has. The file is read whole; sums gets what each part of it is encrypted to has, 32 bytes for each MiB, which a
// Reader needs. Both have to be on disk before anything is read of a Reader.
func Make(ctx context.Context, file io.ReaderAt, size int64, recipient string, sums io.Writer) (Seal, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return Seal{}, fmt.Errorf("recipient %s is no public key of age-keygen: %w", recipient, err)
	}
	var header bytes.Buffer
	captured := &capturing{X25519Recipient: to}
	// What is behind the header is made here: nothing is written through what it returns.
	if _, err := age.Encrypt(&header, captured); err != nil {
		return Seal{}, fmt.Errorf("begin an encryption for %s: %w", recipient, err)
	}
	s := Seal{Recipient: recipient, Header: header.Bytes(), Key: captured.key, Plain: Content{Bytes: size}}
	s.Stored.Bytes = s.size()
	r, err := s.reader(file)
	if err != nil {
		return Seal{}, err
	}
	plain, stored := sha256.New(), sha256.New()
	_, _ = stored.Write(s.Header) // a hash takes everything
	for n := range r.blocks() {
		if err := ctx.Err(); err != nil {
			return Seal{}, err
		}
		if err := r.encrypt(n, plain); err != nil {
			return Seal{}, err
		}
		_, _ = stored.Write(r.buffer)
		sum := sha256.Sum256(r.buffer)
		if _, err := sums.Write(sum[:]); err != nil {
			return Seal{}, fmt.Errorf("write the sums of an encryption: %w", err)
		}
	}
	s.Plain.SHA256 = hex.EncodeToString(plain.Sum(nil))
	s.Stored.SHA256 = hex.EncodeToString(stored.Sum(nil))
	return s, nil
}

// size is how many bytes the file is encrypted to.
func (s Seal) size() int64 {
	return int64(len(s.Header)) + s.Plain.Bytes + chunksOf(s.Plain.Bytes)*chacha20poly1305.Overhead
}

// chunksOf is how many chunks a file has; an empty one has one.
func chunksOf(size int64) int64 { return max((size+chunk-1)/chunk, 1) }

// Reader reads what a file is encrypted to, from any place on. It holds one MiB of it. It is safe for concurrent use.
type Reader struct {
	seal Seal
	file io.ReaderAt
	sums io.ReaderAt
	aead cipher.AEAD

	mu      sync.Mutex
	changed bool
	// buffer is the block number at; -1 is none.
	buffer []byte
	at     int64
	plain  []byte
}

// Reader reads what the file is encrypted to, with the sums that Make wrote. A file that has changed since is
// ErrChanged.
func (s Seal) Reader(file, sums io.ReaderAt) (*Reader, error) {
	r, err := s.reader(file)
	if err == nil {
		r.sums = sums
	}
	return r, err
}

func (s Seal) reader(file io.ReaderAt) (*Reader, error) {
	if len(s.Header) <= nonceSize || len(s.Key) == 0 || s.Stored.Bytes != s.size() {
		return nil, errors.New("what was kept of an encryption that was begun lacks something")
	}
	key, err := hkdf.Key(sha256.New, s.Key, s.Header[len(s.Header)-nonceSize:], "payload", chacha20poly1305.KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive the key of a file: %w", err)
	}
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, fmt.Errorf("derive the key of a file: %w", err)
	}
	return &Reader{seal: s, file: file, aead: aead, at: -1}, nil
}

// Size is how many bytes there are.
func (r *Reader) Size() int64 { return r.seal.Stored.Bytes }

// Changed says that a read was refused with ErrChanged.
func (r *Reader) Changed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *Reader) blocks() int64 { return blocksOf(r.seal.Plain.Bytes) }

// blocksOf is how many blocks a file of so many bytes has.
func blocksOf(bytes int64) int64 { return (chunksOf(bytes) + blockChunks - 1) / blockChunks }

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	header := int64(len(r.seal.Header))
	for n < len(p) {
		at := off + int64(n)
		switch {
		case at >= r.Size():
			return n, io.EOF
		case at < header:
			n += copy(p[n:], r.seal.Header[at:])
			continue
		}
		number := (at - header) / block
		if err := r.load(number); err != nil {
			r.changed = r.changed || errors.Is(err, ErrChanged)
			return n, err
		}
		n += copy(p[n:], r.buffer[at-header-number*block:])
	}
	return n, nil
}

// load has a block in the buffer that is what it was when the Seal was made.
func (r *Reader) load(number int64) error {
	if r.at == number {
		return nil
	}
	r.at = -1
	var was [sha256.Size]byte
	if _, err := r.sums.ReadAt(was[:], number*sha256.Size); err != nil {
		return fmt.Errorf("read the sums of an encryption: %w", err)
	}
	if err := r.encrypt(number, nil); err != nil {
		return err
	}
	if sha256.Sum256(r.buffer) != was {
		return fmt.Errorf("the bytes from %d on: %w", number*blockChunks*chunk, ErrChanged)
	}
	r.at = number
	return nil
}

// encrypt has the buffer hold a block; seen is told the file's bytes, and may be nil.
func (r *Reader) encrypt(number int64, seen hash.Hash) error {
	if r.plain == nil {
		r.plain, r.buffer = make([]byte, chunk), make([]byte, 0, block)
	}
	r.buffer = r.buffer[:0]
	size := r.seal.Plain.Bytes
	all := chunksOf(size)
	for n := number * blockChunks; n < min(all, (number+1)*blockChunks); n++ {
		bytes := r.plain[:min(chunk, size-n*chunk)]
		if got, err := r.file.ReadAt(bytes, n*chunk); got < len(bytes) {
			if errors.Is(err, io.EOF) {
				err = ErrChanged
			}
			return fmt.Errorf("read what is to be encrypted, at %d: %w", n*chunk, err)
		}
		if seen != nil {
			_, _ = seen.Write(bytes) // a hash takes everything
		}
		var nonce [chacha20poly1305.NonceSize]byte
		binary.BigEndian.PutUint64(nonce[3:11], uint64(n)) //nolint:gosec // no chunk has a negative number
		if n == all-1 {
			nonce[11] = 1
		}
		r.buffer = r.aead.Seal(r.buffer, nonce[:], bytes, nil)
	}
	return nil
}
