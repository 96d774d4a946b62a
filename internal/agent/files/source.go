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
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
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

func newSource(order orders.Mirror, namespace string) (*source, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(order.CA) {
		return nil, errors.New("the orders have no CA for the distributor's sidecar")
	}
	return &source{order: order, client: &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: order.Host, MinVersion: tls.VersionTLS12,
			VerifyConnection: credentials.Of(order.Host, namespace)},
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
			f.close()
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
