// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// listedMost is how many objects one answer has at most.
const listedMost = 1000

type listedObject struct {
	Key          string
	LastModified time.Time
	ETag         string
	Size         int64
}

type commonPrefix struct{ Prefix string }

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name, Prefix          string
	Delimiter             string `xml:",omitempty"`
	EncodingType          string `xml:",omitempty"`
	KeyCount, MaxKeys     int
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listedObject
	CommonPrefixes        []commonPrefix
}

// errEnough ends a walk.
var errEnough = errors.New("an answer has no more")

// walk goes through a store's objects.
type walk struct {
	q      *request
	prefix string
	flat   bool
	after  []string
	most   int

	answer *listing
	last   string
}

// listObjects answers with the objects whose keys begin with a prefix, folder by folder.
func (q *request) listObjects() error {
	query := q.URL.Query()
	most, err := strconv.Atoi(cmp.Or(query.Get("max-keys"), strconv.Itoa(listedMost)))
	if err != nil || most < 0 {
		return refuse(http.StatusBadRequest, "InvalidArgument", "max-keys is a number")
	}
	delimiter := query.Get("delimiter")
	if delimiter != "" && delimiter != "/" {
		return refuse(http.StatusNotImplemented, "NotImplemented", "folders are parted by slashes alone")
	}
	w := &walk{q: q, prefix: q.key, flat: delimiter == "", most: min(cmp.Or(most, listedMost), listedMost),
		answer: &listing{Name: Bucket, Prefix: q.coded(q.key), Delimiter: delimiter, EncodingType: query.Get("encoding-type"),
			MaxKeys: most}}
	if token := query.Get("continuation-token"); token != "" {
		after, err := url.QueryUnescape(token)
		if err != nil {
			return refuse(http.StatusBadRequest, "InvalidArgument", "that is no token of a list")
		}
		w.after = strings.Split(after, "/")
	}
	folder, _ := path.Split(q.key)
	folder = strings.TrimSuffix(folder, "/")
	switch {
	case folder == "":
		folder = "."
	case !fs.ValidPath(folder) || strings.ContainsRune(q.key, 0):
		return refuse(http.StatusBadRequest, "InvalidArgument", "%q is no prefix of keys", q.key)
	}
	err = w.folder(folder)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if errors.Is(err, errEnough) {
		w.answer.IsTruncated, w.answer.NextContinuationToken = true, url.QueryEscape(w.last)
	}
	w.answer.KeyCount = len(w.answer.Contents) + len(w.answer.CommonPrefixes)
	respond(q.w, http.StatusOK, w.answer)
	return nil
}

// coded is a key as an answer has it.
func (q *request) coded(key string) string {
	if q.URL.Query().Get("encoding-type") == "url" {
		return url.QueryEscape(q.before + key)
	}
	return q.before + key
}

// folder goes through a folder of objects.
func (w *walk) folder(folder string) error {
	entries, err := fs.ReadDir(w.q.root.FS(), path.Join(objectsDir, folder))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		// A folder that is not there has nothing. Where that of all objects is not, nobody knows what there was.
		_, err = w.q.root.Stat(objectsDir)
	}
	if err != nil {
		return fmt.Errorf("list objects: %w", err)
	}
	for _, e := range entries {
		key := path.Join(folder, e.Name())
		switch {
		case w.passed(key, e.IsDir()):
		case e.IsDir() && (strings.HasPrefix(key, w.prefix) || strings.HasPrefix(w.prefix, key+"/")):
			err = w.below(key)
		case strings.HasPrefix(key, w.prefix) && e.Type().IsRegular():
			err = w.add(key, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passed says that an earlier answer had a key, or all of a folder.
func (w *walk) passed(key string, folder bool) bool {
	if w.after == nil {
		return false
	}
	parts := strings.Split(key, "/")
	order := slices.Compare(parts, w.after[:min(len(parts), len(w.after))])
	if folder && w.flat {
		return order < 0
	}
	return order < 0 || order == 0 && len(parts) >= len(w.after)
}

func (w *walk) below(key string) error {
	if w.flat {
		return w.folder(key)
	}
	if err := w.enough(); err != nil {
		return err
	}
	w.last = key
	w.answer.CommonPrefixes = append(w.answer.CommonPrefixes, commonPrefix{w.q.coded(key + "/")})
	return nil
}

func (w *walk) add(key string, e fs.DirEntry) error {
	if err := w.enough(); err != nil {
		return err
	}
	info, err := e.Info()
	if err != nil {
		return gone(err)
	}
	w.last = key
	w.answer.Contents = append(w.answer.Contents, listedObject{Key: w.q.coded(key), LastModified: info.ModTime().UTC(),
		ETag: `"` + w.q.tag(key, info) + `"`, Size: info.Size()})
	return nil
}

func (w *walk) enough() error {
	if len(w.answer.Contents)+len(w.answer.CommonPrefixes) >= w.most {
		return errEnough
	}
	return nil
}
