// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strconv"
	"sync"
)

// piece is a chunk of one of the files.
type piece struct {
	offset int64
	file   int32
	length uint32
	sum    Sum
}

// piecesOf lists the chunks of all files, and refuses files whose chunks do not make them up.
func piecesOf(files []File) ([]piece, error) {
	var all []piece
	for i, f := range files {
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("the source gives no checksum of %s", f.Path)
		}
		chunks := f.Chunks
		if len(chunks) == 0 && f.Size > 0 && f.Size <= maxChunk {
			chunks = Chunks{{Length: uint32(f.Size), Sum: Sum(sum)}}
		}
		if chunks.size() != f.Size {
			return nil, fmt.Errorf("the source gives %s %d bytes, and chunks of %d", f.Path, f.Size, chunks.size())
		}
		offset := int64(0)
		for _, one := range chunks {
			all = append(all, piece{offset: offset, file: int32(i), length: one.Length, sum: one.Sum})
			offset += int64(one.Length)
		}
	}
	return all, nil
}

// journalName is the file in the folder that says which chunks are here. No file of a transfer has such a name.
const journalName = ".transfer"

// state is what is here of the files of a transfer. It outlasts the process: a journal has a line for each chunk that
// is here. What a crash of the machine takes away of a chunk all the same shows in the checksum of its file.
type state struct {
	root   *os.Root
	files  []File
	pieces []piece
	// bySum are the pieces in the order of their sums, those of one sum in the files' order. equal is, for each piece, the
	// number of its sum, and starts where the pieces of each begin in bySum, with the end of all behind.
	bySum, equal, starts []int32

	mu   sync.Mutex
	done []bool
	// left are the pieces that are not here, lacks those of each sum.
	left    int
	lacks   []int32
	journal *os.File
	// over tells that what is here is no transfer's any more: all of it is whole, or some of it is wrong.
	over bool
}

// fingerprint of the files with their chunks: a journal counts for these alone.
func fingerprint(files []File) (string, error) {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(files); err != nil {
		return "", fmt.Errorf("name the files of a transfer: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func newState(root *os.Root, files []File, pieces []piece) *state {
	s := &state{root: root, files: files, pieces: pieces, done: make([]bool, len(pieces)),
		bySum: make([]int32, len(pieces)), equal: make([]int32, len(pieces))}
	for i := range s.bySum {
		s.bySum[i] = int32(i)
	}
	slices.SortFunc(s.bySum, func(a, b int32) int {
		return cmp.Or(bytes.Compare(pieces[a].sum[:], pieces[b].sum[:]), cmp.Compare(a, b))
	})
	for i, n := range s.bySum {
		if i == 0 || pieces[n].sum != pieces[s.bySum[i-1]].sum {
			s.starts = append(s.starts, int32(i))
		}
		s.equal[n] = int32(len(s.starts) - 1) //nolint:gosec // a listing has fewer
	}
	s.lacks = make([]int32, len(s.starts))
	s.starts = append(s.starts, int32(len(pieces))) //nolint:gosec // a listing has fewer
	return s
}

// openState finds out what is here. Where the journal is of other files, or missing, the chunks themselves say it.
func openState(ctx context.Context, root *os.Root, files []File) (*state, error) {
	pieces, err := piecesOf(files)
	if err != nil {
		return nil, err
	}
	s := newState(root, files, pieces)
	mark, err := fingerprint(files)
	if err != nil {
		return nil, err
	}
	content, err := root.ReadFile(journalName)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read what is here of a transfer: %w", err)
	}
	known := s.read(content, mark)
	next := 0
	for i := range files {
		from := next
		for next < len(pieces) && pieces[next].file == int32(i) {
			next++
		}
		if err := s.ready(ctx, i, from, next, known); err != nil {
			return nil, fmt.Errorf("make ready for %s: %w", files[i].Path, err)
		}
	}
	return s, s.begin(mark)
}

// read takes the lines of a journal. A last one that is torn is none. False says that the journal is of other files.
func (s *state) read(content []byte, mark string) bool {
	lines := bytes.Split(content, []byte("\n"))
	if string(lines[0]) != mark {
		return false
	}
	for _, line := range lines[1:max(1, len(lines)-1)] {
		if n, err := strconv.Atoi(string(line)); err == nil && n >= 0 && n < len(s.pieces) {
			s.done[n] = true
		}
	}
	return true
}

// ready sees to a file with its pieces from one to another: it is there with its size, and what the journal does not
// know is looked for in it.
func (s *state) ready(ctx context.Context, i, from, to int, known bool) error {
	f := s.files[i]
	if err := s.root.MkdirAll(dirOf(f.Path), 0o770); err != nil {
		return err
	}
	file, err := s.root.OpenFile(f.Path, os.O_CREATE|os.O_RDWR, 0o660)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() == f.Size && known {
		return nil
	}
	clear(s.done[from:to])
	if err := file.Truncate(f.Size); err != nil {
		return err
	}
	buffer := cuts.take()
	defer cuts.give(buffer)
	for n := from; n < to; n++ {
		p := s.pieces[n]
		if p.offset >= info.Size() {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		content := buffer[:p.length]
		if _, err := file.ReadAt(content, p.offset); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.done[n] = sha256.Sum256(content) == p.sum
	}
	return nil
}

// begin writes the journal anew, once, and leaves it open for what comes: a torn line would become another number by
// what is added to it.
func (s *state) begin(mark string) error {
	content := append([]byte(mark), '\n')
	for n, done := range s.done {
		if done {
			content = append(strconv.AppendInt(content, int64(n), 10), '\n')
		} else {
			s.left++
			s.lacks[s.equal[n]]++
		}
	}
	if err := s.root.WriteFile(journalName+nextSuffix, content, 0o660); err != nil {
		return fmt.Errorf("record what is here of a transfer: %w", err)
	}
	if err := s.root.Rename(journalName+nextSuffix, journalName); err != nil {
		return fmt.Errorf("record what is here of a transfer: %w", err)
	}
	var err error
	if s.journal, err = s.root.OpenFile(journalName, os.O_APPEND|os.O_WRONLY, 0o660); err != nil {
		return fmt.Errorf("record what is here of a transfer: %w", err)
	}
	return nil
}

// close ends the use of what is here. What cannot be recorded of it is brought again by who goes on without chunks.
func (s *state) close() {
	if s.journal != nil {
		_ = s.journal.Close()
	}
	if !s.over {
		_ = s.leave()
	}
}

// here is how many bytes are here.
func (s *state) here() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, done := range s.done {
		if done {
			n += int64(s.pieces[i].length)
		}
	}
	return n
}

// numberOf is the number of a sum.
func (s *state) numberOf(sum Sum) (int32, bool) {
	n := sort.Search(len(s.lacks), func(i int) bool {
		return bytes.Compare(s.pieces[s.bySum[s.starts[i]]].sum[:], sum[:]) >= 0
	})
	//nolint:gosec // a listing has fewer
	return int32(n), n < len(s.lacks) && s.pieces[s.bySum[s.starts[n]]].sum == sum
}

// lacking are the files of which something is not here.
func (s *state) lacking() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := int32(-1)
	for n, done := range s.done {
		if p := s.pieces[n]; !done && p.file != last {
			last = p.file
			all = append(all, s.files[last].Path)
		}
	}
	return all
}

// LackingError ends a transfer that fetches nothing, and whose seeds do not have everything.
type LackingError struct {
	// Files of which something is missing, by their paths.
	Files []string
}

// Error implements error.
func (e *LackingError) Error() string {
	return fmt.Sprintf("%d files are not here, or not whole", len(e.Files))
}

// wanted tells that a piece of a sum is not here.
func (s *state) wanted(sum Sum) bool {
	n, ok := s.numberOf(sum)
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && s.lacks[n] > 0
}

// missing are the pieces of a sum that are not here.
func (s *state) missing(sum Sum) (all []int32) {
	n, ok := s.numberOf(sum)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lacks[n] == 0 {
		return nil
	}
	for _, at := range s.bySum[s.starts[n]:s.starts[n+1]] {
		if !s.done[at] {
			all = append(all, at)
		}
	}
	return all
}

// has tells that a piece is here.
func (s *state) has(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[n]
}

// batches are the pieces that are missing, one of each sum, a request at a time.
func (s *state) batches() func(yield func([]int32) bool) {
	return func(yield func([]int32) bool) {
		asked := make([]bool, len(s.lacks))
		var batch []int32
		size := 0
		for n := range s.pieces {
			// What another piece of the same sum brings is missing for as long as that is under way.
			if asked[s.equal[n]] || s.has(n) {
				continue
			}
			asked[s.equal[n]] = true
			batch = append(batch, int32(n))
			size += int(s.pieces[n].length)
			if size >= batchSize || len(batch) == maxSpans {
				if !yield(batch) {
					return
				}
				batch, size = nil, 0
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// put writes a chunk, which was verified, wherever it is missing, and says how many bytes that were.
func (s *state) put(content []byte, sum Sum) (n int64, err error) {
	for _, at := range s.missing(sum) {
		p := s.pieces[at]
		if err := s.write(content, p); err != nil {
			return n, fmt.Errorf("write %s from %d: %w", s.files[p.file].Path, p.offset, err)
		}
		if err := s.mark(at); err != nil {
			return n, err
		}
		n += int64(p.length)
	}
	return n, nil
}

func (s *state) write(content []byte, p piece) error {
	file, err := s.root.OpenFile(s.files[p.file].Path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, p.offset)
	return errors.Join(err, file.Close())
}

func (s *state) mark(n int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.journal.Write(append(strconv.AppendInt(nil, int64(n), 10), '\n')); err != nil {
		return fmt.Errorf("record what is here of a transfer: %w", err)
	}
	s.done[n] = true
	s.left--
	s.lacks[s.equal[n]]--
	return nil
}
