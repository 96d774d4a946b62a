// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	// reportBytes bounds what is read of a peer's answer.
	reportBytes = 1 << 20
	// idleConnection is how long an unused connection is kept; greetEvery is well below it.
	idleConnection = 50 * time.Second
	// greetEvery is how often the sidecars of the group's other servers are greeted.
	greetEvery = 15 * time.Second
	// greetTimeout bounds one greeting.
	greetTimeout = 5 * time.Second
	// renewClient is after how long connections are made anew, so that a renewed certificate of one's own is shown.
	renewClient = 10 * time.Minute
	// dialTimeout bounds one connection, handshakeTimeout its handshake, and headStart is what an address gets before the
	// next one is tried, too.
	dialTimeout      = 2 * time.Second
	handshakeTimeout = 2 * time.Second
	headStart        = 300 * time.Millisecond
)

// peers are the sidecars of the group's other servers, reached by the servers' names. Both sides show their server's
// certificate, signed by the operator's CA.
type peers struct {
	// tlsDir has one's own certificate; the others' are of the namespace.
	tlsDir, namespace string
	// addresses of a server's sidecar, host:port, the one to prefer first.
	addresses func(server string) []string

	mu      sync.Mutex
	clients map[string]*peerClient
}

type peerClient struct {
	http *http.Client
	made time.Time
	// trust is the bundle by which the other side is verified.
	trust []byte
}

func newPeers(tlsDir, namespace string, addresses func(server string) []string) *peers {
	if addresses == nil {
		addresses = func(server string) []string {
			return []string{credentials.ElectionAddress(server), credentials.AgentAddress(server)}
		}
	}
	return &peers{tlsDir: tlsDir, namespace: namespace, addresses: addresses, clients: map[string]*peerClient{}}
}

// Fence implements keeper.Peers. A replica that nobody waits for is fenced all the same: otherwise it would go on
// with the former primary until its own agent sees that there is another. Once it has seen that it refuses, however
// late it is asked.
func (p *peers) Fence(ctx context.Context, server string, r ballot.FenceRequest) (ballot.Report, error) {
	type answer struct {
		report ballot.Report
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		var a answer
		a.err = p.call(ctx, http.MethodPost, server, r.Group, pathFence, r, &a.report)
		answered <- a
	}()
	select {
	case a := <-answered:
		return a.report, a.err
	case <-ctx.Done():
		return ballot.Report{}, fmt.Errorf("ask the agent of %s: %w", server, ctx.Err())
	}
}

// Report implements keeper.Peers.
func (p *peers) Report(ctx context.Context, server, group string) (ballot.Report, error) {
	var report ballot.Report
	err := p.call(ctx, http.MethodGet, server, group, pathReport, nil, &report)
	return report, err
}

// Wake implements keeper.Peers.
func (p *peers) Wake(ctx context.Context, server, group string) error {
	return p.call(ctx, http.MethodPost, server, group, pathWake, nil, nil)
}

// Reconnect implements keeper.Peers.
func (p *peers) Reconnect(ctx context.Context, server, group string) error {
	return p.call(ctx, http.MethodPost, server, group, pathEndpoint, nil, nil)
}

// Hello keeps a connection to a server's sidecar open: an election has no time for the handshakes of a new one over a
// slow link.
func (p *peers) Hello(ctx context.Context, server, group string) error {
	return p.call(ctx, http.MethodGet, server, group, pathHello, nil, nil)
}

func (p *peers) call(ctx context.Context, method, server, group, path string, in, out any) error {
	client, err := p.client(server)
	if err != nil {
		return err
	}
	var body io.Reader
	if in != nil {
		content, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode a request to the agent of %s: %w", server, err)
		}
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequestWithContext(
		ctx,
		method,
		"https://"+p.addresses(server)[0]+Pattern+url.PathEscape(group)+"/"+path,
		body,
	)
	if err != nil {
		return fmt.Errorf("make a request to the agent of %s: %w", server, err)
	}
	response, err := client.Do(request)
	if err != nil {
		// After a cut network has healed, TCP would wait for its next retransmission, where a new connection works at once.
		if errors.Is(err, context.DeadlineExceeded) {
			utilnet.CloseIdleConnectionsFor(client.Transport)
		}
		return fmt.Errorf("ask the agent of %s: %w", server, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, reportBytes))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer of the agent of %s: %w", server, err)
	case response.StatusCode == http.StatusConflict:
		// Releases before this one do not tell the term; a Lease takes 32 bits of it.
		term, err := strconv.ParseInt(response.Header.Get(headerPromised), 10, 32)
		if err != nil {
			term = 0
		}
		return ballot.Promised(
			term,
			fmt.Errorf("the agent of %s: %s: %w", server, bytes.TrimSpace(content), ballot.ErrPromised),
		)
	case response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent:
		return fmt.Errorf("the agent of %s answers %s: %s", server, response.Status, bytes.TrimSpace(content))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("read the answer of the agent of %s: %w", server, err)
	}
	return nil
}

func (p *peers) client(server string) (*http.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	trust, err := credentials.ReadTrust(p.tlsDir)
	c := p.clients[server]
	if c != nil && time.Since(c.made) < renewClient && (err != nil || bytes.Equal(c.trust, trust)) {
		return c.http, nil
	}
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trust)
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: server,
		VerifyConnection: credentials.Of(server, p.namespace),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			certificate, err := tls.LoadX509KeyPair(
				filepath.Join(p.tlsDir, credentials.KeyCertificate),
				filepath.Join(p.tlsDir, credentials.KeyPrivateKey),
			)
			return &certificate, err
		}}
	made := &http.Client{Transport: &http.Transport{
		DialTLSContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return greetFirst(ctx, network, p.addresses(server), config)
		},
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     idleConnection,
		ForceAttemptHTTP2:   false,
	}}
	if c != nil {
		c.http.CloseIdleConnections()
	}
	p.clients[server] = &peerClient{http: made, made: time.Now(), trust: trust}
	return made, nil
}

// greetFirst has a connection with its handshake behind it, to the first address that lets it come so far: a load
// balancer or a proxy takes connections at a port behind which nobody answers.
func greetFirst(ctx context.Context, network string, addresses []string, config *tls.Config) (net.Conn, error) {
	var errs []error
	for left := slices.Clone(addresses); len(left) > 0; {
		conn, at, err := dialFirst(ctx, network, left)
		if err != nil {
			return nil, errors.Join(append(errs, err)...)
		}
		over := tls.Client(conn, config)
		bounded, cancel := context.WithTimeout(ctx, handshakeTimeout)
		err = over.HandshakeContext(bounded)
		cancel()
		if err == nil {
			return over, nil
		}
		_ = conn.Close()
		errs = append(errs, fmt.Errorf("shake hands with %s: %w", left[at], err))
		left = slices.Delete(left, at, at+1)
	}
	return nil, errors.Join(errs...)
}

// dialFirst connects to the first address that takes a connection, and says which one it is. A sidecar of an earlier
// release has the last one alone, and a name's other port may be refused or, through a Service that lacks it, left
// without an answer.
func dialFirst(ctx context.Context, network string, addresses []string) (net.Conn, int, error) {
	type dialed struct {
		conn net.Conn
		at   int
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan dialed, len(addresses))
	var begun, ended int
	defer func() {
		cancel()
		go func() {
			for ; ended < begun; ended++ {
				if late := <-results; late.err == nil {
					_ = late.conn.Close()
				}
			}
		}()
	}()
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: 5 * time.Second}
	next := time.NewTimer(0)
	defer next.Stop()
	var errs []error
	for ended < len(addresses) {
		select {
		case <-next.C:
			if begun < len(addresses) {
				at := begun
				begun++
				next.Reset(headStart)
				go func() {
					conn, err := dialer.DialContext(ctx, network, addresses[at])
					results <- dialed{conn, at, err}
				}()
			}
		case r := <-results:
			ended++
			if r.err == nil {
				return r.conn, r.at, nil
			}
			errs = append(errs, r.err)
			next.Reset(0)
		}
	}
	return nil, 0, errors.Join(errs...)
}
