// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/transfer"
)

// listTime bounds a listing; the distributor's sidecar reads every new file for its checksum. An answer is waited for
// answerTime at first, and twice that after each attempt that failed: on a link that loses a connection without a word
// nothing tells an answer that takes its time from one that never comes. The source goes on where it was.
const (
	listTime   = 15 * time.Minute
	answerTime = 30 * time.Second
)

// source is the sidecar of a distributor.
type source struct {
	order  orders.Mirror
	client *http.Client
	limits *transfer.Limits
	meter  *transfer.Meter
	// stall is how long the body of a listing may bring nothing.
	stall time.Duration
	// reading has one listing understood at a time, over all mirrors.
	reading *semaphore.Weighted
}

// source waits for an answer as long as that is due after so many attempts that failed.
func (m *Mirrors) source(order orders.Mirror, meter *transfer.Meter, failed int) (*source, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(order.CA) {
		return nil, errors.New("the orders have no CA for the distributor's sidecar")
	}
	transport := &http.Transport{
		DialContext: mssql.Dial(10 * time.Second),
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: order.Host, MinVersion: tls.VersionTLS12,
			VerifyConnection: credentials.Of(order.Host, m.namespace)},
		// HTTP/2 would carry all streams on one connection.
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: min(m.answer<<min(failed, 8), listTime),
		// As many as there are workers: each stream has a TCP connection of its own, since on a long link one window after
		// a loss is small, and several fill it.
		MaxIdleConnsPerHost: transfer.MaxWorkers,
		DisableCompression:  true,
		// No more: how fast bytes come is told by how long they are waited for.
		ReadBufferSize: 16 << 10,
	}
	return &source{order: order, limits: m.limits, meter: meter, stall: m.stall, reading: m.reading,
		client: &http.Client{Transport: transport}}, nil
}

func (s *source) close() { s.client.CloseIdleConnections() }

// address below Pattern.
func (s *source) address(query url.Values, names ...string) string {
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
	return address
}

func (s *source) get(ctx context.Context, query url.Values, span string, names ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address(query, names...), nil)
	if err != nil {
		return nil, fmt.Errorf("ask the distributor's sidecar: %w", err)
	}
	if span != "" {
		request.Header.Set("Range", span)
	}
	return s.do(request)
}

func (s *source) do(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+s.order.Token)
	response, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the distributor's sidecar: %w", err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPartialContent {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		_ = drained(response.Body)
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
	ctx, end := context.WithTimeout(ctx, listTime)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	query := url.Values{"chunks": {"1"}}
	if until := Stamp(s.order.Generation); until != "" {
		query.Set("until", until)
	}
	response, err := s.get(ctx, query, "", s.order.Folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = drained(response.Body) }()
	content, err := s.content(response.Body, cancel)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(err) // what may still come is not waited for
		return nil, fmt.Errorf("read the distributor's listing: %w", err)
	}
	// What was read is several times in memory until it is understood. Nothing comes from a source meanwhile: one that
	// sends slowly would keep the others waiting.
	if err := s.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.reading.Release(1)
	var listing Listing
	if err := json.Unmarshal(content, &listing); err != nil {
		return nil, fmt.Errorf("read the distributor's listing: %w", err)
	}
	return &listing, listing.check(s.order)
}

// content reads the body of a listing, which is given up when nothing comes for a while.
func (s *source) content(body io.Reader, cancel context.CancelCauseFunc) ([]byte, error) {
	watch := time.AfterFunc(s.stall, func() { cancel(fmt.Errorf("nothing came for %v", s.stall)) })
	defer watch.Stop()
	content, err := io.ReadAll(io.LimitReader(&wound{body, watch, s.stall}, maxListing+1))
	if err == nil && len(content) > maxListing {
		err = fmt.Errorf("it has more than %d bytes", maxListing)
	}
	return content, err
}

// wound winds a watch up with every byte that comes.
type wound struct {
	io.Reader

	watch *time.Timer
	stall time.Duration
}

func (w *wound) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if n > 0 {
		w.watch.Reset(w.stall)
	}
	return n, err
}

// drained closes a body. Not before its end has been read does its connection take the next request.
func drained(body io.ReadCloser) error {
	_, err := io.Copy(io.Discard, io.LimitReader(body, 4<<10))
	return errors.Join(err, body.Close())
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

// remote is a snapshot at its source.
type remote struct {
	*source

	listing *Listing
}

// Ask implements transfer.Remote.
func (r remote) Ask(ctx context.Context, asked *transfer.Request) (io.ReadCloser, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("ask the distributor's sidecar: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		r.address(nil, r.listing.Folder, r.listing.Snapshot), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the distributor's sidecar: %w", err)
	}
	response, err := r.do(request)
	if err != nil {
		return nil, err
	}
	if response.Header.Get("Content-Type") != transfer.ContentType {
		return nil, errors.Join(
			fmt.Errorf("the distributor's sidecar %s does not answer in frames", r.order.Source), response.Body.Close())
	}
	return response.Body, nil
}
