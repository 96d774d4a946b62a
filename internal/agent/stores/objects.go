// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// copied is how much is read and written at once.
const copied = 128 << 10

// about is what is known of an object beside its bytes. It counts for the file alone that has this size and time:
// between the two being written a life may end.
type about struct {
	Tag   string `json:"tag"`
	Bytes int64  `json:"bytes"`
	Time  int64  `json:"time"`
}

func objectFile(key string) string { return path.Join(objectsDir, key) }

// tag is an object's ETag: the MD5 of its bytes, or that of its parts' MD5s, or where that is not known one that says
// so by its form.
func (s *shelf) tag(key string, info fs.FileInfo) string {
	var known about
	content, err := s.root.ReadFile(path.Join(aboutDir, key))
	if err == nil && json.Unmarshal(content, &known) == nil && known.Bytes == info.Size() &&
		known.Time == info.ModTime().UnixNano() {
		return known.Tag
	}
	return "unknown-" + strconv.FormatInt(info.Size(), 16) + "-" + strconv.FormatInt(info.ModTime().UnixNano(), 16)
}

// get answers with an object, or a part of it.
func (q *request) get() error {
	f, err := q.root.Open(objectFile(q.key))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return q.none()
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return q.none()
	}
	q.w.Header().Set("ETag", `"`+q.tag(q.key, info)+`"`)
	q.w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(q.w, q.Request, "", info.ModTime(), f)
	return nil
}

// none says that there is no object of the key, unless the folder of all is not there.
func (q *request) none() error {
	if _, err := q.root.Stat(objectsDir); err != nil {
		return fmt.Errorf("look for an object: %w", err)
	}
	return refuse(http.StatusNotFound, "NoSuchKey", "there is no such object")
}

// length is that of what comes.
func (q *request) length() (int64, error) {
	coded := q.Header.Get("Content-Encoding") + q.Header.Get("X-Amz-Content-Sha256")
	switch {
	case strings.Contains(coded, "aws-chunked"), strings.Contains(coded, "STREAMING"):
		return 0, refuse(http.StatusNotImplemented, "NotImplemented", "content in signed pieces is not taken")
	case q.ContentLength < 0:
		return 0, refuse(http.StatusLengthRequired, "MissingContentLength", "how much comes has to be said before")
	}
	return q.ContentLength, nil
}

// receive writes what comes to a file, and returns its MD5. Less than was said is an error.
func (q *request) receive(into io.Writer, bytes int64) (hash.Hash, error) {
	sum := md5.New()
	n, err := io.CopyBuffer(plainWriter{io.MultiWriter(into, sum)}, io.LimitReader(q.Body, bytes), make([]byte, copied))
	if err != nil {
		return nil, full(err)
	}
	if n != bytes {
		return nil, refuse(http.StatusBadRequest, "IncompleteBody", "%d bytes came instead of %d", n, bytes)
	}
	return sum, nil
}

// plainWriter has nothing but Write, so that the buffer that is given is used.
type plainWriter struct{ io.Writer }

// put stores an object in one piece, in place of one of the key. Until it is whole, and on the disk, the one before is
// there.
func (q *request) put() error {
	bytes, err := q.length()
	if err != nil {
		return err
	}
	done, err := q.take(q.key, bytes)
	if err != nil {
		return err
	}
	more := int64(0)
	defer func() { done(more) }()
	name := path.Join(newDir, rand.Text())
	f, err := q.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return fmt.Errorf("store an object: %w", full(err))
	}
	defer func() { _ = q.root.Remove(name) }()
	sum, err := q.receive(f, bytes)
	if err == nil {
		err = full(f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("store an object: %w", err)
	}
	tag := hex.EncodeToString(sum.Sum(nil))
	if more, err = q.place(name, tag, q.Header.Get("If-None-Match") == "*"); err != nil {
		return err
	}
	q.w.Header().Set("ETag", `"`+tag+`"`)
	q.w.WriteHeader(http.StatusOK)
	return nil
}

// place gives a file that is whole its name, durably: what is known of it comes first, and counts once it is there. It
// says by how many bytes more there are in objects.
func (q *request) place(name, tag string, onlyNew bool) (more int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	to, beside := objectFile(q.key), path.Join(aboutDir, q.key)
	info, err := q.root.Stat(name)
	if err != nil {
		return 0, fmt.Errorf("store an object: %w", err)
	}
	more = info.Size()
	before, err := q.root.Stat(to)
	switch {
	case err == nil && before.IsDir():
		return 0, refuse(http.StatusBadRequest, "InvalidArgument", "%s is a folder", q.key)
	case err == nil && onlyNew:
		return 0, refuse(http.StatusPreconditionFailed, "PreconditionFailed", "there is such an object")
	case err == nil:
		more -= before.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("store an object: %w", err)
	}
	known, err := json.Marshal(about{Tag: tag, Bytes: info.Size(), Time: info.ModTime().UnixNano()})
	if err != nil {
		return 0, fmt.Errorf("store an object: %w", err)
	}
	for _, file := range []string{to, beside} {
		if err := q.folderFor(file); err != nil {
			return 0, fmt.Errorf("store an object: %w", full(err))
		}
	}
	aside := path.Join(newDir, rand.Text())
	if err := q.root.WriteFile(aside, known, 0o640); err != nil {
		return 0, errors.Join(fmt.Errorf("store an object: %w", full(err)), gone(q.root.Remove(aside)))
	}
	if err := q.root.Rename(aside, beside); err != nil {
		return 0, fmt.Errorf("store an object: %w", full(err))
	}
	q.at("known")
	if err := q.root.Rename(name, to); err != nil {
		return 0, fmt.Errorf("store an object: %w", full(err))
	}
	q.at("named")
	if err := errors.Join(q.flush(path.Dir(to)), q.flush(path.Dir(beside))); err != nil {
		return more, fmt.Errorf("store an object: %w", err)
	}
	return more, nil
}

// remove removes an object; one that is not there is removed.
func (q *request) remove() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	to, beside := objectFile(q.key), path.Join(aboutDir, q.key)
	info, err := q.root.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
	case err != nil:
		return fmt.Errorf("remove an object: %w", err)
	case info.Mode().IsRegular():
		if err := errors.Join(q.root.Remove(to), q.flush(path.Dir(to)), gone(q.root.Remove(beside))); err != nil {
			return fmt.Errorf("remove an object: %w", err)
		}
		q.used = max(q.used-info.Size(), 0)
		q.prune(to)
		q.prune(beside)
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
