// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
)

var (
	// ErrKey says that no key opens a file.
	ErrKey = errors.New("no key opens it")
	// ErrDamaged says that a file is not what was encrypted.
	ErrDamaged = errors.New("it is not what was encrypted")
)

// Open decrypts a file in its place, which takes no room beside it, and checks that it is what was encrypted. A file
// of which it was broken off is neither: whoever calls it begins with another copy.
func Open(ctx context.Context, file string, was Content, identities []string) error {
	var keys []age.Identity
	for _, identity := range identities {
		key, err := age.ParseX25519Identity(identity)
		if err != nil {
			return errors.New("decrypt: a private key is none of age-keygen's, or has a mistake")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return fmt.Errorf("decrypt %s: %w", file, ErrKey)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("decrypt: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("decrypt: %w", err)
	}
	source := &source{ctx: ctx, from: io.NewSectionReader(f, 0, info.Size())}
	if err := inPlace(source, f, was, keys); err != nil {
		return fmt.Errorf("decrypt %s: %w", file, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("decrypt: %w", err)
	}
	return nil
}

// inPlace writes what is decrypted over what was read before: of each chunk fewer bytes are written than read, so that
// nothing is overwritten that is still to be read.
func inPlace(from *source, f *os.File, was Content, keys []age.Identity) error {
	plain, err := age.Decrypt(from, keys...)
	var none *age.NoIdentityMatchError
	switch {
	case from.err != nil:
		return from.err
	case errors.As(err, &none):
		return ErrKey
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	seen, into := sha256.New(), &target{Writer: io.NewOffsetWriter(f, 0)}
	bytes, err := io.Copy(io.MultiWriter(into, seen), plain)
	switch sum := hex.EncodeToString(seen.Sum(nil)); {
	case from.err != nil:
		return from.err
	case into.err != nil:
		return into.err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case bytes != was.Bytes || sum != was.SHA256:
		return fmt.Errorf("%w: it has %d bytes with the SHA-256 %s, and had %d with %s", ErrDamaged, bytes, sum, was.Bytes,
			was.SHA256)
	}
	return f.Truncate(bytes)
}

// source reads the file until ctx ends. What the disk refuses is told from what the file has.
type source struct {
	ctx  context.Context //nolint:containedctx // a reader has no other way to end
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// target keeps the error of a write.
type target struct {
	io.Writer
	err error
}

func (t *target) Write(p []byte) (int, error) {
	n, err := t.Writer.Write(p)
	if err != nil {
		t.err = err
	}
	return n, err
}
