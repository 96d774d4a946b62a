// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// Listing is a snapshot with its files.
type Listing struct {
	// Folder of the publication as it is on disk, Snapshot the newest one's.
	Folder   string `json:"folder"`
	Snapshot string `json:"snapshot"`
	// Chunked tells that the files have their chunks, and that these can be asked for. Sidecars of earlier releases do not
	// say so: theirs are fetched in ranges.
	Chunked bool   `json:"chunked,omitempty"`
	Files   []File `json:"files"`
}

// File is a file of a snapshot.
type File = transfer.File

// bare takes the chunks out.
func (l *Listing) bare() {
	l.Chunked = false
	for i := range l.Files {
		l.Files[i].Chunks = nil
	}
}

// write writes the listing as JSON, a part at a time: who reads slowly has no copy of it kept in memory.
func (l *Listing) write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 32<<10)
	head, err := json.Marshal(Listing{Folder: l.Folder, Snapshot: l.Snapshot, Chunked: l.Chunked, Files: []File{}})
	if err != nil {
		return err
	}
	_, _ = b.Write(head[:len(head)-len("]}")])
	for i, f := range l.Files {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		chunks := f.Chunks
		f.Chunks = nil
		one, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if len(chunks) == 0 {
			_, _ = b.Write(one)
			continue
		}
		_, _ = b.Write(one[:len(one)-len("}")])
		_, _ = b.WriteString(`,"chunks":"`)
		if err := chunks.WriteText(b); err != nil {
			return err
		}
		_, _ = b.WriteString(`"}`)
	}
	_, _ = b.WriteString("]}\n")
	return b.Flush() // what went wrong before shows here
}

// check refuses a listing of something else than the orders ask for, one that takes too much memory, and one whose
// names would leave the mirror's folder.
func (l *Listing) check(order orders.Mirror) error {
	until := Stamp(order.Generation)
	if !strings.EqualFold(l.Folder, order.Folder) || !isStamp(l.Snapshot) ||
		until != "" && l.Snapshot[:stampLength] > until {
		return fmt.Errorf("the distributor's sidecar lists snapshot %q of folder %q, which was not asked for",
			l.Snapshot, l.Folder)
	}
	names := []string{l.Folder, l.Snapshot}
	for _, name := range names {
		if strings.ContainsAny(name, `/\`) {
			return fmt.Errorf("the distributor's sidecar names a folder %q, which is none", name)
		}
	}
	for _, f := range l.Files {
		names = append(names, f.Path)
	}
	for _, name := range names {
		if !filepath.IsLocal(name) || strings.HasPrefix(name, ".") {
			return fmt.Errorf("the distributor's sidecar names a file %q, which is not below its folder", name)
		}
	}
	if n := l.chunks(); n > maxChunks {
		return fmt.Errorf("the distributor's sidecar lists %d chunks, allowed are %d", n, maxChunks)
	}
	return nil
}

// chunks are how many of them are listed.
func (l *Listing) chunks() (n int) {
	for _, f := range l.Files {
		n += len(f.Chunks)
	}
	return n
}

func (l *Listing) total() int64 {
	var n int64
	for _, f := range l.Files {
		n += f.Size
	}
	return n
}
