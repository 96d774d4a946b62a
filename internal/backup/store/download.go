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
	have, err := io.Copy(seen, Reading(ctx, f))
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

// Reading reads from a file until its context ends: one of a terabyte takes long.
func Reading(ctx context.Context, from io.Reader) io.Reader { return reading{ctx, from} }

type reading struct {
	context.Context
	io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Version is what an object has at a time: another content has another tag.
type Version struct {
	// Bytes that it has.
	Bytes int64 `json:"bytes"`
	// Tag is its ETag.
	Tag string `json:"tag"`
}

// ErrChanged says that an object is no more what it was when it was looked at.
var ErrChanged = errors.New("it was stored anew meanwhile")

// Look is the version of an object; ErrNotFound where there is none.
func (s *Store) Look(ctx context.Context, key string) (Version, error) {
	info, err := s.core.StatObject(ctx, s.bucket.Name, s.key(key), minio.StatObjectOptions{})
	if err != nil {
		return Version{}, s.unread(ctx, key, err)
	}
	return Version{Bytes: info.Size, Tag: info.ETag}, nil
}

// Bring brings a version of an object into a file, where nothing is known of its content. What the file has is taken
// for the begin of it: whoever asks knows that. An object of another version is ErrChanged.
func (s *Store) Bring(ctx context.Context, key, file string, v Version, progress func(bytes int64)) error {
	if progress == nil {
		progress = func(int64) {}
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return fmt.Errorf("bring %s: %w", key, err)
	}
	defer func() { _ = f.Close() }()
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("bring %s: %w", key, err)
	}
	if have < v.Bytes {
		if have, err = s.rest(ctx, key, v, &counting{Writer: f, bytes: have, tell: progress}); err != nil {
			return err
		}
	}
	if have != v.Bytes {
		return s.failed("read", key, fmt.Errorf("%d bytes came instead of %d", have, v.Bytes))
	}
	return errors.Join(f.Sync(), f.Close())
}

// rest reads a version of an object from where a file is on.
func (s *Store) rest(ctx context.Context, key string, v Version, into *counting) (int64, error) {
	o := minio.GetObjectOptions{}
	if into.bytes > 0 {
		if err := o.SetRange(into.bytes, 0); err != nil {
			return into.bytes, s.failed("read", key, err)
		}
	}
	body, info, _, err := s.core.GetObject(ctx, s.bucket.Name, s.key(key), o)
	if err != nil {
		return into.bytes, s.unread(ctx, key, err)
	}
	defer func() { _ = body.Close() }()
	if info.ETag != v.Tag {
		return into.bytes, s.failed("read", key, ErrChanged)
	}
	if _, err := io.Copy(into, body); err != nil {
		return into.bytes, s.failed("read", key, err)
	}
	return into.bytes, nil
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
