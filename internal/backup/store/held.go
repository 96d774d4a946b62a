// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/minio/minio-go/v7"
)

// holds says whether there is an object of the key with the file's bytes, by its size and its ETag: the MD5 of the
// bytes, or that of its parts' MD5s. A store whose ETags are something else holds nothing, and gets the file again. A
// list is asked: rights to list that are those of a prefix do not tell of a single object that it is not there. other
// says that there is one that is not known to have them.
func (s *Store) holds(ctx context.Context, key string, f io.ReaderAt, size int64) (held, other bool, err error) {
	listing, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range s.core.Client.ListObjects(listing, s.bucket.Name, minio.ListObjectsOptions{Prefix: key}) {
		switch {
		case o.Err != nil:
			return false, false, fmt.Errorf("look whether it is there: %w", o.Err)
		case o.Key == key:
			held, err := sameFile(ctx, o, f, size)
			return held, !held && err == nil, err
		}
	}
	return false, false, ctx.Err()
}

// sameFile says whether an object has the bytes of a file, which is read for it where the object may.
func sameFile(ctx context.Context, o minio.ObjectInfo, f io.ReaderAt, size int64) (bool, error) {
	sum, parts, inParts := strings.Cut(o.ETag, "-")
	each := partSize(size)
	count := (size + each - 1) / each
	if o.Size != size || len(sum) != 2*md5.Size || inParts != (size > partLeast) || inParts && parts != fmt.Sprint(count) {
		return false, nil
	}
	if !inParts {
		is, err := md5Of(f, 0, size)
		return strings.EqualFold(sum, hex.EncodeToString(is)), err
	}
	all := md5.New()
	for at := int64(0); at < size; at += each {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		part, err := md5Of(f, at, min(each, size-at))
		if err != nil {
			return false, err
		}
		_, _ = all.Write(part) // a hash takes everything
	}
	return strings.EqualFold(sum, hex.EncodeToString(all.Sum(nil))), nil
}

// md5Of is the MD5 of a part of a file.
func md5Of(f io.ReaderAt, at, bytes int64) ([]byte, error) {
	sum := md5.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, at, bytes)); err != nil {
		return nil, fmt.Errorf("read a part of what is to be stored: %w", err)
	}
	return sum.Sum(nil), nil
}
