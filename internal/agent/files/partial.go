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
	"strconv"
	"sync"
)

// part is a span of a file.
type part struct{ offset, length int64 }

// partialFile is a file of which some parts are here. Which, is kept in a file beside it, so that an interruption costs
// the parts under way alone.
type partialFile struct {
	file   File
	handle *os.File
	have   int64

	mu sync.Mutex
	// done are the offsets of the parts that are here.
	done map[int64]bool
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

func openPartial(dir string, file File) (*partialFile, error) {
	f := &partialFile{file: file, done: map[int64]bool{}}
	content, err := os.ReadFile(partsName(dir, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what is here of %s: %w", file.Path, err)
	}
	for _, offset := range recorded(content, file.SHA256) {
		f.done[offset] = true
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
		if f.done[p.offset] {
			content = append(strconv.AppendInt(content, p.offset, 10), '\n')
			f.have += p.length
		}
	}
	if err := os.WriteFile(name+".next", content, 0o660); err != nil {
		return err
	}
	if err := os.Rename(name+".next", name); err != nil {
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

func (f *partialFile) missing() []part {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []part
	for _, p := range f.parts() {
		if !f.done[p.offset] {
			all = append(all, p)
		}
	}
	return all
}

// mark records a part that is here. What a crash of the machine takes away all the same shows in the checksum.
func (f *partialFile) mark(p part) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.record.Write(append(strconv.AppendInt(nil, p.offset, 10), '\n')); err != nil {
		return fmt.Errorf("record what is here of %s: %w", f.file.Path, err)
	}
	f.done[p.offset] = true
	return nil
}
