// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"geosql.dev/operator/internal/mssql/credentials"
)

// shutdownTime bounds the end of requests under way.
const shutdownTime = 2 * time.Second

func (a *Agent) listen() (net.Listener, error) {
	certificate := &certificateFiles{dir: a.options.TLSDir}
	if _, err := certificate.load(nil); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", a.options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a.options.Listen, err)
	}
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.load,
		GetConfigForClient: certificate.config}), nil
}

func (a *Agent) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           a.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve HTTPS: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTPS: %w", err)
	}
	return nil
}

// Handler answers /livez (the sidecar lives) and /readyz (the engine answers, and its state) to everybody: the
// kubelet's probes have no credentials. /status and /metrics are for readers.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		status := a.prober.current()
		if !status.Engine.Ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprintln(w, status.Engine)
	})
	mux.Handle("GET /status", a.readers.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(a.Status()); err != nil {
			a.log.Error("answer /status", "error", err)
		}
	})))
	mux.Handle("GET /metrics", a.readers.guard(a.telling.handler()))
	a.mu.Lock()
	defer a.mu.Unlock()
	for pattern, h := range a.handlers {
		mux.Handle(pattern, h)
	}
	return mux
}

// config asks clients for a certificate of the server's CA and accepts those that show none: probes have none, and each
// path decides for itself.
func (c *certificateFiles) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.load, ClientAuth: tls.VerifyClientCertIfGiven}
	authority, err := credentials.ReadTrust(c.dir)
	if err != nil {
		return nil, err
	}
	config.ClientCAs = x509.NewCertPool()
	config.ClientCAs.AppendCertsFromPEM(authority)
	return config, nil
}

// certificateFiles reads the server's certificate, again when a minute has passed, so that a renewed one is shown
// without a restart.
type certificateFiles struct {
	dir string

	mu     sync.Mutex
	loaded *tls.Certificate
	at     time.Time
}

func (c *certificateFiles) load(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded != nil && time.Since(c.at) < time.Minute {
		return c.loaded, nil
	}
	certificate, err := tls.LoadX509KeyPair(
		filepath.Join(c.dir, credentials.KeyCertificate),
		filepath.Join(c.dir, credentials.KeyPrivateKey),
	)
	switch {
	case err == nil:
		c.loaded, c.at = &certificate, time.Now()
	case c.loaded == nil:
		return nil, fmt.Errorf("read the server's certificate in %s: %w", c.dir, err)
	default:
		// The kubelet swaps the files as a whole, but a Secret may hold nonsense for a while: go on with the old one.
		c.at = time.Now()
	}
	return c.loaded, nil
}
