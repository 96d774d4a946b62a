// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// heldName is the file in the folder that says what is there of files whose transfer was interrupted: a line for each,
// for who goes on without their chunks. No file of a transfer has such a name.
const heldName = ".transfer.held"

// nextSuffix ends the name of a file that is being written.
const nextSuffix = ".next"

// Extent is a span of a file, in bytes.
type Extent struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

// held is what is there of a file.
type held struct {
	Path    string   `json:"path"`
	SHA256  string   `json:"sha256"`
	Extents []Extent `json:"extents"`
}

// leave records which spans of the files are here.
func (s *state) leave() error {
	file, err := s.root.OpenFile(heldName+nextSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o660)
	if err == nil {
		err = errors.Join(s.writeHeld(file), file.Close())
	}
	if err == nil {
		err = s.root.Rename(heldName+nextSuffix, heldName)
	}
	if err != nil {
		return fmt.Errorf("record what a transfer leaves: %w", err)
	}
	return nil
}

func (s *state) writeHeld(file *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := json.NewEncoder(file)
	next := 0
	for i, f := range s.files {
		one := held{Path: f.Path, SHA256: f.SHA256}
		for ; next < len(s.pieces) && s.pieces[next].file == int32(i); next++ {
			p := s.pieces[next]
			if !s.done[next] {
				continue
			}
			last := len(one.Extents) - 1
			if last >= 0 && one.Extents[last].Offset+one.Extents[last].Length == p.offset {
				one.Extents[last].Length += int64(p.length)
				continue
			}
			one.Extents = append(one.Extents, Extent{Offset: p.offset, Length: int64(p.length)})
		}
		if len(one.Extents) == 0 {
			continue
		}
		if err := to.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// Held is what a transfer that was interrupted has left of files in a folder, for who goes on without their chunks: by
// path the spans that are there, in order and apart. There is nothing of a file that had another checksum, and nothing
// at all where that was not recorded. A file of which some of it is used has its checksum verified in the end.
func Held(dir string, files []File) map[string][]Extent {
	wanted, all := map[string]File{}, map[string][]Extent{}
	for _, f := range files {
		wanted[f.Path] = f
	}
	file, err := os.Open(filepath.Join(dir, heldName))
	if err != nil {
		return all // what cannot be read is brought again
	}
	defer file.Close()
	from := json.NewDecoder(file)
	for {
		var one held
		if from.Decode(&one) != nil {
			return all // its end, or one that is torn
		}
		if f, ok := wanted[one.Path]; ok && f.SHA256 == one.SHA256 && within(one.Extents, f.Size) {
			all[one.Path] = one.Extents
		}
	}
}

// within tells that spans are in order, apart, and of a file of that size.
func within(extents []Extent, size int64) bool {
	end := int64(0)
	for _, e := range extents {
		if e.Offset < end || e.Length <= 0 || e.Length > size-e.Offset {
			return false
		}
		end = e.Offset + e.Length
	}
	return true
}

// ForgetChunks has a folder be without a word of which chunks are in it: who writes there without them makes it wrong.
// What is there is looked through then. What Held says stays right.
func ForgetChunks(dir string) error { return forget(dir, journalName, journalName+nextSuffix) }

// ForgetHeld has a folder be without what Held says.
func ForgetHeld(dir string) error { return forget(dir, heldName, heldName+nextSuffix) }

func forget(dir string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget what is here of a transfer: %w", err)
		}
	}
	return nil
}
