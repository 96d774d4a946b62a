// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// format is the mark of archives that this package writes.
const format = "geosql-archive/1"

// Names of the parts within the tape archive.
const (
	partHead      = "archive.json"
	partReplicas  = "replicas.json"
	partFaults    = "faults.json"
	partSamples   = "samples.json"
	histories     = "histories/"
	files         = "files/"
	historySuffix = ".history"
)

// MaxUnpacked is how much an archive may unpack to, in bytes.
const MaxUnpacked = 1 << 30

// head is the first part.
type head struct {
	Format string `json:"format"`
	Run    Run    `json:"run"`
	Bounds Bounds `json:"bounds"`
}

// Pack writes an archive as a gzip-compressed tape archive, which tar xzf unpacks. The same archive gives the same bytes.
func Pack(a Archive) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("pack the archive of %s: %w", a.Run, err)
	}
	w := &writer{tar: tar.NewWriter(packed)}
	folded := make([]rows, len(a.Replicas))
	for i, r := range a.Replicas {
		folded[i] = fold(r)
	}
	w.value(partHead, head{Format: format, Run: a.Run, Bounds: a.Bounds})
	w.value(partFaults, a.Faults)
	w.value(partReplicas, folded)
	w.value(partSamples, a.Samples)
	for _, name := range slices.Sorted(maps.Keys(a.Histories)) {
		plain, err := plainly(a.Histories[name])
		if err != nil {
			return nil, fmt.Errorf("pack history %s of %s: %w", name, a.Run, err)
		}
		w.part(histories+name+historySuffix, plain)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Files)) {
		w.part(files+name, a.Files[name])
	}
	if err := errors.Join(w.err, w.tar.Close(), packed.Close()); err != nil {
		return nil, fmt.Errorf("pack the archive of %s: %w", a.Run, err)
	}
	return out.Bytes(), nil
}

// plainly is a history's text, which may come compressed as history.Export writes it.
func plainly(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return limited(packed)
}

// limited reads at most MaxUnpacked bytes.
func limited(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if len(data) > MaxUnpacked {
		return nil, fmt.Errorf("it unpacks to more than %d MiB", MaxUnpacked>>20)
	}
	return data, nil
}

// writer of parts; it keeps the first error.
type writer struct {
	tar *tar.Writer
	err error
}

func (w *writer) value(name string, v any) {
	data, err := json.Marshal(v)
	w.err = errors.Join(w.err, err)
	w.part(name, data)
}

func (w *writer) part(name string, data []byte) {
	if w.err != nil {
		return
	}
	if local := strings.TrimPrefix(name, "/"); local != name || strings.Contains(name, "..") || strings.ContainsAny(name, "\\\x00") {
		w.err = fmt.Errorf("%q is no name of a part", name)
		return
	}
	if w.err = w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX}); w.err == nil {
		_, w.err = w.tar.Write(data)
	}
}

// Unpack reads what Pack wrote.
func Unpack(data []byte) (Archive, error) {
	parts, err := unpackParts(data)
	if err != nil {
		return Archive{}, fmt.Errorf("unpack an archive: %w", err)
	}
	var h head
	if err := value(parts, partHead, &h); err != nil {
		return Archive{}, err
	}
	if h.Format != format {
		return Archive{}, fmt.Errorf("unpack an archive: its format is %q, and this version reads %s", h.Format, format)
	}
	a := Archive{Run: h.Run, Bounds: h.Bounds, packed: data}
	var folded []rows
	if err := errors.Join(value(parts, partFaults, &a.Faults), value(parts, partReplicas, &folded), value(parts, partSamples, &a.Samples)); err != nil {
		return Archive{}, err
	}
	for _, r := range folded {
		replica, err := r.unfold()
		if err != nil {
			return Archive{}, fmt.Errorf("unpack the archive of %s: %w", a.Run, err)
		}
		a.Replicas = append(a.Replicas, replica)
	}
	a.sort(parts)
	return a, nil
}

// sort puts the named parts where they belong.
func (a *Archive) sort(parts map[string][]byte) {
	for name, data := range parts {
		if of, found := strings.CutPrefix(name, histories); found {
			if a.Histories == nil {
				a.Histories = map[string][]byte{}
			}
			a.Histories[strings.TrimSuffix(of, historySuffix)] = data
		}
		if of, found := strings.CutPrefix(name, files); found {
			if a.Files == nil {
				a.Files = map[string][]byte{}
			}
			a.Files[of] = data
		}
	}
}

func unpackParts(data []byte) (map[string][]byte, error) {
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read its beginning: %w", err)
	}
	plain, err := limited(packed)
	if err != nil {
		return nil, err
	}
	parts := map[string][]byte{}
	reader := tar.NewReader(bytes.NewReader(plain))
	for {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read its parts: %w", err)
		}
		if parts[h.Name], err = io.ReadAll(reader); err != nil {
			return nil, fmt.Errorf("read its part %s: %w", h.Name, err)
		}
	}
}

func value(parts map[string][]byte, name string, v any) error {
	data, found := parts[name]
	if !found {
		return fmt.Errorf("unpack an archive: it has no part %s", name)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("unpack part %s of an archive: %w", name, err)
	}
	return nil
}
