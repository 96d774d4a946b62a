// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"
)

const soon = time.Minute

func (g *gate) waits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

func TestGate(t *testing.T) {
	g := NewWithT(t)
	var l gate
	l.resize(1)
	g.Expect(l.enter(t.Context(), "")).To(Succeed())
	over, cancel := context.WithCancel(t.Context())
	gaveUp, entered := make(chan error, 1), make(chan error, 1)
	go func() { gaveUp <- l.enter(over, "") }()
	g.Eventually(l.waits, soon).Should(Equal(1))
	go func() { entered <- l.enter(t.Context(), "") }()
	g.Eventually(l.waits, soon).Should(Equal(2))
	cancel()
	g.Eventually(gaveUp, soon).Should(Receive(MatchError(context.Canceled)))
	l.leave("")
	g.Eventually(entered, soon).Should(Receive(BeNil()), "who gave up is passed over")
	go func() { entered <- l.enter(t.Context(), "") }()
	g.Eventually(l.waits, soon).Should(Equal(1))
	l.resize(2)
	g.Eventually(entered, soon).Should(Receive(BeNil()))
	l.leave("")
	l.leave("")
	g.Expect(l.used).To(BeZero())
	g.Expect(l.inside).To(BeEmpty())
	g.Expect(l.enter(over, "")).To(MatchError(context.Canceled))
}

// Who has the fewest inside is next, however long others wait already.
func TestGateIsFair(t *testing.T) {
	g := NewWithT(t)
	var l gate
	l.resize(2)
	for range 2 {
		g.Expect(l.enter(t.Context(), "many")).To(Succeed())
	}
	order := make(chan string, 3)
	for n, who := range []string{"many", "many", "one"} {
		go func() {
			if l.enter(t.Context(), who) == nil {
				order <- who
			}
		}()
		g.Eventually(l.waits, soon).Should(Equal(n + 1))
	}
	l.leave("many")
	g.Eventually(order, soon).Should(Receive(Equal("one")))
	l.leave("many")
	g.Eventually(order, soon).Should(Receive(Equal("many")))
}

// stuck is a receiver that takes nothing.
type stuck struct {
	http.ResponseWriter
	ctx     context.Context
	reached chan struct{}
}

func (s *stuck) Write([]byte) (int, error) {
	select {
	case s.reached <- struct{}{}:
	default:
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// Who takes nothing of what is sent keeps no worker of the source from the others.
func TestASlowReceiver(t *testing.T) {
	g := NewWithT(t)
	content := noise(1, 1<<20)
	sum := Sum(sha256.Sum256(content)).String()
	asked := &Request{Spans: []Span{{Path: "a", Length: 1 << 20, SHA256: sum}}}
	files := fstest.MapFS{"a": {Data: content}}
	limits := NewLimits()
	limits.Set(Settings{Workers: 1})
	source := NewSource(limits)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, maxStreams)
	reached := make(chan struct{}, 1)
	send := func(ctx context.Context, w http.ResponseWriter, receiver string) error {
		return source.Send(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), receiver, asked, files.Open)
	}
	// All streams but one.
	for range maxStreams - 1 {
		go func() { ended <- send(ctx, &stuck{httptest.NewRecorder(), ctx, reached}, "slow") }()
		g.Eventually(reached, soon).Should(Receive())
	}
	bounded, done := context.WithTimeout(t.Context(), soon)
	defer done()
	answer := httptest.NewRecorder()
	g.Expect(send(bounded, answer, "fast")).To(Succeed())
	g.Expect(answer.Body.Len()).To(Equal(1<<20 + frameHead))
	cancel()
	for range maxStreams - 1 {
		g.Eventually(ended, soon).Should(Receive(MatchError(context.Canceled)))
	}
	g.Expect(source.streams.used).To(BeZero())
	g.Expect(limits.gate.used).To(BeZero())
}

// mute is a source of which each request ends when it is told to, without an answer.
type mute struct{ asked, end chan struct{} }

func (m *mute) Ask(context.Context, *Request) (io.ReadCloser, error) {
	m.asked <- struct{}{}
	<-m.end
	return nil, errors.New("nothing came")
}

// A source from which nothing comes keeps no more workers from another one than it has already.
func TestASlowSource(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	contents := map[string][]byte{"a": noise(1, 5*batchSize)}
	files := p.describe(t, contents)
	limits := NewLimits()
	limits.Set(Settings{Workers: 2})
	slow := &mute{asked: make(chan struct{}, 10), end: make(chan struct{})}
	ended := make(chan error, 2)
	// Two of one source, so that one more of it waits with each turn that ends.
	for range 2 {
		former := p.transfer(t.TempDir(), files)
		former.Source, former.Remote, former.Limits = "slow", slow, limits
		go func() { ended <- former.Run(t.Context()) }()
	}
	for range 2 {
		g.Eventually(slow.asked, soon).Should(Receive())
	}
	g.Eventually(limits.gate.waits, soon).Should(Equal(2))
	job := p.transfer(t.TempDir(), files)
	job.Source, job.Limits = "fast", limits
	brought := make(chan error, 1)
	go func() { brought <- job.Run(t.Context()) }()
	g.Eventually(limits.gate.waits, soon).Should(Equal(3))
	slow.end <- struct{}{}
	g.Eventually(brought, soon).Should(Receive(BeNil()), "one turn has ended")
	close(slow.end)
	for range 2 {
		g.Eventually(ended, soon).Should(Receive(MatchError(ContainSubstring("nothing came"))))
	}
	g.Expect(limits.gate.used).To(BeZero())
}

// Whether bytes are compressed for one receiver says nothing of another: each has its own link.
func TestReceiversAreJudgedApart(t *testing.T) {
	g := NewWithT(t)
	content := rows(1, 1<<20)
	files := fstest.MapFS{"a": {Data: content}}
	source := NewSource(NewLimits())
	kind := func(receiver string, link int64) byte {
		span := Span{Path: "a", Length: 1 << 20, SHA256: Sum(sha256.Sum256(content)).String()}
		asked := &Request{Spans: []Span{span}, Link: link}
		answer := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		g.Expect(source.Send(answer, request, receiver, asked, files.Open)).To(Succeed())
		return answer.Body.Bytes()[0]
	}
	for range 5 {
		kind("beside", 1<<50)
	}
	g.Expect(source.packer.judges["beside"].skips).To(BeNumerically(">", 0))
	for range 5 {
		g.Expect(kind("afar", 1<<10)).To(BeEquivalentTo(frameZstd))
	}
	source.Keep(func(receiver string) bool { return receiver == "afar" })
	g.Expect(source.packer.judges).To(And(HaveLen(1), HaveKey("afar")))
}

// endless is a file without end, which ends ctx when it has been read for a while.
type endless struct {
	fs.File
	left   int
	cancel func()
}

func (e *endless) Read(b []byte) (int, error) {
	if e.left--; e.left == 0 {
		e.cancel()
	}
	clear(b)
	return len(b), nil
}

// However long a file is, reading it ends when nobody waits for it any more; who does has it read.
func TestLongReadsEnd(t *testing.T) {
	for name, chunks := range map[string]bool{"for its chunks": true, "for its checksum": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			files := fstest.MapFS{"a": {Data: []byte("abc")}}
			ctx, cancel := context.WithCancel(t.Context())
			opened := make(chan struct{}, 10)
			open := func(name string) (fs.File, error) {
				file, err := files.Open(name)
				opened <- struct{}{}
				return &endless{File: file, left: 10, cancel: cancel}, err
			}
			x := NewIndex()
			ended := make(chan error, 1)
			go func() { _, err := x.Describe(ctx, open, "a", chunks); ended <- err }()
			for range 2 {
				g.Eventually(opened, soon).Should(Receive())
			}
			file, err := x.Describe(t.Context(), files.Open, "a", chunks)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(file.Size).To(Equal(int64(3)))
			g.Eventually(ended, soon).Should(Receive(MatchError(context.Canceled)))
		})
	}
}

// More chunks than an index may keep are not kept, and what was forgotten makes room.
func TestAnIndexIsBounded(t *testing.T) {
	g := NewWithT(t)
	files := fstest.MapFS{"a": {Data: noise(1, 6<<20)}, "b": {Data: noise(2, 6<<20)}}
	x := NewIndex()
	x.most = 8
	describe := func(name string) File {
		file, err := x.Describe(t.Context(), files.Open, name, true)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(file.Size).To(Equal(int64(6 << 20)))
		return file
	}
	a := describe("a")
	g.Expect(a.Described()).To(BeTrue())
	g.Expect(describe("b").Described()).To(BeFalse())
	g.Expect(x.Chunks()).To(Equal(len(a.Chunks)))
	x.Forget(func(string) bool { return true })
	g.Expect(x.Chunks()).To(BeZero())
	b := describe("b")
	g.Expect(b.Described()).To(BeTrue())
	x.Doubt("b", Span{Path: "b", Offset: 0, SHA256: a.SHA256})
	g.Expect(x.Len()).To(Equal(1), "nobody has promised that")
	x.Doubt("b", Span{Path: "b", Offset: int64(b.Chunks[0].Length), SHA256: b.Chunks[1].Sum.String()})
	g.Expect(x.Len()).To(BeZero())
}

// Chunks that are equal cost no more than others.
func TestManyEqualChunks(t *testing.T) {
	g := NewWithT(t)
	const n = 400_000
	one := Chunk{Length: 1, Sum: sha256.Sum256([]byte("a"))}
	chunks := make(Chunks, n)
	for i := range chunks {
		chunks[i] = one
	}
	file := File{Path: "a", Size: n, SHA256: one.Sum.String(), Chunks: chunks}
	pieces, err := piecesOf([]File{file})
	g.Expect(err).NotTo(HaveOccurred())
	root, err := os.OpenRoot(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	defer root.Close()
	s := newState(root, []File{file}, pieces)
	g.Expect(s.begin("mark")).To(Succeed())
	defer s.close()
	asked := make(chan int, 1)
	go func() {
		n := 0
		for batch := range s.batches() {
			n += len(batch)
		}
		for _, p := range pieces {
			if !s.wanted(p.sum) {
				n = 0
			}
		}
		asked <- n
	}()
	g.Eventually(asked, soon).Should(Receive(Equal(1)))
	for i := range n - 1 {
		s.done[i], s.lacks[0] = true, s.lacks[0]-1
	}
	g.Expect(s.missing(one.Sum)).To(Equal([]int32{n - 1}))
	g.Expect(s.mark(n - 1)).To(Succeed())
	g.Expect(s.missing(one.Sum)).To(BeEmpty())
	g.Expect(s.wanted(one.Sum)).To(BeFalse())
}

// What cannot be read is not proven to be another file.
func TestWhatCannotBeReadIsNotDifferent(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	content := []byte("abc")
	files := []File{{Path: "a", Size: 3, SHA256: Sum(sha256.Sum256(content)).String()}}
	whole := func(ctx context.Context) (bool, error) {
		is, _, err := NewLimits().Whole(ctx, "", dir, "", files)
		return is, err
	}
	g.Expect(whole(t.Context())).To(BeFalse(), "it is missing")
	write(t, dir, map[string][]byte{"a": content})
	g.Expect(whole(t.Context())).To(BeTrue())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := whole(over)
	g.Expect(err).To(MatchError(context.Canceled))
	write(t, dir, map[string][]byte{"a": []byte("abd")})
	g.Expect(whole(t.Context())).To(BeFalse(), "it is another one")
	write(t, dir, map[string][]byte{"a": []byte("ab")})
	g.Expect(whole(t.Context())).To(BeFalse())
	g.Expect(os.Remove(dir + "/a")).To(Succeed())
	g.Expect(os.Symlink("a", dir+"/a")).To(Succeed())
	_, err = whole(t.Context())
	g.Expect(err).To(HaveOccurred())
}

// A folder in place is read for its checksums in turn with transfers, and not at all where its record tells of it.
func TestAFolderInPlaceIsReadInTurn(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	files := p.describe(t, map[string][]byte{"a.bcp": noise(1, 1000)})
	limits := NewLimits()
	for range readers {
		g.Expect(limits.disk.enter(t.Context(), "another")).To(Succeed())
	}
	ask := func(record string) (bool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		whole, _, err := limits.Whole(ctx, "dist-0", p.dir, record, files)
		return whole, err
	}
	_, err := ask("")
	g.Expect(err).To(MatchError(context.DeadlineExceeded))

	recorded, err := NewRecord(p.dir, files)
	g.Expect(err).NotTo(HaveOccurred())
	content, err := recorded.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	record := filepath.Join(t.TempDir(), "record")
	g.Expect(os.WriteFile(record, content, 0o600)).To(Succeed())
	whole, err := ask(record)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(whole).To(BeTrue())

	limits.disk.leave("another")
	whole, err = ask("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(whole).To(BeTrue())
}
