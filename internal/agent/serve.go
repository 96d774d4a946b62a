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
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/gate"
	"geosql.dev/operator/internal/mssql/credentials"
)

// shutdownTime bounds the end of requests under way.
const shutdownTime = 2 * time.Second

// Limits of connections: of what everybody may ask, and of elections. One takes about 40 KiB, so that all together stay
// far below what the container may have. One address may be that of many: a gateway's, or a node's.
var (
	limits = gate.Limits{Handshakes: 64, HandshakesOf: 16, Connections: 256, ConnectionsOf: 64,
		HandshakeTimeout: 5 * time.Second}
	electionLimits = gate.Limits{Handshakes: 64, HandshakesOf: 16, Connections: 128, ConnectionsOf: 16,
		HandshakeTimeout: 5 * time.Second}
)

// headerBytes bounds a request's headers: of all, the longest is a bearer token.
const headerBytes = 16 << 10

// door is an address at which the sidecar answers over HTTPS.
type door struct {
	gate *gate.Gate
	http *http.Server
}

// doors are that for everybody and that for elections.
func (a *Agent) doors() ([]door, error) {
	certificate := &certificateFiles{dir: a.options.TLSDir, namespace: a.options.Namespace}
	if _, err := certificate.load(nil); err != nil {
		return nil, err
	}
	everybody, err := open(a.options.Listen, certificate.config(tls.VerifyClientCertIfGiven), limits, nil, a.Handler())
	if err != nil {
		return nil, err
	}
	peer := func(c *tls.Conn) string { return strings.Join(c.ConnectionState().PeerCertificates[0].DNSNames, ",") }
	elections, err := open(a.options.Elections, certificate.config(tls.RequireAndVerifyClientCert), electionLimits, peer,
		a.electionHandler())
	if err != nil {
		return nil, errors.Join(err, everybody.gate.Close())
	}
	return []door{everybody, elections}, nil
}

func open(
	address string,
	config *tls.Config,
	limits gate.Limits,
	peer func(*tls.Conn) string,
	handler http.Handler,
) (door, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return door{}, fmt.Errorf("listen on %s: %w", address, err)
	}
	d := door{gate: gate.New(listener, config, limits, peer)}
	d.http = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    headerBytes,
		ConnState:         d.gate.Track,
	}
	return d, nil
}

func (d door) serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- d.http.Serve(d.gate) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve HTTPS: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := d.http.Shutdown(bounded); err != nil {
		_ = d.http.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTPS: %w", err)
	}
	return nil
}

// electionHandler answers sidecars of other servers alone.
func (a *Agent) electionHandler() http.Handler {
	mux := http.NewServeMux()
	a.mu.Lock()
	defer a.mu.Unlock()
	for pattern, h := range a.elections {
		mux.Handle(pattern, h)
	}
	return mux
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

// config asks clients for a certificate of the server's CA. Where none is needed those that show none are let in, as
// probes are, and each path decides for itself; where one is needed the handshake fails but for that of a server of the
// namespace.
func (c *certificateFiles) config(auth tls.ClientAuthType) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.load,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			authority, err := credentials.ReadTrust(c.dir)
			if err != nil {
				return nil, err
			}
			config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.load, ClientAuth: auth,
				ClientCAs: x509.NewCertPool()}
			config.ClientCAs.AppendCertsFromPEM(authority)
			if auth == tls.RequireAndVerifyClientCert {
				config.VerifyConnection = c.ofNamespace
			}
			return config, nil
		}}
}

// ofNamespace refuses clients that are no servers of the namespace.
func (c *certificateFiles) ofNamespace(state tls.ConnectionState) error {
	if leaf := state.PeerCertificates[0]; !credentials.InNamespace(leaf, c.namespace) {
		return fmt.Errorf("servers of namespace %s are answered alone, and the certificate is for %s", c.namespace,
			strings.Join(leaf.DNSNames, ", "))
	}
	return nil
}

// certificateFiles reads the server's certificate, again when a minute has passed, so that a renewed one is shown
// without a restart.
type certificateFiles struct {
	dir, namespace string

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
