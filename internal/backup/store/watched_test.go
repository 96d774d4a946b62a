// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// short is how long nothing may go on a connection here. What goes on does so much more often, and must within it on a
// machine that is busy with other things.
const short = 4 * time.Second

// stalling is an empty store whose handler of objects a test has.
func stalling(t *testing.T, handler http.HandlerFunc) *Store {
	t.Helper()
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("list-type") {
			_, _ = io.WriteString(w, "<ListBucketResult></ListBucketResult>")
			return
		}
		handler(w, r)
	})
}

// answering has a store whose every answer is the handler's.
func answering(t *testing.T, handler http.HandlerFunc) *Store {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	s, err := open(Bucket{Endpoint: server.URL, Name: "backups", AccessKey: "tester", SecretKey: "tester-key"}, short)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func answered(w http.ResponseWriter, bytes int) {
	w.Header().Set("Content-Length", strconv.Itoa(bytes))
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("ETag", "\"0\"")
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A store that stops in the middle of a body ends the read.
func TestABodyThatStallsEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ended := make(chan struct{})
	s := stalling(t, func(w http.ResponseWriter, r *http.Request) {
		answered(w, 1<<20)
		if r.Method == http.MethodHead {
			return
		}
		_, _ = w.Write(make([]byte, 1000))
		w.(http.Flusher).Flush()
		<-ended
	})
	t.Cleanup(func() { close(ended) })
	begin := time.Now()
	_, _, err := s.Sum(t.Context(), "a", nil)
	g.Expect(isTimeout(err)).To(BeTrue(), "%v", err)
	g.Expect(time.Since(begin)).To(BeNumerically(">=", short))
	_, err = s.Read(t.Context(), "a", 1<<20)
	g.Expect(isTimeout(err)).To(BeTrue(), "%v", err)
}

// A store that does not read what it is sent ends the upload.
func TestABodyThatNobodyReadsEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ended := make(chan struct{})
	s := stalling(t, func(http.ResponseWriter, *http.Request) { <-ended })
	t.Cleanup(func() { close(ended) })
	file := filepath.Join(t.TempDir(), "1.bak")
	g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
	g.Expect(os.Truncate(file, partLeast)).To(Succeed())
	begin := time.Now()
	// Whether the write says so, or the read whose end closes the connection under it, is a matter of luck.
	g.Expect(s.Upload(t.Context(), "a", file, nil)).NotTo(Succeed())
	g.Expect(time.Since(begin)).To(BeNumerically(">=", short))
}

// One that is slow, and goes on, is waited for; so is an upload whose answer comes long after its first byte went.
func TestABodyThatGoesOnDoesNotEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const steps = 8
	s := stalling(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			for part := make([]byte, 512<<10); ; time.Sleep(short / 20) {
				if _, err := io.ReadFull(r.Body, part); err != nil {
					break
				}
			}
			answered(w, 0)
			return
		}
		answered(w, steps)
		if r.Method == http.MethodHead {
			return
		}
		for range steps {
			_, _ = w.Write([]byte{0})
			w.(http.Flusher).Flush()
			time.Sleep(short / 5)
		}
	})
	begin := time.Now()
	bytes, _, err := s.Sum(t.Context(), "a", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes).To(BeEquivalentTo(steps))
	g.Expect(time.Since(begin)).To(BeNumerically(">", short))
	file := filepath.Join(t.TempDir(), "1.bak")
	g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
	g.Expect(os.Truncate(file, 12<<20)).To(Succeed())
	begin = time.Now()
	g.Expect(s.Upload(t.Context(), "a", file, nil)).To(Succeed())
	g.Expect(time.Since(begin)).To(BeNumerically(">", short))
}

// A deadline that somebody sets counts beside that of a connection on which nothing goes.
func TestAConnectionKeepsADeadlineThatIsSet(t *testing.T) {
	g := NewWithT(t)
	one, other := net.Pipe()
	defer func() { _ = other.Close() }()
	w := &watched{Conn: one, idle: time.Hour}
	g.Expect(w.SetDeadline(time.Now().Add(10 * time.Millisecond))).To(Succeed())
	_, err := w.Read(make([]byte, 1))
	g.Expect(isTimeout(err)).To(BeTrue(), "%v", err)
}
