// SPDX-License-Identifier: Apache-2.0

// Package store keeps backup sets in an S3-compatible bucket, or with a sidecar that answers as one does: files that
// are uploaded in parts, so that an upload that was cut off goes on where it was, and small objects. What is in the
// bucket is not believed: whoever needs to know reads it back.
package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/time/rate"
)

const (
	// dialTimeout bounds a connection, answerTimeout the time from a request to its first byte, idleTimeout that in which
	// no byte goes either way while a body is sent or read.
	dialTimeout   = 10 * time.Second
	answerTimeout = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	// attempts at each request, with the library's back-off between them. What fails for longer is begun again by whoever
	// asked, who says so meanwhile.
	attempts = 3
)

// Bucket is where a store is and how it is reached.
type Bucket struct {
	// Endpoint is a URL, https://host[:port]; http is for tests alone.
	Endpoint string
	// Name of the bucket, and the prefix of all keys in it.
	Name, Prefix string
	// Region to sign for; us-east-1 unless given.
	Region string
	// VirtualHosted puts the bucket's name into the host's; without it it is the first part of the path.
	VirtualHosted bool
	// AccessKey and SecretKey are the credentials.
	AccessKey, SecretKey string
	// CA is the PEM bundle that is trusted; the system's unless given.
	CA []byte
	// TLS is by which it is reached instead, with a certificate that the other side knows: a sidecar keeps it, and nothing
	// is signed where AccessKey is empty. Nil is everything else.
	TLS *tls.Config `json:"-"`
	// UploadRate is how many bytes a second are sent at most; 0 sets no bound.
	UploadRate int64
}

// ErrNotFound says that there is no object of the key: a read finds none, and a list shows none.
var ErrNotFound = errors.New("there is no such object")

// Object is one of the bucket's.
type Object struct {
	// Key without the store's prefix.
	Key string
	// Bytes that it has.
	Bytes int64
	// Modified is when it was stored, by the store's clock; zero where the store does not say it.
	Modified time.Time
}

// Store is a bucket that can be used. It is safe for concurrent use.
type Store struct {
	bucket Bucket
	core   minio.Core
	sent   *rate.Limiter
	close  func()
}

// Open makes a Store; it sends nothing.
func Open(b Bucket) (*Store, error) { return open(b, idleTimeout) }

func open(b Bucket, idle time.Duration) (*Store, error) {
	at, err := url.Parse(b.Endpoint)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || strings.Trim(at.Path, "/") != "" {
		return nil, fmt.Errorf("endpoint %q must be https://host or https://host:port", b.Endpoint)
	}
	transport, err := transport(b, idle)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupPath
	if b.VirtualHosted {
		lookup = minio.BucketLookupDNS
	}
	client, err := minio.New(at.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(b.AccessKey, b.SecretKey, ""),
		Secure:       at.Scheme == "https",
		Transport:    transport,
		Region:       cmp.Or(b.Region, "us-east-1"),
		BucketLookup: lookup,
		MaxRetries:   attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s at %s: %w", b.Name, b.Endpoint, err)
	}
	s := &Store{bucket: b, core: minio.Core{Client: client}, close: transport.CloseIdleConnections}
	if b.UploadRate > 0 {
		s.sent = rate.NewLimiter(rate.Limit(b.UploadRate), int(min(b.UploadRate, sendAtOnce)))
	}
	return s, nil
}

func transport(b Bucket, idle time.Duration) (*http.Transport, error) {
	trust, proxy := &tls.Config{MinVersion: tls.VersionTLS12}, http.ProxyFromEnvironment
	if b.TLS != nil {
		trust, proxy = b.TLS.Clone(), nil
	}
	if len(b.CA) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(b.CA) {
			return nil, errors.New("the CA of the store has no certificate in PEM")
		}
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &watched{Conn: conn, idle: idle}, nil
		},
		TLSClientConfig:       trust,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: answerTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   8,
		// Gzip would hide what is stored.
		DisableCompression: true,
	}, nil
}

// Close ends idle connections.
func (s *Store) Close() { s.close() }

// String names the store for people; no secret is in it.
func (s *Store) String() string {
	return s.bucket.Endpoint + "/" + path.Join(s.bucket.Name, s.bucket.Prefix)
}

func (s *Store) key(key string) string { return path.Join(s.bucket.Prefix, key) }

// below is the beginning of the keys below a prefix in the bucket, and what precedes those of the store. One that ends
// in a slash is a folder's, and no other's that begins like it.
func (s *Store) below(prefix string) (full, cut string) {
	full = s.key(prefix)
	if strings.HasSuffix(prefix, "/") {
		full += "/"
	}
	if s.bucket.Prefix != "" {
		cut = path.Clean(s.bucket.Prefix) + "/"
	}
	return full, cut
}

// failed says what was attempted.
func (s *Store) failed(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s in %s: %w", what, key, s, err)
}

// unread says why an object could not be read. It is ErrNotFound when a list does not show it either: whatever is
// between here and the store may answer that there is none, with a page of its own, and the library does not tell the
// two apart.
func (s *Store) unread(ctx context.Context, key string, err error) error {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) || answer.StatusCode != http.StatusNotFound || answer.Code == "NoSuchBucket" {
		return s.failed("read", key, err)
	}
	objects, unlisted := s.List(ctx, key)
	switch {
	case unlisted != nil:
		return s.failed("read", key, fmt.Errorf("%w, which may be so or not: %w", err, unlisted))
	case slices.ContainsFunc(objects, func(o Object) bool { return o.Key == key }):
		return s.failed("read", key, fmt.Errorf("%w, and a list shows it", err))
	}
	return s.failed("read", key, ErrNotFound)
}

// Put stores a small object, in place of one of the key.
func (s *Store) Put(ctx context.Context, key string, content []byte) error {
	_, err := s.core.Client.PutObject(ctx, s.bucket.Name, s.key(key), bytes.NewReader(content), int64(len(content)),
		minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"})
	return s.failed("store", key, err)
}

// ErrExists says that there is an object of the key already.
var ErrExists = errors.New("there is such an object")

// PutNew stores a small object where there is none of the key; where there is one it is ErrExists. A store that knows
// no conditions stores it in any case.
func (s *Store) PutNew(ctx context.Context, key string, content []byte) error {
	options := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	options.SetMatchETagExcept("*")
	_, err := s.core.Client.PutObject(ctx, s.bucket.Name, s.key(key), bytes.NewReader(content), int64(len(content)),
		options)
	var answer minio.ErrorResponse
	switch {
	case !errors.As(err, &answer):
	case answer.StatusCode == http.StatusPreconditionFailed || answer.StatusCode == http.StatusConflict:
		err = ErrExists
	case answer.StatusCode == http.StatusNotImplemented:
		return s.Put(ctx, key, content)
	}
	return s.failed("store", key, err)
}

// Read returns a small object; one with more than limit bytes is an error.
func (s *Store) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	body, _, _, err := s.core.GetObject(ctx, s.bucket.Name, s.key(key), minio.GetObjectOptions{})
	if err != nil {
		return nil, s.unread(ctx, key, err)
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return content, s.failed("read", key, err)
}

// List has every object whose key begins with a prefix, by key. An error comes without a list: half of one would have
// backups taken for gone.
func (s *Store) List(ctx context.Context, prefix string) ([]Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	full, cut := s.below(prefix)
	var all []Object
	for o := range s.core.Client.ListObjects(ctx, s.bucket.Name, minio.ListObjectsOptions{Prefix: full, Recursive: true}) {
		if o.Err != nil {
			return nil, s.failed("list", prefix, o.Err)
		}
		all = append(all, Object{Key: strings.TrimPrefix(o.Key, cut), Bytes: o.Size, Modified: o.LastModified})
	}
	return all, ctx.Err()
}

// Remove removes an object; one that is not there is removed.
func (s *Store) Remove(ctx context.Context, key string) error {
	return s.failed("delete", key, s.core.RemoveObject(ctx, s.bucket.Name, s.key(key), minio.RemoveObjectOptions{}))
}
