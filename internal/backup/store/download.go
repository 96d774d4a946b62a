// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/minio/minio-go/v7"
)

// ErrDamaged says that what came is not what was stored.
var ErrDamaged = errors.New("it is not what was stored")

// Sum reads an object whole and returns its size and SHA-256 in hexadecimal digits. progress is told how many bytes
// were read, and may be nil.
func (s *Store) Sum(ctx context.Context, key string, progress func(bytes int64)) (bytes int64, sum string, err error) {
	return s.fetch(ctx, key, 0, sha256.New(), io.Discard, progress)
}

// Download brings an object into a file. What the file has is kept: one that was cut off goes on. It is an error, and
// the file is gone, when in the end it does not have the SHA-256 that is asked for (ErrDamaged).
func (s *Store) Download(ctx context.Context, key, file, sum string, progress func(bytes int64)) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	defer func() { _ = f.Close() }()
	seen := sha256.New()
	have, err := io.Copy(seen, f)
	if err != nil {
		return fmt.Errorf("download: read what is there: %w", err)
	}
	_, got, err := s.fetch(ctx, key, have, seen, f, progress)
	if err != nil {
		return err
	}
	if got != sum {
		return errors.Join(fmt.Errorf("download %s: it has the SHA-256 %s instead of %s: %w", key, got, sum, ErrDamaged),
			os.Remove(file))
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s *Store) fetch(
	ctx context.Context,
	key string,
	from int64,
	seen hash.Hash,
	into io.Writer,
	progress func(int64),
) (int64, string, error) {
	if progress == nil {
		progress = func(int64) {}
	}
	info, err := s.core.StatObject(ctx, s.bucket.Name, s.key(key), minio.StatObjectOptions{})
	if err != nil {
		return 0, "", s.unread(ctx, key, err)
	}
	if from < info.Size {
		o := minio.GetObjectOptions{}
		if from > 0 {
			if err := o.SetRange(from, 0); err != nil {
				return 0, "", s.failed("read", key, err)
			}
		}
		body, _, _, err := s.core.GetObject(ctx, s.bucket.Name, s.key(key), o)
		if err != nil {
			return 0, "", s.unread(ctx, key, err)
		}
		defer func() { _ = body.Close() }()
		counted := &counting{Writer: io.MultiWriter(into, seen), bytes: from, tell: progress}
		if _, err := io.Copy(counted, body); err != nil {
			return 0, "", s.failed("read", key, err)
		}
		from = counted.bytes
	}
	if from != info.Size {
		return 0, "", s.failed("read", key, fmt.Errorf("%d bytes came instead of %d", from, info.Size))
	}
	return info.Size, hex.EncodeToString(seen.Sum(nil)), nil
}

type counting struct {
	io.Writer
	bytes int64
	tell  func(int64)
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	c.tell(c.bytes)
	return n, err
}
