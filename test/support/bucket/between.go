// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"sync"
	"testing"

	"geosql.dev/operator/internal/backup/store"
)

// Between is what answers in front of a Server: it passes on what a test does not answer itself. It ends with the test.
type Between struct {
	// Bucket is how the server is reached through it.
	Bucket store.Bucket

	mu     sync.Mutex
	handle Handle
}

// Handle answers a request, by asking next or without.
type Handle func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Between puts it in front of the server.
func (s *Server) Between(t testing.TB) *Between {
	t.Helper()
	to, err := url.Parse(s.Bucket.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(s.Bucket.CA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12},
		DisableCompression: true}
	next := &httputil.ReverseProxy{Transport: transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is signed
		}}
	b := &Between{Bucket: s.Bucket}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		handle := b.handle
		b.mu.Unlock()
		if handle == nil {
			next.ServeHTTP(w, r)
			return
		}
		handle(w, r, next)
	}))
	// Clients that are killed in the middle of a handshake are no news.
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	b.Bucket.Endpoint = server.URL
	b.Bucket.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return b
}

// Do has requests answered so from now on; nil passes all on.
func (b *Between) Do(handle Handle) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handle = handle
}

// Asked names what a request is about: its method and the last part of the object's key, and what else it is of an
// upload in parts. Lists have no key.
func Asked(r *http.Request) string {
	q := r.URL.Query()
	name := r.Method + " " + path.Base(r.URL.Path)
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"):
		return "LIST"
	case r.Method == http.MethodGet && q.Has("uploads"):
		return "LIST uploads"
	case r.Method == http.MethodGet && q.Has("uploadId"):
		return "LIST parts"
	case r.Method == http.MethodPost && q.Has("uploads"):
		return name + " begin"
	case r.Method == http.MethodPost && q.Has("uploadId"):
		return name + " complete"
	case q.Has("partNumber"):
		return name + " part " + q.Get("partNumber")
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		return name + " abort"
	}
	return name
}

// Refuse answers with a status and an error's code, as S3 does.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>by a test</Message></Error>`, code)
}
