// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// slowStore is a store with one object whose upload is complete before the answer comes, which is lost.
type slowStore struct {
	size int64
	// former is the size of what is there before; 0 is nothing.
	former int64

	mu    sync.Mutex
	has   int64
	parts int
	ended bool
}

func (s *slowStore) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("uploads"):
		_, _ = io.WriteString(w, "<ListMultipartUploadsResult></ListMultipartUploadsResult>")
	case r.Method == http.MethodGet && s.former > 0:
		_, _ = fmt.Fprintf(w, "<ListBucketResult><Contents><Key>%s</Key><Size>%d</Size><ETag>%032d-2</ETag></Contents>"+
			"</ListBucketResult>", q.Get("prefix"), s.former, 0)
	case r.Method == http.MethodDelete && !q.Has("uploadId"):
		s.former = 0
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, "<ListBucketResult></ListBucketResult>")
	case r.Method == http.MethodPost && q.Has("uploads"):
		_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPut:
		_, _ = io.Copy(io.Discard, r.Body)
		s.parts++
		w.Header().Set("ETag", `"part`+strconv.Itoa(s.parts)+`"`)
	case r.Method == http.MethodPost && !s.ended:
		s.ended, s.has = true, s.size
		panic(http.ErrAbortHandler)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchUpload</Code></Error>")
	case r.Method == http.MethodHead && max(s.has, s.former) > 0:
		answered(w, int(max(s.has, s.former)))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// An upload that is complete, though the answer was lost, is not begun anew: it may have terabytes.
func TestAnUploadWhoseEndIsNotAnsweredIsComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "1.bak")
	const size = partLeast + 1
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	for why, row := range map[string]struct {
		size, former int64
		done         bool
	}{"it is there": {size: size, done: true}, "it is not there": {}, "it is not all there": {size: partLeast},
		"another is there": {former: size}, "another was there": {size: size, former: size, done: true}} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			fake := &slowStore{size: row.size, former: row.former}
			err := answering(t, fake.serve).Upload(t.Context(), "set/1.bak", file, nil)
			if !row.done {
				g.Expect(err).To(MatchError(ContainSubstring("upload")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(fake.parts).To(Equal(2))
		})
	}
}
