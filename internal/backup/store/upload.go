// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/time/rate"
)

const (
	// partLeast is how much a part has at least but for the last, partsMost how many parts an object has at most here: S3
	// allows 5 MiB and 10,000.
	partLeast = 16 << 20
	partsMost = 9_000
	// sendAtOnce is how much is sent at once at most where a rate is declared.
	sendAtOnce = 64 << 10
)

// partSize is how much each part of a file has but for the last: always the same for a file, so that an upload can go
// on.
func partSize(bytes int64) int64 {
	size := (bytes/partsMost + (1 << 20)) &^ (1<<20 - 1)
	return max(size, partLeast)
}

// Upload stores a file that does not change any more. An upload of it that was cut off goes on: parts that are there
// are kept when they have the file's bytes. progress is told how many bytes are stored, and may be nil.
func (s *Store) Upload(ctx context.Context, key, file string, progress func(bytes int64)) error {
	if progress == nil {
		progress = func(int64) {}
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	size := info.Size()
	if size <= partLeast {
		_, err := s.core.PutObject(ctx, s.bucket.Name, s.key(key), s.limited(ctx, f, 0, size), size, "", "",
			minio.PutObjectOptions{})
		if err == nil {
			progress(size)
		}
		return s.failed("store", key, err)
	}
	return s.failed("store", key, s.uploadParts(ctx, s.key(key), f, size, progress))
}

func (s *Store) uploadParts(ctx context.Context, key string, f *os.File, size int64, progress func(int64)) error {
	id, there, err := s.begun(ctx, key)
	if err != nil {
		return err
	}
	if id == "" {
		if id, err = s.core.NewMultipartUpload(ctx, s.bucket.Name, key, minio.PutObjectOptions{}); err != nil {
			return err
		}
	}
	var parts []minio.CompletePart
	each := partSize(size)
	for n, at := 1, int64(0); at < size; n, at = n+1, at+each {
		part := there[n]
		bytes := min(each, size-at)
		if same, err := sameBytes(part, f, at, bytes); err != nil {
			return err
		} else if !same {
			part, err = s.core.PutObjectPart(ctx, s.bucket.Name, key, id, n, s.limited(ctx, f, at, bytes), bytes,
				minio.PutObjectPartOptions{})
			if err != nil {
				return err
			}
		}
		parts = append(parts, minio.CompletePart{PartNumber: n, ETag: part.ETag})
		progress(at + bytes)
	}
	_, err = s.core.CompleteMultipartUpload(ctx, s.bucket.Name, key, id, parts, minio.PutObjectOptions{})
	return err
}

// begun is the newest upload of a key that is not complete, with its parts; empty when there is none.
func (s *Store) begun(ctx context.Context, key string) (id string, parts map[int]minio.ObjectPart, err error) {
	uploads, err := s.core.ListMultipartUploads(ctx, s.bucket.Name, key, "", "", "", 1000)
	if err != nil {
		return "", nil, fmt.Errorf("look for an upload that was cut off: %w", err)
	}
	var newest minio.ObjectMultipartInfo
	for _, u := range uploads.Uploads {
		if u.Key == key && u.Initiated.After(newest.Initiated) {
			newest = u
		}
	}
	if newest.UploadID == "" {
		return "", nil, nil
	}
	parts = map[int]minio.ObjectPart{}
	for after := 0; ; {
		listed, err := s.core.ListObjectParts(ctx, s.bucket.Name, key, newest.UploadID, after, 1000)
		if err != nil {
			return "", nil, fmt.Errorf("look for the parts of an upload that was cut off: %w", err)
		}
		for _, p := range listed.ObjectParts {
			parts[p.PartNumber] = p
		}
		if !listed.IsTruncated {
			return newest.UploadID, parts, nil
		}
		after = listed.NextPartNumberMarker
	}
}

// sameBytes says whether a part that is stored has the bytes of the file, by its ETag, which is their MD5 unless the
// store says otherwise by its form.
func sameBytes(part minio.ObjectPart, f *os.File, at, bytes int64) (bool, error) {
	tag := strings.Trim(part.ETag, `"`)
	if part.Size != bytes || len(tag) != 2*md5.Size {
		return false, nil
	}
	sum := md5.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, at, bytes)); err != nil {
		return false, fmt.Errorf("read a part of %s: %w", f.Name(), err)
	}
	return strings.EqualFold(tag, hex.EncodeToString(sum.Sum(nil))), nil
}

// AbortUploads gives up uploads below a prefix that are not complete, of which keep says no. Their parts cost room
// until then, and no list of objects shows them.
func (s *Store) AbortUploads(ctx context.Context, prefix string, keep func(key string) bool) error {
	key, upload := "", ""
	for {
		listed, err := s.core.ListMultipartUploads(ctx, s.bucket.Name, s.key(prefix), key, upload, "", 1000)
		if err != nil {
			return s.failed("list uploads of", prefix, err)
		}
		for _, u := range listed.Uploads {
			short := strings.TrimPrefix(strings.TrimPrefix(u.Key, s.bucket.Prefix), "/")
			if keep(short) {
				continue
			}
			if err := s.core.AbortMultipartUpload(ctx, s.bucket.Name, u.Key, u.UploadID); err != nil {
				return s.failed("give up the upload of", short, err)
			}
		}
		if !listed.IsTruncated {
			return nil
		}
		key, upload = listed.NextKeyMarker, listed.NextUploadIDMarker
	}
}

// limited reads a part of a file no faster than the declared rate.
func (s *Store) limited(ctx context.Context, f *os.File, at, bytes int64) io.Reader {
	section := io.NewSectionReader(f, at, bytes)
	if s.sent == nil {
		return section
	}
	return &limited{SectionReader: section, ctx: ctx, rate: s.sent}
}

// limited can be read again from its beginning, as the library does when a request is repeated; then it counts again.
type limited struct {
	*io.SectionReader
	ctx  context.Context
	rate *rate.Limiter
}

func (l *limited) Read(p []byte) (int, error) {
	if len(p) > l.rate.Burst() {
		p = p[:l.rate.Burst()]
	}
	n, err := l.SectionReader.Read(p)
	if n > 0 {
		if wait := l.rate.WaitN(l.ctx, n); wait != nil {
			return 0, wait
		}
	}
	return n, err
}
