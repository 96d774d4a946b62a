// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/agent/orders"
)

const (
	// partSize is what one request asks for.
	partSize = 8 << 20
	// streams are requests at the same time, each on a TCP connection of its own: on a long link one window after a loss
	// is small, and several fill it.
	streams = 4
	// stall is how long a stream may bring nothing.
	stall = 20 * time.Second
	// listTime bounds a listing; the distributor's sidecar reads every new file for its checksum.
	listTime = 15 * time.Minute
)

// source is the sidecar of a distributor.
type source struct {
	order  orders.Mirror
	client *http.Client
}

func newSource(order orders.Mirror) (*source, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(order.CA) {
		return nil, errors.New("the orders have no CA for the distributor's sidecar")
	}
	return &source{order: order, client: &http.Client{Transport: &http.Transport{
		DialContext:     (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: order.Host, MinVersion: tls.VersionTLS12},
		// HTTP/2 would carry all streams on one connection.
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: listTime,
		MaxIdleConnsPerHost:   streams,
		MaxConnsPerHost:       streams,
		DisableCompression:    true,
		ReadBufferSize:        256 << 10,
	}}}, nil
}

func (s *source) close() { s.client.CloseIdleConnections() }

func (s *source) get(ctx context.Context, query url.Values, span string, names ...string) (*http.Response, error) {
	parts := make([]string, 0, len(names))
	for _, name := range names {
		for _, part := range strings.Split(name, "/") {
			parts = append(parts, url.PathEscape(part))
		}
	}
	address := "https://" + s.order.Source + Pattern + strings.Join(parts, "/")
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the distributor's sidecar: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+s.order.Token)
	if span != "" {
		request.Header.Set("Range", span)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the distributor's sidecar: %w", err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPartialContent {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		_ = response.Body.Close()
		return nil, fmt.Errorf(
			"the distributor's sidecar %s answers %s: %s",
			s.order.Source,
			response.Status,
			strings.TrimSpace(string(text)),
		)
	}
	return response, nil
}

// list asks for the newest snapshot that was whole at the order's generation.
func (s *source) list(ctx context.Context) (*Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	query := url.Values{}
	if until := Stamp(s.order.Generation); until != "" {
		query.Set("until", until)
	}
	response, err := s.get(ctx, query, "", s.order.Folder)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var listing Listing
	if err := json.NewDecoder(response.Body).Decode(&listing); err != nil {
		return nil, fmt.Errorf("read the distributor's listing: %w", err)
	}
	if listing.Snapshot == "" {
		return nil, errors.New("the distributor's listing names no snapshot")
	}
	return &listing, nil
}

// Stamp is a time in ISO 8601 as a snapshot folder's name has it, yyyymmddhhmmss; empty when it is none.
func Stamp(generation string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, generation)
	if len(digits) < stampLength {
		return ""
	}
	return digits[:stampLength]
}

// fetch brings all files of a snapshot into dir and verifies them. What is there of an earlier attempt is kept.
func (s *source) fetch(ctx context.Context, listing *Listing, dir string, progress func(int64)) error {
	if err := os.MkdirAll(dir, 0o770); err != nil {
		return fmt.Errorf("make a folder for the mirror: %w", err)
	}
	var files []*partialFile
	defer func() {
		for _, f := range files {
			_ = f.handle.Close()
		}
	}()
	for _, file := range listing.Files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(filepath.FromSlash(file.Path))), 0o770); err != nil {
			return fmt.Errorf("make a folder for the mirror: %w", err)
		}
		f, err := openPartial(dir, file)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(streams)
	for _, f := range files {
		progress(f.have)
		for _, part := range f.missing() {
			group.Go(func() error {
				if err := s.part(ctx, listing, f, part); err != nil {
					return err
				}
				progress(part.length)
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, file := range listing.Files {
		if err := verify(dir, file); err != nil {
			return err
		}
	}
	return removeRecords(dir)
}

// part copies one part of a file.
func (s *source) part(ctx context.Context, listing *Listing, f *partialFile, p part) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A stream that brings nothing for a while is given up; the parts that are whole stay.
	watch := time.AfterFunc(stall, cancel)
	defer watch.Stop()
	response, err := s.get(
		ctx,
		nil,
		fmt.Sprintf("bytes=%d-%d", p.offset, p.offset+p.length-1),
		listing.Folder,
		listing.Snapshot,
		f.file.Path,
	)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if p.length != f.file.Size && response.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("the distributor's sidecar sends the whole of %s instead of a part", f.file.Path)
	}
	body := &watched{reader: response.Body, watch: watch}
	n, err := io.Copy(io.NewOffsetWriter(f.handle, p.offset), io.LimitReader(body, p.length))
	if err == nil && n != p.length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("copy %s from %d: %w", f.file.Path, p.offset+n, err)
	}
	return f.mark(p)
}

// watched winds the stall watch up with every byte that comes.
type watched struct {
	reader io.Reader
	watch  *time.Timer
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.reader.Read(b)
	if n > 0 {
		w.watch.Reset(stall)
	}
	return n, err
}

// part is a span of a file.
type part struct{ offset, length int64 }

// partialFile is a file of which some parts are here. Which, is kept in a file beside it, so that an interruption costs
// the parts under way alone.
type partialFile struct {
	file   File
	handle *os.File
	record string
	have   int64

	mu   sync.Mutex
	done record
}

// record is what is kept of a partial file.
type record struct {
	SHA256 string  `json:"sha256"`
	Parts  []int64 `json:"parts"`
}

// recordPrefix begins the names of records, which no file of a snapshot has: they would be hidden files.
const recordPrefix = ".parts-"

func recordName(dir string, file File) string {
	sum := sha256.Sum256([]byte(file.Path))
	return filepath.Join(dir, recordPrefix+hex.EncodeToString(sum[:8]))
}

func openPartial(dir string, file File) (*partialFile, error) {
	f := &partialFile{file: file, record: recordName(dir, file)}
	content, err := os.ReadFile(f.record)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read what is here of %s: %w", file.Path, err)
	case json.Unmarshal(content, &f.done) != nil, f.done.SHA256 != file.SHA256:
		f.done = record{}
	}
	f.done.SHA256 = file.SHA256
	f.handle, err = os.OpenFile(filepath.Join(dir, filepath.FromSlash(file.Path)), os.O_CREATE|os.O_RDWR, 0o660)
	if err == nil {
		err = f.handle.Truncate(file.Size)
	}
	if err != nil {
		return nil, fmt.Errorf("open the mirror of %s: %w", file.Path, err)
	}
	for _, p := range f.parts() {
		if f.isDone(p) {
			f.have += p.length
		}
	}
	return f, nil
}

func (f *partialFile) parts() []part {
	var all []part
	for offset := int64(0); offset < f.file.Size; offset += partSize {
		all = append(all, part{offset, min(partSize, f.file.Size-offset)})
	}
	return all
}

func (f *partialFile) isDone(p part) bool {
	for _, offset := range f.done.Parts {
		if offset == p.offset {
			return true
		}
	}
	return false
}

func (f *partialFile) missing() []part {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []part
	for _, p := range f.parts() {
		if !f.isDone(p) {
			all = append(all, p)
		}
	}
	return all
}

// mark records a part that is here. What a crash of the machine takes away all the same shows in the checksum.
func (f *partialFile) mark(p part) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done.Parts = append(f.done.Parts, p.offset)
	content, err := json.Marshal(f.done)
	if err == nil {
		err = os.WriteFile(f.record+".next", content, 0o660)
	}
	if err == nil {
		err = os.Rename(f.record+".next", f.record)
	}
	if err != nil {
		return fmt.Errorf("record what is here of %s: %w", f.file.Path, err)
	}
	return nil
}

// verify compares a file's checksum; a file that is wrong is forgotten, so that the next attempt brings it anew.
func verify(dir string, file File) error {
	name := filepath.Join(dir, filepath.FromSlash(file.Path))
	handle, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("verify %s: %w", file.Path, err)
	}
	defer handle.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, handle); err != nil {
		return fmt.Errorf("verify %s: %w", file.Path, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != file.SHA256 {
		return errors.Join(
			fmt.Errorf("%s does not have the checksum that the distributor's sidecar gave; it is copied again", file.Path),
			os.Remove(name),
			os.Remove(recordName(dir, file)),
		)
	}
	if err := handle.Sync(); err != nil {
		return fmt.Errorf("flush %s: %w", file.Path, err)
	}
	return nil
}

// removeRecords leaves nothing but the snapshot's own files.
func removeRecords(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, recordPrefix+"*"))
	for _, name := range names {
		if removed := os.Remove(name); err == nil {
			err = removed
		}
	}
	if err != nil {
		return fmt.Errorf("tidy up the mirror: %w", err)
	}
	return nil
}
