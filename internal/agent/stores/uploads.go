// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"bufio"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An upload is a folder with what it is to be, its bytes, and a journal of its parts. A part is written to where it
// belongs in the file: once all are there it has its name, and nothing is copied. So part 1 comes first, and all but
// the last have its size.
const (
	uploadAbout = "about.json"
	uploadData  = "data"
	uploadParts = "parts"
	// partsMost and uploadsMost are how many parts an upload, and how many uploads a store has at most.
	partsMost, uploadsMost = 10_000, 1000
	// completionBytes bounds the list of parts that ends an upload.
	completionBytes = 4 << 20
)

// uploading is what an upload is to be.
type uploading struct {
	Key   string    `json:"key"`
	Begun time.Time `json:"begun"`
}

// part is a line of the journal; the last of a number counts. Without a sum it is being written.
type part struct {
	Number int       `json:"number"`
	Bytes  int64     `json:"bytes"`
	Sum    string    `json:"sum,omitempty"`
	Stored time.Time `json:"stored"`
}

var errNoUpload = refuse(http.StatusNotFound, "NoSuchUpload", "it was completed or given up, or never begun")

// begin begins an upload.
func (q *request) begin() error {
	uploads, err := fs.ReadDir(q.root.FS(), uploadsDir)
	if err != nil {
		return fmt.Errorf("begin an upload: %w", err)
	}
	if len(uploads) >= uploadsMost {
		return refuse(http.StatusServiceUnavailable, "SlowDown", "%d uploads are not complete", len(uploads))
	}
	id := strings.ToLower(rand.Text())
	content, err := json.Marshal(uploading{Key: q.key, Begun: q.now().UTC()})
	if err != nil {
		return fmt.Errorf("begin an upload: %w", err)
	}
	folder := path.Join(newDir, id)
	err = q.root.Mkdir(folder, 0o750)
	for name, content := range map[string][]byte{uploadAbout: content, uploadData: nil, uploadParts: nil} {
		err = errors.Join(err, q.write(path.Join(folder, name), content))
	}
	err = errors.Join(err, q.flush(folder))
	if err == nil {
		err = errors.Join(q.root.Rename(folder, path.Join(uploadsDir, id)), q.flush(uploadsDir))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("begin an upload: %w", full(err)), q.root.RemoveAll(folder))
	}
	respond(q.w, http.StatusOK, struct {
		XMLName     xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key string
		UploadID    string `xml:"UploadId"`
	}{Bucket: Bucket, Key: q.before + q.key, UploadID: id})
	return nil
}

// write makes a file whose content is on disk before its folder has its name: after a power cut it would be empty.
func (s *shelf) write(file string, content []byte) error {
	f, err := s.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// folderOf is the folder of an upload of the key, which nobody else writes to until done is called.
func (q *request) folderOf(id string) (folder string, done func(), err error) {
	if id != path.Base(id) || strings.HasPrefix(id, ".") || strings.ContainsRune(id, 0) {
		return "", nil, errNoUpload
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy[id] {
		return "", nil, refuse(http.StatusServiceUnavailable, "SlowDown", "another part of it is being written")
	}
	folder = path.Join(uploadsDir, id)
	known, err := q.uploading(id)
	if err != nil {
		return "", nil, err
	}
	if known.Key != q.key {
		return "", nil, errNoUpload
	}
	q.busy[id] = true
	return folder, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.busy, id)
	}, nil
}

// uploading reads what an upload is to be. One whose bytes have their name already was completed as a life ended, and
// one that does not say what it is to be was begun as the power went: neither is one.
func (s *shelf) uploading(id string) (u uploading, err error) {
	content, err := s.root.ReadFile(path.Join(uploadsDir, id, uploadAbout))
	if err == nil {
		_, err = s.root.Stat(path.Join(uploadsDir, id, uploadData))
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && (json.Unmarshal(content, &u) != nil || u.Key == "") {
		return u, errNoUpload
	}
	return u, err
}

// parts reads a journal. A line that is not whole is of a life that ended as it wrote it.
func (s *shelf) parts(folder string) (map[int]part, error) {
	f, err := s.root.Open(path.Join(folder, uploadParts))
	if err != nil {
		return nil, fmt.Errorf("read the parts of an upload: %w", err)
	}
	defer func() { _ = f.Close() }()
	all := map[int]part{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var p part
		if json.Unmarshal(lines.Bytes(), &p) == nil && p.Number > 0 {
			all[p.Number] = p
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the parts of an upload: %w", err)
	}
	for number, p := range all {
		if p.Sum == "" && number != 1 {
			delete(all, number)
		}
	}
	return all, nil
}

// note writes a part down, durably. It begins with the end of a line: what is before may not be whole.
func (s *shelf) note(folder string, p part) error {
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := s.root.OpenFile(path.Join(folder, uploadParts), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + string(line) + "\n")
	return full(errors.Join(err, f.Sync(), f.Close()))
}

// putPart stores a part.
func (q *request) putPart(id string) error {
	number, err := strconv.Atoi(q.URL.Query().Get("partNumber"))
	if err != nil || number < 1 || number > partsMost {
		return refuse(http.StatusBadRequest, "InvalidArgument", "a part has a number from 1 to %d", partsMost)
	}
	bytes, err := q.length()
	if err != nil {
		return err
	}
	folder, done, err := q.folderOf(id)
	if err != nil {
		return err
	}
	defer done()
	each, err := q.partSize(folder, number, bytes)
	if err != nil {
		return err
	}
	ended, err := q.take(q.key, bytes)
	if err != nil {
		return err
	}
	more := int64(0)
	defer func() { ended(more) }()
	f, err := q.root.OpenFile(path.Join(folder, uploadData), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("store a part: %w", err)
	}
	defer func() { _ = f.Close() }()
	before, err := f.Stat()
	if err != nil {
		return fmt.Errorf("store a part: %w", err)
	}
	// What was there under its number is none any more once a byte of it is written over.
	if err := q.note(folder, part{Number: number, Bytes: bytes}); err != nil {
		return fmt.Errorf("store a part: %w", err)
	}
	q.at("part begun")
	sum, err := q.receive(io.NewOffsetWriter(f, int64(number-1)*each), bytes)
	after, unknown := f.Stat()
	if unknown == nil {
		more = after.Size() - before.Size()
	}
	if err = errors.Join(err, unknown); err == nil {
		err = full(f.Sync())
	}
	q.at("part written")
	if err != nil {
		return fmt.Errorf("store a part: %w", err)
	}
	tag := hex.EncodeToString(sum.Sum(nil))
	if err := q.note(folder, part{Number: number, Bytes: bytes, Sum: tag, Stored: q.now().UTC()}); err != nil {
		return fmt.Errorf("store a part: %w", err)
	}
	q.w.Header().Set("ETag", `"`+tag+`"`)
	q.w.WriteHeader(http.StatusOK)
	return nil
}

// partSize is how much each part of an upload has but for the last. Part 1 of another size begins it anew.
func (q *request) partSize(folder string, number int, bytes int64) (int64, error) {
	all, err := q.parts(folder)
	if err != nil {
		return 0, err
	}
	first, there := all[1]
	switch {
	case number == 1 && there && first.Bytes != bytes:
		data, journal := path.Join(folder, uploadData), path.Join(folder, uploadParts)
		if err := errors.Join(q.truncate(journal), q.truncate(data)); err != nil {
			return 0, fmt.Errorf("begin an upload anew: %w", err)
		}
		return bytes, nil
	case number == 1:
		return bytes, nil
	case !there:
		return 0, refuse(http.StatusBadRequest, "InvalidPartOrder", "part 1 comes first")
	case bytes > first.Bytes || bytes == 0:
		return 0, refuse(http.StatusBadRequest, "InvalidArgument", "part 1 has %d bytes, and part %d has %d", first.Bytes,
			number, bytes)
	}
	return first.Bytes, nil
}

func (s *shelf) truncate(name string) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type listedPart struct {
	PartNumber   int
	LastModified time.Time
	ETag         string
	Size         int64
}

// listParts answers with the parts of an upload.
func (q *request) listParts(id string) error {
	u, err := q.uploading(path.Base(id))
	if err != nil {
		return err
	}
	if u.Key != q.key {
		return errNoUpload
	}
	all, err := q.parts(path.Join(uploadsDir, path.Base(id)))
	if err != nil {
		return err
	}
	after, _ := strconv.Atoi(q.URL.Query().Get("part-number-marker")) // none is from the first on
	answer := struct {
		XMLName              xml.Name `xml:"ListPartsResult"`
		Bucket, Key          string
		UploadID             string `xml:"UploadId"`
		PartNumberMarker     int
		NextPartNumberMarker int
		MaxParts             int
		IsTruncated          bool
		Part                 []listedPart
	}{Bucket: Bucket, Key: q.before + q.key, UploadID: id, PartNumberMarker: after, MaxParts: listedMost}
	numbers := []int{}
	for number, p := range all {
		if number > after && p.Sum != "" {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		if answer.IsTruncated = len(answer.Part) == listedMost; answer.IsTruncated {
			break
		}
		p := all[number]
		answer.NextPartNumberMarker = number
		answer.Part = append(answer.Part, listedPart{number, p.Stored, `"` + p.Sum + `"`, p.Bytes})
	}
	respond(q.w, http.StatusOK, answer)
	return nil
}

type listedUpload struct {
	Key       string
	UploadID  string `xml:"UploadId"`
	Initiated time.Time
}

// listUploads answers with all uploads that are not complete.
func (q *request) listUploads() error {
	entries, err := fs.ReadDir(q.root.FS(), uploadsDir)
	if err != nil {
		return fmt.Errorf("list uploads: %w", err)
	}
	answer := struct {
		XMLName      xml.Name `xml:"ListMultipartUploadsResult"`
		Bucket       string
		Prefix       string
		EncodingType string `xml:",omitempty"`
		MaxUploads   int
		IsTruncated  bool
		Upload       []listedUpload
	}{Bucket: Bucket, Prefix: q.coded(q.key), EncodingType: q.URL.Query().Get("encoding-type"), MaxUploads: uploadsMost}
	for _, e := range entries {
		u, err := q.uploading(e.Name())
		switch {
		case errors.Is(err, errNoUpload):
			q.mu.Lock()
			if !q.busy[e.Name()] {
				err = q.root.RemoveAll(path.Join(uploadsDir, e.Name()))
			}
			q.mu.Unlock()
			if err != nil && !errors.Is(err, errNoUpload) {
				return fmt.Errorf("list uploads: %w", err)
			}
		case err != nil: // the others are not kept back for it
			q.log.Warn("an upload cannot be read, and is not listed", "store", q.name, "upload", e.Name(), "error", err)
		case strings.HasPrefix(u.Key, q.key):
			answer.Upload = append(answer.Upload, listedUpload{q.coded(u.Key), e.Name(), u.Begun})
		}
	}
	slices.SortFunc(answer.Upload, func(a, b listedUpload) int {
		return strings.Compare(a.Key+"\x00"+a.UploadID, b.Key+"\x00"+b.UploadID)
	})
	respond(q.w, http.StatusOK, answer)
	return nil
}

// complete makes the object of an upload whose parts are all there.
func (q *request) complete(id string) error {
	var asked struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.NewDecoder(io.LimitReader(q.Body, completionBytes)).Decode(&asked); err != nil {
		return refuse(http.StatusBadRequest, "MalformedXML", "a list of parts is expected")
	}
	folder, done, err := q.folderOf(id)
	if err != nil {
		return err
	}
	defer done()
	all, err := q.parts(folder)
	if err != nil {
		return err
	}
	sum, bytes := md5.New(), int64(0)
	for i, p := range asked.Part {
		stored, there := all[i+1]
		digest, unread := hex.DecodeString(stored.Sum)
		if p.PartNumber != i+1 || !there || unread != nil || stored.Sum == "" ||
			strings.Trim(p.ETag, `"`) != stored.Sum || i+1 < len(asked.Part) && stored.Bytes != all[1].Bytes {
			return refuse(http.StatusBadRequest, "InvalidPart", "part %d is not there as it is named", i+1)
		}
		_, _ = sum.Write(digest) // a hash takes everything
		bytes += stored.Bytes
	}
	if len(asked.Part) == 0 {
		return refuse(http.StatusBadRequest, "InvalidPart", "no part is named")
	}
	tag := fmt.Sprintf("%s-%d", hex.EncodeToString(sum.Sum(nil)), len(asked.Part))
	if err := q.end(folder, bytes, tag); err != nil {
		return err
	}
	respond(q.w, http.StatusOK, struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}{Bucket: Bucket, Key: q.before + q.key, ETag: `"` + tag + `"`})
	return nil
}

// end gives the bytes of an upload their name.
func (q *request) end(folder string, bytes int64, tag string) error {
	data := path.Join(folder, uploadData)
	f, err := q.root.OpenFile(data, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("complete an upload: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > bytes {
		err = f.Truncate(bytes) // of a part that was longer once
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("complete an upload: %w", err)
	}
	size := info.Size()
	more, err := q.place(data, tag, false)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used = max(q.used+more-size, 0)
	if err := errors.Join(q.root.RemoveAll(folder), q.flush(uploadsDir)); err != nil {
		return fmt.Errorf("complete an upload: %w", err)
	}
	return nil
}

// abort gives an upload up.
func (q *request) abort(id string) error {
	folder, done, err := q.folderOf(id)
	if err != nil {
		return err
	}
	defer done()
	size := int64(0)
	if info, err := q.root.Stat(path.Join(folder, uploadData)); err == nil {
		size = info.Size()
	}
	if err := errors.Join(q.root.RemoveAll(folder), q.flush(uploadsDir)); err != nil {
		return fmt.Errorf("give an upload up: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used = max(q.used-size, 0)
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
