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

// Names of the parts within the tape archive. All but the head are compressed by gzip, each by itself: what is only
// passed on need not be unpacked.
const (
	partHead      = "archive.json"
	partReplicas  = "replicas.json"
	partFaults    = "faults.json"
	partSamples   = "samples.json"
	partPayloads  = "payloads.json"
	histories     = "histories/"
	arrivals      = "arrivals/"
	files         = "files/"
	historySuffix = ".history"
	arrivalSuffix = ".arrivals"
	packedSuffix  = ".gz"
)

// MaxUnpacked is how much all parts of an archive may unpack to together, in bytes: some thirty times what is kept, and
// less than a manager may have.
const MaxUnpacked = 256 << 20

// head is the first part.
type head struct {
	Format string `json:"format"`
	Run    Run    `json:"run"`
	Bounds Bounds `json:"bounds"`
}

// Pack writes an archive as a tape archive of compressed parts. The same archive gives the same bytes.
func Pack(a Archive) ([]byte, error) {
	var out bytes.Buffer
	w := &writer{tar: tar.NewWriter(&out)}
	h, err := json.Marshal(head{Format: format, Run: a.Run, Bounds: a.Bounds})
	w.err = err
	w.part(partHead, h)
	w.value(partFaults, a.Faults)
	w.value(partReplicas, foldAll(a.Replicas))
	if len(a.Payloads) > 0 {
		w.value(partPayloads, foldAll(a.Payloads))
	}
	w.value(partSamples, a.Samples)
	for _, name := range slices.Sorted(maps.Keys(a.Histories)) {
		w.packed(histories+name+historySuffix, a.Histories[name])
	}
	for _, name := range slices.Sorted(maps.Keys(a.Arrivals)) {
		w.packed(arrivals+name+arrivalSuffix, a.Arrivals[name])
	}
	for _, name := range slices.Sorted(maps.Keys(a.Files)) {
		w.packed(files+name, a.Files[name])
	}
	if err := errors.Join(w.err, w.tar.Close()); err != nil {
		return nil, fmt.Errorf("pack the archive of %s: %w", a.Run, err)
	}
	return out.Bytes(), nil
}

// magic begins what gzip has compressed (RFC 1952, section 2.3.1).
var magic = []byte{0x1f, 0x8b}

// compressed is the data by gzip, as it is when it comes so.
func compressed(data []byte) ([]byte, error) {
	if bytes.HasPrefix(data, magic) {
		return data, nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}

// Plain is a part's text, which comes compressed out of an archive.
func Plain(data []byte) ([]byte, error) { return NewBudget().plain(data) }

// Budget is what the parts of one archive may unpack to: each alone could be small enough, and all of them too much.
type Budget struct{ left int64 }

// NewBudget is that of one archive.
func NewBudget() *Budget { return &Budget{left: MaxUnpacked} }

// Take counts what a part unpacks to, without keeping it. The error says that it cannot be unpacked, or is too much.
func (b *Budget) Take(data []byte) error { return b.unpack(data, io.Discard) }

func (b *Budget) plain(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, magic) {
		return data, b.Take(data)
	}
	var plain bytes.Buffer
	err := b.unpack(data, &plain)
	return plain.Bytes(), err
}

func (b *Budget) unpack(data []byte, to io.Writer) error {
	var r io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, magic) {
		packed, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		r = packed
	}
	n, err := io.Copy(to, io.LimitReader(r, b.left+1))
	if b.left -= n; b.left < 0 {
		b.left = 0
		return fmt.Errorf("it unpacks to more than the %d MiB that all of an archive may have", MaxUnpacked>>20)
	}
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	return nil
}

// writer of parts; it keeps the first error.
type writer struct {
	tar *tar.Writer
	err error
}

func (w *writer) value(name string, v any) {
	data, err := json.Marshal(v)
	w.err = errors.Join(w.err, err)
	w.packed(name, data)
}

func (w *writer) packed(name string, data []byte) {
	small, err := compressed(data)
	w.err = errors.Join(w.err, err)
	w.part(name+packedSuffix, small)
}

func (w *writer) part(name string, data []byte) {
	if w.err != nil {
		return
	}
	if local := strings.TrimPrefix(name, "/"); local != name || strings.Contains(name, "..") ||
		strings.ContainsAny(name, "\\\x00") {
		w.err = fmt.Errorf("%q is no name of a part", name)
		return
	}
	if w.err = w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)),
		Format: tar.FormatPAX}); w.err == nil {
		_, w.err = w.tar.Write(data)
	}
}

// Unpack reads what Pack wrote.
func Unpack(data []byte) (Archive, error) {
	parts, err := unpackParts(data)
	if err != nil {
		return Archive{}, fmt.Errorf("unpack an archive: %w", err)
	}
	budget := NewBudget()
	var h head
	if err := budget.value(parts, partHead, &h); err != nil {
		return Archive{}, err
	}
	if h.Format != format {
		return Archive{}, fmt.Errorf("unpack an archive: its format is %q, and this version reads %s", h.Format, format)
	}
	a := Archive{Run: h.Run, Bounds: h.Bounds, packed: data}
	var folded, payloads []rows
	if _, found := parts[partPayloads+packedSuffix]; found {
		if err := budget.value(parts, partPayloads+packedSuffix, &payloads); err != nil {
			return Archive{}, err
		}
	}
	if err := errors.Join(budget.value(parts, partFaults+packedSuffix, &a.Faults),
		budget.value(parts, partReplicas+packedSuffix, &folded),
		budget.value(parts, partSamples+packedSuffix, &a.Samples)); err != nil {
		return Archive{}, err
	}

	left := int64(maxRows)
	if a.Replicas, err = unfoldAll(folded, &left); err == nil {
		a.Payloads, err = unfoldAll(payloads, &left)
	}
	if err != nil {
		return Archive{}, fmt.Errorf("unpack the archive of %s: %w", a.Run, err)
	}
	return a, a.sort(parts, budget)
}

// sort puts the named parts where they belong. Histories stay compressed, and count as what they unpack to.
func (a *Archive) sort(parts map[string][]byte, budget *Budget) error {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		data := parts[name]
		if strings.HasPrefix(name, histories) || strings.HasPrefix(name, arrivals) {
			if err := budget.Take(data); err != nil {
				return fmt.Errorf("unpack part %s of the archive of %s: %w", name, a.Run, err)
			}
		}
		if of, found := strings.CutPrefix(name, histories); found {
			if a.Histories == nil {
				a.Histories = map[string][]byte{}
			}
			a.Histories[strings.TrimSuffix(of, historySuffix+packedSuffix)] = data
		}
		if of, found := strings.CutPrefix(name, arrivals); found {
			if a.Arrivals == nil {
				a.Arrivals = map[string][]byte{}
			}
			a.Arrivals[strings.TrimSuffix(of, arrivalSuffix+packedSuffix)] = data
		}
		if of, found := strings.CutPrefix(name, files); found {
			if a.Files == nil {
				a.Files = map[string][]byte{}
			}
			plain, err := budget.plain(data)
			if err != nil {
				return fmt.Errorf("unpack part %s of the archive of %s: %w", name, a.Run, err)
			}
			a.Files[strings.TrimSuffix(of, packedSuffix)] = plain
		}
	}
	return nil
}

func unpackParts(data []byte) (map[string][]byte, error) {
	parts := map[string][]byte{}
	reader := tar.NewReader(bytes.NewReader(data))
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

func (b *Budget) value(parts map[string][]byte, name string, v any) error {
	data, found := parts[name]
	if !found {
		return fmt.Errorf("unpack an archive: it has no part %s", name)
	}
	plain, err := b.plain(data)
	if err == nil {
		err = json.Unmarshal(plain, v)
	}
	if err != nil {
		return fmt.Errorf("unpack part %s of an archive: %w", name, err)
	}
	return nil
}
