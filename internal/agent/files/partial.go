// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"sync"

	"geosql.dev/operator/internal/transfer"
)

// part is a span of a file.
type part struct{ offset, length int64 }

// partialFile is a file of which some parts are here. Which, is kept in a file beside it, so that an interruption costs
// the parts under way alone.
type partialFile struct {
	file   File
	handle *os.File
	// have is how many bytes were here when it was opened.
	have int64
	// held are spans that are here beside the parts, in order and apart.
	held []transfer.Extent

	mu sync.Mutex
	// done are the offsets of the parts that are here, and lacks how many spans are missing of others, by their offsets.
	done  map[int64]bool
	lacks map[int64]int
	// record is the file beside it: a line that says of which file, and a line for each part, added when it is here. A
	// large file has a hundred thousand of them, which are not written again with each.
	record *os.File
}

// header is the first line of a record. Those of an earlier release have the parts in it, too.
type header struct {
	SHA256 string  `json:"sha256"`
	Parts  []int64 `json:"parts,omitempty"`
}

// partsPrefix begins the names of records, which no file of a snapshot has: they would be hidden files.
const partsPrefix = ".parts-"

func partsName(dir string, file File) string {
	sum := sha256.Sum256([]byte(file.Path))
	return filepath.Join(dir, partsPrefix+hex.EncodeToString(sum[:8]))
}

// readPartial reads what is recorded of a file in a folder, of which the spans that are held are there, too.
func readPartial(dir string, file File, held []transfer.Extent) (*partialFile, error) {
	f := &partialFile{file: file, held: held, done: map[int64]bool{}, lacks: map[int64]int{}}
	content, err := os.ReadFile(partsName(dir, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what is here of %s: %w", file.Path, err)
	}
	for _, offset := range recorded(content, file.SHA256) {
		f.done[offset] = true
	}
	return f, nil
}

// hasWhole tells that all of a file is in a folder, as it is recorded. That it has the size says nothing: one of which
// parts are missing has it, too.
func hasWhole(dir string, file File, held []transfer.Extent) (bool, error) {
	if !hasSize(dir, file) {
		return false, nil
	}
	f, err := readPartial(dir, file, held)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(f.parts(), func(p part) bool { return !f.done[p.offset] && len(f.gaps(p)) > 0 }), nil
}

// hasSize tells that a file of the size is in a folder. What cannot be looked at is brought again.
func hasSize(dir string, file File) bool {
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(file.Path)))
	return err == nil && info.Mode().IsRegular() && info.Size() == file.Size
}

// recordWhole records that all of a file is in a folder.
func recordWhole(dir string, file File) error {
	f := &partialFile{file: file, done: map[int64]bool{}}
	defer f.close()
	for _, p := range f.parts() {
		f.done[p.offset] = true
	}
	return f.begin(partsName(dir, file))
}

// openPartial opens a file in a folder, of which the spans that are held are there beside the parts that are recorded.
func openPartial(dir string, file File, held []transfer.Extent) (*partialFile, error) {
	f, err := readPartial(dir, file, held)
	if err != nil {
		return nil, err
	}
	f.handle, err = os.OpenFile(filepath.Join(dir, filepath.FromSlash(file.Path)), os.O_CREATE|os.O_RDWR, 0o660)
	if err == nil {
		err = f.handle.Truncate(file.Size)
	}
	if err == nil {
		err = f.begin(partsName(dir, file))
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("open the mirror of %s: %w", file.Path, err)
	}
	return f, nil
}

// recorded are the parts that a record has of the file with the checksum. A last line that is torn is none.
func recorded(content []byte, checksum string) []int64 {
	lines := bytes.Split(content, []byte("\n"))
	var of header
	if json.Unmarshal(lines[0], &of) != nil || of.SHA256 != checksum {
		return nil
	}
	parts := of.Parts
	for _, line := range lines[1:max(1, len(lines)-1)] {
		if offset, err := strconv.ParseInt(string(line), 10, 64); err == nil {
			parts = append(parts, offset)
		}
	}
	return parts
}

// begin writes the record anew, once, with the parts that are here, and leaves it open for those that come: a torn line
// would become another number by what is added to it.
func (f *partialFile) begin(name string) error {
	first, err := json.Marshal(header{SHA256: f.file.SHA256})
	if err != nil {
		return err
	}
	content := append(first, '\n')
	for _, p := range f.parts() {
		gaps := f.gaps(p)
		if f.done[p.offset] || len(gaps) == 0 {
			f.done[p.offset] = true
			content = append(strconv.AppendInt(content, p.offset, 10), '\n')
			f.have += p.length
			continue
		}
		f.have += p.length
		for _, gap := range gaps {
			f.have -= gap.length
		}
	}
	if err := os.WriteFile(name+nextSuffix, content, 0o660); err != nil {
		return err
	}
	if err := os.Rename(name+nextSuffix, name); err != nil {
		return err
	}
	f.record, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o660)
	return err
}

func (f *partialFile) close() {
	for _, file := range []*os.File{f.handle, f.record} {
		if file != nil {
			_ = file.Close()
		}
	}
}

func (f *partialFile) parts() []part {
	var all []part
	for offset := int64(0); offset < f.file.Size; offset += partSize {
		all = append(all, part{offset, min(partSize, f.file.Size-offset)})
	}
	return all
}

// gaps are the spans of a part that are not held.
func (f *partialFile) gaps(p part) []part {
	var all []part
	from, end := p.offset, p.offset+p.length
	first := sort.Search(len(f.held), func(i int) bool { return f.held[i].Offset+f.held[i].Length > from })
	for _, e := range f.held[first:] {
		if e.Offset >= end {
			break
		}
		if e.Offset > from {
			all = append(all, part{from, e.Offset - from})
		}
		from = e.Offset + e.Length
	}
	if from < end {
		all = append(all, part{from, end - from})
	}
	return all
}

// missing are the spans that are missing of parts: each of one part.
func (f *partialFile) missing() []part {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []part
	for _, p := range f.parts() {
		if !f.done[p.offset] {
			gaps := f.gaps(p)
			f.lacks[p.offset] = len(gaps)
			all = append(all, gaps...)
		}
	}
	return all
}

// mark says that a span that was missing is here, and records its part when that is. What a crash of the machine takes
// away all the same shows in the checksum.
func (f *partialFile) mark(p part) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	offset := p.offset - p.offset%partSize
	if f.lacks[offset]--; f.lacks[offset] > 0 {
		return nil
	}
	if _, err := f.record.Write(append(strconv.AppendInt(nil, offset, 10), '\n')); err != nil {
		return fmt.Errorf("record what is here of %s: %w", f.file.Path, err)
	}
	f.done[offset] = true
	return nil
}
