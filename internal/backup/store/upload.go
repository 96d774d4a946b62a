// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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

// Upload stores a file that does not change any more; one that is there with its bytes is left as it is. An upload of
// it that was cut off goes on: parts that are there are kept when they have the file's bytes. progress is told how many
// bytes are stored, and may be nil.
func (s *Store) Upload(ctx context.Context, key, file string, progress func(bytes int64)) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	return s.UploadFrom(ctx, key, f, info.Size(), progress)
}

// UploadFrom is Upload of so many bytes that are the same whenever they are read.
func (s *Store) UploadFrom(
	ctx context.Context,
	key string,
	f io.ReaderAt,
	size int64,
	progress func(bytes int64),
) error {
	if progress == nil {
		progress = func(int64) {}
	}
	held, other, err := s.holds(ctx, s.key(key), f, size)
	switch {
	case err != nil:
		return s.failed("store", key, err)
	case held:
		progress(size)
		return nil
	case size <= partLeast:
		_, err := s.core.PutObject(ctx, s.bucket.Name, s.key(key), s.limited(ctx, f, 0, size), size, "", "",
			minio.PutObjectOptions{})
		if err == nil {
			progress(size)
		}
		return s.failed("store", key, err)
	case other:
		// One that stays may be taken for what an upload made whose end was not answered.
		err := s.core.RemoveObject(ctx, s.bucket.Name, s.key(key), minio.RemoveObjectOptions{})
		if err != nil {
			return s.failed("replace", key, err)
		}
	}
	return s.failed("store", key, s.uploadParts(ctx, s.key(key), f, size, progress))
}

func (s *Store) uploadParts(ctx context.Context, key string, f io.ReaderAt, size int64,
	progress func(int64)) error {
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
	if err != nil && s.completed(ctx, key, size) {
		return nil
	}
	return err
}

// completed says whether an upload whose end failed is complete all the same. A store may take minutes to put the parts
// of a large file together: the answer is lost by then, and whoever asks again hears that there is no such upload. What
// else had the key was removed before.
func (s *Store) completed(ctx context.Context, key string, size int64) bool {
	info, err := s.core.StatObject(ctx, s.bucket.Name, key, minio.StatObjectOptions{})
	return err == nil && info.Size == size
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
	parts, err = s.parts(ctx, key, newest.UploadID)
	if err != nil {
		return "", nil, fmt.Errorf("look for the parts of an upload that was cut off: %w", err)
	}
	return newest.UploadID, parts, nil
}

func (s *Store) parts(ctx context.Context, key, id string) (map[int]minio.ObjectPart, error) {
	parts := map[int]minio.ObjectPart{}
	for after := 0; ; {
		listed, err := s.core.ListObjectParts(ctx, s.bucket.Name, key, id, after, 1000)
		if err != nil {
			return nil, err
		}
		for _, p := range listed.ObjectParts {
			parts[p.PartNumber] = p
		}
		if !listed.IsTruncated {
			return parts, nil
		}
		after = listed.NextPartNumberMarker
	}
}

// sameBytes says whether a part that is stored has the bytes of the file, by its ETag, which is their MD5 unless the
// store says otherwise by its form.
func sameBytes(part minio.ObjectPart, f io.ReaderAt, at, bytes int64) (bool, error) {
	tag := strings.Trim(part.ETag, `"`)
	if part.Size != bytes || len(tag) != 2*md5.Size {
		return false, nil
	}
	is, err := md5Of(f, at, bytes)
	return strings.EqualFold(tag, hex.EncodeToString(is)), err
}

// Upload is one of a file that is not complete. No list of objects shows it, and its parts cost room.
type Upload struct {
	// Key of the object that it is to be, without the store's prefix.
	Key string
	// Moved is when something of it was last stored, by the store's clock: it was begun, or a part came.
	Moved time.Time

	key, id string
}

// Uploads are those below a prefix that are not complete. Of those that were begun before quiet, which may go on all
// the same, the parts are asked for.
func (s *Store) Uploads(ctx context.Context, prefix string, quiet time.Time) ([]Upload, error) {
	full, cut := s.below(prefix)
	var all []Upload
	for key, upload := "", ""; ; {
		listed, err := s.core.ListMultipartUploads(ctx, s.bucket.Name, full, key, upload, "", 1000)
		if err != nil {
			return nil, s.failed("list uploads of", prefix, err)
		}
		for _, u := range listed.Uploads {
			if !strings.HasPrefix(u.Key, full) {
				continue // a store may not heed the prefix
			}
			one := Upload{Key: strings.TrimPrefix(u.Key, cut), Moved: u.Initiated, key: u.Key, id: u.UploadID}
			if one.Moved.Before(quiet) {
				parts, err := s.parts(ctx, u.Key, u.UploadID)
				if err != nil {
					return nil, s.failed("list the parts of", one.Key, err)
				}
				for _, p := range parts {
					if p.LastModified.After(one.Moved) {
						one.Moved = p.LastModified
					}
				}
			}
			all = append(all, one)
		}
		if !listed.IsTruncated {
			return all, nil
		}
		key, upload = listed.NextKeyMarker, listed.NextUploadIDMarker
	}
}

// Abort gives an upload up. One that is complete or given up since is no error.
func (s *Store) Abort(ctx context.Context, u Upload) error {
	err := s.core.AbortMultipartUpload(ctx, s.bucket.Name, u.key, u.id)
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && answer.Code == "NoSuchUpload" {
		return nil
	}
	return s.failed("give up the upload of", u.Key, err)
}

// limited reads a part of a file no faster than the declared rate.
func (s *Store) limited(ctx context.Context, f io.ReaderAt, at, bytes int64) io.Reader {
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
