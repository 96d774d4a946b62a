// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// peer is a source of files, over HTTP, on whose way things happen.
type peer struct {
	dir    string
	source *Source
	server *httptest.Server
	// allowed is how many bytes may still be sent before connections break.
	allowed atomic.Int64
	sent    atomic.Int64
	// spans counts how often each span was asked for.
	mu    sync.Mutex
	spans map[Span]int
	// pack, unless nil, keeps what is packed.
	pack *Pack
	// flip, unless nil, changes what is sent.
	flip func([]byte) []byte
	// reads, unless nil, is told of each span that is read.
	reads func()
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	p := &peer{dir: t.TempDir(), source: NewSource(NewLimits()), spans: map[Span]int{}}
	p.allowed.Store(1 << 60)
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked Request
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Check() != nil {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		for _, s := range asked.Spans {
			p.spans[s]++
		}
		p.mu.Unlock()
		_ = p.source.SendFrom(p.pack, &lossy{w, p}, r, "", &asked, p.open)
	}))
	p.server.Config.ErrorLog = nil
	p.server.Start()
	t.Cleanup(p.server.Close)
	return p
}

func (p *peer) open(name string) (fs.File, error) {
	file, err := os.Open(filepath.Join(p.dir, name))
	if err != nil || p.reads == nil {
		return file, err
	}
	return &told{file, p.reads}, nil
}

// told tells of each span that is read.
type told struct {
	*os.File

	reads func()
}

func (f *told) ReadAt(b []byte, offset int64) (int, error) {
	f.reads()
	return f.File.ReadAt(b, offset)
}

// lossy breaks a connection when no more bytes are allowed.
type lossy struct {
	http.ResponseWriter
	peer *peer
}

func (l *lossy) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *lossy) Write(b []byte) (int, error) {
	if l.peer.allowed.Add(-int64(len(b))) < 0 {
		panic(http.ErrAbortHandler)
	}
	l.peer.sent.Add(int64(len(b)))
	n := len(b)
	if l.peer.flip != nil {
		b = l.peer.flip(b)
	}
	_, err := l.ResponseWriter.Write(b)
	return n, err
}

// Ask implements Remote.
func (p *peer) Ask(ctx context.Context, asked *Request) (io.ReadCloser, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.server.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := p.server.Client().Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(errors.New(response.Status), response.Body.Close())
	}
	return response.Body, nil
}

// fatal is what tests and properties have in common.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

func write(t fatal, dir string, contents map[string][]byte) {
	t.Helper()
	for name, content := range contents {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// describe lists the files of a peer.
func (p *peer) describe(t fatal, contents map[string][]byte) (files []File) {
	t.Helper()
	write(t, p.dir, contents)
	index := NewIndex()
	for name := range contents {
		f, err := index.Describe(context.Background(), p.open, name, true)
		if err != nil {
			t.Fatal(err)
		}
		f.Path = name
		files = append(files, f)
	}
	return files
}

func (p *peer) transfer(dir string, files []File, seeds ...Seed) *Transfer {
	return &Transfer{Dir: dir, Files: files, Seeds: seeds, Index: NewIndex(), Remote: p, Limits: NewLimits(),
		Meter: NewMeter()}
}

// same says how a folder differs from what it is to have; empty when it does not.
func same(dir string, contents map[string][]byte) string {
	found := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		found++
		relative, _ := filepath.Rel(dir, name)
		content, err := os.ReadFile(name)
		if err == nil && !bytes.Equal(content, contents[filepath.ToSlash(relative)]) {
			err = fmt.Errorf("%s has other bytes", relative)
		}
		return err
	})
	if err == nil && found != len(contents) {
		err = fmt.Errorf("%d files instead of %d", found, len(contents))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func noise(seed byte, n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{seed})
	_, _ = source.Read(b)
	return b
}

// edits are random ones of a file.
func edits(t *rapid.T, old []byte) []byte {
	content := bytes.Clone(old)
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		at := rapid.IntRange(0, len(content)).Draw(t, "at")
		length := rapid.IntRange(0, 200<<10).Draw(t, "length")
		switch rapid.SampledFrom([]string{"insert", "remove", "change", "move"}).Draw(t, "kind") {
		case "insert":
			content = append(content[:at:at], append(noise(byte(length), length), content[at:]...)...)
		case "remove":
			content = append(content[:at:at], content[min(at+length, len(content)):]...)
		case "change":
			if at < len(content) {
				content[at] ^= 1
			}
		case "move":
			content = append(content[at:len(content):len(content)], content[:at]...)
		}
	}
	return content
}

// Whatever a file was before and was changed to, its chunks make it up, and what is brought is the file.
func TestFilesArriveWhateverWasThere(t *testing.T) {
	base := append(noise(1, 3<<19), rows(2, 3<<19)...)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "transfer")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		old := edits(t, base)
		contents := map[string][]byte{"sub/Article_2.bcp": edits(t, old), "Article_2.sch": []byte("CREATE"), "empty": nil}
		p := &local{dir: filepath.Join(dir, "source"), source: NewSource(NewLimits())}
		files := (&peer{dir: p.dir}).describe(t, contents)
		write(t, filepath.Join(dir, "before"), map[string][]byte{"Article_1.bcp": old})
		if rapid.Bool().Draw(t, "partly there") {
			write(t, filepath.Join(dir, "here"), map[string][]byte{"sub/Article_2.bcp": old, "other": old[:10]})
		}
		job := &Transfer{Dir: filepath.Join(dir, "here"), Files: files, Index: NewIndex(), Remote: p, Limits: NewLimits(),
			Meter: NewMeter(), Seeds: []Seed{{Dir: filepath.Join(dir, "before")}}}
		if err := job.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if differs := same(job.Dir, contents); differs != "" {
			t.Fatal(differs)
		}
		total := int64(0)
		for _, content := range contents {
			total += int64(len(content))
		}
		if progress := job.Meter.Progress(); progress.Here != total || progress.Reused > total {
			t.Fatal("counted", progress, "of", total)
		}
	})
}

// local is a source without a link.
type local struct {
	dir    string
	source *Source
}

func (l *local) Ask(ctx context.Context, asked *Request) (io.ReadCloser, error) {
	if err := asked.Check(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	err := l.source.Send(answer, request, "", asked, func(name string) (fs.File, error) {
		return os.Open(filepath.Join(l.dir, name))
	})
	return answer.Result().Body, err
}

func TestOnlyWhatIsNowhereIsFetched(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	old := noise(1, 32<<20)
	changed := append([]byte("a new row"), old...)
	changed[20<<20] ^= 1
	// The same bytes twice are fetched once.
	contents := map[string][]byte{"a.bcp": changed, "b.bcp": noise(2, 8<<20), "c.bcp": noise(2, 8<<20)}
	before := t.TempDir()
	write(t, before, map[string][]byte{"old/Article.bcp": old})
	job := p.transfer(t.TempDir(), p.describe(t, contents), Seed{Dir: filepath.Join(before, "none")}, Seed{Dir: before})
	g.Expect(job.Run(t.Context())).To(Succeed())
	g.Expect(same(job.Dir, contents)).To(BeEmpty())
	progress := job.Meter.Progress()
	g.Expect(p.sent.Load()).To(BeNumerically("<", 8<<20+2*maxChunk+1<<10))
	g.Expect(progress.Moved).To(BeNumerically("~", p.sent.Load(), 1<<10))
	g.Expect(progress.Here).To(BeEquivalentTo(len(changed) + 16<<20))
	g.Expect(progress.Reused).To(BeNumerically(">=", 40<<20-2*maxChunk))
}

// A cut in the middle costs the chunks under way alone, one of each stream.
func TestACutAtHalf(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	contents := map[string][]byte{"Article_2.bcp": noise(1, 128<<20)}
	files := p.describe(t, contents)
	dir := t.TempDir()
	p.allowed.Store(64 << 20)
	former := p.transfer(dir, files)
	former.Limits.Set(Settings{Workers: 1})
	g.Expect(former.Run(t.Context())).NotTo(Succeed())
	p.allowed.Store(1 << 60)
	// Another process goes on.
	job := p.transfer(dir, files)
	g.Expect(job.Run(t.Context())).To(Succeed())
	g.Expect(same(dir, contents)).To(BeEmpty())
	g.Expect(float64(p.sent.Load())).To(BeNumerically("<=", 1.05*128*(1<<20)))
	progress := job.Meter.Progress()
	g.Expect(progress.Reused+progress.Moved).To(BeNumerically("~", 128<<20, 1<<20), "what was there counts as reused")
	for span, times := range p.spans {
		g.Expect(times).To(BeNumerically("<=", 2), "%v", span)
	}
}

// A bit that flips on the way is found, and the chunk that has it fetched again, alone.
func TestAFlippedBit(t *testing.T) {
	for _, how := range []Compression{Always, Never} {
		t.Run(string(how), func(t *testing.T) {
			g := NewWithT(t)
			p := newPeer(t)
			contents := map[string][]byte{"Article_2.bcp": rows(1, 12<<20)}
			files := p.describe(t, contents)
			var writes atomic.Int32
			p.flip = func(b []byte) []byte {
				if len(b) > 1000 && writes.Add(1) == 5 {
					b = bytes.Clone(b)
					b[500] ^= 4
				}
				return b
			}
			job := p.transfer(t.TempDir(), files)
			job.Limits.Set(Settings{Compression: how})
			g.Expect(job.Run(t.Context())).To(Succeed())
			g.Expect(same(job.Dir, contents)).To(BeEmpty())
			again := 0
			for _, n := range p.spans {
				again += n - 1
			}
			g.Expect(again).To(Equal(1))
		})
	}
}

// Bytes that always come wrong end the attempt, with a word.
func TestWrongBytesOfTheLink(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	contents := map[string][]byte{"Article_2.bcp": noise(1, 1<<20)}
	files := p.describe(t, contents)
	p.flip = func(b []byte) []byte {
		if len(b) > 1000 {
			b = bytes.Clone(b)
			b[500] ^= 4
		}
		return b
	}
	job := p.transfer(t.TempDir(), files)
	g.Expect(job.Run(t.Context())).To(MatchError(ContainSubstring("does not have the checksum")))
	p.flip = nil
	g.Expect(job.Run(t.Context())).To(Succeed())
}

// A source compares what it sends with what it promised: bytes that have changed are not sent, and not asked for again.
func TestWrongBytesOfTheSource(t *testing.T) {
	for name, size := range map[string]int{"other bytes": 1 << 20, "fewer bytes": 1 << 19} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPeer(t)
			contents := map[string][]byte{"Article_2.bcp": noise(1, 1<<20)}
			files := p.describe(t, contents)
			write(t, p.dir, map[string][]byte{"Article_2.bcp": noise(2, size)})
			job := p.transfer(t.TempDir(), files)
			g.Expect(job.Run(t.Context())).To(MatchError(ErrStale))
			g.Expect(p.sent.Load()).To(BeNumerically("<", 100))
			g.Expect(p.asked()).To(HaveEach(1))
			write(t, p.dir, contents)
			g.Expect(job.Run(t.Context())).To(Succeed())
		})
	}
}

// A bit that flips on this side's disk shows at the end, and costs one chunk.
func TestABitThatFlipsOnDisk(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	contents := map[string][]byte{"Article_2.bcp": noise(1, 12<<20)}
	job := p.transfer(t.TempDir(), p.describe(t, contents))
	fetched := 0
	job.Limits.Set(Settings{Workers: 1})
	job.At = func(step string) error {
		if fetched++; fetched == 5 {
			file, err := os.OpenFile(filepath.Join(job.Dir, "Article_2.bcp"), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.WriteAt([]byte("flip"), 100)
			return errors.Join(err, file.Close())
		}
		return nil
	}
	g.Expect(job.Run(t.Context())).To(MatchError(ContainSubstring("its chunks are looked through")))
	before := p.sent.Load()
	g.Expect(job.Run(t.Context())).To(Succeed())
	g.Expect(same(job.Dir, contents)).To(BeEmpty())
	g.Expect(p.sent.Load() - before).To(BeNumerically("<=", maxChunk+1<<10))
}

// Wherever a process is killed, the next one goes on, and fetches nothing again that was there.
func TestKilledAtEachStep(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	old := noise(1, 6<<20)
	contents := map[string][]byte{"Article_2.bcp": append(bytes.Clone(old), noise(2, 6<<20)...),
		"Article_2.sch": []byte("x")}
	files := p.describe(t, contents)
	before, dir := t.TempDir(), t.TempDir()
	write(t, before, map[string][]byte{"old": old})
	killed := errors.New("killed")
	lives := 0
	for last := 0; ; lives++ {
		g.Expect(lives).To(BeNumerically("<", 100))
		job := p.transfer(dir, files, Seed{Dir: before})
		job.Limits.Set(Settings{Workers: 1})
		steps := 0
		job.At = func(string) error {
			// Each life gets one step farther than the one before.
			if steps++; steps > last%4 {
				return killed
			}
			return nil
		}
		last++
		there := present(t, dir, files, contents)
		asked := p.asked()
		err := job.Run(t.Context())
		for span, times := range p.asked() {
			g.Expect(there[span] && times > asked[span]).To(BeFalse(), "%v was there", span)
		}
		if err == nil {
			break
		}
		g.Expect(err).To(MatchError(killed))
	}
	g.Expect(lives).To(BeNumerically(">", 5))
	g.Expect(same(dir, contents)).To(BeEmpty())
}

// asked is how often each span was asked for so far.
func (p *peer) asked() map[Span]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.spans)
}

// present are the chunks that lie in their places already.
func present(t *testing.T, dir string, files []File, contents map[string][]byte) map[Span]bool {
	t.Helper()
	pieces, err := piecesOf(files)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	all := map[Span]bool{}
	for _, p := range pieces {
		path := files[p.file].Path
		got, _ := os.ReadFile(filepath.Join(dir, path))
		end := p.offset + int64(p.length)
		if int64(len(got)) >= end && bytes.Equal(got[p.offset:end], contents[path][p.offset:end]) {
			all[Span{Path: path, Offset: p.offset, Length: p.length}] = true
		}
	}
	return all
}

// No more chunks are read and packed than there are workers, over all transfers.
func TestWorkersBoundAllTransfers(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	var mu sync.Mutex
	now, most := 0, 0
	p.source.limits.Set(Settings{Workers: 2})
	files := p.describe(t, map[string][]byte{"a": noise(1, 24<<20)})
	p.reads = func() {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
	}
	var running sync.WaitGroup
	errs := make([]error, 3)
	for n := range errs {
		running.Go(func() { errs[n] = p.transfer(t.TempDir(), files).Run(t.Context()) })
	}
	running.Wait()
	g.Expect(errors.Join(errs...)).NotTo(HaveOccurred())
	g.Expect(most).To(BeNumerically("<=", 2))
}

// The rate holds over all transfers of a receiver.
func TestRateBoundsAllTransfers(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	files := p.describe(t, map[string][]byte{"a": noise(1, 2<<20)})
	limits := NewLimits()
	limits.Set(Settings{MaxRate: 4 << 20})
	began := time.Now()
	var running sync.WaitGroup
	errs := make([]error, 2)
	for n := range errs {
		running.Go(func() {
			job := p.transfer(t.TempDir(), files)
			job.Limits = limits
			errs[n] = job.Run(t.Context())
		})
	}
	running.Wait()
	g.Expect(errors.Join(errs...)).NotTo(HaveOccurred())
	g.Expect(time.Since(began)).To(BeNumerically(">=", 950*time.Millisecond), "4 MiB at 4 MiB/s")
}
